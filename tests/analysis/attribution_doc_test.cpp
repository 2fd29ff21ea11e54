// SPDX-License-Identifier: Apache-2.0
// Works the examples of docs/reference/attribution.md again: each ```scenario is run, and the ```result after it must
// be what comes out, to the character. Times are taken as they stand. Fixed rows without work are left out.
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/projection/projection.hpp"
#include "support/capture_builder.hpp"

namespace prof::attribution_doc_test {
namespace {

struct example {
    std::string scenario;
    std::string result;
};

std::vector<example> read_examples(const std::string& path) {
    std::ifstream file{path};
    std::vector<example> examples;
    std::string* block = nullptr;
    for (std::string line; std::getline(file, line);) {
        if (line == "```scenario") {
            block = &examples.emplace_back().scenario;
        } else if (line == "```result") {
            block = &examples.back().result;
        } else if (line == "```") {
            block = nullptr;
        } else if (block != nullptr) {
            *block += line + '\n';
        }
    }
    return examples;
}

class scenario {
public:
    explicit scenario(const std::string& text) {
        std::istringstream lines{text};
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words{line};
            std::string first;
            words >> first;
            first == "stream" ? gpu(words) : host(first, words);
        }
    }

    timeline build() const { return capture_.build(); }

private:
    static std::string rest(std::istringstream& words) {
        std::string text;
        std::getline(words >> std::ws, text);
        return text;
    }

    // "push comm @NCCL": the text and the domain.
    std::pair<std::string, std::uint16_t> named(std::istringstream& words) {
        std::string text = rest(words);
        const std::size_t at = text.find('@');
        if (at == std::string::npos) return {text, 0};
        const std::string domain = text.substr(at + 1);
        text.erase(at == 0 ? 0 : at - 1);
        const auto found = domains_.find(domain);
        if (found != domains_.end()) return {text, found->second};
        return {text, domains_.emplace(domain, capture_.domain(domain)).first->second};
    }

    std::uint64_t id(const std::string& text) { return ids_.emplace(text, ids_.size() + 1).first->second; }

    // "python 10 push forward"
    void host(const std::string& name, std::istringstream& words) {
        auto found = threads_.find(name);
        if (found == threads_.end()) found = threads_.emplace(name, &capture_.thread(name)).first;
        thread_script& thread = *found->second;
        std::uint64_t time = 0;
        std::string what;
        words >> time >> what;
        const auto [text, domain] = named(words);
        if (what == "push") {
            thread.push(time, text, domain);
        } else if (what == "pop") {
            thread.pop(time, domain);
        } else if (what == "launch") {
            thread.launch(time, id(text));
        } else if (what == "begin") {
            thread.begin_capture(time, id(text));
        } else if (what == "capture") {
            thread.node(time, id(text));
        } else if (what == "here") {
            thread.here(time, id(text));
        } else if (what == "adopt") {
            thread.adopt(time, id(text));
        } else if (what == "leave") {
            thread.leave(time);
        } else if (what == "start") {
            thread.start(time, text, id(text));
        } else if (what == "end") {
            thread.end(time, id(text));
        } else {
            ADD_FAILURE() << "what is '" << what << "'?";
        }
    }

    // "stream 7 50..60 attention", "stream 7 50..60 graph 1: attention"
    void gpu(std::istringstream& words) {
        placement on;
        std::uint64_t start = 0;
        std::uint64_t end = 0;
        char dot = 0;
        words >> on.stream >> start >> dot >> dot >> end;
        std::string launch = rest(words);
        if (const std::size_t colon = launch.find(": "); colon != std::string::npos) {
            on.graph_node = id(launch.substr(colon + 2));
            launch.erase(colon);
        }
        capture_.kernel(id(launch), start, end, on);
    }

    capture_builder capture_;
    std::map<std::string, thread_script*> threads_;
    std::map<std::string, std::uint16_t> domains_;
    std::map<std::string, std::uint64_t> ids_;
};

std::string table(const projection& p) {
    std::size_t width = 0;
    const auto path = [](const projection_row& r) { return r.path + (r.is_captured ? " (captured)" : ""); };
    const auto is_shown = [](const projection_row& r) { return r.kind == row_kind::range || r.ops != 0; };
    for (const projection_row& row : p.rows) {
        if (is_shown(row)) width = std::max(width, path(row).size());
    }
    const auto line = [&](const projection_row& r) {
        return fmt::format("{:{}}  {:9}  {:4}  {:3}  {:4}  {:5}  {:4}  {:4}  {:3}  {:7}\n", path(r), width, r.instances,
                           r.host_ns, r.gpu_sum_ns, r.gpu_self_ns, r.gpu_child_ns, r.gpu_busy_ns, r.gpu_span_ns, r.ops,
                           r.adopted_ops);
    };
    std::string text =
        fmt::format("{:{}}  instances  host  sum  self  child  busy  span  ops  adopted\n", "path", width);
    for (const projection_row& row : p.rows) {
        if (is_shown(row)) text += line(row);
    }
    if (!p.process_ranges.empty()) text += "\nprocess\n";
    for (const projection_row& row : p.process_ranges) text += line(row);
    return text;
}

TEST(AttributionDoc, MatchesTheProjection) {
    const std::vector<example> examples = read_examples(PROF_ATTRIBUTION_DOC);
    EXPECT_EQ(examples.size(), 12U);
    for (const example& e : examples) {
        EXPECT_EQ(e.result, table(project(scenario{e.scenario}.build()))) << "of\n" << e.scenario;
    }
}

}  // namespace
}  // namespace prof::attribution_doc_test
