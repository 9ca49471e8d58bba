#include "plan/factors.hpp"

#include <gtest/gtest.h>

namespace ridgeline::plan {}
