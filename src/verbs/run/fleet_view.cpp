#include "verbs/run/fleet_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;
using report::counted;
using report::grouped;
using report::percent;
using report::significant;
using report::text_at;
using report::Tone;
using report::figures::number_at;
using Words = std::vector<report::Sheet::Words>;

constexpr std::size_t kMostFleetRows = 16;  ///< The other formats have all.
constexpr std::size_t kMostFaults = 4;      ///< That the table names; the other formats have all.
constexpr double kGigabyte = 1e9;

bool has(const Node& tree, std::string_view path) {
  const Node* const node = at_path(tree, path);
  return node != nullptr && !node->is_null();
}
std::int64_t whole(const Node& tree, std::string_view path) {
  return std::llround(number_at(tree, path));
}
std::string number(const Node& tree, std::string_view path) {
  return significant(number_at(tree, path));
}
std::string share(const Node& tree, std::string_view path) {
  return percent(number_at(tree, path));
}
std::string gigabytes(const Node& tree, std::string_view path) {
  return fmt::format("{} GB", significant(number_at(tree, path) / kGigabyte));
}
std::string lost(std::int64_t requests) {
  return requests > 0 ? fmt::format(", {} lost", counted(requests, "request")) : std::string();
}

const report::Column kRequests{
    .title = "requests", .path = "requests", .format = report::Format::kCount};
const report::Column kRefused{
    .title = "refused", .format = report::Format::kCount, .cell = [](const Node& tenant) {
      return grouped(whole(tenant, "rejected") + whole(tenant, "expired"));
    }};
const std::vector<report::Column> kLoad = {
    {.title = "busy", .path = "busy", .format = report::Format::kShare},
    {.title = "KV peak", .path = "kv_peak", .format = report::Format::kShare},
    {.title = "hits", .path = "prefix_hit_rate", .format = report::Format::kShare}};

/// A row per instance, pool or tenant: `counts`, the medians and p99 of TTFT and TPOT in the units
/// of the whole run, then `shares`.
report::TableView fleet_view(const Node& summary,
                             std::string title,
                             std::string path,
                             std::vector<report::Column> counts,
                             const std::vector<report::Column>& shares) {
  constexpr std::size_t kCell = 8;
  report::TableView view{.columns = {{.title = std::move(title),
                                      .path = std::move(path),
                                      .width = report::Sheet::kLabel,
                                      .most = report::Sheet::kLabel - 1}},
                         .most_rows = kMostFleetRows};
  std::ranges::move(counts, std::back_inserter(view.columns));
  for (const char* const latency : {"ttft", "tpot"}) {
    const report::TimeUnit unit = unit_of_run(summary, latency);
    for (const char* const statistic : {"p50", "p99"}) {
      const bool is_median = statistic == std::string_view("p50");
      view.columns.push_back({.title = is_median ? fmt::format("{} p50", report::upper(latency))
                                                 : fmt::format("p99 {}", unit.name),
                              .path = fmt::format("{}_ms.{}", latency, statistic),
                              .format = report::Format::kSignificant,
                              .scale = unit.per_ms});
    }
  }
  view.columns.insert(view.columns.end(), shares.begin(), shares.end());
  for (std::size_t c = 1; c < view.columns.size(); ++c) {
    view.columns[c].width = kCell;
  }
  return view;
}

/// Those that an instance ever took: where instances come and go, others have no time in service.
report::Rows used_instances(const Node& cluster) {
  report::Rows rows = report::rows_at(cluster, "per_instance");
  const auto is_timed = [](const Node* one) { return has(*one, "ready_s"); };
  if (std::ranges::any_of(rows, is_timed)) {
    std::erase_if(rows, [&](const Node* one) { return !is_timed(one); });
  }
  return rows;
}

