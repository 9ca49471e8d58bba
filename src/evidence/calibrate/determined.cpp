#include "evidence/calibrate/determined.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "evidence/calibrate/least_squares.hpp"
#include "evidence/calibrate/observations.hpp"
#include "evidence/calibrate/parameters.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

/// The figures do not determine a parameter whose whole range moves none by more than this share.
constexpr double kLeastEffect = 0.002;
/// Nor is one whose effect the others can imitate but for this share.
constexpr double kLeastOwnShare = 0.05;
/// A number of which the largest mean of a record is no more than this above the smallest does not
/// vary: such records fit a cost of each and a constant equally well.
constexpr double kLeastVariation = 0.1;

double effect_of(const Rows& jacobian, std::size_t column) {
  double effect = 0.0;
  for (const auto& row : jacobian) {
    effect = std::max(effect, std::abs(row[column]));
  }
  return effect;
}

/// A constant to give up, and why; `share` is what no other constant can imitate.
struct Weakest {
  std::size_t column = 0;
  double share = 1.0;
  std::string reason;
  bool for_lack_of_figures = false;
};

/// The one with the least share; among those that are not determined, costs of each first.
Weakest weakest_of(const Constants& constants, const Rows& jacobian) {
  constexpr double kFirst = 1.0;  // shares are 0 to 1: undetermined costs come first
  Weakest weakest;
  double least_rank = 3.0;
  for (std::size_t j = 0; j < constants.size(); ++j) {
    const Parameter& parameter = constants[j].parameter;
    const bool has_effect = effect_of(jacobian, j) >= kLeastEffect;
    const double share = has_effect ? own_share(jacobian, j) : 0.0;
    const bool is_cost_of_each = !parameter.each.empty();
    const double rank = share + (share < kLeastOwnShare && is_cost_of_each ? 0.0 : kFirst);
    if (rank < least_rank) {
      least_rank = rank;
      weakest = {
          .column = j,
          .share = share,
          .reason = fmt::format("{} (it shows in {})",
                                has_effect ? "the others do the same to every measured figure"
                                           : "no measured figure depends on it",
                                parameter.seen_in)};
    }
  }
  return weakest;
}

/// Where there are more constants than figures: the last cost of each, else the last constant.
std::size_t last_to_give_up(const Constants& constants) {
  for (std::size_t j = constants.size(); j-- > 0;) {
    if (!constants[j].parameter.each.empty()) {
      return j;
    }
  }
  return constants.size() - 1;
}

}  // namespace

void drop_undistinguished(Constants& constants,
                          const Observations& observations,
                          std::vector<LeftOut>& left_out) {
  for (std::size_t j = constants.size(); j-- > 0;) {
    const Parameter parameter = constants[j].parameter;
    if (parameter.each.empty()) {
      continue;
    }
    const auto& numbers =
        parameter.each == "prompt tokens" ? observations.prompts() : observations.in_flight();
    const auto [least, most] = std::ranges::minmax(numbers);
    if (most <= (1.0 + kLeastVariation) * least) {
      left_out.push_back(
          {.name = parameter.name,
           .reason = fmt::format("cannot be separated from {}: all records have about {:.4g} {}",
                                 parameter.constant,
                                 most,
                                 parameter.each)});
      constants.erase(constants.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

void drop_undetermined(Constants& constants, Rows& jacobian, std::vector<LeftOut>& left_out) {
  while (!constants.empty()) {
    Weakest weakest = weakest_of(constants, jacobian);
    if (weakest.share >= kLeastOwnShare) {
      if (jacobian.size() > constants.size()) {
        return;
      }
      weakest.column = last_to_give_up(constants);
      weakest.for_lack_of_figures = true;
      weakest.reason = fmt::format(
          "{} measured figures cannot tell {} constants", jacobian.size(), constants.size());
    }
    const auto at = static_cast<std::ptrdiff_t>(weakest.column);
    left_out.push_back({.name = constants[weakest.column].parameter.name,
                        .reason = weakest.reason,
                        .for_lack_of_figures = weakest.for_lack_of_figures});
    constants.erase(constants.begin() + at);
    for (auto& row : jacobian) {
      row.erase(row.begin() + at);
    }
  }
}

core::Errors cannot_be_fitted(const std::vector<LeftOut>& left_out) {
  core::Errors errors;
  for (const auto& left : left_out) {
    errors.push_back({.field = left.name, .message = "cannot be fitted: " + left.reason});
  }
  return errors;
}

}  // namespace ridgeline::evidence::calibrate
