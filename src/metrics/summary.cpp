#include "metrics/summary.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.hpp"
#include "domain/label_set.hpp"
#include "metrics/slo.hpp"

namespace ridgeline::metrics {
namespace {

/// Fields that are absent for one reason.
class Missing {
 public:
  Missing(std::string reason, std::string hint)
      : reason_(std::move(reason)), hint_(std::move(hint)) {}

  void add_if(bool absent, std::string_view field) {
    if (absent) {
      fields_ += fields_.empty() ? "" : ", ";
      fields_ += field;
    }
  }
  void report(core::Warnings& warnings) const {
    if (!fields_.empty()) {
      warnings.push_back(
          {.code = "W-no-number", .message = fields_ + ": " + reason_, .hint = hint_});
    }
  }

 private:
  std::string reason_;
  std::string hint_;
  std::string fields_;
};

void latencies_missing(const Summary& summary,
                       Missing& completion,
                       Missing& tokens,
                       Missing& gaps) {
  for (std::size_t m = 0; m < kNumMetrics; ++m) {
    const auto metric = static_cast<Metric>(m);
    const std::string field = std::string(kMetricNames[m]) + "_ms";
    // A gap between tokens needs two of them; a time to the first or to the end only a completion.
    const bool needs_two = metric == Metric::kTpot || metric == Metric::kItl;
    const bool told_apart = metric != Metric::kItl || summary.warmup_requests.value_or(0) == 0;
    Missing& missing = !told_apart                          ? gaps
                       : needs_two && summary.completed > 0 ? tokens
                                                            : completion;
    missing.add_if(!summary.client.of(metric).has_value(), "summary." + field);
    missing.add_if(!summary.server.of(metric).has_value(), "summary.server." + field);
    for (const SloVerdict& verdict : summary.slo) {
      if (verdict.metric == metric) {
        const std::string slo_field = std::string("summary.slo.") + kMetricNames[m];
        missing.add_if(!verdict.value_ms.has_value(), slo_field + ".value_ms");
        missing.add_if(!verdict.met.has_value(), slo_field + ".met");
        completion.add_if(!verdict.share.has_value(), slo_field + ".share");
      }
    }
  }
}

/// Each label once.
void groups_missing(const Summary& summary, Missing& missing) {
  for (std::size_t label = 0; label < domain::kNumLabels; ++label) {
    const bool absent = std::ranges::any_of(summary.groups, [&](const GroupSummary& group) {
      return group.label == static_cast<domain::Label>(label) &&
             !(group.ttft_ms && group.tpot_ms && group.e2e_ms && group.queue_time_ms);
    });
    missing.add_if(absent, std::string("summary.groups.") + domain::kLabelNames[label]);
  }
}

/// A kind of number once, whatever the number of instances.
void fleet_missing(const FleetSummary& fleet, Missing& missing) {
  // An instance that computes prompts alone ends no request.
  const auto prompts_alone = static_cast<std::size_t>(
      fleet.transfers ? fleet.transfers->prefill_instances : std::int64_t{0});
  const auto serving = std::span(fleet.instances).subspan(prompts_alone);
  const auto lacks = [&](const auto& number, std::string_view field) {
    missing.add_if(std::ranges::any_of(serving,
                                       [&](const InstanceSummary& instance) {
                                         return !(instance.*number).has_value();
                                       }),
                   std::string("summary.cluster.per_instance.") + std::string(field));
  };
  missing.add_if(!fleet.request_variation, "summary.cluster.routing.request_variation");
  missing.add_if(!fleet.token_variation, "summary.cluster.routing.token_variation");
  lacks(&InstanceSummary::ttft_ms, "ttft_ms");
  lacks(&InstanceSummary::tpot_ms, "tpot_ms");
  lacks(&InstanceSummary::e2e_ms, "e2e_ms");
  lacks(&InstanceSummary::queue_time_ms, "queue_time_ms");
  lacks(&InstanceSummary::busy, "busy");
  lacks(&InstanceSummary::kv_peak, "kv_peak");
  lacks(&InstanceSummary::prefix_hit_rate, "prefix_hit_rate");
}

}  // namespace

std::int64_t Summary::requests() const {
  std::int64_t sum = 0;
  for (const auto outcome_count : by_outcome) {
    sum += outcome_count;
  }
  return sum;
}

core::Warnings missing_numbers(const Summary& summary) {
  Missing completion("no request completed", "");
  Missing tokens("no request generated more than one token", "");
  Missing gaps("gaps between tokens of the warm-up are not told apart", "TPOT is there");
  Missing time("the completed requests took no time", "");
  Missing slo("no target was set", "set slo targets");
  Missing steps("the engine ran no step", "");
  Missing blocks("the engine has no KV blocks", "");
  Missing groups("in some group no request completed, or none generated more than one token", "");
  Missing queries("nothing was looked up in the prefix cache", "enable_prefix_caching");
  Missing instances("an instance has too few requests for it, or caches no prefixes", "");

  latencies_missing(summary, completion, tokens, gaps);
  groups_missing(summary, groups);
  if (summary.fleet) {
    fleet_missing(*summary.fleet, instances);
  }
  completion.add_if(!summary.queue_time_ms.has_value(), "summary.queue_time_ms");
  Missing& no_rate = summary.completed > 0 ? time : completion;
  completion.add_if(!summary.duration_s.has_value(), "summary.duration_s");
  no_rate.add_if(!summary.request_throughput.has_value(), "summary.request_throughput");
  no_rate.add_if(!summary.output_throughput.has_value(), "summary.output_throughput");
  no_rate.add_if(!summary.total_token_throughput.has_value(), "summary.total_token_throughput");
  Missing& no_goodput = summary.slo.empty() ? slo : no_rate;
  no_goodput.add_if(!summary.goodput.has_value(), "summary.goodput");
  blocks.add_if(!summary.kv_cache.peak.has_value(), "summary.kv_cache.peak");
  Missing& no_mean = summary.kv_cache.peak.has_value() ? steps : blocks;
  no_mean.add_if(!summary.kv_cache.mean.has_value(), "summary.kv_cache.mean");
  queries.add_if(!summary.kv_cache.prefix_hit_rate.has_value(), "summary.kv_cache.prefix_hit_rate");

  core::Warnings warnings;
  for (const Missing* missing :
       {&completion, &tokens, &gaps, &time, &slo, &steps, &blocks, &queries, &groups, &instances}) {
    missing->report(warnings);
  }
  return warnings;
}

}  // namespace ridgeline::metrics
