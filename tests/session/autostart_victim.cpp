// SPDX-License-Identifier: Apache-2.0
// A program that links libprof on demand; one scene a run, for autostart_test.cpp.
//
//   autostart_victim range | asks | asks-late | session | asks-then-session | starts-twice | child | asks-then-child
#include <prof/prof.h>
#include <prof/range.hpp>
#include <prof/session.hpp>

#include <cstdlib>
#include <string>

#include "session/scenes.hpp"

namespace {

using prof::test::expect;

std::string own_path;

void make_range() { PROF_RANGE("first"); }

void ask() { expect(prof_autostart() == PROF_OK, "prof_autostart"); }

void record_a_session() {
    PROF_RANGE("around");
    prof::session session({{"export", "none"}});
    { PROF_RANGE("mine"); }
    session.stop();
    expect(prof_is_recording() == 0, "nothing is recorded after stop");
    { PROF_RANGE("afterwards"); }
}

// The child finds libprof by variables that this process has, and that nobody has given to it.
void run_child() { expect(std::system((own_path + " range > child.out").c_str()) == 3 << 8, "the child"); }

}  // namespace

int main(int argc, char** argv) {
    own_path = argv[0];
    return prof::test::play(argc > 1 ? argv[1] : nullptr,
                            {{"range", make_range},
                             {"asks",
                              [] {
                                  ask();
                                  make_range();
                              }},
                             {"asks-late",
                              [] {
                                  { PROF_RANGE("early"); }
                                  ask();
                                  { PROF_RANGE("late"); }
                              }},
                             {"session", record_a_session},
                             {"asks-then-session",
                              [] {
                                  ask();
                                  make_range();
                                  record_a_session();
                              }},
                             {"starts-twice",
                              [] {
                                  expect(prof_start(nullptr) == PROF_OK, "the first start");
                                  make_range();
                                  expect(prof_start(nullptr) == PROF_WRONG_STATE, "the second is refused");
                              }},
                             {"child", run_child},
                             {"asks-then-child", [] {
                                  ask();
                                  run_child();
                              }}});
}
