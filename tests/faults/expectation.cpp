// SPDX-License-Identifier: Apache-2.0
#include "faults/expectation.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <unordered_map>

#include "analysis/projection/projection.hpp"
#include "capture/reader.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

namespace fs = std::filesystem;

struct place {
    const timeline* in = nullptr;
    std::uint32_t index = npos;
};

// Which losses are reported, and how many records they may be.
struct reported_losses {
    std::uint64_t records = 0;
    std::uint64_t gpu_records = 0;
    bool anything = false;  // all may be lost
    bool all_gpu_work = false;
    bool names = false;
};

class inspection {
public:
    inspection(const std::string& directory, const journal& done, const circumstances& how)
        : directory_(directory), done_(done), how_(how) {}

    std::vector<std::string> run() {
        load();
        for (const auto& data : captures_) take(*data);
        note_error_output();
        for (std::uint32_t thread = 0; thread < journal::most_threads; ++thread) index_journal(done_.threads[thread]);
        expect_all_of_journal();
        expect_nothing_else();
        expect_structure();
        return std::move(problems_);
    }

private:
    template <typename... TParts>
    void problem(const TParts&... parts) {
        std::string line;
        ((line += parts), ...);
        if (problems_.size() < 20) problems_.push_back(line);
    }

    void load() {
        std::vector<std::string> paths;
        if (fs::is_directory(directory_)) {
            for (const auto& each : fs::directory_iterator(directory_)) paths.push_back(each.path());
        }
        std::sort(paths.begin(), paths.end());
        for (const std::string& path : paths) {
            if (path.ends_with(".prof")) load(path);
            // Where there is no memory at the end it comes while a file is being made.
            const bool ends_early = how_.error_output.find("no memory: the capture has no end") != std::string::npos;
            const bool is_excused = how_.was_killed || how_.unlink_failed || how_.disk_stands_still || ends_early;
            if (path.find(".tmp-") != std::string::npos && !is_excused) {
                problem("left behind: ", path);
            }
        }
    }

    // Of a forked child: it makes one range, and ends by _exit.
    bool is_childs(const std::string& path) const {
        return path.find("-" + std::to_string(done_.pid.load()) + ".", path.rfind('/')) == std::string::npos;
    }

    void load(const std::string& path) {
        // A process that dies before the header is in the file leaves less than that, and so does one that can neither
        // write it nor remove the file.
        const bool may_be_cut = how_.was_killed || how_.disk_stands_still || how_.unlink_failed || is_childs(path);
        if (may_be_cut && fs::file_size(path) < sizeof(format::file_header)) return;
        auto data = std::make_unique<timeline>();
        try {
            *data = load_timeline(path);
            expect_sums(path, *data);
            expect_no_damage(path, *data);
        } catch (const std::exception& failure) {
            return problem(path, ": ", failure.what());
        }
        if (is_childs(path)) return expect_end_reported(*data);
        // A dump is a copy: what it has stands in its capture, too.
        (path.find(".dump-") == std::string::npos ? captures_ : dumps_).push_back(std::move(data));
    }

    void expect_sums(const std::string& path, const timeline& data) {
        const projection projected = project(data);
        std::int64_t self = 0;
        std::uint64_t ops = 0;
        for (const projection_row& row : projected.rows) {
            self += row.gpu_self_ns;
            ops += row.self_ops;
        }
        if (self != projected.total_gpu_ns || ops != data.ops.size()) problem(path, ": self times do not add up");
    }

    // A capture that was not closed may end inside a chunk.
    void expect_no_damage(const std::string& path, const timeline& data) {
        if (data.quality.damaged_bytes == 0) return;
        capture_reader reader(path);
        for (chunk part; reader.next(part);) {
        }
        const std::string& first = reader.damage().first;
        if (data.quality.ended || first.find("ends inside a chunk") == std::string::npos) {
            problem(path, ": damaged: ", first);
        }
    }

    std::uint64_t dropped(const timeline& data, std::initializer_list<drop_cause> causes) const {
        std::uint64_t sum = 0;
        for (const drop_cause cause : causes) {
            const auto found = data.quality.dropped.find(std::string(to_string(cause)));
            if (found != data.quality.dropped.end()) sum += found->second;
        }
        return sum;
    }

    // What became of the rings; one that was sealed with all that was in them need not.
    void expect_end_reported(const timeline& data) {
        if (data.quality.ended || data.quality.died || !data.quality.recovery.empty()) return;
        problem("a capture without an end does not say so");
    }

