// SPDX-License-Identifier: Apache-2.0
#include "ranks/rank_summary.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/breakdown/breakdown_steps.hpp"
#include "analysis/breakdown/code_places.hpp"
#include "analysis/breakdown/device_cover.hpp"
#include "analysis/breakdown/host_activity.hpp"
#include "analysis/projection/call_names.hpp"
#include "analysis/projection/code_line_text.hpp"
#include "analysis/projection/communication.hpp"
#include "analysis/projection/op_class.hpp"
#include "analysis/quality/ending.hpp"
#include "analysis/steps/step_parts.hpp"
#include "ranks/beside_communication.hpp"
#include "ranks/join_key.hpp"
#include "record/launch_calls.hpp"

namespace prof {
namespace {

constexpr std::int64_t stream_gap_ns = 20'000;         // between two operations that follow each other in a stream
constexpr std::size_t most_exposed_pieces = 64;        // the latest
constexpr double least_computing_share = 0.1;          // of a stream, of that with the most
constexpr double least_exposed_share = 0.9;            // of a wait, in which other streams do little
constexpr std::int64_t most_gap_ns = 1'000'000'000;    // likewise, where other kernels hold the second one up
constexpr std::int64_t least_launch_gain_ns = 10'000;  // what holds the GPU up by less is not kept
constexpr std::size_t most_places = 64;
constexpr std::size_t most_unended = 16'384;  // calls, the latest

// Collective operations of one rank, as they were described, each with the operation that carried it.
class collective_finder {
public:
    collective_finder(const timeline& data, const op_classifier& class_of, rank_summary& out)
        : data_(data), class_of_(class_of), out_(out) {}

    // By operation, and the thread for which the caller works.
    struct found {
        op_id op = npos;
        thread_id thread = npos;
        rank_collective is{};
    };

    std::vector<found> run() {
        for (const timeline_communicator& of : data_.communicators) add_communicator(of);
        std::vector<found> all;
        std::unordered_map<graph_node_id, std::vector<std::size_t>> replayed;  // graph node → collectives
        std::set<op_id> taken;                                                 // operations of which one is known
        for (std::size_t i = 0; i < data_.collectives.size(); ++i) {
            const collective_call& call = data_.collectives[i];
            if (call.op == npos) {
                if (call.is_unplaced) ++out_.unplaced;
                if (!call.in_graph && may_be_unended(call)) add_unended(call);
                continue;
            }
            if (call.sequence != no_sequence) latest_[{call.communicator, call.function}] = call.sequence;
            if (call.in_graph) {
                replayed[data_.ops[call.op].graph_node].push_back(i);
                continue;
            }
            add(all, call, call.op, taken);
        }
        if (!replayed.empty()) {
            for (const op_id op : data_.ops.ids()) {
                const auto of = replayed.find(data_.ops[op].graph_node);
                if (data_.ops[op].graph_node == npos || of == replayed.end()) continue;
                for (const std::size_t i : of->second) add(all, data_.collectives[i], op, taken);
            }
        }
        if (all.empty() && unended_.empty()) add_kernels(all);
        return all;
    }

    // Calls of whose work no end was recorded, and the threads that made them. After run().
    struct unended {
        rank_call is{};
        thread_id thread = npos;
    };
    std::vector<unended> take_unended() { return std::move(unended_); }

private:
    void add_communicator(const timeline_communicator& of) {
        join_key key;
        // A process group's name and size stand for it: a trace has nothing else.
        if (of.id != 0) {
            key.add(of.id);
        } else {
            key.add(of.name).add(of.ranks);
        }
        out_.communicators.push_back({key.value(), of.name, of.ranks, of.rank});
    }

    std::uint32_t unknown_communicator() {
        if (unknown_ == npos) {
            unknown_ = static_cast<std::uint32_t>(out_.communicators.size());
            out_.communicators.push_back({join_key().add(std::string_view("all ranks")).value(), "", 0, UINT32_MAX});
        }
        return unknown_;
    }

    void add(std::vector<found>& all, const collective_call& call, op_id op, std::set<op_id>& taken) {
        const bool is_p2p = call.function == collective_function::send || call.function == collective_function::recv;
        // Those of a group share a kernel: the first one stands for it. Sends and receives have other members each.
        if (!is_p2p && !taken.insert(op).second) return;
        found one{.op = op, .thread = call.thread};
        rank_collective& is = one.is;
        is.enqueued_ns = call.in_graph && data_.ops[op].launch != npos ? data_.api_calls[data_.ops[op].launch].start_ns
                                                                       : call.time_ns;
        is.begin_ns = data_.ops[op].start_ns;
        is.end_ns = data_.ops[op].end_ns;
        if (!identify(call, call.sequence, is)) {
            ++out_.unplaced;
            return;
        }
        all.push_back(one);
    }

