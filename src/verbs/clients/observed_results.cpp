#include "verbs/clients/observed_results.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/statistics/quantiles.hpp"
#include "core/version.hpp"
#include "domain/record.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "observe/record.hpp"
#include "scenario/scenario.hpp"
#include "verbs/clients/client_results.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

using metrics::Metric;
using metrics::Statistic;

std::optional<metrics::Distribution> distribution_ms(std::vector<double> seconds) {
  constexpr double kMs = 1e3;
  if (seconds.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(seconds);
  const auto count = static_cast<double>(seconds.size());
  double sum = 0.0;
  for (const double value : seconds) {
    sum += value;
  }
  const double mean = sum / count;
  double squares = 0.0;
  for (const double value : seconds) {
    squares += (value - mean) * (value - mean);
  }
  metrics::Distribution all;
  const auto set = [&](Statistic statistic, double value) {
    all.values[static_cast<std::size_t>(statistic)] = value * kMs;
  };
  set(Statistic::kMean, mean);
  set(Statistic::kStd, std::sqrt(squares / count));
  set(Statistic::kP50, statistics::sorted_quantile(seconds, 0.5));
  set(Statistic::kP90, statistics::sorted_quantile(seconds, 0.9));
  set(Statistic::kP95, statistics::sorted_quantile(seconds, 0.95));
  set(Statistic::kP99, statistics::sorted_quantile(seconds, 0.99));
  set(Statistic::kMax, seconds.back());
  return all;
}

}  // namespace

void ObservedResults::add(const observe::Row& row) {
  if (row.is_warm_up || !row.sent) {
    return;
  }
  const observe::Answer& answer = row.answer;
  ClientResults::Row one;
  one.id = row.request.id;
  one.start = row.sent->to_seconds();
  one.completed = !row.failed() && answer.first_event && answer.last_event;
  one.outcome = one.completed ? domain::Outcome::kFinished : domain::Outcome::kFailed;
  one.input_tokens = answer.prompt_tokens.value_or(row.request.prompt_tokens.value());
  one.output_tokens = answer.completion_tokens.value_or(one.completed ? answer.events : 0);
  std::vector<double> gaps;
  if (one.completed) {
    const auto add = [this](Metric metric, double value) {
      seconds_[static_cast<std::size_t>(metric)].push_back(value);
    };
    one.ttft = (*answer.first_event - *row.sent).to_seconds();
    one.last_token = (*answer.last_event - *row.sent).to_seconds();
    one.e2e = (answer.end - *row.sent).to_seconds();
    if (one.output_tokens > 1) {
      one.mean_gap = (one.last_token - one.ttft) / static_cast<double>(one.output_tokens - 1);
      add(Metric::kTpot, (one.e2e - one.ttft) / static_cast<double>(one.output_tokens - 1));
    }
    add(Metric::kTtft, one.ttft);
    add(Metric::kE2e, one.e2e);
    for (const core::Duration gap : answer.gaps) {
      gaps.push_back(gap.to_seconds());
      add(Metric::kItl, gaps.back());
    }
  }
  results_.add(one, std::move(gaps));
}

RunResult ObservedResults::result(const scenario::Scenario& scenario,
                                  const observe::RecordHead& head) const {
  RunResult result;
  scenario::Scenario served = scenario;
  served.deployment.model = head.model;
  served.deployment.engine.generation_config = "vllm";
  result.config = scenario::to_node(served);
  result.run_info.version = std::string(core::version());
  metrics::Summary& summary = result.summary;
  double first = 0.0;
  double last = 0.0;
  for (const auto& row : results_.rows()) {
    ++summary.by_outcome[static_cast<std::size_t>(row.outcome)];
    if (row.completed) {
      first = summary.completed == 0 ? row.start : std::min(first, row.start);
      last = std::max(last, row.start + row.e2e);
      ++summary.completed;
      summary.total_input_tokens += row.input_tokens;
      summary.total_output_tokens += row.output_tokens;
    }
  }
  if (summary.completed > 0 && last > first) {
    const double duration = last - first;
    const auto rate = [&](std::int64_t count) { return static_cast<double>(count) / duration; };
    summary.duration_s = duration;
    summary.request_throughput = rate(summary.completed);
    summary.output_throughput = rate(summary.total_output_tokens);
    summary.total_token_throughput = rate(summary.total_input_tokens + summary.total_output_tokens);
  }
  for (std::size_t m = 0; m < seconds_.size(); ++m) {
    summary.client.by_metric[m] = distribution_ms(seconds_[m]);
  }
  return result;
}

}  // namespace ridgeline::verbs
