#include "observe/tally.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/statistics/quantiles.hpp"
#include "core/time.hpp"
#include "observe/record.hpp"
#include "observe/stop_rules.hpp"

namespace ridgeline::observe {
namespace {

/// Gaps that are kept for their quantiles: 80 MB.
constexpr std::size_t kMostGaps = 20'000'000;
constexpr std::size_t kMostErrors = 10;
constexpr core::Duration kRecent = core::Duration::seconds(10);
constexpr double kMsPerSecond = 1e3;

std::vector<double> sorted(const std::vector<float>& values) {
  std::vector<double> all(values.begin(), values.end());
  std::ranges::sort(all);
  return all;
}

}  // namespace

void Tally::on_row(const Row& row) {
  ++done_;
  const Answer& answer = row.answer;
  connection_failures_ = row.connection_failed ? connection_failures_ + 1 : 0;
  last_failed_.push_back(row.failed());
  num_last_failed_ += row.failed() ? 1 : 0;
  if (last_failed_.size() > static_cast<std::size_t>(kAnswersLookedAt)) {
    num_last_failed_ -= last_failed_.front() ? 1 : 0;
    last_failed_.pop_front();
  }
  if (row.failed()) {
    ++failed_;
    note_error(answer.error);
    return;
  }
  const std::int64_t outputs = answer.completion_tokens.value_or(answer.events);
  count_tokens(row, outputs);
  if (row.is_warm_up) {
    ++warm_up_;
    return;
  }
  const core::SimTime sent = *row.sent;
  const auto add = [&](Figure figure, core::Duration time) {
    figures_[static_cast<std::size_t>(figure)].push_back(
        static_cast<float>(time.to_milliseconds()));
  };
  add(Figure::kLag, row.lag());
  if (row.connect > core::Duration()) {
    add(Figure::kConnect, row.connect);
  }
  add(Figure::kE2e, answer.end - sent);
  add(Figure::kE2eFromDue, answer.end - row.due);
  const core::Duration ttft = *answer.first_event - sent;
  add(Figure::kTtft, ttft);
  add(Figure::kTtftFromDue, *answer.first_event - row.due);
  if (outputs > 1 && answer.events > 1) {  // One event of all tokens has no time between them.
    const core::Duration rest = *answer.last_event - *answer.first_event;
    add(Figure::kTpot, core::Duration::ticks(rest.count() / (outputs - 1)));
  }
  // Events that hold several tokens say nothing of the time between tokens.
  if (answer.completion_tokens == answer.events &&
      figures_[static_cast<std::size_t>(Figure::kItl)].size() < kMostGaps) {
    for (const core::Duration gap : answer.gaps) {
      add(Figure::kItl, gap);
    }
  }
  recent_.push_back({.ended = answer.end,
                     .ttft_ms = ttft.to_milliseconds(),
                     .lag_ms = row.lag().to_milliseconds()});
  while (recent_.front().ended + kRecent < answer.end) {
    recent_.pop_front();
  }
}

void Tally::count_tokens(const Row& row, std::int64_t outputs) {
  const Answer& answer = row.answer;
  const std::int64_t prompt = row.request.prompt_tokens.value();
  const std::int64_t asked = std::min(row.request.output_tokens, row.request.max_tokens).value();
  if (answer.prompt_tokens) {
    asked_tokens_ += prompt;
    counted_tokens_ += *answer.prompt_tokens;
    other_prompts_ += *answer.prompt_tokens != prompt ? 1 : 0;
  }
  other_outputs_ += outputs != asked ? 1 : 0;
  input_tokens_ += answer.prompt_tokens.value_or(prompt);
  output_tokens_ += outputs;
  cached_tokens_ += answer.cached_tokens.value_or(0);
}

void Tally::note_error(const std::string& error) {
  const auto known =
      std::ranges::find(errors_, error, &std::pair<std::string, std::int64_t>::first);
  if (known != errors_.end()) {
    ++known->second;
  } else if (errors_.size() < kMostErrors) {
    errors_.emplace_back(error, 1);
  }
}

std::optional<double> Tally::prompt_ratio() const {
  return asked_tokens_ == 0 ? std::nullopt
                            : std::optional(static_cast<double>(counted_tokens_) /
                                            static_cast<double>(asked_tokens_));
}

std::optional<Spread> Tally::spread(Figure figure) const {
  const auto values = sorted(figures_[static_cast<std::size_t>(figure)]);
  if (values.empty()) {
    return std::nullopt;
  }
  Spread spread{.count = static_cast<std::int64_t>(values.size()),
                .p50 = statistics::sorted_quantile(values, 0.5),
                .p90 = statistics::sorted_quantile(values, 0.9),
                .p99 = statistics::sorted_quantile(values, 0.99),
                .max = values.back()};
  for (const double value : values) {
    spread.mean += value / static_cast<double>(values.size());
  }
  return spread;
}

std::optional<double> Tally::recent(Figure figure, double quantile, core::SimTime now) const {
  std::vector<double> values;
  for (const Recent& answer : recent_) {
    if (answer.ended + kRecent >= now) {
      values.push_back(figure == Figure::kLag ? answer.lag_ms : answer.ttft_ms);
    }
  }
  if (values.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(values);
  return statistics::sorted_quantile(values, quantile);
}

std::string Tally::why_stop(std::span<const StopRule> rules,
                            std::int64_t in_flight,
                            core::SimTime now) const {
  for (const StopRule& rule : rules) {
    bool met = false;
    switch (rule.what) {
      case StopRule::What::kErrors:
        met = done_ >= kFewestForErrors &&
              static_cast<double>(failed_) > rule.limit * static_cast<double>(done_);
        break;
      case StopRule::What::kTtft: {
        const auto ttft = recent(Figure::kTtft, rule.quantile, now);
        met = ttft && *ttft > rule.limit * kMsPerSecond;
        break;
      }
      case StopRule::What::kInFlight:
        met = static_cast<double>(in_flight) > rule.limit;
        break;
    }
    if (met) {
      return rule.text;
    }
  }
  return {};
}

std::string Tally::why_gone() const {
  if (connection_failures_ >= kMostConnectionFailures) {
    return fmt::format("{} connections in a row failed", connection_failures_);
  }
  if (num_last_failed_ * 2 >= kAnswersLookedAt && std::ssize(last_failed_) == kAnswersLookedAt) {
    return fmt::format("{} of the last {} requests failed", num_last_failed_, kAnswersLookedAt);
  }
  return {};
}

}  // namespace ridgeline::observe
