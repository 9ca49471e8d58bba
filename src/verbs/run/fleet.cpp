#include "verbs/run/fleet.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "metrics/fleet_tree.hpp"
#include "metrics/lock_step_summary.hpp"
#include "metrics/offload_summary.hpp"
#include "metrics/operations_summary.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/figures/figure.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"
#include "report/text_lines.hpp"
#include "report/warning_lines.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;
using metrics::AdmissionSummary;
using metrics::FaultSummary;
using metrics::FleetSummary;
using metrics::InstanceSummary;
using metrics::LockStepSummary;
using metrics::Metric;
using metrics::OffloadSummary;
using metrics::OperationsSummary;
using metrics::PoolSummary;
using metrics::RankSummary;
using metrics::RetriesSummary;
using metrics::ScaleEventSummary;
using metrics::ScalingSummary;
using metrics::Statistic;
using metrics::TierSummary;
using metrics::TransferSummary;
using metrics::UpdateSummary;

constexpr std::size_t kMostFleetRows = 16;  ///< The other formats have all.
constexpr std::size_t kMostFaults = 4;      ///< That the table names; the other formats have all.
constexpr double kGigabyte = 1e9;
constexpr double kShownMs = 1e-6;
/// As people read them, in the order of metrics::kTtftParts.
constexpr auto kPartWords = std::to_array<std::string_view>(
    {"gateway", "prefill", "hand-over", "decode queue", "set-up", "transfer", "first step"});
static_assert(kPartWords.size() == metrics::kTtftParts.size());

/// A row per instance, pool or tenant: `counts`, the medians and p99 of TTFT and TPOT in the units
/// of the whole run, then `shares`.
report::TableView fleet_view(const metrics::Summary& summary,
                             report::Column first,
                             std::vector<report::Column> counts,
                             std::vector<report::Column> shares) {
  constexpr std::size_t kCell = 8;
  first.width = report::kLabelWidth;
  first.most = report::kLabelWidth - 1;
  report::TableView view{.columns = {std::move(first)}, .most_rows = kMostFleetRows};
  std::ranges::move(counts, std::back_inserter(view.columns));
  for (const auto& [name, metric] :
       {std::pair("ttft", Metric::kTtft), std::pair("tpot", Metric::kTpot)}) {
    const auto& whole = summary.client.of(metric);
    const report::TimeUnit unit = report::time_unit(whole ? whole->of(Statistic::kMean) : 1.0);
    view.columns.push_back({.title = fmt::format("{} p50", report::upper(name)),
                            .path = fmt::format("{}_ms.p50", name),
                            .format = report::Format::kSignificant,
                            .scale = unit.per_ms});
    view.columns.push_back({.title = fmt::format("p99 {}", unit.name),
                            .path = fmt::format("{}_ms.p99", name),
                            .format = report::Format::kSignificant,
                            .scale = unit.per_ms});
  }
  std::ranges::move(shares, std::back_inserter(view.columns));
  for (std::size_t c = 1; c < view.columns.size(); ++c) {
    view.columns[c].width = kCell;
  }
  return view;
}

const report::Column kRequests{
    .title = "requests", .path = "requests", .format = report::Format::kCount};

std::vector<report::Column> load_shares() {
  return {{.title = "busy", .path = "busy", .format = report::Format::kShare},
          {.title = "KV peak", .path = "kv_peak", .format = report::Format::kShare},
          {.title = "hits", .path = "prefix_hit_rate", .format = report::Format::kShare}};
}

std::string refused(const Node& tenant) {
  return report::grouped(static_cast<std::int64_t>(report::figures::number_at(tenant, "rejected") +
                                                   report::figures::number_at(tenant, "expired")));
}

/// Those that an instance ever took: where instances come and go, others have no time in service.
std::vector<std::size_t> used_places(const FleetSummary& fleet) {
  const auto is_timed = [](const InstanceSummary& one) { return one.ready_s.has_value(); };
  const bool all = std::ranges::none_of(fleet.instances, is_timed);
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < fleet.instances.size(); ++place) {
    if (all || is_timed(fleet.instances[place])) {
      places.push_back(place);
    }
  }
  return places;
}

