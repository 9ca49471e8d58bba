// Where one prefill instance for three decode instances helps, and where it is the bottleneck.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/result.hpp"
#include "lab/studies/fleet_run.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::studies {
namespace {

using metrics::Statistic;
using scenario::Override;

/// A kind of requests, and the rates at which it is asked.
struct RequestKind {
  std::string_view name;
  std::int64_t input_len;
  std::int64_t output_len;
  std::array<double, 5> rates;
};
// Lengths are ours: the post names the kinds alone.
constexpr auto kKinds =
    std::to_array<RequestKind>({{"chat", 512, 256, {4.0, 8.0, 16.0, 24.0, 32.0}},
                                {"code", 6000, 100, {0.5, 1.0, 2.0, 4.0, 6.0}}});
constexpr std::int64_t kRequests = 600;

std::vector<Override> threshold_settings(const RequestKind& kind, double rate) {
  return {{.path = "model", .text = "llama-3.1-70b"},
          {.path = "gpu", .text = "h100"},
          {.path = "engine.tensor_parallel_size", .text = "4"},
          {.path = "cluster.instances", .text = "4"},
          {.path = "cluster.router.name", .text = "least-request"},
          {.path = "workload.num_prompts", .text = std::to_string(kRequests)},
          {.path = "workload.request_rate", .text = fmt::format("{}", rate)},
          {.path = "workload.input_len", .text = std::to_string(kind.input_len)},
          {.path = "workload.output_len", .text = std::to_string(kind.output_len)}};
}

const std::vector<Override>& threshold_apart() {
  static const std::vector<Override> kApart = {
      {.path = "cluster.disaggregation.prefill_instances", .text = "1"},
      {.path = "cluster.disaggregation.decider", .text = "prefix-based-pd-decider"},
      {.path = "cluster.disaggregation.non_cached_tokens", .text = "16"}};
  return kApart;
}

double mean_ttft(const metrics::Summary& summary) {
  const auto& values = summary.client.of(metrics::Metric::kTtft);
  return values ? values->of(Statistic::kMean) : 0.0;
}

/// How the TTFT of one kind changes over its rates.
struct Turn {
  double least = 1e9;  ///< Ratio apart over together.
  double most = 0.0;
  std::optional<double> rate;  ///< The first at which apart is worse.
};

core::Result<Turn> run_kind(const RequestKind& kind, StudyTable& table) {
  Turn turn;
  for (const double rate : kind.rates) {
    const auto together = run_scenario(threshold_settings(kind, rate));
    if (!together) {
      return core::fail(together.error());
    }
    const auto split = run_scenario(settings_of(threshold_settings(kind, rate), threshold_apart()));
    if (!split) {
      return core::fail(split.error());
    }
    const double ratio = mean_ttft(*split) / mean_ttft(*together);
    turn.least = std::min(turn.least, ratio);
    turn.most = std::max(turn.most, ratio);
    if (ratio > 1.0 && !turn.rate) {
      turn.rate = rate;
    }
    const auto& transfers = *split->fleet->transfers;
    table.rows.push_back(row("kind",
                             std::string(kind.name),
                             "request_rate",
                             rate,
                             "ttft_together_ms",
                             mean_ttft(*together),
                             "ttft_apart_ms",
                             mean_ttft(*split),
                             "apart_over_together",
                             ratio,
                             "prompts_apart",
                             transfers.requests,
                             "prefill_busy",
                             split->fleet->instances.front().busy.value_or(0.0)));
  }
  return turn;
}

core::Result<Outcome> run_pd_threshold(const Lab& /*lab*/) {
  Outcome out;
  out.tables = {{"runs", {}}, {"statements", {}}};
  const auto chat = run_kind(kKinds[0], out.tables[0]);
  const auto code = chat ? run_kind(kKinds[1], out.tables[0]) : chat;
  if (!code) {
    return core::fail(code.error());
  }
  constexpr double kHalf = 0.5;   // 2 to 3 times lower.
  constexpr double kTwice = 2.0;  // Clearly worse; up to 20 times is published.
  const bool helps = chat->least <= kHalf;
  const bool hurts = code->most >= kTwice;
  auto& statements = out.tables[1].rows;
  statements.push_back(
      statement("chat",
                "TTFT is 2 to 3 times lower with prefill apart",
                helps,
                fmt::format("{:.2f} to {:.2f} of the TTFT together", chat->least, chat->most)));
  statements.push_back(statement("code",
                                 "every prompt goes apart, and TTFT is up to 20 times higher",
                                 hurts,
                                 fmt::format("up to {:.1f} times", code->most)));
  out.by_rule = helps && hurts   ? Verdict::kConfirmed
                : helps || hurts ? Verdict::kPartlyConfirmed
                                 : Verdict::kRefuted;
  out.because = fmt::format(
      "chat at best {:.2f}, code at worst {:.1f} times the TTFT together", chat->least, code->most);
  const auto turns = [](const Turn& turn) {
    return turn.rate ? fmt::format("from {} requests/s on", *turn.rate) : std::string("nowhere");
  };
  out.finding = fmt::format(
      "Prefill apart is worse for chat {}, for code {}: one prefill instance is full long before "
      "four instances that share all prompts. The lengths are ours.",
      turns(*chat),
      turns(*code));
  return out;
}

}  // namespace

Study study_pd_threshold() {
  return {.id = "pd-threshold",
          .title = "One prefill instance for three that decode",
          .claim =
              "Llama-3.1-70B on 4 x 4 H100, one prefill and three decode instances, a "
              "threshold of 16 tokens: chat gets a TTFT 2 to 3 times lower, code one up to 20 "
              "times higher",
          .arms = {{.name = "kernel", .preset = "kernel"}},
          .held_fixed = "network, GPUs, requests and their arrivals",
          .refuted_if = "chat's TTFT is nowhere halved and code's nowhere doubled",
          .controls = "four instances without prefill apart: the same GPUs",
          .reference = Reference::kModel,
          .published = Verdict::kConfirmed,
          .scope = "inference-sim with llm-d's decider, against the kernel model's instances",
          .not_tested = "lengths and rates of the original: not published",
          .needs_tables = false,
          .run = run_pd_threshold};
}

}  // namespace ridgeline::studies
