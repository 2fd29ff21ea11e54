// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <charconv>
#include <stdexcept>
#include <string_view>

namespace trainer {
namespace {

int positive(std::string_view option, std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 1)
        throw std::invalid_argument(std::string(option) + " takes a whole number above 0, not \"" + std::string(text) +
                                    "\"");
    return value;
}

}  // namespace

options parse_options(int argc, char** argv) {
    options parsed;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (option == "--help" || option == "-h") {
            parsed.help = true;
            continue;
        }
        if (option == "--check") {
            parsed.check = true;
            continue;
        }
        const bool known = option == "--device" || option == "--precision" || option == "--layers" ||
                           option == "--steps" || option == "--batch" || option == "--seq" || option == "--width";
        if (!known) throw std::invalid_argument("unknown option \"" + std::string(option) + "\"; try --help");
        if (++i == argc) throw std::invalid_argument(std::string(option) + " needs a value");
        const std::string_view value = argv[i];
        if (option == "--device") {
            if (value != "auto" && value != "cpu" && value != "gpu")
                throw std::invalid_argument("--device takes auto, cpu or gpu");
            parsed.where = value == "cpu" ? processor::cpu : value == "gpu" ? processor::gpu : processor::automatic;
        } else if (option == "--precision") {
            if (value != "tf32" && value != "fp32") throw std::invalid_argument("--precision takes tf32 or fp32");
            parsed.matrix_precision = value == "tf32" ? precision::tf32 : precision::fp32;
        } else {
            std::optional<int>& size = option == "--layers"  ? parsed.layers
                                       : option == "--steps" ? parsed.steps
                                       : option == "--batch" ? parsed.batch
                                       : option == "--seq"   ? parsed.sequence
                                                             : parsed.width;
            size = positive(option, value);
        }
    }
    return parsed;
}

std::string usage() {
    return "usage: cpp_trainer [options]\n"
           "\n"
           "Trains a small transformer on made-up data: forward, hand-written backward, AdamW.\n"
           "\n"
           "  --layers N        transformer blocks               (6; on the CPU 2)\n"
           "  --steps N         training steps                   (30; on the CPU 12)\n"
           "  --batch N         sequences a step                 (16; on the CPU 8)\n"
           "  --seq N           frames a sequence                (256; on the CPU 32)\n"
           "  --width N         model width, a multiple of 32    (512; on the CPU 64)\n"
           "  --precision P     tf32 or fp32 matrix products     (tf32; the CPU is fp32)\n"
           "  --device D        auto, cpu or gpu                 (auto)\n"
           "  --check           check the gradients by finite differences, and the GPU against the\n"
           "                    CPU where there is one; exits with 1 if they disagree\n";
}

}  // namespace trainer