    // What joins it with those of other ranks. False: that is not known.
    bool identify(const collective_call& call, std::uint64_t sequence, rank_collective& is) {
        const bool is_p2p = call.function == collective_function::send || call.function == collective_function::recv;
        is.bytes = call.bytes;
        is.function = call.function;
        is.communicator = call.communicator < data_.communicators.size() ? call.communicator : unknown_communicator();
        const rank_communicator& of = out_.communicators[is.communicator];
        is.members = is_p2p ? 2 : of.ranks;
        is.sequence = call.in_graph ? no_sequence : sequence;
        is.by = call.source == collective_source::kineto ? collective_match::group : collective_match::sequence;
        if (is_p2p) {
            is.by = collective_match::order;
            is.sequence = no_sequence;
            const std::int64_t own = call.source == collective_source::kineto
                                         ? data_.number("rank").value_or(-1)
                                         : (of.rank == UINT32_MAX ? -1 : std::int64_t{of.rank});
            if (own < 0 || call.peer < 0) return false;
            const std::int64_t from = call.function == collective_function::send ? own : call.peer;
            const std::int64_t to = call.function == collective_function::send ? call.peer : own;
            is.key = join_key()
                         .add(of.key)
                         .add(static_cast<std::uint64_t>(from))
                         .add(static_cast<std::uint64_t>(to))
                         .value();
            is.receives = call.function == collective_function::recv;
            is.function = collective_function::send;
        } else {
            if (is.sequence == no_sequence) is.by = collective_match::order;
            join_key key;
            key.add(of.key);
            // PyTorch counts all operations of a group, whatever their function.
            if (is.by != collective_match::group) key.add(static_cast<std::uint64_t>(is.function));
            if (call.in_graph) key.add(std::string_view("replayed"));
            is.key = key.value();
        }
        return true;
    }

    // Where kernels were not recorded, nothing is known of their ends.
    bool may_be_unended(const collective_call& call) const {
        if (!data_.activities.has(activity::kernels)) return false;
        return call.call >= data_.api_calls.size() || data_.api_calls[call.call].is_unfinished;
    }

    void add_unended(const collective_call& call) {
        // What NCCL had not yet enqueued has no number yet: it is the next one of its function.
        std::uint64_t sequence = call.sequence;
        const auto latest = latest_.find({call.communicator, call.function});
        const bool is_numbered =
            call.source == collective_source::plugin && call.communicator < data_.communicators.size();
        if (sequence == no_sequence && is_numbered && latest != latest_.end()) sequence = latest->second + 1;
        if (sequence != no_sequence) latest_[{call.communicator, call.function}] = sequence;
        rank_collective is;
        if (!identify(call, sequence, is)) return;
        add_unended(is, call.time_ns, call.thread);
    }

    void add_unended(const rank_collective& is, std::int64_t called_ns, thread_id thread) {
        const bool is_by_order = is.by == collective_match::order;
        unended_.push_back({{.key = is_by_order ? 0 : join_key().add(is.key).add(is.sequence).value(),
                             .order_key = is_by_order ? is.key : 0,
                             .bytes = is.bytes,
                             .number = is_by_order ? no_sequence : is.sequence,
                             .called_ns = called_ns,
                             .communicator = is.communicator,
                             .members = is.members,
                             .function = is.function,
                             .by = is.by},
                            thread});
    }

    // Nobody described them: kernels of libraries that communicate, by their names.
    void add_kernels(std::vector<found>& all) {
        for (const op_id op : data_.ops.ids()) {
            const gpu_op& of = data_.ops[op];
            if (of.kind != op_kind::kernel || class_of_(of) != op_class::communication) continue;
            found one{.op = op};
            one.is.communicator = unknown_communicator();
            one.is.by = collective_match::order;
            one.is.begin_ns = of.start_ns;
            one.is.end_ns = of.end_ns;
            one.is.enqueued_ns = of.launch == npos ? of.start_ns : data_.api_calls[of.launch].start_ns;
            if (of.launch != npos) one.thread = data_.api_calls[of.launch].thread;
            one.is.key = join_key().add(std::string_view("all ranks")).value();
            all.push_back(one);
        }
        std::unordered_map<name_id, bool> is_known;  // by name
        for (const timeline_api_call& call : data_.api_calls) {
            if (!call.is_unfinished || call.kernel_name == 0) continue;
            const auto [known, is_new] = is_known.try_emplace(call.kernel_name, false);
            if (is_new) known->second = is_communication_kernel(data_.name(call.kernel_name));
            if (!known->second) continue;
            rank_collective is;
            is.communicator = unknown_communicator();
            is.by = collective_match::order;
            is.key = join_key().add(std::string_view("all ranks")).value();
            add_unended(is, call.start_ns, call.thread);
        }
    }

    const timeline& data_;
    const op_classifier& class_of_;
    rank_summary& out_;
    std::uint32_t unknown_ = npos;
    std::vector<unended> unended_;
    // By communicator and function: the sequence of its latest call.
    std::map<std::pair<std::uint32_t, collective_function>, std::uint64_t> latest_;
};

class summary_maker {
public:
    summary_maker(const timeline& data, const attribution& att, const breakdown_steps& of, rank_summary& out)
        : data_(data),
          att_(att),
          of_(of.of),
          out_(out),
          in_steps_(of.of.steps),
          part_of_(data, att, of.of),
          class_of_(data),
          host_(data, att),
          where_(data, att, of.of),
          causes_(data, att, host_, where_, of.of) {}

