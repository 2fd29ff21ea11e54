// SPDX-License-Identifier: Apache-2.0
#include "timeline/kineto/read_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "timeline/kineto/json_scanner.hpp"
#include "timeline/kineto/trace_contents.hpp"
#include "timeline/kineto/trace_event.hpp"
#include "timeline/kineto/trace_head.hpp"
#include "timeline/kineto/trace_text.hpp"

namespace prof {
namespace {

class trace_reader {
public:
    trace_reader(const std::string& path, progress_observer* progress)
        : path_(path), progress_(progress), text_(path), scanner_(text_) {}

    capture_contents run() {
        try {
            scanner_.peek() == '[' ? read_events() : read_top();
        } catch (const json_damage& damage) {
            note(damage);
            if (!damage.is_end && scanner_.resume()) read_events_on();
        }
        refuse_others();
        try {
            capture_contents out = contents_.finish(head_);
            describe_damage(out);
            return out;
        } catch (const mixed_processes& mixed) {
            throw error(of_several(mixed));
        }
    }

private:
    void read_top() {
        scanner_.begin('{');
        for (std::string_view key; scanner_.next_member(key);) {
            const std::string name(key);
            if (name == "traceEvents" && scanner_.peek() == '[') {
                read_events();
            } else {
                read_head(scanner_, name, head_);
                if (head_.is_of_libprof) contents_.expect_libprof();
            }
        }
    }

    void read_events() {
        has_events_ = true;
        scanner_.begin('[');
        try {
            while (scanner_.next_element()) read_one();
        } catch (const json_damage& damage) {
            note(damage);
            if (damage.is_end || !scanner_.resume()) return;
            read_events_on();
        }
    }

    // Goes on after damage, from the beginning of an event.
    void read_events_on() {
        has_events_ = true;
        for (;;) {
            try {
                skipped_ += scanner_.offset() - damaged_from_;
                damaged_from_ = scanner_.offset();
                read_one();
                while (scanner_.next_element()) read_one();
                return;
            } catch (const json_damage& damage) {
                note(damage);
                if (damage.is_end || !scanner_.resume()) return;
            }
        }
    }

    void read_one() {
        damaged_from_ = scanner_.offset();
        if (scanner_.peek() != '{') return scanner_.skip();
        read_event(scanner_, event_);
        contents_.add(event_);
        damaged_from_ = scanner_.offset();
        constexpr std::uint64_t events_a_report = 4096;
        if (progress_ != nullptr && contents_.events() % events_a_report == 0) {
            progress_->update(text_.read_bytes(), text_.file_bytes());
        }
    }

    void note(const json_damage& damage) {
        if (damage.is_end) {
            is_cut_ = true;
            cut_off_ = damage.offset - std::min(damage.offset, damaged_from_);
        } else if (places_++ == 0) {
            first_damage_ = damage;
        }
    }

    void refuse_others() const {
        const std::string what = path_ + (text_.is_compressed() ? " is compressed JSON" : " is JSON");
        if (is_cut_ && contents_.events() == 0) {
            throw error(path_ + " ends before the events of a trace begin" + why_it_ends());
        }
        if (!has_events_) {
            if (places_ != 0) {
                throw error(fmt::format("{} looks like JSON and cannot be read at byte {}: {}", path_,
                                        first_damage_.offset, first_damage_.what));
            }
            throw error(what + ", and no trace: it has no \"traceEvents\"");
        }
        if (head_.is_of_libprof && head_.capture.empty()) {
            throw error(path_ + " is a trace of several captures; give the captures, or a trace of each");
        }
        if (contents_.has_known()) return;
        if (contents_.events() == 0) throw error(what + ", and its list of events is empty");
        throw error(fmt::format("{}, and none of its {} events is of PyTorch's profiler", what, contents_.events()));
    }

    std::string of_several(const mixed_processes& mixed) const {
        std::string pids;
        for (std::size_t i = 0; i < std::min<std::size_t>(mixed.pids.size(), 8); ++i) {
            pids += fmt::format("{}{}", i == 0 ? "" : ", ", mixed.pids[i]);
        }
        return fmt::format(
            "{} was merged of {} processes (pid {}{}) that number their launches alike, and its GPU operations do not "
            "name theirs: give the traces that were merged, or split it by process and GPU: jq '.traceEvents |= "
            "map(select(.pid == {} or .args.device == 0))'",
            path_, mixed.pids.size(), pids, mixed.pids.size() > 8 ? ", …" : "", mixed.pids.front());
    }

