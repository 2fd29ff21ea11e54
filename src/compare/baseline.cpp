// SPDX-License-Identifier: Apache-2.0
#include "compare/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/number.hpp"
#include "base/version.hpp"
#include "timeline/kineto/json_scanner.hpp"
#include "timeline/kineto/trace_text.hpp"

namespace prof {
namespace {

constexpr std::string_view version_key = "prof_baseline";
// Since 2 runs have their memory. One of version 1 is read, too: no allocation was recorded then, as far as it tells.
constexpr std::uint32_t version = 2;
constexpr std::uint32_t oldest_version = 1;
constexpr std::array<const char*, 3> facts_of_machine = {"host", "GPU", "highest GPU clock"};
constexpr std::size_t most_lengths = 1'000;  // of a run's steps
constexpr std::size_t most_rows = 1'000;     // of a list

using cost_list = std::vector<named_cost> run_profile::*;
struct kept_list {
    std::string_view key;
    cost_list list;
    std::string_view unit;  // the key of the amounts
};
constexpr std::array<kept_list, 6> lists = {{{"ranges", &run_profile::ranges, "ns"},
                                             {"numbered_ranges", &run_profile::numbered_ranges, "ns"},
                                             {"modules", &run_profile::modules, "ns"},
                                             {"kernels", &run_profile::kernels, "ns"},
                                             {"lines", &run_profile::lines, "ns"},
                                             {"memory", &run_profile::memory, "bytes"}}};
constexpr std::array<std::pair<const char*, double run_profile::*>, 6> figures = {
    {{"devices", &run_profile::devices},
     {"step_ns", &run_profile::step_ns},
     {"host_ns", &run_profile::host_ns},
     {"gpu_sum_ns", &run_profile::gpu_sum_ns},
     {"gpu_busy_ns", &run_profile::gpu_busy_ns},
     {"ops", &run_profile::ops}}};
// Null: not recorded.
constexpr std::array<std::pair<const char*, double run_profile::*>, 2> memory_figures = {
    {{"peak_bytes", &run_profile::peak_bytes}, {"median_peak_bytes", &run_profile::median_peak_bytes}}};
constexpr std::array<std::pair<const char*, bool run_profile::*>, 4> flags = {
    {{"has_steps", &run_profile::has_steps},
     {"has_modules", &run_profile::has_modules},
     {"has_lines", &run_profile::has_lines},
     {"is_diagnosed", &run_profile::is_diagnosed}}};

// Three decimals of a nanosecond, or of a count: more than anybody can measure.
std::string number_text(double value) {
    std::string out = fmt::format("{:.3f}", value);
    while (out.ends_with('0')) out.pop_back();
    if (out.ends_with('.')) out.pop_back();
    return out;
}

std::vector<double> shortened(const std::vector<double>& lengths) {
    const std::size_t each = (lengths.size() + most_lengths - 1) / most_lengths;
    if (each <= 1) return lengths;
    std::vector<double> out;
    for (std::size_t begin = 0; begin < lengths.size(); begin += each) {
        const std::size_t end = std::min(begin + each, lengths.size());
        double sum = 0;
        for (std::size_t i = begin; i < end; ++i) sum += lengths[i];
        out.push_back(sum / static_cast<double>(end - begin));
    }
    return out;
}

// "[1,2,3]" of what text(i) makes.
template <typename TText>
std::string array_text(std::size_t count, TText&& text) {
    std::string out = "[";
    for (std::size_t i = 0; i < count; ++i) out.append(i == 0 ? "" : ",").append(text(i));
    return out + "]";
}

std::string object_text(const std::map<std::string, std::string>& of) {
    std::string out = "{";
    for (const auto& [key, value] : of) {
        out.append(out.size() == 1 ? "" : ", ").append(json_string(key)).append(": ").append(json_string(value));
    }
    return out + "}";
}

std::string run_text(const run_profile& run) {
    std::string out = "{\"files\": ";
    out += array_text(run.files.size(), [&](std::size_t i) { return json_string(run.files[i]); });
    out.append(",\n   \"facts\": ").append(object_text(run.facts));
    for (const auto& [key, flag] : flags) out += fmt::format(", \"{}\": {}", key, run.*flag);
    out += ",\n  ";
    for (const auto& [key, figure] : figures) out += fmt::format(" \"{}\": {},", key, number_text(run.*figure));
    for (const auto& [key, figure] : memory_figures) {
        out += fmt::format(" \"{}\": {},", key, run.*figure > 0 ? number_text(run.*figure) : "null");
    }
    const std::vector<double> lengths = shortened(run.step_lengths_ns);
    out += fmt::format("\n   \"steps\": {}, \"step_lengths_ns\": ", run.has_steps ? run.step_lengths_ns.size() : 0);
    out += array_text(lengths.size(), [&](std::size_t i) { return fmt::format("{}", std::llround(lengths[i])); });
    return out + "}";
}

// A row for each name, with a value for each run; null where the run has none.
struct cost_row {
    std::string name;
    std::vector<std::optional<named_cost>> of_run;
    double sum = 0;
};

std::vector<cost_row> rows_of(const std::vector<run_profile>& runs, cost_list list) {
    std::map<std::string, std::size_t> places;
    std::vector<cost_row> out;
    for (std::size_t run = 0; run < runs.size(); ++run) {
        for (const named_cost& cost : runs[run].*list) {
            const auto [at, is_new] = places.try_emplace(cost.name, out.size());
            if (is_new) out.push_back({.name = cost.name, .of_run = decltype(cost_row::of_run)(runs.size())});
            out[at->second].of_run[run] = cost;
            out[at->second].sum += cost.amount;
        }
    }
    std::stable_sort(out.begin(), out.end(), [](const cost_row& a, const cost_row& b) { return a.sum > b.sum; });
    return out;
}

std::string row_text(const cost_row& row, std::string_view unit) {
    const auto values = [&](double named_cost::*value) {
        return array_text(row.of_run.size(), [&](std::size_t i) {
            return row.of_run[i] ? number_text((*row.of_run[i]).*value) : std::string("null");
        });
    };
    return fmt::format("{{\"name\": {}, \"{}\": {}, \"count\": {}}}", json_string(row.name), unit,
                       values(&named_cost::amount), values(&named_cost::count));
}

// The cells of all runs, named by phase and use.
struct cell_row {
    time_cell cell;
    std::vector<double> ns;  // by run
};

std::vector<cell_row> cells_of(const std::vector<run_profile>& runs) {
    std::vector<cell_row> out;
    for (std::size_t run = 0; run < runs.size(); ++run) {
        for (const time_cell& cell : runs[run].cells) {
            auto known =
                std::find_if(out.begin(), out.end(), [&](const cell_row& one) { return one.cell.is_same(cell); });
            if (known == out.end()) known = out.insert(known, {.cell = cell, .ns = std::vector<double>(runs.size())});
            known->ns[run] = cell.ns;
        }
    }
    return out;
}

// ---- reading

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw error(fmt::format("{}: this baseline cannot be used: {}; prof baseline makes one", path, why));
}

// Members of one object, of which unknown ones are skipped.
class baseline_reader {
public:
    explicit baseline_reader(const std::string& path) : path_(path), text_(path), json_(text_) {}

