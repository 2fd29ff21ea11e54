// SPDX-License-Identifier: Apache-2.0
// The environment of the command of `prof run`: this process's own, with changes. One thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/child.hpp"
#include "cli/run_journal.hpp"

namespace prof {

class run_environment {
public:
    run_environment();

    void set(const std::string& name, const std::string& value) { values_[name] = value; }
    std::string get(const std::string& name) const;  // "": not set
    environment lines() const;
    std::vector<changed_variable> changes() const;

private:
    using variables = std::map<std::string, std::string>;
    variables values_;
    variables before_;
};

// Has libprof.so loaded into the command and the processes that it starts. Complains where another tool has a variable.
void inject(run_environment& variables, const std::string& library);

// Python programs start with libprof's sitecustomize. It switches PyTorch's ranges on, and then runs the user's own.
// Complains where it is missing.
void guide_python(run_environment& variables);

}  // namespace prof
