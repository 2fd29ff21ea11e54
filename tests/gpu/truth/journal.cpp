// SPDX-License-Identifier: Apache-2.0
#include "journal.hpp"

#include <cstdio>
#include <memory>
#include <utility>

namespace truth {
namespace {

constexpr const char* kind_names[] = {"kernel", "copy", "set", "peer"};

// The program's own names: nothing in them needs escaping.
std::string quoted(const std::string& text) { return '"' + text + '"'; }

template <typename TList, typename TText>
std::string list(const TList& elements, TText&& text) {
    std::string out = "[";
    for (const auto& each : elements) out += (out.size() > 1 ? ", " : "") + text(each);
    return out + "]";
}

}  // namespace

std::uint32_t journal::open(const std::string& path, bool is_process_range) {
    const std::scoped_lock lock{mutex_};
    instances_.push_back({path, is_process_range});
    return static_cast<std::uint32_t>(instances_.size() - 1);
}

void journal::add(const operation& op) {
    const std::scoped_lock lock{mutex_};
    operations_.push_back(op);
}

void journal::add(const timed_by_events& timed) {
    const std::scoped_lock lock{mutex_};
    timed_.push_back(timed);
}

void journal::add(const timed_wait& timed) {
    const std::scoped_lock lock{mutex_};
    waits_.push_back(timed);
}

spin journal::new_spin(int place, kernel which, std::uint64_t ns, std::uint32_t runs) {
    const std::scoped_lock lock{mutex_};
    spin made;
    made.which = which;
    made.ns = ns;
    made.id = ids_[place]++;
    made.first = std::exchange(stamps_used_[place], stamps_used_[place] + runs);
    return made;
}

std::uint32_t journal::next_replay() {
    const std::scoped_lock lock{mutex_};
    return ++replays_;
}

std::uint32_t journal::stamps_used(int place) const {
    const std::scoped_lock lock{mutex_};
    return stamps_used_[place];
}

void journal::set_stamps(int place, std::vector<stamp> stamps) {
    const std::scoped_lock lock{mutex_};
    stamps_[static_cast<std::size_t>(place)] = std::move(stamps);
}

bool journal::write(const std::string& path, const std::string& machine,
                    const std::vector<std::string>& sections) const {
    const std::scoped_lock lock{mutex_};
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path.c_str(), "w"), std::fclose};
    if (file == nullptr) {
        std::fprintf(stderr, "truth: cannot write %s\n", path.c_str());
        return false;
    }
    std::fprintf(file.get(), "{\"machine\": %s,\n \"sections\": %s,\n \"instances\": [", quoted(machine).c_str(),
                 list(sections, quoted).c_str());
    const char* separator = "\n";
    for (const instance& each : instances_) {
        std::fprintf(file.get(), "%s  {\"path\": %s, \"process\": %s}", separator, quoted(each.path).c_str(),
                     each.is_process_range ? "true" : "false");
        separator = ",\n";
    }
    std::fprintf(file.get(), "],\n \"operations\": [");
    separator = "\n";
    for (const operation& op : operations_) {
        std::fprintf(file.get(), "%s  {\"kind\": \"%s\", \"device\": %d, \"open\": %s, \"adopted\": %s", separator,
                     kind_names[static_cast<int>(op.what)], device_of(op.place),
                     list(op.open, [](std::uint32_t id) { return std::to_string(id); }).c_str(),
                     op.is_adopted ? "true" : "false");
        if (op.what == operation::kind::kernel) {
            const std::vector<stamp>& stamps = stamps_[static_cast<std::size_t>(op.place)];
            const stamp ran = op.stamp < stamps.size() ? stamps[op.stamp] : stamp{};
            std::fprintf(file.get(), ", \"name\": \"%s\", \"requested_ns\": %llu, \"start_ns\": %llu, \"end_ns\": %llu",
                         op.kernel.c_str(), static_cast<unsigned long long>(op.requested_ns),
                         static_cast<unsigned long long>(ran.start_ns), static_cast<unsigned long long>(ran.end_ns));
        } else {
            std::fprintf(file.get(), ", \"bytes\": %llu", static_cast<unsigned long long>(op.bytes));
        }
        if (op.replay != 0) {
            std::fprintf(file.get(), ", \"replay\": %u, \"captured\": %s", op.replay,
                         list(op.captured, quoted).c_str());
        }
        std::fprintf(file.get(), "}");
        separator = ",\n";
    }
    std::fprintf(file.get(), "],\n \"events\": [");
    separator = "\n";
    for (const timed_by_events& each : timed_) {
        std::fprintf(file.get(), "%s  {\"path\": %s, \"elapsed_ns\": %.0f}", separator, quoted(each.path).c_str(),
                     each.elapsed_ns);
        separator = ",\n";
    }
    std::fprintf(file.get(), "],\n \"waits\": [");
    separator = "\n";
    for (const timed_wait& each : waits_) {
        std::fprintf(file.get(), "%s  {\"path\": %s, \"took_ns\": %llu, \"least_ns\": %llu}", separator,
                     quoted(each.path).c_str(), static_cast<unsigned long long>(each.took_ns),
                     static_cast<unsigned long long>(each.least_ns));
        separator = ",\n";
    }
    return std::fprintf(file.get(), "]}\n") > 0;
}

}  // namespace truth