    baseline read() {
        baseline out;
        bool has_version = false;
        for_members([&](const std::string& key) {
            if (key == version_key) {
                if (const double found = number(); found != version && found != oldest_version) {
                    refuse(path_,
                           fmt::format("it has version {}, and {} and {} are known", found, oldest_version, version));
                }
                has_version = true;
            } else if (key == "libprof") {
                out.libprof = text();
            } else if (key == "machine") {
                out.machine = texts();
            } else if (key == "runs") {
                for_elements([&] { out.runs.push_back(run()); });
            } else if (key == "cells") {
                for_elements([&] { read_cell(out.runs); });
            } else if (key == "findings") {
                for_elements([&] { read_finding(out.runs); });
            } else if (key == "notes") {
                for_elements([&] { out.notes.push_back(text()); });
            } else if (const auto* const list = list_named(key); list != nullptr) {
                for_elements([&] { read_cost(out.runs, *list); });
            } else {
                json_.skip();
            }
        });
        if (!has_version) refuse(path_, "it is no baseline");
        if (out.runs.empty()) refuse(path_, "it has no run");
        for (const run_profile& one : out.runs) {
            if (!(one.step_ns > 0)) refuse(path_, "a run has no length of its step");
        }
        return out;
    }

private:
    static const kept_list* list_named(const std::string& key) {
        const auto* const found =
            std::find_if(lists.begin(), lists.end(), [&](const kept_list& one) { return one.key == key; });
        return found == lists.end() ? nullptr : &*found;
    }