/// What routing did, in one line.
void add_gateway(const Node& routing, std::int64_t instances, report::Sheet& sheet) {
  std::vector<std::string> words = {
      text_at(routing, "router"),
      counted(whole(routing, "decisions"), "decision"),
      fmt::format("{} by a draw among equals", grouped(whole(routing, "ties")))};
  if (has(routing, "refused")) {
    words.push_back(fmt::format("{} refused by filters", grouped(whole(routing, "refused"))));
  }
  for (const auto& [what, path] :
       {std::pair("requests", "request_variation"), std::pair("tokens", "token_variation")}) {
    if (has(routing, path)) {
      words.push_back(fmt::format("{} vary by {}", what, share(routing, path)));
    }
  }
  if (has(routing, "age_ms")) {
    words.push_back(fmt::format("gauges {} ms old", number(routing, "age_ms")));
  }
  if (has(routing, "regret")) {
    words.push_back(fmt::format("{} otherwise on fresh views", share(routing, "regret")));
    words.push_back(fmt::format("{} cached elsewhere",
                                counted(whole(routing, "hit_lost_tokens"), "recomputed token")));
  }
  sheet.line(words, counted(instances, "instance"));
}

void add_transfers(const Node& transfers, const report::Rows& instances, report::Sheet& sheet) {
  const auto prefills = std::ranges::count_if(instances, [&](const Node* one) {
    return number_at(*one, "id") < number_at(transfers, "prefill_instances");
  });
  std::vector<std::string> words = {
      fmt::format("{} + {} instances", prefills, std::ssize(instances) - prefills),
      fmt::format("{} apart", counted(whole(transfers, "requests"), "prompt")),
      counted(whole(transfers, "count"), "transfer"),
      gigabytes(transfers, "bytes")};
  if (has(transfers, "ms") && has(transfers, "wait_ms")) {
    words.push_back(fmt::format(
        "{} ms each, {} of it for others", number(transfers, "ms"), number(transfers, "wait_ms")));
  }
  if (has(transfers, "link_utilisation")) {
    words.push_back(fmt::format("busiest wire {}", share(transfers, "link_utilisation")));
  }
  if (whole(transfers, "failed") > 0) {
    const std::int64_t again = whole(transfers, "recomputed");
    words.push_back(
        fmt::format("{} lost", grouped(whole(transfers, "failed"))) +
        (again > 0 ? fmt::format(", {} of them recomputed", grouped(again)) : std::string()));
  }
  sheet.line(words, "apart");
  // As people read them, in the order of metrics::kTtftParts.
  constexpr auto kParts = std::to_array<std::string_view>(
      {"gateway", "prefill", "hand-over", "decode queue", "set-up", "transfer", "first step"});
  constexpr double kShownMs = 1e-6;  // An instant that follows at once is a picosecond later.
  std::vector<std::string> parts;
  const auto means = members_at(transfers, "ttft_parts_ms");
  for (std::size_t i = 0; i < std::min(means.size(), kParts.size()); ++i) {
    if (means[i].value.is_number()) {
      const double ms = means[i].value.as_real();
      parts.push_back(fmt::format("{} {}", kParts[i], significant(ms < kShownMs ? 0.0 : ms)));
    }
  }
  if (!parts.empty()) {
    parts.back() += " ms";
    sheet.line(parts, "first token");
  }
}

void add_lock_step(const Node& lock_step, report::Sheet& sheet) {
  std::int64_t steps = 0;
  std::int64_t dummies = 0;
  double waited = 0.0;
  double stepped = 0.0;
  const report::Rows ranks = report::rows_at(lock_step, "per_rank");
  for (const Node* rank : ranks) {
    steps += whole(*rank, "steps");
    dummies += whole(*rank, "dummy_steps");
    waited += number_at(*rank, "waited");
    stepped += has(*rank, "waited") ? 1.0 : 0.0;
  }
  const std::int64_t of_group = std::max<std::int64_t>(whole(lock_step, "ranks"), 1);
  std::vector<std::string> words = {
      fmt::format("{} of {} ranks", counted(std::ssize(ranks) / of_group, "group"), of_group),
      fmt::format("{} of {} without a request", grouped(dummies), counted(steps, "step"))};
  if (stepped > 0.0) {
    words.push_back(
        fmt::format("{} of their time for the longest rank", percent(waited / stepped)));
  }
  sheet.line(words, "lock-step");
}

