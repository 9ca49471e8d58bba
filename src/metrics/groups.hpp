#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "domain/label_set.hpp"
#include "domain/record.hpp"
#include "metrics/request_latencies.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// Sums up the requests of each label apart: each tenant, each class, each priority. Bounded: per
/// label the first kMost values that come have a group of their own, the others one together.
class Groups {
 public:
  static constexpr std::size_t kMost = 32;

  /// `sets` outlives it and may grow; null: there is nothing to tell apart.
  Groups(const domain::LabelSets* sets, Percentiles percentiles)
      : sets_(sets), percentiles_(percentiles) {}

  [[nodiscard]] bool any() const { return sets_ != nullptr; }

  /// A request that has ended, with its label set (any()); `good`: it met every target.
  void add(const domain::RequestRecord& record,
           const RequestLatency& latency,
           const RequestMetrics& metrics,
           bool good);

  /// The groups of each label in which requests differ, the largest first, but priorities in their
  /// order. `seconds`: how long the
  /// run took; `judged`: there are targets.
  [[nodiscard]] std::vector<GroupSummary> summarise(std::optional<double> seconds,
                                                    bool judged) const;

 private:
  struct Group {
    Group(domain::Label its_label, std::int32_t its_value, Percentiles percentiles)
        : label(its_label), value(its_value), latencies(percentiles) {}

    domain::Label label;
    std::int32_t value;
    std::int64_t requests = 0;
    std::int64_t completed = 0;
    std::int64_t failed = 0;  ///< Ended without an answer.
    std::int64_t input_tokens = 0;
    std::int64_t output_tokens = 0;
    std::int64_t good = 0;
    RequestLatencies latencies;
  };
  using OfSet = std::array<std::uint32_t, domain::kNumLabels>;

  [[nodiscard]] const OfSet& groups_of(core::LabelSetId set);
  [[nodiscard]] std::uint32_t group_of(domain::Label label, std::int32_t value);
  [[nodiscard]] static GroupSummary summary_of(const Group& group,
                                               std::optional<double> seconds,
                                               bool judged);

  const domain::LabelSets* sets_;
  Percentiles percentiles_;
  std::vector<OfSet> of_sets_;  ///< By number of the label set.
  std::vector<Group> groups_;
  std::map<std::pair<domain::Label, std::int32_t>, std::uint32_t> numbers_;
  std::array<std::size_t, domain::kNumLabels> num_groups_{};
};

}  // namespace ridgeline::metrics