    void run() {
        for (const whole_step& step : of_.steps) {
            out_.steps.push_back({.number = step.number,
                                  .from_ns = step.from_ns(),
                                  .to_ns = step.to_ns(),
                                  .host_from_ns = step.start_ns,
                                  .host_to_ns = step.end_ns});
        }
        collective_finder finder(data_, class_of_, out_);
        found_ = finder.run();
        std::vector<collective_finder::unended> unended = finder.take_unended();
        std::stable_sort(found_.begin(), found_.end(), [&](const auto& a, const auto& b) {
            return std::tuple(a.is.begin_ns, a.op) < std::tuple(b.is.begin_ns, b.op);
        });
        choose_device();
        of_op_.assign(data_.ops.size(), npos);
        for (std::uint32_t i = 0; i < found_.size(); ++i) of_op_[found_[i].op] = i;
        find_ends_before();
        const std::set<std::uint32_t> devices = devices_of(data_);
        for (const std::uint32_t device : devices) cover(device);
        find_slowing();
        add_places();
        take_collectives();
        take_launches();
        take_unended(std::move(unended));
        find_ending();
    }

private:
    // Waits are those of one GPU: a process has one, but for few.
    void choose_device() {
        std::map<std::uint32_t, std::size_t> counts;
        for (const auto& each : found_) ++counts[data_.place_of(data_.ops[each.op]).device];
        if (counts.empty()) return;
        device_ = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                      return a.second < b.second;
                  })->first;
        for (const device_record& each : data_.devices) {
            const bool is_known =
                std::any_of(std::begin(each.uuid), std::end(each.uuid), [](auto byte) { return byte != 0; });
            if (each.device == device_ && is_known) out_.gpu.assign(std::begin(each.uuid), std::end(each.uuid));
        }
        const std::size_t all = found_.size();
        std::erase_if(found_, [&](const auto& each) { return data_.place_of(data_.ops[each.op]).device != device_; });
        out_.unplaced += all - found_.size();
    }

    void cover(std::uint32_t device) {
        if (of_.steps.empty()) return;
        in_steps_.restart();
        step_cursor for_ops(of_.steps);
        const bool has_waits = device == device_;
        std::int64_t begin_ns = of_.steps.front().from_ns();
        if (has_waits && !found_.empty()) begin_ns = std::min(begin_ns, found_.front().is.begin_ns);
        walk_device(
            data_, class_of_, device, begin_ns, of_.steps.back().to_ns(),
            [&](const covered_time& piece, op_id next) {
                if (has_waits) follow(piece);
                take(piece, device, next);
            },
            [&](op_id op) {
                const gpu_op& of = data_.ops[op];
                if (of.kind != op_kind::kernel || class_of_(of) != op_class::compute) return;
                if (!for_ops.move_to(of.start_ns, of.start_ns + 1)) return;
                for_ops.for_each(of.start_ns, of.start_ns + 1, [&](std::uint32_t step, std::int64_t, std::int64_t) {
                    const kernel_record& kernel = data_.kernels[of.detail];
                    std::uint64_t threads = 1;
                    for (const std::uint32_t size : kernel.grid) threads *= std::max(size, 1U);
                    for (const std::uint32_t size : kernel.block) threads *= std::max(size, 1U);
                    ++out_.steps[step].kernels;
                    out_.steps[step].threads += threads;
                });
            });
        if (has_waits) close_wait();
    }

    void find_slowing() {
        if (of_.steps.empty()) return;
        std::vector<running_collective> running;
        running.reserve(found_.size());
        for (const auto& each : found_) running.push_back({each.is.begin_ns, each.is.end_ns});
        const std::vector<std::int64_t> by =
            slowing_ns(data_, class_of_, device_, running, of_.steps.front().from_ns(), of_.steps.back().to_ns());
        for (std::size_t i = 0; i < by.size(); ++i) found_[i].is.slowing_ns = by[i];
    }

    // Time in which nothing computes while a collective runs is a wait up to the end of the last one that ended in it.
    void follow(const covered_time& piece) {
        const op_id communication = piece.of(op_class::communication);
        if (piece.of(op_class::compute) == npos && communication != npos) {
            if (of_op_[communication] != npos)
                found_[of_op_[communication]].is.exposed_ns += piece.end_ns - piece.start_ns;
            if (open_from_ns_ == INT64_MAX) open_from_ns_ = piece.start_ns;
            open_to_ns_ = piece.end_ns;
            if (!exposed_.empty() && exposed_.back().second == piece.start_ns) {
                exposed_.back().second = piece.end_ns;
            } else {
                exposed_.emplace_back(piece.start_ns, piece.end_ns);
                if (exposed_.size() > most_exposed_pieces) exposed_.pop_front();
            }
            return;
        }
        // Between two collectives that follow each other in the stream nothing else was to be done.
        if (piece.is_idle() && piece.end_ns - piece.start_ns <= stream_gap_ns) return;
        close_wait();
    }