    std::string why_it_ends() const { return text_.failure().empty() ? std::string() : ": " + text_.failure(); }

    void describe_damage(capture_contents& out) {
        out.damage.bytes = skipped_;
        if (places_ != 0) {
            out.warnings.push_back(fmt::format("the trace is damaged in {} place{}, first at byte {} of its text: {}",
                                               places_, places_ == 1 ? "" : "s", first_damage_.offset,
                                               first_damage_.what));
        }
        if (is_cut_) {
            out.warnings.push_back(fmt::format(
                "the trace ends early, after {} events{}: its last {} bytes are no whole event and left out",
                contents_.events(), why_it_ends(), cut_off_));
        } else if (!text_.failure().empty()) {
            out.warnings.push_back(text_.failure());
        }
    }

    const std::string& path_;
    progress_observer* progress_;
    trace_text text_;
    json_scanner scanner_;
    trace_event event_;
    trace_head head_;
    trace_contents contents_;
    bool has_events_ = false;
    bool is_cut_ = false;
    std::uint64_t damaged_from_ = 0;  // the beginning of what is being read
    std::uint64_t skipped_ = 0;
    std::uint64_t cut_off_ = 0;
    std::uint64_t places_ = 0;
    json_damage first_damage_;
};

// The first characters of the file's text; "" if it cannot be read.
std::string beginning_of(const std::string& path, std::size_t characters) {
    try {
        trace_text text(path);
        std::string begin(characters, '\0');
        begin.resize(text.read(begin));
        return begin;
    } catch (const error&) {
        return {};
    }
}

bool is_json(std::string_view begin) {
    const std::size_t first = begin.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && (begin[first] == '{' || begin[first] == '[');
}

}  // namespace

std::string foreign_format(const std::string& path) {
    struct signature {
        std::string_view begin;
        std::string_view what;
    };
    constexpr std::array signatures = {
        signature{"PK\x03\x04", "a zip archive; unpack it and give the trace in it"},
        signature{"BZh", "compressed by bzip2; unpack it (bunzip2)"},
        signature{"\x28\xB5\x2F\xFD", "compressed by zstd; unpack it (unzstd)"},
        signature{"\xFD"
                  "7zXZ",
                  "compressed by xz; unpack it (unxz)"},
        signature{"7z\xBC\xAF\x27\x1C", "a 7z archive; unpack it and give the trace in it"},
        signature{"SQLite format 3", "an SQLite database, as Nsight Systems and rocprof export it; prof reads none"},
    };
    const std::string begin = beginning_of(path, 512);
    for (const signature& known : signatures) {
        if (begin.starts_with(known.begin)) return std::string(known.what);
    }
    constexpr std::size_t tar_mark = 257;
    if (begin.size() > tar_mark && begin.compare(tar_mark, 5, "ustar") == 0) {
        return "a tar archive; unpack it and give the trace in it";
    }
    const std::string_view name = path;
    if (name.ends_with(".xplane.pb")) return "a profile of XLA's (XSpace); give the *.trace.json.gz beside it";
    if (name.ends_with(".nsys-rep") || name.ends_with(".qdrep")) return "a report of Nsight Systems; prof reads none";
    if (name.ends_with(".pftrace") || name.ends_with(".perfetto-trace")) {
        return "a trace in Perfetto's own format; prof reads traces in JSON";
    }
    return {};
}

bool may_be_trace(const std::string& path) { return is_json(beginning_of(path, 256)); }

bool begins_like_trace(const std::string& path) {
    constexpr std::array<std::string_view, 4> words = {"\"traceEvents\"", "\"schemaVersion\"", "\"deviceProperties\"",
                                                       "\"ph\""};
    const std::string begin = beginning_of(path, 64U << 10);
    return is_json(begin) && std::any_of(words.begin(), words.end(),
                                         [&](std::string_view word) { return begin.find(word) != std::string::npos; });
}

capture_contents read_trace(const std::string& path, progress_observer* progress) {
    return trace_reader(path, progress).run();
}

}  // namespace prof