    // What a capture has, and which losses it reports.
    void take(const timeline& data) {
        for (std::uint32_t i = 0; i < data.ranges.size(); ++i) {
            const timeline_range& range = data.ranges[i];
            if (range.payload_kind != payload_type::u64) continue;    // of a handler
            if (range.style == range_style::graph_context) continue;  // of a time in which nothing was recorded
            const auto serial = static_cast<std::uint32_t>(range.payload);
            const bool is_new = ranges_.try_emplace(serial, place{&data, i}).second;
            if (!is_new) problem("twice: range ", std::to_string(serial));
        }
        for (std::uint32_t i = 0; i < data.ops.size(); ++i) {
            if (data.ops[i].kind != op_kind::kernel) continue;
            const std::uint32_t serial = data.kernels[data.ops[i].detail].grid[0];
            const bool is_new = ops_.try_emplace(serial, place{&data, i}).second;
            if (!is_new) problem("twice: kernel ", std::to_string(serial));
        }
        for (const timeline_api_call& call : data.api_calls) launches_ += call.kind == api_class::launch ? 1 : 0;
        reported_.records += dropped(data, {drop_cause::ring_full, drop_cause::enclosing_range_dropped,
                                            drop_cause::no_ring, drop_cause::domains_full, drop_cause::write_failed});
        reported_.gpu_records += data.quality.launches_without_completion +
                                 dropped(data, {drop_cause::cupti_dropped, drop_cause::cupti_no_buffer,
                                                drop_cause::cupti_no_timestamp, drop_cause::cupti_unknown_record});
        reported_.names = reported_.names || dropped(data, {drop_cause::names_full}) != 0;
        const bool has_no_gpu_work = !data.property("missing").empty() || !data.property("cupti_notice").empty() ||
                                     dropped(data, {drop_cause::cupti_error}) != 0;
        reported_.all_gpu_work = reported_.all_gpu_work || has_no_gpu_work;
        if (data.quality.is_latest_part || !data.property("recording_notice").empty()) reported_.anything = true;
        expect_end_reported(data);
        const std::string& recovery = data.quality.recovery;
        if (data.quality.ended || (recovery.empty() && data.quality.died)) return;
        const bool is_recovered = recovery.find("were recovered from its rings") != std::string::npos &&
                                  recovery.find(", then ") == std::string::npos;
        if (!is_recovered) reported_.anything = true;
    }

    void note_error_output() {
        const std::string& text = how_.error_output;
        if (how_.stderr_fails) reported_.anything = true;
        std::smatch found;
        if (std::regex_search(text, found, std::regex(": ([0-9]+) records")))
            reported_.records += std::stoull(found[1]);
        if (std::regex_search(text, found, std::regex("and ([0-9]+) ranges, calls or GPU records"))) {
            reported_.records += std::stoull(found[1]);
        }
        if (text.find("no GPU work is recorded") != std::string::npos) reported_.all_gpu_work = true;
        if (text.find("another client of CUPTI") != std::string::npos) reported_.all_gpu_work = true;
        // Of a capture that is not there.
        for (const char* const phrase : {"nothing is recorded", "all of it is lost", "cannot create capture",
                                         "no drain thread", "cannot make the directory", "no memory for", "control"}) {
            if (text.find(phrase) != std::string::npos) reported_.anything = true;
        }
        if (how_.output_was_removed && (how_.was_killed || !text.empty())) reported_.anything = true;
        if (captures_.empty() && (how_.was_killed || done_.failed_commands != 0)) reported_.anything = true;
    }

    struct entry {
        journal_entry made;
        bool was_popped = false;
        std::uint32_t popped_after = 0;
    };

    void index_journal(const journal_area& area) {
        const std::uint32_t count = area.count.load();
        for (std::uint32_t i = 0; i < count; ++i) {
            const journal_entry& e = area.entries[i];
            if (e.what == deed::pushed) pushed_[e.serial] = {.made = e};
            if (e.what == deed::launched) launched_[e.serial] = {.made = e};
            if (e.what != deed::popped) continue;
            entry& range = pushed_[e.serial];
            range.was_popped = true;
            range.popped_after = e.after;
        }
    }

    // Whether libprof recorded from before it to after it.
    recorded is_recorded(const journal_entry& e) const {
        if (e.before != e.after || e.before % 2 != 0) return recorded::unknown;
        return done_.phases[e.before].load();
    }

    void expect_all_of_journal() {
        std::uint64_t ranges_missing = 0;
        std::uint64_t ops_missing = 0;
        std::uint64_t launches = 0;
        std::uint32_t first = 0;
        for (const auto& [serial, e] : pushed_) {
            if (is_recorded(e.made) != recorded::yes || ranges_.contains(serial)) continue;
            if (ranges_missing++ == 0) first = serial;
        }
        for (const auto& [serial, e] : launched_) {
            if (is_recorded(e.made) != recorded::yes) continue;
            ++launches;
            ops_missing += ops_.contains(serial) ? 0 : 1;
        }
        if (reported_.anything) return;
        if (ranges_missing > reported_.records) {
            problem(std::to_string(ranges_missing), " ranges are missing (the first: ", std::to_string(first), " of ",
                    std::to_string(pushed_.size()), "), and ", std::to_string(reported_.records), " are said to be");
        }
        if (reported_.all_gpu_work) return;
        const std::uint64_t lost = reported_.records - std::min(reported_.records, ranges_missing);
        if (launches > launches_ + lost) {
            problem(std::to_string(launches - launches_), " launches are missing, and ", std::to_string(lost),
                    " are said to be");
        }
        if (ops_missing > reported_.gpu_records + lost) {
            problem(std::to_string(ops_missing), " kernels are missing, and ",
                    std::to_string(reported_.gpu_records + lost), " are said to be");
        }
    }