/// What routing did, in one line.
std::string gateway_line(const FleetSummary& fleet, const report::TextStyle& style) {
  std::vector<report::Piece> pieces = {
      {.text = fleet.router},
      {.text = report::counted(fleet.decisions, "decision")},
      {.text = fmt::format("{} by a draw among equals", report::grouped(fleet.ties))}};
  if (fleet.refused > 0) {
    pieces.push_back(
        {.text = fmt::format("{} refused by filters", report::grouped(fleet.refused))});
  }
  const auto variation = [&](std::string_view what, const std::optional<double>& value) {
    if (value) {
      pieces.push_back({.text = fmt::format("{} vary by {}", what, report::percent(*value))});
    }
  };
  variation("requests", fleet.request_variation);
  variation("tokens", fleet.token_variation);
  if (fleet.age_ms) {
    pieces.push_back({.text = fmt::format("gauges {} ms old", report::significant(*fleet.age_ms))});
  }
  if (fleet.regret) {
    pieces.push_back(
        {.text = fmt::format("{} otherwise on fresh views", report::percent(*fleet.regret))});
    pieces.push_back(
        {.text = fmt::format("{} cached elsewhere",
                             report::counted(*fleet.hit_lost_tokens, "recomputed token"))});
  }
  return report::labelled_line(
      report::counted(static_cast<std::int64_t>(used_places(fleet).size()), "instance"),
      pieces,
      style);
}

std::string transfers_lines(const TransferSummary& transfers,
                            const std::vector<std::size_t>& places,
                            const report::TextStyle& style) {
  const auto prefills = std::ranges::count_if(places, [&](std::size_t place) {
    return static_cast<std::int64_t>(place) < transfers.prefill_instances;
  });
  std::vector<report::Piece> moved = {
      {.text = fmt::format("{} + {} instances", prefills, std::ssize(places) - prefills)},
      {.text = fmt::format("{} apart", report::counted(transfers.requests, "prompt"))},
      {.text = report::counted(transfers.count, "transfer")},
      {.text = fmt::format("{} GB",
                           report::significant(static_cast<double>(transfers.bytes) / kGigabyte))}};
  if (transfers.ms && transfers.wait_ms) {
    moved.push_back({.text = fmt::format("{} ms each, {} of it for others",
                                         report::significant(*transfers.ms),
                                         report::significant(*transfers.wait_ms))});
  }
  if (transfers.link_utilisation) {
    moved.push_back(
        {.text = fmt::format("busiest wire {}", report::percent(*transfers.link_utilisation))});
  }
  if (transfers.failed > 0) {
    std::string lost = fmt::format("{} lost", report::grouped(transfers.failed));
    if (transfers.recomputed > 0) {
      lost += fmt::format(", {} of them recomputed", report::grouped(transfers.recomputed));
    }
    moved.push_back({.text = std::move(lost)});
  }
  std::string text = report::labelled_line("apart", moved, style);
  std::vector<report::Piece> parts;
  for (std::size_t i = 0; i < kPartWords.size(); ++i) {
    if (const auto& mean = transfers.ttft_parts_ms[i]; mean) {
      // An instant that follows at once is a picosecond later.
      const double shown = *mean < kShownMs ? 0.0 : *mean;
      parts.push_back({.text = fmt::format("{} {}", kPartWords[i], report::significant(shown))});
    }
  }
  if (!parts.empty()) {
    parts.back().text += " ms";
    text += report::labelled_line("first token", parts, style);
  }
  return text;
}

std::string lock_step_line(const LockStepSummary& lock_step, const report::TextStyle& style) {
  std::int64_t steps = 0;
  std::int64_t dummies = 0;
  double waited = 0.0;
  std::int64_t stepped = 0;
  for (const RankSummary& rank : lock_step.per_rank) {
    steps += rank.steps;
    dummies += rank.dummy_steps;
    waited += rank.waited.value_or(0.0);
    stepped += rank.waited ? 1 : 0;
  }
  const auto groups = static_cast<std::int64_t>(lock_step.per_rank.size()) / lock_step.ranks;
  std::vector<report::Piece> pieces = {
      {.text = fmt::format("{} of {} ranks", report::counted(groups, "group"), lock_step.ranks)},
      {.text = fmt::format("{} of {} without a request",
                           report::grouped(dummies),
                           report::counted(steps, "step"))}};
  if (stepped > 0) {
    pieces.push_back({.text = fmt::format("{} of their time for the longest rank",
                                          report::percent(waited / static_cast<double>(stepped)))});
  }
  return report::labelled_line("lock-step", pieces, style);
}