void add_tier(const Node& tier, report::Sheet& sheet) {
  std::vector<std::string> words = {fmt::format("{} read", gigabytes(tier, "bytes_read"))};
  if (has(tier, "read_ms")) {
    words.push_back(fmt::format("{} ms a load", number(tier, "read_ms")));
  }
  words.push_back(fmt::format("{} written", gigabytes(tier, "bytes_written")));
  words.push_back(fmt::format("peak {} of {}",
                              grouped(whole(tier, "peak_blocks")),
                              counted(whole(tier, "capacity_blocks"), "block")));
  for (const auto& [path, what] :
       {std::pair("blocks_evicted", "evicted"), std::pair("blocks_refused", "found no room")}) {
    if (whole(tier, path) > 0) {
      words.push_back(fmt::format("{} {}", grouped(whole(tier, path)), what));
    }
  }
  if (has(tier, "read_utilisation") && has(tier, "write_utilisation")) {
    words.push_back(fmt::format("link {} read, {} written",
                                share(tier, "read_utilisation"),
                                share(tier, "write_utilisation")));
  }
  sheet.line(words, text_at(tier, "tier"));
}

void add_offload(const Node& offload, report::Sheet& sheet) {
  std::vector<std::string> words = {
      fmt::format("{} of {} not on the GPUs loaded{}",
                  grouped(whole(offload, "hit_tokens")),
                  counted(whole(offload, "query_tokens"), "token"),
                  has(offload, "hit_rate") ? fmt::format(" ({})", share(offload, "hit_rate"))
                                           : std::string()),
      counted(whole(offload, "loads"), "request")};
  if (has(offload, "load_ms")) {
    words.push_back(fmt::format("{} ms each", number(offload, "load_ms")));
  }
  if (whole(offload, "recomputed") > 0) {
    words.push_back(fmt::format("{} computed as sooner", grouped(whole(offload, "recomputed"))));
  }
  sheet.line(words, "KV tiers");
  for (const Node* tier : report::rows_at(offload, "tiers")) {
    add_tier(*tier, sheet);
  }
}

/// What the instances of each pool are, and cost; then a row each.
void add_pools(const Node& summary, const Node& cluster, report::Sheet& sheet) {
  const report::Rows pools = report::rows_at(cluster, "per_pool");
  std::vector<std::string> words;
  for (const Node* pool : pools) {
    words.push_back(fmt::format(
        "{}: {} of {} on {} {}, {} GPU hours{}",
        text_at(*pool, "name"),
        counted(whole(*pool, "instances"), "instance"),
        text_at(*pool, "model"),
        whole(*pool, "gpus_per_instance"),
        text_at(*pool, "gpu"),
        number(*pool, "gpu_hours"),
        has(*pool, "cost") ? fmt::format(", cost {} USD", number(*pool, "cost")) : std::string()));
  }
  if (!pools.empty()) {
    sheet.line(words, "pools")
        .table(fleet_view(summary, "by pool", "name", {kRequests}, kLoad), pools);
  }
}

void add_admission(const Node& admission, report::Sheet& sheet) {
  const bool queues = node_at(admission, "flow_control").describe() == "true";
  Words words = {{.text = text_at(admission, "policy") + (queues ? " with flow control" : "")},
                 {.text = grouped(whole(admission, "admitted")) + " admitted"}};
  if (has(admission, "evicted")) {
    words.push_back({.text = grouped(whole(admission, "evicted")) + " evicted"});
  }
  for (const auto& [reason, requests, where] : members_at(admission, "rejected")) {
    if (requests.as_real() > 0.0) {
      std::string why = reason;
      std::ranges::replace(why, '_', ' ');
      words.push_back({.text = fmt::format("{} refused: {}", grouped(requests.as_integer()), why),
                       .tone = Tone::kBad});
    }
  }
  if (queues && has(admission, "queue_ms.mean")) {
    words.push_back({.text = fmt::format("queued {} ms, p99 {} ms",
                                         number(admission, "queue_ms.mean"),
                                         number(admission, "queue_ms.p99"))});
  }
  sheet.line(std::move(words), "admission");
}