    // From when on work that begins at the end of a collective waited for it: it had been launched, and what is before
    // it in its stream had ended. Little work of other streams meanwhile does not end the wait, which else begins at
    // `from_ns`.
    std::int64_t begin_of_wait(std::int64_t from_ns, std::int64_t end_ns) const {
        std::int64_t since_ns = from_ns;
        const auto first = std::partition_point(data_.ops.begin(), data_.ops.end(),
                                                [&](const gpu_op& each) { return each.start_ns < end_ns; });
        for (auto op = first; op != data_.ops.end() && op->start_ns <= end_ns + latency_ns; ++op) {
            if (op->launch == npos || !computing_streams_.contains(op->place)) continue;
            const std::int64_t before_ns = end_before_[op_id(op - data_.ops.begin())];
            since_ns = std::min(since_ns, std::max(data_.api_calls[op->launch].end_ns, before_ns));
        }
        if (!out_.waited.empty()) since_ns = std::max(since_ns, out_.waited.back().to_ns);
        std::int64_t exposed_ns = 0;
        std::int64_t begin_ns = from_ns;  // of the first piece in which nothing computes
        for (const auto& [piece_from_ns, piece_to_ns] : exposed_) {
            if (piece_to_ns <= since_ns || piece_from_ns >= from_ns) continue;
            begin_ns = std::min(begin_ns, std::max(piece_from_ns, since_ns));
            exposed_ns += piece_to_ns - std::max(piece_from_ns, since_ns);
        }
        const auto whole = static_cast<double>(from_ns - begin_ns);
        return static_cast<double>(exposed_ns) >= least_exposed_share * whole ? begin_ns : from_ns;
    }

    // By operation: when what is before it in its stream had ended.
    void find_ends_before() {
        if (found_.empty()) return;  // nobody waits
        computing_streams_ = computing_streams();
        end_before_.assign(data_.ops.size(), INT64_MIN);
        std::unordered_map<std::uint32_t, std::int64_t> latest_ns;  // by place
        for (const op_id op : data_.ops.ids()) {
            const auto [known, is_new] = latest_ns.try_emplace(data_.ops[op].place, INT64_MIN);
            end_before_[op] = known->second;
            known->second = std::max(known->second, data_.ops[op].end_ns);
        }
    }

    void close_wait() {
        if (open_from_ns_ == INT64_MAX) return;
        std::int64_t from_ns = open_from_ns_;
        const std::int64_t to_ns = open_to_ns_;
        open_from_ns_ = INT64_MAX;
        // The last that ended in it. Where a kernel began although one still ran, that kernel had waited for one that
        // had just ended, or for none.
        while (ended_ < by_end().size() && end_of(ended_) <= to_ns) ++ended_;
        if (ended_ == 0) return;
        const std::int64_t end_ns = end_of(ended_ - 1);
        if (end_ns <= from_ns) return;
        const bool ends_it = to_ns - end_ns <= latency_ns;
        if (!ends_it) return;
        from_ns = begin_of_wait(from_ns, end_ns);
        out_.waited.push_back({from_ns, end_ns, waited_ns_});
        const std::int64_t at_ns = from_ns - waited_ns_;
        for (std::size_t i = ended_; i > 0 && end_of(i - 1) == end_ns; --i) {
            out_.waits.push_back({at_ns, by_end_[i - 1]});
        }
        waited_ns_ += end_ns - from_ns;
    }

