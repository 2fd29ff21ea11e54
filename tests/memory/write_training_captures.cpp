// SPDX-License-Identifier: Apache-2.0
// Writes captures of training runs whose memory is known beforehand (training_program.hpp), for tests of the command
// and of the page:
//     write_training_captures DIRECTORY
// train, leak, error, killed, two_gpus, long and without (no allocation was recorded); base/ and grown/ with four runs
// each, of which those of grown/ need 5 % more at the highest step's peak. expected.json has the peaks.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "capture/writer.hpp"
#include "memory/training_program.hpp"

namespace {

using prof::training_options;
using prof::training_program;

void write(const std::string& path, const prof::capture_builder& of, bool was_killed = false) {
    prof::capture_contents contents = of.contents();
    std::uint64_t last_ns = 0;
    for (const prof::record_run& run : contents.runs) last_ns = std::max(last_ns, run.records.back().ticks);
    const std::uint64_t end_ns = last_ns + 200'000'000;
    contents.clocks = {{1, 1, 1, 1, 0}, {end_ns, end_ns, end_ns, end_ns, 0}};  // ticks are nanoseconds
    prof::capture_writer writer(path, {});
    prof::write_contents(writer, contents);
    writer.end(was_killed ? prof::format::end_reason::died : prof::format::end_reason::exited);
}

void write_runs(const std::filesystem::path& folder, std::uint64_t more_kib) {
    std::filesystem::create_directories(folder);
    for (std::uint64_t run = 0; run < 4; ++run) {
        // Runs differ by some 0.02 %, in steps and in memory alike.
        training_program made({.more_kib = 512 * (run % 2) + more_kib, .step_ns = 40'000'000 + 10'000 * run});
        made.capture.parts().properties["run_id"] = folder.filename().string() + std::to_string(run);
        write(folder / (std::to_string(run) + ".prof"), made.capture);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: write_training_captures DIRECTORY\n";
        return 2;
    }
    const std::filesystem::path directory = argv[1];
    std::filesystem::create_directories(directory);
    nlohmann::json expected;
    const auto add = [&](const std::string& name, const training_options& options, bool was_killed = false) {
        const training_program made(options);
        write(directory / (name + ".prof"), made.capture, was_killed);
        expected[name] = {{"highest_bytes", made.peak_bytes(options.long_step)}};
    };
    add("train", {});
    add("leak", {.leaked_mib = 4});
    add("error", {.failing_step = 9, .last_step = 9});
    add("killed", {.last_step = 9}, true);
    add("two_gpus", {.gpus = 2});
    add("long", {.steps = 600, .long_step = 433, .blocks = 8, .step_ns = 10'000'000});
    prof::capture_builder plain;
    plain.parts().properties = {{"pid", "1"}, {"name", "train_gpt.py"}, {"command", "python train_gpt.py"}};
    prof::thread_script& main = plain.thread("python");
    plain.thread("pt_autograd_0");
    const std::uint16_t steps = plain.domain("prof");
    for (std::uint64_t i = 0; i < 6; ++i) {
        main.step(1'000'000 * i, i, steps).push(1'000'000 * i + 10, "forward").launch(1'000'000 * i + 20, i + 1);
        main.pop(1'000'000 * i + 900'000);
        plain.kernel(i + 1, 1'000'000 * i + 100, 1'000'000 * i + 800'000);
    }
    write(directory / "without.prof", plain);
    const std::uint64_t highest = expected["train"]["highest_bytes"];
    write_runs(directory / "base", 0);
    write_runs(directory / "grown", highest / 1024 / 20);
    std::ofstream(directory / "expected.json") << expected.dump(2) << '\n';
}
