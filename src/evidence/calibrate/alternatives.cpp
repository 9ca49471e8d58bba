#include "evidence/calibrate/alternatives.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "evidence/calibrate/calibrate.hpp"
#include "evidence/validate/evidence.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

constexpr std::size_t kMostNamed = 3;

struct Change {
  std::string flag;
  scenario::Override change;
};

std::vector<Change> changes() {
  std::vector<Change> all = {
      {"--no-async-scheduling", {.path = "engine.async_scheduling", .text = "false"}},
      {"--async-scheduling", {.path = "engine.async_scheduling", .text = "true"}},
      {"--enforce-eager", {.path = "engine.enforce_eager", .text = "true"}}};
  for (const auto& gpu : hardware::catalogue_names()) {
    all.push_back({"--gpu " + gpu, {.path = "gpu", .text = gpu}});
  }
  return all;
}

}  // namespace

std::vector<Alternative> find_alternatives(const std::vector<validate::Evidence>& evidence,
                                           const CalibrateOptions& options,
                                           const Calibration& calibration) {
  std::vector<Alternative> found;
  const double left = calibration.left_by_servers();
  if (left <= kLeftInDoubt || calibration.server.names.size() != 1) {
    return found;
  }
  for (const auto& [flag, change] : changes()) {
    CalibrateOptions changed = options;
    changed.wanted.clear();
    changed.histories = 1;
    changed.tries_others = false;
    changed.overrides.push_back(change);
    const auto fit = calibrate(evidence, changed);
    // As many records: a GPU on which some cannot be predicted explains less.
    if (fit && fit->records == calibration.records && fit->kernels_match() &&
        fit->left_by_servers() <= kLeftInDoubt && fit->left() < left / 2.0) {
      found.push_back({.flag = flag, .left = fit->left()});
    }
  }
  std::ranges::stable_sort(found, {}, &Alternative::left);
  found.resize(std::min(found.size(), kMostNamed));
  return found;
}

}  // namespace ridgeline::evidence::calibrate
