#pragma once

#include "support/scratch_directory.hpp"
