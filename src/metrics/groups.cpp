#include "metrics/groups.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "domain/label_set.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

std::uint32_t Groups::group_of(domain::Label label, std::int32_t value) {
  if (const auto found = numbers_.find({label, value}); found != numbers_.end()) {
    return found->second;
  }
  auto& count = num_groups_[static_cast<std::size_t>(label)];
  if (count >= kMost && value != domain::LabelSet::kOther) {
    return group_of(label, domain::LabelSet::kOther);
  }
  ++count;
  const auto number = static_cast<std::uint32_t>(groups_.size());
  groups_.emplace_back(label, value, percentiles_);
  numbers_.emplace(std::pair(label, value), number);
  return number;
}

/// In the order of the sets' numbers, so that groups do not depend on the order of ends.
const Groups::OfSet& Groups::groups_of(core::LabelSetId set) {
  for (std::size_t i = of_sets_.size(); i <= set.value(); ++i) {
    OfSet groups{};
    for (std::size_t label = 0; label < domain::kNumLabels; ++label) {
      groups[label] =
          group_of(static_cast<domain::Label>(label),
                   (*sets_)[core::LabelSetId(static_cast<core::LabelSetId::Rep>(i))].values[label]);
    }
    of_sets_.push_back(groups);
  }
  return of_sets_[set.value()];
}

void Groups::add(const domain::RequestRecord& record,
                 const RequestLatency& latency,
                 const RequestMetrics& metrics,
                 bool good) {
  for (const std::uint32_t number : groups_of(record.label_set)) {
    Group& group = groups_[number];
    ++group.requests;
    if (!metrics::completed(record.outcome)) {
      group.failed += record.outcome != domain::Outcome::kUnfinished ? 1 : 0;
      continue;
    }
    ++group.completed;
    group.input_tokens += record.prompt_tokens.value();
    group.output_tokens += record.output_tokens.value();
    group.good += good ? 1 : 0;
    if (percentiles_ == Percentiles::kExact) {
      group.latencies.add(record, latency);
    } else {
      group.latencies.add(metrics);
    }
  }
}

GroupSummary Groups::summary_of(const Group& group, std::optional<double> seconds, bool judged) {
  const auto per = [](std::int64_t part, std::optional<double> whole) {
    return whole && *whole > 0.0 ? std::optional(static_cast<double>(part) / *whole) : std::nullopt;
  };
  GroupSummary summary;
  summary.label = group.label;
  summary.value = group.value;
  summary.requests = group.requests;
  summary.completed = group.completed;
  summary.total_input_tokens = group.input_tokens;
  summary.total_output_tokens = group.output_tokens;
  const auto spread = group.latencies.distributions_ms();
  summary.ttft_ms = spread.client.ttft;
  summary.tpot_ms = spread.client.tpot;
  summary.e2e_ms = spread.client.e2e;
  summary.queue_time_ms = spread.queue_time;
  summary.request_throughput = per(group.completed, seconds);
  summary.output_throughput = per(group.output_tokens, seconds);
  if (judged) {
    summary.goodput = per(group.good, seconds);
    summary.good_share = per(group.good, static_cast<double>(group.completed + group.failed));
  }
  return summary;
}

std::vector<GroupSummary> Groups::summarise(std::optional<double> seconds, bool judged) const {
  std::vector<GroupSummary> summaries;
  for (const Group& group : groups_) {
    if (num_groups_[static_cast<std::size_t>(group.label)] > 1) {
      summaries.push_back(summary_of(group, seconds, judged));
    }
  }
  std::ranges::stable_sort(summaries, [](const GroupSummary& a, const GroupSummary& b) {
    const bool a_is_rest = a.value == domain::LabelSet::kOther;
    const bool b_is_rest = b.value == domain::LabelSet::kOther;
    if (a.label != b.label) {
      return a.label < b.label;
    }
    if (a_is_rest != b_is_rest) {
      return b_is_rest;
    }
    return a.label == domain::Label::kPriority ? a.value < b.value : a.requests > b.requests;
  });
  return summaries;
}

}  // namespace ridgeline::metrics