void add_tenants(const Node& summary, const Node& cluster, report::Sheet& sheet) {
  const report::Rows rows = report::rows_at(cluster, "per_tenant");
  if (rows.empty()) {
    return;
  }
  sheet.table(
      fleet_view(summary,
                 "by tenant",
                 "name",
                 {kRequests, kRefused},
                 {{.title = "share", .path = "share", .format = report::Format::kShare},
                  {.title = "good", .path = "good_share", .format = report::Format::kShare}}),
      rows);
  if (has(cluster, "fairness")) {
    sheet.row(fmt::format("{:.3f} of 1 (Jain, tokens over shares, whatever each asked for)",
                          number_at(cluster, "fairness")),
              "fairness",
              report::Sheet::kLabel);
    if (has(cluster, "fairness_of_demand")) {
      sheet.row(fmt::format("{:.3f} over the fair part of what each asked for",
                            number_at(cluster, "fairness_of_demand")),
                "",
                report::Sheet::kLabel);
    }
  }
}

void add_scaling(const Node& scaling, report::Sheet& sheet) {
  std::vector<std::string> words;
  const report::Rows events = report::rows_at(scaling, "events");
  if (has(scaling, "policy")) {
    words.push_back(text_at(scaling, "policy"));
    std::vector<std::string> names;
    for (const Node* pool : report::rows_at(scaling, "pools")) {
      names.push_back(pool->as_string());
    }
    if (names.empty()) {
      names.emplace_back();
    }
    for (const std::string& name : names) {
      std::int64_t up = 0;
      std::int64_t down = 0;
      std::int64_t most = 0;
      for (const Node* event : events) {
        if (text_at(*event, "pool") == name) {
          const std::int64_t from = whole(*event, "from");
          const std::int64_t to = whole(*event, "to");
          up += to > from ? 1 : 0;
          down += to < from ? 1 : 0;
          most = std::max({most, from, to});
        }
      }
      if (most == 0 && (!name.empty() || !events.empty())) {
        continue;
      }
      words.push_back(fmt::format(
          "{}{}{} up, {} down", name, name.empty() ? "" : " ", counted(up, "time"), down));
      if (most > 0) {
        words.push_back(fmt::format("{} at most", counted(most, "instance")));
      }
    }
    if (names.size() > 1 && events.empty()) {
      words.emplace_back("no change");
    }
  }
  words.push_back(fmt::format("{} GPU hours", number(scaling, "gpu_hours")));
  if (has(scaling, "cost")) {
    words.push_back(fmt::format("cost {} USD", number(scaling, "cost")));
  }
  sheet.line(words, "scaling");
}

void add_updates(const report::Rows& updates, report::Sheet& sheet) {
  std::vector<std::string> words;
  for (const Node* update : updates) {
    const std::string pool = text_at(*update, "pool");
    const double at_s = number_at(*update, "at_s");
    std::string text =
        fmt::format("{}{}{} of {} replaced from {} s on",
                    pool,
                    pool.empty() ? "" : " ",
                    whole(*update, "replaced"),
                    counted(whole(*update, "instances"), "instance"),
                    significant(at_s)) +
        (has(*update, "over_s")
             ? fmt::format(", over after {} s", significant(number_at(*update, "over_s") - at_s))
             : std::string(", not over by the end"));
    if (const std::int64_t starting = whole(*update, "starting"); starting > 0) {
      text += fmt::format(", {} still starting", counted(starting, "new instance"));
    }
    words.push_back(std::move(text));
    words.push_back(fmt::format("{} ready at least", whole(*update, "fewest_ready")));
    if (const std::int64_t failed = whole(*update, "failed_requests"); failed > 0) {
      words.push_back(fmt::format("{} lost, {} of them sent again",
                                  counted(failed, "request"),
                                  whole(*update, "rerouted_requests")));
    }
  }
  sheet.line(words, "update");
}