std::string gigabytes(std::int64_t bytes) {
  return fmt::format("{} GB", report::significant(static_cast<double>(bytes) / kGigabyte));
}

std::string tier_line(const TierSummary& tier, const report::TextStyle& style) {
  std::vector<report::Piece> pieces = {
      {.text = fmt::format("{} read", gigabytes(tier.bytes_read))}};
  if (tier.read_ms) {
    pieces.push_back({.text = fmt::format("{} ms a load", report::significant(*tier.read_ms))});
  }
  pieces.push_back({.text = fmt::format("{} written", gigabytes(tier.bytes_written))});
  pieces.push_back({.text = fmt::format("peak {} of {}",
                                        report::grouped(tier.peak_blocks),
                                        report::counted(tier.capacity_blocks, "block"))});
  if (tier.blocks_evicted > 0) {
    pieces.push_back({.text = fmt::format("{} evicted", report::grouped(tier.blocks_evicted))});
  }
  if (tier.blocks_refused > 0) {
    pieces.push_back(
        {.text = fmt::format("{} found no room", report::grouped(tier.blocks_refused))});
  }
  if (tier.read_utilisation && tier.write_utilisation) {
    pieces.push_back({.text = fmt::format("link {} read, {} written",
                                          report::percent(*tier.read_utilisation),
                                          report::percent(*tier.write_utilisation))});
  }
  return report::labelled_line(tier.tier, pieces, style);
}

std::string offload_lines(const OffloadSummary& offload, const report::TextStyle& style) {
  std::vector<report::Piece> found = {
      {.text =
           fmt::format("{} of {} not on the GPUs loaded{}",
                       report::grouped(offload.hit_tokens),
                       report::counted(offload.query_tokens, "token"),
                       offload.hit_rate ? fmt::format(" ({})", report::percent(*offload.hit_rate))
                                        : std::string())},
      {.text = report::counted(offload.loads, "request")}};
  if (offload.load_ms) {
    found.push_back({.text = fmt::format("{} ms each", report::significant(*offload.load_ms))});
  }
  if (offload.recomputed > 0) {
    found.push_back(
        {.text = fmt::format("{} computed as sooner", report::grouped(offload.recomputed))});
  }
  std::string text = report::labelled_line("KV tiers", found, style);
  for (const TierSummary& tier : offload.tiers) {
    text += tier_line(tier, style);
  }
  return text;
}

/// What its instances are, and cost.
std::string made_of(const PoolSummary& pool) {
  std::string text = fmt::format("{}: {} of {} on {} {}",
                                 pool.name,
                                 report::counted(pool.instances, "instance"),
                                 pool.model,
                                 pool.gpus,
                                 pool.gpu);
  text += fmt::format(", {} GPU hours", report::significant(pool.gpu_hours));
  if (pool.cost) {
    text += fmt::format(", cost {} USD", report::significant(*pool.cost));
  }
  return text;
}

std::string pools_table(const metrics::Summary& summary,
                        const Node& cluster,
                        const report::TextStyle& style) {
  std::vector<report::Piece> pieces;
  for (const PoolSummary& pool : summary.fleet->pools) {
    pieces.push_back({.text = report::printable(made_of(pool), style.ascii)});
  }
  return pieces.empty() ? ""
                        : report::labelled_line("pools", pieces, style) +
                              report::render(fleet_view(summary,
                                                        {.title = "by pool", .path = "name"},
                                                        {kRequests},
                                                        load_shares()),
                                             report::rows_at(cluster, "per_pool"),
                                             report::Face::kTerminal,
                                             style);
}