    template <typename TVisit>
    void for_members(TVisit&& visit) {
        json_.begin('{');
        std::string_view key;
        while (json_.next_member(key)) visit(std::string(key));
    }
    template <typename TVisit>
    void for_elements(TVisit&& visit) {
        json_.begin('[');
        while (json_.next_element()) visit();
    }
    std::string text() { return original_bytes(json_.string()); }
    double number() {
        const std::string word(json_.word());
        const std::optional<double> value = parse_number<double>(word);
        if (!value || !std::isfinite(*value) || *value < 0) refuse(path_, "'" + word + "' is no number from 0 on");
        return *value;
    }
    // None of null.
    std::optional<double> number_or_none() {
        const std::string word(json_.word());
        const std::optional<double> value = parse_number<double>(word);
        const bool is_usable = value ? std::isfinite(*value) && *value >= 0 : word == "null";
        if (!is_usable) refuse(path_, "'" + word + "' is no number from 0 on");
        return value;
    }
    std::vector<std::optional<double>> numbers() {
        std::vector<std::optional<double>> out;
        for_elements([&] { out.push_back(number_or_none()); });
        return out;
    }
    std::map<std::string, std::string> texts() {
        std::map<std::string, std::string> out;
        for_members([&](const std::string& key) { out[original_bytes(key)] = text(); });
        return out;
    }

    run_profile run() {
        run_profile out;
        for_members([&](const std::string& key) {
            const auto is_key = [&](const auto& one) { return key == one.first; };
            if (key == "files") {
                for_elements([&] { out.files.push_back(text()); });
            } else if (key == "facts") {
                out.facts = texts();
            } else if (key == "step_lengths_ns") {
                for (const std::optional<double>& length : numbers()) out.step_lengths_ns.push_back(length.value_or(0));
            } else if (const auto* const flag = std::find_if(flags.begin(), flags.end(), is_key); flag != flags.end()) {
                out.*flag->second = json_.word() == "true";
            } else if (const auto* const figure = std::find_if(figures.begin(), figures.end(), is_key);
                       figure != figures.end()) {
                out.*figure->second = number();
            } else if (const auto* const memory = std::find_if(memory_figures.begin(), memory_figures.end(), is_key);
                       memory != memory_figures.end()) {
                out.*memory->second = number_or_none().value_or(0);
            } else {
                json_.skip();
            }
        });
        if (out.files.empty()) out.files.push_back(path_);
        if (out.step_lengths_ns.empty()) out.step_lengths_ns.push_back(out.step_ns);
        return out;
    }

    void check_count(std::size_t values, const std::vector<run_profile>& runs) const {
        if (values != runs.size()) refuse(path_, "a row has not a value for each run");
    }

    void read_cost(std::vector<run_profile>& runs, const kept_list& of) {
        std::string name;
        std::vector<std::optional<double>> amounts;
        std::vector<std::optional<double>> counts;
        for_members([&](const std::string& key) {
            if (key == "name") {
                name = text();
            } else if (key == of.unit) {
                amounts = numbers();
            } else if (key == "count") {
                counts = numbers();
            } else {
                json_.skip();
            }
        });
        check_count(amounts.size(), runs);
        check_count(counts.size(), runs);
        for (std::size_t i = 0; i < runs.size(); ++i) {
            if (!amounts[i]) continue;
            (runs[i].*of.list).push_back({.name = name, .amount = *amounts[i], .count = counts[i].value_or(0)});
        }
    }

    void read_cell(std::vector<run_profile>& runs) {
        time_cell cell;
        std::vector<std::optional<double>> ns;
        for_members([&](const std::string& key) {
            if (key == "phase") {
                cell.phase = text();
            } else if (key == "use") {
                cell.use = text();
            } else if (key == "ns") {
                ns = numbers();
            } else {
                json_.skip();
            }
        });
        check_count(ns.size(), runs);
        for (std::size_t i = 0; i < runs.size(); ++i) {
            cell.ns = ns[i].value_or(0);
            if (cell.ns > 0) runs[i].cells.push_back(cell);
        }
    }

    void read_finding(std::vector<run_profile>& runs) {
        kept_finding found;
        double run = 0;
        for_members([&](const std::string& key) {
            if (key == "run") {
                run = number();
            } else if (key == "rule") {
                found.rule = text();
            } else if (key == "title") {
                found.title = text();
            } else if (key == "gain_ns") {
                found.gain_ns = number();
            } else {
                json_.skip();
            }
        });
        if (run < 0 || run >= static_cast<double>(runs.size())) refuse(path_, "a finding is of no run");
        runs[static_cast<std::size_t>(run)].findings.push_back(std::move(found));
    }

