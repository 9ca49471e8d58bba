#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/call.hpp"
#include "report/chart/figure.hpp"

/// What C holds by its address alone. What is asked for later is made once and kept.
struct rl_result {
  std::string verb;
  ridgeline::api::Answer answer;
  std::mutex mutex;
  std::optional<std::vector<ridgeline::report::figures::Figure>> figures;
  std::map<std::string, std::string> texts;
};
