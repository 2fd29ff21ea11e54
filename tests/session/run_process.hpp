#pragma once

#include "support/run_process.hpp"