    const std::string& path_;
    trace_text text_;
    json_scanner json_;
};

}  // namespace

baseline baseline_of(std::vector<run_profile> runs, bool any_host) {
    baseline out{.libprof = std::string(library_version), .runs = std::move(runs)};
    for (const char* const fact : facts_of_machine) {
        if (any_host && std::string_view(fact) == "host") continue;
        for (const run_profile& run : out.runs) {
            const auto found = run.facts.find(fact);
            const std::string value = found == run.facts.end() ? "" : found->second;
            const auto [known, is_new] = out.machine.try_emplace(fact, value);
            if (!is_new && known->second != value) {
                throw error(fmt::format("{}: its {} is '{}', and that of {} is '{}': a baseline is of one machine",
                                        run.files.front(), fact, value, out.runs.front().files.front(), known->second));
            }
        }
    }
    std::erase_if(out.machine, [](const auto& fact) { return fact.second.empty(); });
    return out;
}

std::string baseline_text(const baseline& of) {
    std::string out = fmt::format("{{\"{}\": {}, \"libprof\": {},\n \"machine\": {},\n \"runs\": [\n  ", version_key,
                                  version, json_string(of.libprof), object_text(of.machine));
    for (std::size_t i = 0; i < of.runs.size(); ++i) out.append(i == 0 ? "" : ",\n  ").append(run_text(of.runs[i]));
    out += "]";
    std::vector<std::string> notes = of.notes;
    const auto add_list = [&](std::string_view key, std::size_t count, auto&& text) {
        out += fmt::format(",\n \"{}\": [", key);
        for (std::size_t i = 0; i < count; ++i) out.append(i == 0 ? "\n  " : ",\n  ").append(text(i));
        out += "]";
    };
    const std::vector<cell_row> cells = cells_of(of.runs);
    add_list("cells", cells.size(), [&](std::size_t i) {
        return fmt::format("{{\"phase\": {}, \"use\": {}, \"ns\": {}}}", json_string(cells[i].cell.phase),
                           json_string(cells[i].cell.use), array_text(cells[i].ns.size(), [&](std::size_t run) {
                               return number_text(cells[i].ns[run]);
                           }));
    });
    for (const auto& [key, list, unit] : lists) {
        std::vector<cost_row> rows = rows_of(of.runs, list);
        if (rows.size() > most_rows) {
            notes.push_back(fmt::format("{} of {} {} are not in the baseline, those with the least",
                                        rows.size() - most_rows, rows.size(), key));
            rows.resize(most_rows);
        }
        add_list(key, rows.size(), [&](std::size_t i) { return row_text(rows[i], unit); });
    }
    std::vector<std::string> findings;
    for (std::size_t run = 0; run < of.runs.size(); ++run) {
        for (const kept_finding& found : of.runs[run].findings) {
            findings.push_back(fmt::format("{{\"run\": {}, \"rule\": {}, \"title\": {}, \"gain_ns\": {}}}", run,
                                           json_string(found.rule), json_string(found.title),
                                           number_text(found.gain_ns)));
        }
    }
    add_list("findings", findings.size(), [&](std::size_t i) { return findings[i]; });
    add_list("notes", notes.size(), [&](std::size_t i) { return json_string(notes[i]); });
    return out + "}\n";
}

bool is_baseline(const std::string& path) {
    try {
        trace_text text(path);
        std::array<char, 64> bytes{};
        const std::string_view begin(bytes.data(), text.read(bytes));
        std::string packed;
        for (const char c : begin) {
            if (c != ' ' && c != '\n' && c != '\r' && c != '\t') packed += c;
        }
        return packed.starts_with(fmt::format("{{\"{}\":", version_key));
    } catch (const error&) {
        return false;
    }
}

baseline read_baseline(const std::string& path) {
    try {
        return baseline_reader(path).read();
    } catch (const json_damage& damage) {
        refuse(path, fmt::format("{} at byte {}", damage.what, damage.offset));
    }
}

std::string other_machine(const baseline& of, const std::vector<run_profile>& runs) {
    std::string out;
    for (const auto& [fact, value] : of.machine) {
        std::set<std::string> here;
        for (const run_profile& run : runs) {
            const auto found = run.facts.find(fact);
            here.insert(found == run.facts.end() ? "not known" : found->second);
        }
        here.erase(value);
        for (const std::string& other : here) {
            out += fmt::format("{}its {} is {}, and that of the other side {}", out.empty() ? "" : "; ", fact, value,
                               other);
        }
    }
    return out;
}

}  // namespace prof