    const std::vector<std::uint32_t>& by_end() {
        if (by_end_.size() == found_.size()) return by_end_;
        by_end_.resize(found_.size());
        std::iota(by_end_.begin(), by_end_.end(), 0U);
        std::stable_sort(by_end_.begin(), by_end_.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return found_[a].is.end_ns < found_[b].is.end_ns; });
        return by_end_;
    }
    std::int64_t end_of(std::size_t index) { return found_[by_end_[index]].is.end_ns; }

    void take(const covered_time& piece, std::uint32_t device, op_id next) {
        if (!in_steps_.move_to(piece.start_ns, piece.end_ns)) return;
        if (piece.is_idle()) {
            causes_.explain({piece.start_ns, piece.end_ns, device, next}, [&](const idle_piece& idle) {
                add(idle.start_ns, idle.end_ns, first_idle_part + static_cast<std::size_t>(idle.cause),
                    std::uint64_t{1} << 32 | idle.place);
            });
            return;
        }
        const op_id compute = piece.of(op_class::compute);
        const op_id communication = piece.of(op_class::communication);
        if (compute != npos) {
            add(piece.start_ns, piece.end_ns, compute_part, part_of_.of(compute));
        } else if (communication != npos) {
            add(piece.start_ns, piece.end_ns, communication_part, part_of_.of(communication));
        } else {
            add(piece.start_ns, piece.end_ns, copy_part, part_of_.of(piece.of(op_class::memory)));
        }
    }

    void add(std::int64_t from_ns, std::int64_t to_ns, std::size_t part, std::uint64_t place) {
        in_steps_.for_each(from_ns, to_ns, [&](std::uint32_t step, std::int64_t start_ns, std::int64_t end_ns) {
            out_.steps[step].parts[part] += end_ns - start_ns;
            time_[{part, place}] += end_ns - start_ns;
        });
    }

    void add_places() {
        const auto steps = static_cast<double>(std::max<std::size_t>(out_.steps.size(), 1));
        std::map<std::pair<std::size_t, std::string>, double> named;
        for (const auto& [key, ns] : time_) {
            const auto& [part, place] = key;
            const std::string& name = place >> 32 != 0 ? where_.path(code_place_id(static_cast<std::uint32_t>(place)))
                                                       : part_of_.name(static_cast<std::uint32_t>(place));
            named[{part, name}] += static_cast<double>(ns) / steps;
        }
        for (const auto& [key, ns] : named) out_.time.push_back({key.first, key.second, ns});
        std::stable_sort(out_.time.begin(), out_.time.end(),
                         [](const rank_place& a, const rank_place& b) { return a.mean_ns > b.mean_ns; });
        if (out_.time.size() > most_places) out_.time.resize(most_places);
    }

    void take_collectives() {
        std::map<std::uint32_t, std::uint32_t> last_in_stream;                   // place → index
        std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> order;  // key, step → how many there were
        out_.collectives.reserve(found_.size());
        std::size_t step = 0;
        // In the order of the calls: so steps and orders are the program's.
        std::vector<std::uint32_t> by_call(found_.size());
        std::iota(by_call.begin(), by_call.end(), 0U);
        std::stable_sort(by_call.begin(), by_call.end(), [&](std::uint32_t a, std::uint32_t b) {
            return found_[a].is.enqueued_ns < found_[b].is.enqueued_ns;
        });
        for (const std::uint32_t i : by_call) {
            rank_collective& is = found_[i].is;
            while (step < out_.steps.size() && out_.steps[step].host_to_ns <= is.enqueued_ns) ++step;
            if (step < out_.steps.size() && out_.steps[step].host_from_ns <= is.enqueued_ns) {
                is.step = static_cast<std::uint32_t>(step);
            }
            if (is.by == collective_match::order) {
                const std::uint64_t number = is.step == UINT32_MAX ? UINT64_MAX - step : out_.steps[is.step].number;
                const std::uint32_t nth =
                    order[{is.key, is.step == UINT32_MAX ? npos - static_cast<std::uint32_t>(step) : is.step}]++;
                is.order_key = is.key;
                is.key = join_key().add(is.key).add(number).add(nth).value();
                is.sequence = nth;
            } else {
                is.key = join_key().add(is.key).add(is.sequence).value();
            }
        }
        for (std::uint32_t i = 0; i < found_.size(); ++i) {
            rank_collective is = found_[i].is;
            is.op = found_[i].op;
            const gpu_op& op = data_.ops[found_[i].op];
            const auto [last, is_first] = last_in_stream.try_emplace(op.place, i);
            is.ready_ns = out_.local_ns(is.begin_ns);
            const std::uint32_t in_stream = is_first ? UINT32_MAX : last->second;
            const readiness ready = readiness_of(found_[i].op, is, in_stream);
            is.after = held_up_by(is, in_stream, ready);
            if (is.after != UINT32_MAX) {
                is.gap_ns = static_cast<std::uint32_t>(is.begin_ns - out_.collectives[is.after].end_ns);
                is.ready_ns = std::min(is.ready_ns, out_.local_ns(ready.at_ns));
            }
            last->second = i;
            if (const range_id range = range_of(i); range != npos) is.place = place_number(where_.of(range));
            out_.collectives.push_back(is);
        }
    }

    std::uint32_t place_number(code_place_id place) {
        const auto [number, is_new] = place_numbers_.try_emplace(place, static_cast<std::uint32_t>(out_.places.size()));
        if (is_new) out_.places.push_back(where_.path(place));
        return number->second;
    }

    void take_unended(std::vector<collective_finder::unended> calls) {
        if (calls.empty()) return;
        std::stable_sort(calls.begin(), calls.end(),
                         [](const auto& a, const auto& b) { return a.is.called_ns < b.is.called_ns; });
        if (calls.size() > most_unended) calls.erase(calls.begin(), calls.end() - most_unended);
        std::unordered_map<thread_id, thread_id> homes;  // threads → for which they work
        for (const auto& each : found_) {
            const thread_id home = adopting_thread(data_, att_, each.op);
            if (home != npos) homes[each.thread] = home;
        }
        for (auto& [is, thread] : calls) {
            if (thread < data_.threads.size()) {
                const auto home = homes.find(thread);
                const range_id range =
                    host_.range_at(thread, home == homes.end() ? thread : home->second, is.called_ns);
                if (range != npos) is.place = place_number(where_.of(range));
            }
            out_.calls.push_back(is);
        }
        caller_ = calls.back().thread;
    }

    // Where the rank was when its recording ended: the thread that calls the collectives, if it is in a range, else the
    // thread whose innermost range was opened last.
    void find_ending() {
        rank_ending& out = out_.ending;
        std::map<thread_id, range_id> open;  // by thread: the innermost
        for (const range_id i : data_.ranges.ids()) {
            const timeline_range& range = data_.ranges[i];
            const bool is_open = range.open_at_end && range.takes_part() && range.style == range_style::push_pop &&
                                 range.end_ns >= out.at_ns && !att_.hidden.contains(range);
            if (is_open) open[range.thread] = i;
        }
        thread_id thread = caller_;
        for (auto each = found_.rbegin(); thread == npos && each != found_.rend(); ++each) thread = each->thread;
        if (!open.empty() && !open.contains(thread)) {
            thread = std::max_element(open.begin(), open.end(), [&](const auto& a, const auto& b) {
                         return data_.ranges[a.second].start_ns < data_.ranges[b.second].start_ns;
                     })->first;
        }
        if (const auto range = open.find(thread); range != open.end()) {
            out.place = where_.path(where_.of(range->second));
            if (out.place.empty()) out.place = data_.name(data_.ranges[range->second].name);
            out.place_ns = data_.ranges[range->second].start_ns;
        }
        if (thread == npos) return;
        for (auto each = data_.api_calls.rbegin(); each != data_.api_calls.rend(); ++each) {
            if (each->thread != thread) continue;
            if (each->end_ns == 0) out.call = call_names(data_)(*each);
            break;
        }
        for (auto each = data_.call_stacks.rbegin(); each != data_.call_stacks.rend(); ++each) {
            if (each->call >= data_.api_calls.size() || data_.api_calls[each->call].thread != thread) continue;
            const code_line* const line = own_line(data_, each->stack);
            const bool has_line = line != nullptr && line->line != 0 && !line->is_native;
            if (!has_line) continue;  // C++ code without debug information
            out.line = line_text(data_, *line);
            out.line_ns = data_.api_calls[each->call].start_ns;
            break;
        }
    }

    // After each of the host's waits for the GPU: the launches that would be the next to hold the GPU up, if it waited
    // less for collectives than it did. In local time work does not move then; its launch does, by the clock.
    // Streams with much of the GPU's computing. What a stream beside them does late, as to prepare a collective, holds
    // that collective up and not the GPU.
    std::set<std::uint32_t> computing_streams() const {
        std::map<std::uint32_t, std::int64_t> computes_ns;
        std::int64_t most_ns = 0;
        for (const gpu_op& of : data_.ops) {
            if (data_.place_of(of).device != device_ || class_of_(of) != op_class::compute) continue;
            most_ns = std::max(most_ns, computes_ns[of.place] += of.end_ns - of.start_ns);
        }
        std::set<std::uint32_t> out;
        for (const auto& [place, ns] : computes_ns) {
            if (static_cast<double>(ns) >= least_computing_share * static_cast<double>(most_ns)) out.insert(place);
        }
        return out;
    }

    void take_launches() {
        std::vector<std::int64_t> returns;
        for (const timeline_api_call& call : data_.api_calls) {
            const launch_kind kind = kind_of_call(call.domain, call.cbid);
            const bool may_wait =
                call.kind == api_class::wait || kind == launch_kind::transfer || kind == launch_kind::blocking_transfer;
            if (may_wait && call.end_ns - call.start_ns > latency_ns) returns.push_back(call.end_ns);
        }
        std::sort(returns.begin(), returns.end());
        if (returns.empty() || out_.waited.empty()) return;
        std::vector<op_id> ops;
        for (const op_id op : data_.ops.ids()) {
            const gpu_op& of = data_.ops[op];
            if (of.launch != npos && computing_streams_.contains(of.place) && of_op_[op] == npos) ops.push_back(op);
        }
        std::stable_sort(ops.begin(), ops.end(),
                         [&](op_id a, op_id b) { return data_.ops[a].start_ns < data_.ops[b].start_ns; });
        std::int64_t segment_ns = INT64_MIN;
        std::int64_t most = INT64_MIN;
        for (const op_id op : ops) {
            const std::int64_t launched_ns = data_.api_calls[data_.ops[op].launch].start_ns;
            const auto after = std::upper_bound(returns.begin(), returns.end(), launched_ns);
            if (after == returns.begin()) continue;
            const std::int64_t returned_ns = *(after - 1);
            if (returned_ns < segment_ns) continue;  // work of before, in another stream
            const std::int64_t begin_ns = data_.ops[op].start_ns;
            const std::int64_t at_ns = out_.local_ns(begin_ns);
            const std::int64_t needs = launched_ns - returned_ns - at_ns;
            if (returned_ns == segment_ns && needs <= most + least_launch_gain_ns) continue;
            segment_ns = returned_ns;
            most = needs;
            out_.launches.push_back({at_ns, begin_ns, returned_ns, launched_ns - returned_ns});
        }
    }

    // When a collective could have begun, were no other before it: when the work that it waits for ended, as events or
    // its stream say. Where no event was recorded, as in traces, that is taken to be the work that its thread launched
    // last, if that ended before: PyTorch has a collective wait for the stream from which it is called.
    // Else it is when it was launched.
    struct readiness {
        std::int64_t at_ns = 0;
        bool is_known = false;
    };
    readiness readiness_of(op_id op, const rank_collective& is, std::uint32_t in_stream) {
        std::int64_t at_ns = INT64_MIN;
        bool is_known = false;
        const auto first = std::lower_bound(data_.stream_waits.begin(), data_.stream_waits.end(), op,
                                            [](const stream_wait& wait, op_id of) { return wait.op < of; });
        for (auto wait = first; wait != data_.stream_waits.end() && wait->op == op; ++wait) {
            if (wait->waits_for >= data_.ops.size()) continue;
            at_ns = std::max(at_ns, data_.ops[wait->waits_for].end_ns);
            is_known = true;
        }
        const std::int64_t before_ns = in_stream == UINT32_MAX ? INT64_MIN : out_.collectives[in_stream].end_ns;
        if (const std::int64_t work_ns = end_before_[op]; work_ns > before_ns) {
            at_ns = std::max(at_ns, work_ns);
            is_known = true;
        }
        const call_id launch = data_.ops[op].launch;
        if (launch != npos) {
            const timeline_api_call& call = data_.api_calls[launch];
            at_ns = std::max(at_ns, call.start_ns);
            const bool has_no_events = data_.stream_waits.empty() && data_.ops[op].graph_node == npos;
            const auto work_ns = has_no_events ? latest_work_ns(call) : std::nullopt;
            if (work_ns && *work_ns <= is.begin_ns) {
                at_ns = std::max(at_ns, *work_ns);
                is_known = true;
            }
        }
        return {at_ns == INT64_MIN ? is.begin_ns : std::min(at_ns, is.begin_ns), is_known};
    }

    // The end of the work that the thread launched last before this call, in streams that compute.
    std::optional<std::int64_t> latest_work_ns(const timeline_api_call& call) {
        if (work_of_.empty()) {
            for (const op_id op : data_.ops.ids()) {
                const gpu_op& of = data_.ops[op];
                if (of.launch == npos || of_op_[op] != npos || !computing_streams_.contains(of.place)) continue;
                const timeline_api_call& by = data_.api_calls[of.launch];
                work_of_[by.thread].emplace_back(by.start_ns, of.end_ns);
            }
            for (auto& [thread, work] : work_of_) std::sort(work.begin(), work.end());
        }
        const auto of = work_of_.find(call.thread);
        if (of == work_of_.end()) return std::nullopt;
        const auto after = std::lower_bound(of->second.begin(), of->second.end(), std::pair(call.start_ns, INT64_MIN));
        if (after == of->second.begin()) return std::nullopt;
        return (after - 1)->second;
    }

    // The collective at whose end this one began, if all else that it waits for was there before; npos: none. Of its
    // own stream it may have ended long before where that is known: a GPU whose multiprocessors are taken by other
    // kernels begins the next one some 100 us later. Of another stream, while the GPU had nothing else to do.
    std::uint32_t held_up_by(const rank_collective& is, std::uint32_t in_stream, const readiness& ready) {
        std::uint32_t out = UINT32_MAX;
        if (in_stream != UINT32_MAX) {
            const std::int64_t end_ns = out_.collectives[in_stream].end_ns;
            const std::int64_t gap_ns = is.begin_ns - end_ns;
            const bool is_near = gap_ns <= (ready.is_known ? most_gap_ns : stream_gap_ns);
            if (gap_ns >= 0 && is_near && ready.at_ns <= end_ns) out = in_stream;
        }
        const auto wait = std::partition_point(out_.waited.begin(), out_.waited.end(),
                                               [&](const auto& each) { return each.from_ns < is.begin_ns; });
        if (wait == out_.waited.begin() || (wait - 1)->to_ns < is.begin_ns) return out;
        const std::vector<std::uint32_t>& order = by_end();
        const auto after = std::partition_point(
            order.begin(), order.end(), [&](std::uint32_t each) { return found_[each].is.end_ns <= is.begin_ns; });
        if (after == order.begin()) return out;
        const std::uint32_t latest = *(after - 1);
        const std::int64_t end_ns = found_[latest].is.end_ns;
        const bool is_in_wait = end_ns > (wait - 1)->from_ns && is.begin_ns - end_ns <= stream_gap_ns;
        const bool is_later = out == UINT32_MAX || end_ns > out_.collectives[out].end_ns;
        return is_in_wait && is_later && ready.at_ns <= end_ns ? latest : out;
    }

    range_id range_of(std::uint32_t index) const {
        const thread_id thread = found_[index].thread;
        if (thread == npos || thread >= data_.threads.size()) return npos;
        const thread_id home = adopting_thread(data_, att_, found_[index].op);
        return host_.range_at(thread, home == npos ? thread : home, found_[index].is.enqueued_ns);
    }

    const timeline& data_;
    const attribution& att_;
    const whole_steps& of_;
    rank_summary& out_;
    step_cursor in_steps_;
    step_parts part_of_;
    op_classifier class_of_;
    host_activity host_;
    code_places where_;
    idle_causes causes_;
    std::uint32_t device_ = npos;
    std::vector<collective_finder::found> found_;
    row_values<op_id, std::uint32_t> of_op_;  // index into found_
    std::vector<std::uint32_t> by_end_;       // indices into found_
    std::size_t ended_ = 0;                   // of these
    std::int64_t open_from_ns_ = INT64_MAX;
    std::int64_t open_to_ns_ = 0;
    // While collectives ran and nothing computed, the latest.
    std::deque<std::pair<std::int64_t, std::int64_t>> exposed_;
    row_values<op_id, std::int64_t> end_before_;  // find_ends_before()
    // By thread, in the order of launches: when each launch began, and its work ended. latest_work_ns() makes it.
    std::unordered_map<thread_id, std::vector<std::pair<std::int64_t, std::int64_t>>> work_of_;
    std::set<std::uint32_t> computing_streams_;
    std::int64_t waited_ns_ = 0;
    std::map<std::pair<std::size_t, std::uint64_t>, std::int64_t> time_;
    std::map<std::uint32_t, std::uint32_t> place_numbers_;  // of where_ → index into rank_summary::places
    thread_id caller_ = npos;                               // thread of the last call without an end
};

}  // namespace

