// SPDX-License-Identifier: Apache-2.0
// The names of programs by their arguments.
#include "session/process/program_name.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <utility>

namespace prof::test {
namespace {

argument_list words(const std::string& line) {
    std::istringstream in(line);
    argument_list out;
    for (std::string word; in >> word;) out.push_back(word);
    return out;
}

std::string name_of(const std::string& line) {
    return program_name(words(line), [](int) { return argument_list{}; });
}

TEST(ProgramName, IsThatOfTheScriptThatPythonRuns) {
    const std::pair<const char*, const char*> cases[] = {
        {"./trainer --steps 3", "trainer"},
        {"python train.py", "train"},
        {"/usr/bin/python3.11 -u /a/b/train.py --epochs 3", "train"},
        {"python -W ignore train.py", "train"},
        {"python -Wignore train.py", "train"},
        {"python -X importtime -uW error train.py", "train"},
        {"python -uBX importtime train.py", "train"},
        {"python --check-hash-based-pycs always train.py", "train"},
        {"python -- train.py", "train"},
        {"python -m pkg.train --lr 1", "pkg.train"},
        {"python -Im pkg.train", "pkg.train"},
        {"python -mpkg.train", "pkg.train"},
        {"python -c import_a", "python"},
        {"python", "python"},
        {"python -", "python"},
        {"python -W", "python"},
        {"pypy3 train.py", "train"},
        {"python .py", ".py"},
    };
    for (const auto& [line, name] : cases) EXPECT_EQ(name_of(line), name) << line;
    EXPECT_EQ(name_of(""), "process") << "/proc could not be read";
}

TEST(ProgramName, IsThatOfTheScriptThatALauncherRuns) {
    const std::pair<const char*, const char*> cases[] = {
        {"/venv/bin/python /venv/bin/memray run -o out.bin train.py --lr 1", "train"},
        {"python -m memray run --live train.py", "train"},
        {"python /venv/bin/torchrun --nproc_per_node 2 a/train.py", "train"},
        {"python -m torch.distributed.run -m pkg.train", "pkg.train"},
        {"python /venv/bin/accelerate launch --num_processes 2 train.py", "train"},
        {"python -m accelerate.commands.launch train.py", "train"},
        {"python /venv/bin/memray stats out.bin", "memray"},
        {"python compile.py other.py", "compile"},
    };
    for (const auto& [line, name] : cases) EXPECT_EQ(name_of(line), name) << line;
}

TEST(ProgramName, OfAWorkerIsThatOfTheProgramThatStartedIt) {
    const argument_list spawned = {"python", "-c",
                                   "from multiprocessing.spawn import spawn_main; spawn_main(tracker=5)",
                                   "--multiprocessing-fork"};
    const argument_list server = {"python", "-s", "-c", "from multiprocessing.forkserver import main; main(5)"};
    const auto below = [](const std::vector<argument_list>& ancestors) {
        return [ancestors](int generation) {
            const auto index = static_cast<std::size_t>(generation) - 1;
            return index < ancestors.size() ? ancestors[index] : argument_list{};
        };
    };
    EXPECT_EQ(program_name(spawned, below({words("python -u train.py")})), "train");
    EXPECT_EQ(program_name(server, below({server, words("python train.py")})), "train");
    EXPECT_EQ(program_name(spawned, below({})), "python");
    EXPECT_EQ(program_name(spawned, below({words("/sbin/init splash")})), "python") << "the parent has ended";
    EXPECT_EQ(program_name(spawned, below({spawned, spawned, spawned, spawned, spawned, spawned})), "python");
}

}  // namespace
}  // namespace prof::test