std::string fault_text(const Node& fault) {
  std::string text = text_at(fault, "kind");
  if (has(fault, "instance")) {
    text += fmt::format(" of {}", whole(fault, "instance"));
  } else if (has(fault, "host")) {
    text += fmt::format(" of host {}", whole(fault, "host"));
  } else if (text.starts_with("link")) {
    text += " of the fabric";
  }
  const double at_s = number_at(fault, "at_s");
  const double over_s = number_at(fault, "over_s");
  return fmt::format(
      "{} at {} s{}{}",
      text,
      significant(at_s),
      lost(whole(fault, "failed_requests")),
      over_s > at_s ? fmt::format(", over after {} s", significant(over_s - at_s)) : std::string());
}

void add_faults(const report::Rows& faults, std::int64_t held, report::Sheet& sheet) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(faults.size(), kMostFaults); ++i) {
    words.push_back(fault_text(*faults[i]));
  }
  if (faults.size() > kMostFaults) {
    std::int64_t all = 0;
    for (const Node* fault : faults) {
      all += whole(*fault, "failed_requests");
    }
    words.push_back(fmt::format(
        "{} in all, {} lost", counted(std::ssize(faults), "fault"), counted(all, "request")));
  }
  if (held > 0) {
    words.push_back(fmt::format("{} waited for an instance", counted(held, "request")));
  }
  sheet.line(words, "faults");
}

void add_operations(const Node& cluster, report::Sheet& sheet) {
  if (has(cluster, "scaling")) {
    add_scaling(node_at(cluster, "scaling"), sheet);
  }
  add_updates(report::rows_at(cluster, "updates"), sheet);
  add_faults(report::rows_at(cluster, "faults"), whole(cluster, "held_requests"), sheet);
  const Node& retries = node_at(cluster, "retries");
  if (whole(retries, "attempts") > 0 || whole(retries, "wasted_tokens") > 0) {
    sheet.line(
        std::vector<std::string>{
            fmt::format("{} sent again, {}",
                        counted(whole(retries, "retried_requests"), "request"),
                        counted(whole(retries, "attempts"), "further attempt")),
            fmt::format("{} wasted", counted(whole(retries, "wasted_tokens"), "token"))},
        "retries");
  }
}

}  // namespace

report::TimeUnit unit_of_run(const Node& summary, std::string_view latency) {
  return report::time_unit(number_at(summary, fmt::format("{}_ms.mean", latency), 1.0));
}

void add_fleet(const Node& summary, report::Sheet& sheet) {
  const Node& cluster = node_at(summary, "cluster");
  if (!cluster.is_map()) {
    return;
  }
  const report::Rows instances = used_instances(cluster);
  sheet.gap();
  add_gateway(node_at(cluster, "routing"), std::ssize(instances), sheet);
  if (has(cluster, "transfers")) {
    add_transfers(node_at(cluster, "transfers"), instances, sheet);
  }
  if (has(cluster, "lock_step")) {
    add_lock_step(node_at(cluster, "lock_step"), sheet);
  }
  if (has(cluster, "kv_offload")) {
    add_offload(node_at(cluster, "kv_offload"), sheet);
  }
  add_pools(summary, cluster, sheet);
  sheet.table(fleet_view(summary, "by instance", "id", {kRequests}, kLoad), instances);
  add_operations(cluster, sheet);
  if (has(cluster, "admission")) {
    add_admission(node_at(cluster, "admission"), sheet);
  }
  add_tenants(summary, cluster, sheet);
  sheet.gap();
}

}  // namespace ridgeline::verbs
