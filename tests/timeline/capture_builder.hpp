#pragma once

#include "support/capture_builder.hpp"