    // A thread may have died between a thing and its entry: that is the next.
    bool is_next(std::uint32_t serial, const std::map<std::uint32_t, entry>& known) const {
        return known.contains(serial - 1) || serial % thread_step == 1;
    }

    void expect_nothing_else() {
        for (const auto& [serial, at] : ranges_) {
            const auto made = pushed_.find(serial);
            if (made == pushed_.end() && !is_next(serial, pushed_)) problem("made up: range ", std::to_string(serial));
            if (made == pushed_.end()) continue;
            if (is_recorded(made->second.made) == recorded::no)
                problem("not recorded then: range ", std::to_string(serial));
            const std::string name(at.in->name(at.in->ranges[at.index].name));
            if (name != range_name_of(serial) && !(name.empty() && (reported_.names || reported_.anything))) {
                problem("range ", std::to_string(serial), " has the name \"", name, "\"");
            }
        }
        for (const auto& [serial, at] : ops_) {
            if (!launched_.contains(serial) && !is_next(serial, launched_))
                problem("made up: kernel ", std::to_string(serial));
            const std::string name(at.in->kernel_symbol(at.in->ops[at.index]));
            const std::string wanted = serial % 2 == 0 ? "copy_k" : "gemm_k";
            // Out of CUPTI's buffers it has none: that of its launch is taken, if there is one.
            const bool may_lack_it = reported_.names || at.in->ops[at.index].launch == npos;
            if (name.find(wanted) == std::string::npos && !(name.empty() && may_lack_it)) {
                problem("kernel ", std::to_string(serial), " has the name \"", name, "\"");
            }
        }
    }

    std::uint32_t serial_of(const timeline& data, std::uint32_t range) const {
        while (range != npos && data.ranges[range].payload_kind != payload_type::u64) range = data.ranges[range].parent;
        return range == npos ? 0 : static_cast<std::uint32_t>(data.ranges[range].payload);
    }

    // Of a range or a kernel: the innermost one of those around it that is there.
    void expect_inside(const char* what, std::uint32_t serial, const journal_entry& made, std::uint32_t found) {
        std::uint32_t wanted = made.parent;
        for (; wanted != 0 && wanted != found; wanted = pushed_[wanted].made.parent) {
            const auto there = ranges_.find(wanted);
            const bool is_sure = there != ranges_.end() && pushed_[wanted].made.before == made.after &&
                                 is_recorded(made) == recorded::yes;
            if (is_sure) break;
        }
        if (wanted != found) {
            problem(what, " ", std::to_string(serial), " is in range ", std::to_string(found), " and not in ",
                    std::to_string(wanted));
        }
    }

    void expect_structure() {
        for (const auto& [serial, at] : ranges_) {
            const timeline_range& range = at.in->ranges[at.index];
            const auto made = pushed_.find(serial);
            if (made == pushed_.end() || at.in->quality.is_latest_part) continue;
            expect_inside("range", serial, made->second.made, serial_of(*at.in, range.parent));
            const bool is_whole = made->second.was_popped && made->second.popped_after == made->second.made.before &&
                                  is_recorded(made->second.made) == recorded::yes;
            if (range.open_at_end && is_whole && !reported_.anything && reported_.records == 0) {
                problem("range ", std::to_string(serial), " has no end");
            }
        }
        for (const auto& [serial, at] : ops_) {
            const gpu_op& op = at.in->ops[at.index];
            const auto made = launched_.find(serial);
            if (made == launched_.end() || at.in->quality.is_latest_part) continue;
            if (op.launch == npos) {
                const bool is_sure = is_recorded(made->second.made) == recorded::yes;
                if (is_sure && !reported_.anything && reported_.records == 0)
                    problem("kernel ", std::to_string(serial), " has no launch");
                continue;
            }
            const std::uint32_t open = at.in->api_calls[op.launch].open;
            const std::uint32_t range = open == npos ? npos : at.in->open_nodes[open].range;
            expect_inside("kernel", serial, made->second.made, serial_of(*at.in, range));
        }
    }

    const std::string directory_;
    const journal& done_;
    const circumstances& how_;
    std::vector<std::string> problems_;
    std::vector<std::unique_ptr<timeline>> captures_;
    std::vector<std::unique_ptr<timeline>> dumps_;
    std::map<std::uint32_t, place> ranges_;  // by serial number
    std::map<std::uint32_t, place> ops_;
    std::uint64_t launches_ = 0;
    std::map<std::uint32_t, entry> pushed_;
    std::map<std::uint32_t, entry> launched_;
    reported_losses reported_;
};

}  // namespace

std::vector<std::string> shortcomings(const std::string& directory, const journal& done, const circumstances& how) {
    return inspection(directory, done, how).run();
}

}  // namespace prof::test