std::string_view word_for_part(std::size_t part) noexcept {
    constexpr std::array<std::string_view, first_idle_part> words{"computing", "communication", "copies"};
    return part < first_idle_part ? words[part] : word_for(static_cast<idle_cause>(part - first_idle_part));
}

std::string_view to_string(collective_match by) noexcept {
    switch (by) {
        case collective_match::sequence:
            return "communicator and sequence";
        case collective_match::group:
            return "process group and sequence";
        case collective_match::order:
            break;
    }
    return "order in the step";
}

std::int64_t rank_summary::local_ns(std::int64_t at_ns) const noexcept {
    const auto after = std::partition_point(waited.begin(), waited.end(),
                                            [&](const waited_time& each) { return each.from_ns <= at_ns; });
    if (after == waited.begin()) return at_ns;
    const waited_time& last = *(after - 1);
    return at_ns - last.before_ns - (std::min(at_ns, last.to_ns) - last.from_ns);
}

std::int64_t rank_summary::begin_of_wait_ns(std::int64_t at_ns) const noexcept {
    const auto after = std::partition_point(waited.begin(), waited.end(),
                                            [&](const waited_time& each) { return each.from_ns <= at_ns; });
    if (after == waited.begin()) return at_ns;
    const waited_time& last = *(after - 1);
    return at_ns < last.to_ns ? last.from_ns : at_ns;
}

