// SPDX-License-Identifier: Apache-2.0
// Writes the example captures as traces for the checks by other people's programs:
//     write_example_traces DIRECTORY
// eventful, dense, graphs, edges and steps, and several captures in one as shared, each as .json and .json.gz, with a
// .counts.json of what was written; and hta/hta.json.gz, hta_graphs/graphs.json.gz, hta_steps/rank{0,1}.json.gz.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "export/chrome/chrome_trace.hpp"
#include "export/example_captures.hpp"

namespace {

void write(std::span<const prof::timeline> captures, const std::string& stem) {
    std::vector<prof::attribution> attributed;
    for (const prof::timeline& data : captures) attributed.push_back(prof::attribute(data));
    std::vector<prof::traced_capture> traced;
    for (std::size_t i = 0; i < captures.size(); ++i) traced.push_back({captures[i], attributed[i]});
    prof::write_chrome_trace(traced, stem + ".json.gz");
    const prof::trace_counts counts = prof::write_chrome_trace(traced, stem + ".json");
    const nlohmann::json written = {{"host_ranges", counts.host_ranges},
                                    {"api_calls", counts.api_calls},
                                    {"gpu_ops", counts.gpu_ops},
                                    {"projected_ranges", counts.projected_ranges},
                                    {"process_ranges", counts.process_ranges},
                                    {"instants", counts.instants},
                                    {"counters", counts.counters},
                                    {"flows", counts.flows}};
    std::ofstream(stem + ".counts.json") << written.dump(2) << '\n';
}

void write(const prof::timeline& data, const std::string& stem) { write({&data, 1}, stem); }

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: write_example_traces DIRECTORY\n";
        return 2;
    }
    const std::string directory = argv[1];
    std::filesystem::create_directories(directory + "/hta");
    std::filesystem::create_directories(directory + "/hta_graphs");
    write(prof::eventful_capture(), directory + "/eventful");
    write(prof::dense_capture(), directory + "/dense");
    write(prof::graph_capture(), directory + "/graphs");
    write(prof::edge_capture(), directory + "/edges");
    write(prof::steps_capture(0), directory + "/steps");
    // Two processes with the same pid, threads, GPU and correlation ids, and two ranks.
    const std::vector<prof::timeline> shared = {prof::eventful_capture(), prof::eventful_capture(),
                                                prof::steps_capture(0), prof::steps_capture(1)};
    write(shared, directory + "/shared");
    const prof::timeline graphs = prof::graph_capture();
    prof::write_chrome_trace(graphs, prof::attribute(graphs), directory + "/hta_graphs/graphs.json.gz");
    const prof::timeline hta = prof::hta_capture();
    prof::write_chrome_trace(hta, prof::attribute(hta), directory + "/hta/hta.json.gz");
    std::filesystem::create_directories(directory + "/hta_steps");
    for (const unsigned rank : {0U, 1U}) {
        const prof::timeline steps = prof::steps_capture(rank);
        const std::string path = directory + "/hta_steps/rank" + std::to_string(rank) + ".json.gz";
        prof::write_chrome_trace(steps, prof::attribute(steps), path);
    }
    return 0;
}