std::string admission_line(const AdmissionSummary& admission, const report::TextStyle& style) {
  std::vector<report::Piece> pieces = {
      {.text = admission.policy + (admission.flow_control ? " with flow control" : "")},
      {.text = report::grouped(admission.admitted) + " admitted"}};
  if (admission.evicted) {
    pieces.push_back({.text = report::grouped(*admission.evicted) + " evicted"});
  }
  for (const AdmissionSummary::Refused& refused : admission.rejected) {
    if (refused.requests > 0) {
      std::string reason = refused.reason;
      std::ranges::replace(reason, '_', ' ');
      pieces.push_back(
          {.text = fmt::format("{} refused: {}", report::grouped(refused.requests), reason),
           .colour = style.palette.bad});
    }
  }
  if (admission.flow_control && admission.queue_ms) {
    pieces.push_back(
        {.text = fmt::format("queued {} ms, p99 {} ms",
                             report::significant(admission.queue_ms->of(Statistic::kMean)),
                             report::significant(admission.queue_ms->of(Statistic::kP99)))});
  }
  return report::labelled_line("admission", pieces, style);
}

std::string tenants_table(const metrics::Summary& summary,
                          const Node& cluster,
                          const report::TextStyle& style) {
  const report::Rows rows = report::rows_at(cluster, "per_tenant");
  if (rows.empty()) {
    return {};
  }
  const report::TableView view = fleet_view(
      summary,
      {.title = "by tenant", .path = "name"},
      {kRequests, {.title = "refused", .format = report::Format::kCount, .cell = refused}},
      {{.title = "share", .path = "share", .format = report::Format::kShare},
       {.title = "good", .path = "good_share", .format = report::Format::kShare}});
  std::string text = report::render(view, rows, report::Face::kTerminal, style);
  if (const auto& fairness = summary.fleet->fairness) {
    text +=
        report::pad_right("fairness", report::kLabelWidth) +
        fmt::format("{:.3f} of 1 (Jain, tokens over shares, whatever each asked for)\n", *fairness);
    if (const auto& of_demand = summary.fleet->fairness_of_demand) {
      text += std::string(report::kLabelWidth, ' ') +
              fmt::format("{:.3f} over the fair part of what each asked for\n", *of_demand);
    }
  }
  return text;
}

std::string fault_text(const FaultSummary& fault) {
  std::string text = fmt::format("{} at {} s", fault.name(), report::significant(fault.at_s));
  if (fault.failed_requests > 0) {
    text += fmt::format(", {} lost", report::counted(fault.failed_requests, "request"));
  }
  if (fault.over_s && *fault.over_s > fault.at_s) {
    text += fmt::format(", over after {} s", report::significant(*fault.over_s - fault.at_s));
  }
  return text;
}

std::string scaling_line(const ScalingSummary& scaling, const report::TextStyle& style) {
  std::vector<report::Piece> pieces;
  if (!scaling.policy.empty()) {
    pieces.push_back({.text = scaling.policy});
    for (const std::string& pool : scaling.pools) {
      std::int64_t up = 0;
      std::int64_t down = 0;
      std::int64_t most = 0;
      for (const ScaleEventSummary& event : scaling.events) {
        if (event.pool == pool) {
          up += event.to > event.from ? 1 : 0;
          down += event.to < event.from ? 1 : 0;
          most = std::max({most, event.from, event.to});
        }
      }
      if (most == 0 && (!pool.empty() || !scaling.events.empty())) {
        continue;
      }
      pieces.push_back({.text = fmt::format("{}{}{} up, {} down",
                                            pool,
                                            pool.empty() ? "" : " ",
                                            report::counted(up, "time"),
                                            down)});
      if (most > 0) {
        pieces.push_back({.text = fmt::format("{} at most", report::counted(most, "instance"))});
      }
    }
  }
  if (scaling.pools.size() > 1 && scaling.events.empty()) {
    pieces.push_back({.text = "no change"});
  }
  pieces.push_back({.text = fmt::format("{} GPU hours", report::significant(scaling.gpu_hours))});
  if (scaling.cost) {
    pieces.push_back({.text = fmt::format("cost {} USD", report::significant(*scaling.cost))});
  }
  return report::labelled_line("scaling", pieces, style);
}

