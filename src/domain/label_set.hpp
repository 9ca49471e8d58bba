#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "core/ids.hpp"

namespace ridgeline::domain {

/// The labels of a request, by which a result groups requests.
enum class Label : std::uint8_t { kSloClass, kTenant, kModel, kAdapter, kPriority };
inline constexpr std::size_t kNumLabels = 5;
inline constexpr std::array<const char*, kNumLabels> kLabelNames = {
    "slo_class", "tenant", "model", "adapter", "priority"};

/// The labels of one request. A priority is itself; the others are numbers of the workload's texts,
/// kNoLabel where the request has none.
struct LabelSet {
  static constexpr std::int32_t kNoLabel = -1;
  /// Stands for a label of requests that are counted together, for there are too many different
  /// ones.
  static constexpr std::int32_t kOther = std::numeric_limits<std::int32_t>::min();

  std::array<std::int32_t, kNumLabels> values = {kNoLabel, kNoLabel, kNoLabel, kNoLabel, 0};

  [[nodiscard]] std::int32_t of(Label label) const {
    return values[static_cast<std::size_t>(label)];
  }
  std::int32_t& of(Label label) { return values[static_cast<std::size_t>(label)]; }

  friend auto operator<=>(const LabelSet&, const LabelSet&) = default;
};

/// The different label sets of a workload by number, so that a request carries four bytes. Bounded:
/// past kMost sets all further ones are one, of which every label is LabelSet::kOther.
class LabelSets {
 public:
  static constexpr std::size_t kMost = 4096;

  /// The number of a set, a new one if need be.
  core::LabelSetId number_of(const LabelSet& set) {
    if (last_.valid() && sets_[last_.value()] == set) {
      return last_;
    }
    if (const auto found = numbers_.find(set); found != numbers_.end()) {
      last_ = found->second;
    } else if (sets_.size() < kMost) {
      last_ = add(set);
    } else {
      LabelSet other;
      other.values.fill(LabelSet::kOther);
      last_ = numbers_.contains(other) ? numbers_.at(other) : add(other);
    }
    return last_;
  }
  /// Requires a number that number_of() has given.
  [[nodiscard]] const LabelSet& operator[](core::LabelSetId number) const {
    return sets_[number.value()];
  }
  [[nodiscard]] std::size_t size() const { return sets_.size(); }

 private:
  core::LabelSetId add(const LabelSet& set) {
    const auto number = core::LabelSetId(static_cast<core::LabelSetId::Rep>(sets_.size()));
    sets_.push_back(set);
    numbers_.emplace(set, number);
    return number;
  }

  std::vector<LabelSet> sets_;
  std::map<LabelSet, core::LabelSetId> numbers_;
  core::LabelSetId last_;  ///< Requests in a row tend to have the same.
};

}  // namespace ridgeline::domain