std::int64_t rank_summary::after_wait_ns(std::int64_t at_ns) const noexcept {
    const auto after = std::partition_point(waited.begin(), waited.end(),
                                            [&](const waited_time& each) { return each.from_ns <= at_ns; });
    return after == waited.begin() ? at_ns : std::max(at_ns, (after - 1)->to_ns);
}

rank_summary summarize_rank(const timeline& data, const attribution& att, std::string_view step_function,
                            const step_scope& scope) {
    rank_summary out;
    out.program = data.property("name");
    out.host = data.property("hostname");
    const std::string& start = data.property("process_start");
    out.clock = out.host + ' ' + start.substr(0, start.find(' '));
    out.start = start;
    out.rank = data.number("rank");
    out.local_rank = data.number("local_rank");
    out.world_size = data.number("world_size");
    out.pid = data.number("pid");
    out.run_id = data.property("run_id");
    out.ops = data.ops.size();
    for (const timeline_window& window : data.windows) out.windows.push_back({window.start_ns, window.end_ns});
    const timeline_quality& quality = data.quality;
    // A part of a timeline may have no window.
    const bool is_open = data.windows.empty() || data.windows.back().is_open;
    const bool has_died = quality.died || quality.process == process_state::gone;
    // A plan's last window ends before its program does.
    const bool has_exited = quality.has_exited && data.property("plan").empty();
    out.ending = {.at_ns = is_open ? data.end_ns : data.windows.back().end_ns,
                  .how = how_it_ended(data),
                  .has_died = has_died && is_open && quality.how != 0 && quality.how != exit_status_base,
                  .has_ended = has_exited || (has_died && is_open)};
    if (data.ops.empty()) return out;
    const breakdown_steps of = find_breakdown_steps(data, att, !step_function.empty(), scope);
    out.has_steps = of.has_steps;
    summary_maker(data, att, of, out).run();
    return out;
}