std::string faults_line(const OperationsSummary& operations, const report::TextStyle& style) {
  std::vector<report::Piece> pieces;
  const auto& faults = operations.faults;
  for (std::size_t i = 0; i < std::min(faults.size(), kMostFaults); ++i) {
    pieces.push_back({.text = fault_text(faults[i])});
  }
  if (faults.size() > kMostFaults) {
    std::int64_t lost = 0;
    for (const FaultSummary& fault : faults) {
      lost += fault.failed_requests;
    }
    pieces.push_back(
        {.text = fmt::format("{} in all, {} lost",
                             report::counted(static_cast<std::int64_t>(faults.size()), "fault"),
                             report::counted(lost, "request"))});
  }
  if (operations.held_requests > 0) {
    pieces.push_back({.text = fmt::format("{} waited for an instance",
                                          report::counted(operations.held_requests, "request"))});
  }
  return pieces.empty() ? "" : report::labelled_line("faults", pieces, style);
}

std::string update_lines(const std::vector<UpdateSummary>& updates,
                         const report::TextStyle& style) {
  std::vector<report::Piece> pieces;
  for (const UpdateSummary& update : updates) {
    std::string text = fmt::format("{}{}{} of {} replaced from {} s on",
                                   update.pool,
                                   update.pool.empty() ? "" : " ",
                                   update.replaced,
                                   report::counted(update.instances, "instance"),
                                   report::significant(update.at_s));
    text += update.over_s ? fmt::format(", over after {} s",
                                        report::significant(*update.over_s - update.at_s))
                          : std::string(", not over by the end");
    if (update.starting > 0) {
      text += fmt::format(", {} still starting", report::counted(update.starting, "new instance"));
    }
    pieces.push_back({.text = std::move(text)});
    pieces.push_back({.text = fmt::format("{} ready at least", update.fewest_ready)});
    if (update.failed_requests > 0) {
      pieces.push_back({.text = fmt::format("{} lost, {} of them sent again",
                                            report::counted(update.failed_requests, "request"),
                                            update.rerouted_requests)});
    }
  }
  return pieces.empty() ? "" : report::labelled_line("update", pieces, style);
}

std::string retries_line(const RetriesSummary& retries, const report::TextStyle& style) {
  if (retries.attempts == 0 && retries.wasted_tokens == 0) {
    return "";
  }
  return report::labelled_line(
      "retries",
      {{.text = fmt::format("{} sent again, {}",
                            report::counted(retries.retried_requests, "request"),
                            report::counted(retries.attempts, "further attempt"))},
       {.text = fmt::format("{} wasted", report::counted(retries.wasted_tokens, "token"))}},
      style);
}

std::string operations_lines(const OperationsSummary& operations, const report::TextStyle& style) {
  std::string text;
  if (operations.scaling) {
    text += scaling_line(*operations.scaling, style);
  }
  text += update_lines(operations.updates, style);
  text += faults_line(operations, style);
  if (operations.retries) {
    text += retries_line(*operations.retries, style);
  }
  return text;
}

}  // namespace

std::string fleet_table(const metrics::Summary& summary, const report::TextStyle& style) {
  if (!summary.fleet) {
    return {};
  }
  const FleetSummary& fleet = *summary.fleet;
  const std::vector<std::size_t> places = used_places(fleet);
  const Node cluster = metrics::fleet_tree(fleet);
  const report::Rows instances = report::rows_at(cluster, "per_instance");
  report::Rows used;
  for (const std::size_t place : places) {
    used.push_back(instances[place]);
  }
  std::string text = "\n" + gateway_line(fleet, style);
  text += fleet.transfers ? transfers_lines(*fleet.transfers, places, style) : "";
  text += fleet.lock_step ? lock_step_line(*fleet.lock_step, style) : "";
  text += fleet.offload ? offload_lines(*fleet.offload, style) : "";
  text += pools_table(summary, cluster, style);
  text += report::render(
      fleet_view(summary, {.title = "by instance", .path = "id"}, {kRequests}, load_shares()),
      used,
      report::Face::kTerminal,
      style);
  text += fleet.operations ? operations_lines(*fleet.operations, style) : "";
  text += fleet.admission ? admission_line(*fleet.admission, style) : "";
  return text + tenants_table(summary, cluster, style) + "\n";
}

}  // namespace ridgeline::verbs