void add_window(rank_summary& to, rank_summary&& more) {
    const auto collectives = static_cast<std::uint32_t>(to.collectives.size());
    const auto steps = static_cast<std::uint32_t>(to.steps.size());
    const auto communicators = static_cast<std::uint32_t>(to.communicators.size());
    const auto places = static_cast<std::uint32_t>(to.places.size());
    const std::int64_t waited_ns =
        to.waited.empty() ? 0 : to.waited.back().before_ns + to.waited.back().to_ns - to.waited.back().from_ns;
    to.later_paths.emplace_back(more.path, collectives);
    for (rank_collective& each : more.collectives) {
        each.ready_ns -= waited_ns;
        if (each.after != UINT32_MAX) each.after += collectives;
        if (each.step != UINT32_MAX) each.step += steps;
        each.communicator += communicators;
        each.place += places;
        to.collectives.push_back(each);
    }
    for (rank_launch& each : more.launches) {
        each.at_ns -= waited_ns;
        to.launches.push_back(each);
    }
    for (rank_wait& each : more.waits) to.waits.push_back({each.at_ns - waited_ns, each.collective + collectives});
    for (rank_call& each : more.calls) {
        each.communicator += communicators;
        each.place += places;
    }
    // Of a window that has closed nobody knows what came after its calls.
    to.calls = std::move(more.calls);
    to.ending = std::move(more.ending);
    for (auto& each : more.waited) to.waited.push_back({each.from_ns, each.to_ns, each.before_ns + waited_ns});
    to.steps.insert(to.steps.end(), more.steps.begin(), more.steps.end());
    to.windows.insert(to.windows.end(), more.windows.begin(), more.windows.end());
    std::move(more.communicators.begin(), more.communicators.end(), std::back_inserter(to.communicators));
    std::move(more.places.begin(), more.places.end(), std::back_inserter(to.places));
    to.has_steps = to.has_steps && more.has_steps;
    to.unplaced += more.unplaced;
    to.ops += more.ops;
}

}  // namespace prof
