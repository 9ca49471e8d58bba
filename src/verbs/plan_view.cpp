#include "verbs/plan_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "plan/doubt.hpp"
#include "report/chart/figure.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"
#include "verbs/run/expected_error.hpp"

namespace ridgeline::verbs {
namespace {

using document::MapBuilder;
using document::Node;
using report::grouped;
using report::percent;
using report::significant;
using report::text_at;
using report::figures::number_at;

/// An effect below this, in percent of capacity per percent of a step's time, is none.
constexpr double kWorthSaying = 0.05;
constexpr std::size_t kTopic = 8;  ///< Columns of "search" and the other topics.

bool is_known(const Node& tree, std::string_view path) {
  return !node_at(tree, path).is_null();
}
std::int64_t count_of(const Node& tree, std::string_view path) {
  return std::llround(number_at(tree, path));
}
std::vector<std::string> texts_of(const Node& tree, std::string_view path) {
  std::vector<std::string> texts;
  for (const Node* text : report::rows_at(tree, path)) {
    texts.push_back(report::cell_text(text, report::Format::kText));
  }
  return texts;
}

/// What the rows of an answer have in common.
class Plan {
 public:
  explicit Plan(const Node& answer) : answer_(answer), question_(node_at(answer, "question")) {}

  [[nodiscard]] const Node& question() const { return question_; }
  [[nodiscard]] bool is_most() const { return is_known(question_, "maximize"); }
  [[nodiscard]] bool is_closed_loop() const { return question_.find("clients") != nullptr; }
  [[nodiscard]] report::Rows candidates() const { return report::rows_at(answer_, "candidates"); }
  [[nodiscard]] report::Rows targets() const { return report::rows_at(question_, "slo"); }

  [[nodiscard]] const Node* find(std::string_view id) const {
    const report::Rows all = candidates();
    const auto found =
        std::ranges::find_if(all, [&](const Node* one) { return text_at(*one, "id") == id; });
    return found == all.end() ? nullptr : *found;
  }
  /// The best, in their order.
  [[nodiscard]] report::Rows ranking() const {
    report::Rows ranked;
    for (const std::string& id : texts_of(answer_, "ranking")) {
      if (const Node* const one = find(id); one != nullptr) {
        ranked.push_back(one);
      }
    }
    return ranked;
  }
  /// Replicas that serve the load: spare ones are left out.
  [[nodiscard]] std::int64_t serving(std::int64_t replicas) const {
    return std::max<std::int64_t>(1, replicas - count_of(question_, "spare_replicas"));
  }
  /// "3 × h200 TP2", and "3+1 × h200 TP2" where one is spare.
  [[nodiscard]] std::string times(const Node& candidate, std::int64_t replicas) const {
    const std::int64_t used = serving(replicas);
    const std::string spare = replicas > used ? fmt::format("+{}", replicas - used) : std::string();
    return fmt::format("{}{} × {}", used, spare, text_at(candidate, "deployment.label"));
  }
  /// The objectives that need a column of their own: GPUs and USD/h have theirs.
  [[nodiscard]] std::vector<std::string> shown_objectives() const {
    std::vector<std::string> shown = texts_of(question_, "objective");
    std::erase_if(shown,
                  [](const std::string& name) { return name == "gpus" || name == "usd_per_hour"; });
    return shown;
  }
  [[nodiscard]] bool has_price() const {
    return std::ranges::any_of(candidates(),
                               [](const Node* one) { return is_known(*one, "usd_per_hour"); });
  }
  /// Capacity of the serving replicas, without spare ones; for bounds, the limit that it does not
  /// exceed.
  [[nodiscard]] std::string capacity(const Node& candidate, std::int64_t replicas) const {
    const Node& one = node_at(candidate, "replica_capacity");
    if (one.is_null()) {
      return "";
    }
    const auto all = [&](std::string_view end) {
      return significant(number_at(one, end) * static_cast<double>(serving(replicas)));
    };
    return is_known(candidate, "bound")
               ? fmt::format("≤ {}", all("value"))
               : fmt::format("{} ({}–{})", all("value"), all("lo"), all("hi"));
  }

 private:
  const Node& answer_;
  const Node& question_;
};

struct ObjectiveWords {
  std::string_view name;
  std::string_view text;
  std::string_view unit;
  std::string_view path;  ///< Its value in the tree of a candidate.
};
constexpr std::array<ObjectiveWords, 5> kObjectives = {
    {{.name = "gpus", .text = "fewest GPUs", .unit = "GPUs", .path = "gpus"},
     {.name = "usd_per_hour", .text = "least USD/h", .unit = "USD/h", .path = "usd_per_hour"},
     {.name = "usd_per_mtok",
      .text = "least USD/M output",
      .unit = "USD/M output (in + out)",
      .path = "usd_per_mtok"},
     {.name = "watts", .text = "least watts", .unit = "W", .path = "watts.value"},
     {.name = "joules_per_token",
      .text = "least J/token",
      .unit = "J/token",
      .path = "joules_per_token.value"}}};

const ObjectiveWords& words_of(std::string_view objective) {
  const auto* const found = std::ranges::find(kObjectives, objective, &ObjectiveWords::name);
  return found == kObjectives.end() ? kObjectives.front() : *found;
}

std::string headline_of(const Plan& plan) {
  std::vector<std::string> models;
  for (const Node* candidate : plan.candidates()) {
    std::string model = text_at(*candidate, "deployment.model");
    if (std::ranges::find(models, model) == models.end()) {
      models.push_back(std::move(model));
    }
  }
  std::vector<std::string> targets;
  for (const Node* target : plan.targets()) {
    std::string text = text_at(*target, "text");
    if (const auto at = text.find("<="); at != std::string::npos) {
      text.replace(at, 2, "≤");
    }
    targets.push_back(std::move(text));
  }
  std::vector<std::string_view> objectives;
  for (const std::string& objective : texts_of(plan.question(), "objective")) {
    objectives.push_back(plan.is_most() ? "most output tokens/s" : words_of(objective).text);
  }
  return fmt::format("{}{}{}; {}; {} at ≥ {:.3g} %",
                     fmt::join(models, ", "),
                     models.empty() ? "" : "; ",
                     text_at(plan.question(), "workload"),
                     fmt::join(targets, ", "),
                     fmt::join(objectives, " and "),
                     number_at(plan.question(), "confidence") * 100.0);
}

std::string sure_text(double p) {
  // Rounded down: 89.9 % is not the 90 % that was asked for.
  constexpr double kRounding = 1e-6;
  return fmt::format("{:.0f} %", std::floor(p * 100.0 + kRounding));
}

/// What is said of a target: its value, or the share of the requests over it.
std::string value_text(const Node& candidate, const report::Rows& results, std::size_t target) {
  if (target >= results.size()) {
    return "";
  }
  return is_known(*results[target], "value")
             ? fmt::format("{}{} ms",
                           is_known(candidate, "bound") ? "≥ " : "",
                           significant(number_at(*results[target], "value")))
             : percent(number_at(*results[target], "exceed_share")) + " over";
}

/// The columns of an answer: what is best at the least cost, or yields most.
report::TableView deployments_view(const Plan& plan) {
  report::TableView view{.columns = {{.title = "", .path = "place", .right = true},
                                     {.title = "deployment", .path = "deployment", .shrink = 1},
                                     {.title = "GPUs", .path = "gpus", .right = true}}};
  const auto add = [&](std::string title, std::string path) {
    view.columns.push_back({.title = std::move(title), .path = std::move(path), .right = true});
  };
  if (plan.has_price()) {
    add("USD/h", "usd_per_hour");
  }
  if (plan.is_most()) {  // "capacity" is in the next column's unit; tok/s are output tokens.
    add("capacity", "capacity");
    if (plan.is_closed_loop()) {
      add("clients", "clients");
    }
    add("req/s", "requests_per_s");
    add("tok/s", "output_tokens_per_s");
  } else {
    for (const std::string& objective : plan.shown_objectives()) {
      add(std::string(words_of(objective).unit), objective);
    }
    add(plan.is_closed_loop() ? "capacity clients" : "capacity req/s", "capacity");
  }
  for (std::size_t i = 0; i < plan.targets().size(); ++i) {
    const Node& target = *plan.targets()[i];
    const std::string statistic = text_at(target, "statistic");
    add(statistic == "attainment" ? statistic
                                  : fmt::format("{} {}", statistic, text_at(target, "metric")),
        fmt::format("target {}", i + 1));
  }
  add("sure", "sure");
  return view;
}

Node deployment_row(const Plan& plan, std::size_t place, const Node& candidate) {
  const std::int64_t replicas = count_of(candidate, "deployment.replicas");
  MapBuilder row;
  row.add("place", fmt::format("{}", place))
      .add("deployment", plan.times(candidate, replicas))
      .add("gpus", fmt::format("{}", count_of(candidate, "gpus")))
      .add("usd_per_hour",
           is_known(candidate, "usd_per_hour")
               ? fmt::format("{:.2f}", number_at(candidate, "usd_per_hour"))
               : "no price");
  for (const std::string& objective : plan.shown_objectives()) {
    const std::string_view path = words_of(objective).path;
    std::string text = is_known(candidate, path) ? significant(number_at(candidate, path)) : "";
    if (objective == "usd_per_mtok" && is_known(candidate, "usd_per_total_mtok")) {
      text += fmt::format(" ({})", significant(number_at(candidate, "usd_per_total_mtok")));
    }
    row.add(objective, text);
  }
  row.add("capacity", plan.capacity(candidate, replicas))
      .add("clients", fmt::format("{:.0f}", number_at(candidate, "recommended_load.clients")))
      .add("requests_per_s", significant(number_at(candidate, "recommended_load.requests_per_s")))
      .add("output_tokens_per_s",
           grouped(count_of(candidate, "recommended_load.output_tokens_per_s")));
  const report::Rows results = report::rows_at(candidate, "slo");
  for (std::size_t i = 0; i < plan.targets().size(); ++i) {
    row.add(fmt::format("target {}", i + 1), value_text(candidate, results, i));
  }
  return row.add(
      "sure",
      is_known(candidate, "bound") ? "at best" : sure_text(number_at(candidate, "p_feasible")));
}

/// What costs less than the first and is not sure enough: a row without a place. Its cost, load and
/// latencies are known of the first's number of replicas alone.
std::optional<Node> cheaper_row(const Plan& plan, const Node& chance) {
  const Node* const candidate = plan.find(text_at(chance, "id"));
  if (candidate == nullptr) {
    return std::nullopt;
  }
  const std::int64_t replicas = count_of(chance, "replicas");
  const double own = std::max(number_at(*candidate, "deployment.replicas"), 1.0);
  MapBuilder row;
  row.add("place", "–")
      .add("deployment", plan.times(*candidate, replicas))
      .add("gpus", fmt::format("{}", replicas * count_of(*candidate, "gpus_per_replica")))
      .add("usd_per_hour",
           fmt::format("{:.2f}",
                       number_at(*candidate, "usd_per_hour") / own * static_cast<double>(replicas)))
      .add("capacity", plan.capacity(*candidate, replicas))
      .add("sure", sure_text(number_at(chance, "p_feasible")));
  return row;
}

std::string why_text(const Node& answer, const Node& pick) {
  constexpr double kWorthNaming = 0.05;
  std::vector<std::string> shares;
  for (const auto& [name, share, where] : members_at(pick, "time_by_bottleneck")) {
    if (share.is_number() && share.as_real() >= kWorthNaming) {
      shares.push_back(fmt::format("{} {}", name, percent(share.as_real())));
    }
  }
  const std::string binding = text_at(pick, "binding");
  return fmt::format(
      "1: {}; {} binds first; {:.0f} % headroom{}; {} of {} windows of {} requests meet every "
      "target",
      fmt::join(shares, ", "),
      binding.empty() ? "utilisation" : binding,
      number_at(answer, "answer.headroom_pct"),
      is_known(pick, "bound") ? " at best" : "",
      count_of(pick, "certificate.passed"),
      count_of(pick, "certificate.windows"),
      grouped(count_of(pick, "certificate.window_requests")));
}

std::string sure_line(const Node& answer, const Node& pick) {
  if (is_known(pick, "bound")) {
    return fmt::format("nothing is: 1 is {}, and --accept-bounds ranks it as if it were one",
                       text_at(pick, "bound"));
  }
  std::string text = fmt::format(
      "1 suffices with {}{}; with {} no other deployment would have been better; expected regret "
      "{} %",
      sure_text(number_at(pick, "p_feasible")),
      is_known(answer, "answer.cheaper") ? " (for less: the last row)" : "",
      sure_text(number_at(pick, "p_best")),
      significant(number_at(answer, "answer.expected_regret_pct")));
  if (const double effect = number_at(answer, "answer.amplification"); effect >= kWorthSaying) {
    text += fmt::format("; a step 1 % slower costs {:.2g} % of capacity", effect);
  }
  const report::Rows measurements = report::rows_at(answer, "measure");
  const double changes =
      measurements.empty() ? 0.0 : number_at(*measurements.front(), "changes_answer_probability");
  return text + (changes < plan::kWorthMeasuring
                     ? std::string("; nothing worth measuring")
                     : fmt::format("; measure next: {} (changes the answer with {})",
                                   text_at(*measurements.front(), "what"),
                                   sure_text(changes)));
}

/// The line for the recommended load.
std::string most_line(const Plan& plan, const Node& answer, const Node& pick) {
  const auto load = [&](double value) {
    return plan.is_closed_loop() ? fmt::format("{:.0f}", value) : significant(value);
  };
  const auto serving = static_cast<double>(plan.serving(count_of(pick, "deployment.replicas")));
  return fmt::format("1 keeps within the targets at {} {} with {}; as predicted up to {}",
                     load(number_at(answer, "answer.load")),
                     plan.is_closed_loop() ? "clients" : "req/s",
                     sure_text(number_at(pick, "p_feasible")),
                     load(number_at(pick, "replica_capacity.value") * serving));
}

std::string searched_text(const Node& answer) {
  const Node& search = node_at(answer, "search");
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, std::string_view what) {
    if (count > 0) {
      parts.push_back(fmt::format("{} {}", grouped(count), what));
    }
  };
  for (const Node* rejection : report::rows_at(answer, "rejected")) {
    const std::string reason = text_at(*rejection, "reason");
    const std::int64_t count = count_of(*rejection, "count");
    add(count, reason == "does not fit" && count != 1 ? "do not fit" : reason);
  }
  const std::int64_t certified = count_of(search, "by_stage.certified");
  add(count_of(search, "by_stage.bound"), "bounded away");
  add(count_of(search, "by_stage.fluid"), "by fluid estimate");
  add(count_of(search, "by_stage.simulated") + certified, "simulated");
  add(certified, "of these certified");
  const std::int64_t points = count_of(search, "points");
  return fmt::format("{} {}: {}; {} simulated{}",
                     grouped(points),
                     core::plural("point", points),
                     fmt::join(parts, ", "),
                     report::counted(count_of(search, "requests_simulated"), "request"),
                     node_at(search, "limited").describe() == "true"
                         ? ", no more by the effort: the best so far"
                         : "");
}

/// Which rows are bounds, and why.
std::string bounds_text(const report::Rows& ranking) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> rows;
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const std::string bound = text_at(*ranking[i], "bound");
    if (bound.empty()) {
      continue;
    }
    const auto known = std::ranges::find(rows, bound, [](const auto& row) { return row.first; });
    (known == rows.end() ? rows.emplace_back(bound, std::vector<std::size_t>()) : *known)
        .second.push_back(i + 1);
  }
  std::vector<std::string> parts;
  for (const auto& [bound, places] : rows) {
    parts.push_back(fmt::format("{}: {}", fmt::join(places, ", "), bound));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// Deployments that have the numbers of a row.
std::string twins_text(const Plan& plan, const report::Rows& ranking) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    std::vector<std::string> twins;
    for (const std::string& id : texts_of(*ranking[i], "twins")) {
      const Node* const twin = plan.find(id);
      twins.push_back(twin == nullptr ? id : text_at(*twin, "deployment.label"));
    }
    if (!twins.empty()) {
      parts.push_back(fmt::format("{} has the numbers of {}", i + 1, fmt::join(twins, ", ")));
    }
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string price_text(const Node& answer) {
  std::vector<std::string> parts;
  for (const Node* even : report::rows_at(answer, "breakeven")) {
    parts.push_back(fmt::format("1 stays best until {} costs {:.2f} x {}{}",
                                text_at(*even, "gpu"),
                                number_at(*even, "ratio"),
                                text_at(*even, "against"),
                                is_known(*even, "now")
                                    ? fmt::format(" (now {:.2f})", number_at(*even, "now"))
                                    : std::string()));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// A topic's sentence; nothing for an empty one.
void add_topic(std::string topic, const std::string& text, report::Sheet& sheet) {
  if (!text.empty()) {
    sheet.sentence(text, std::move(topic), kTopic);
  }
}

void add_pick(const Plan& plan, const Node& answer, const Node& pick, report::Sheet& sheet) {
  add_topic("why", why_text(answer, pick), sheet);
  add_topic("sure",
            plan.is_most() && !is_known(pick, "bound") ? most_line(plan, answer, pick)
                                                       : sure_line(answer, pick),
            sheet);
  MapBuilder latencies;
  for (const auto& [metric, band, where] : members_at(pick, "expected_error")) {
    if (metric != "output_throughput") {
      latencies.add(metric, band);
    }
  }
  sheet.line(expected_error_words(latencies.build()), "error", kTopic);
  add_topic("price", price_text(answer), sheet);
}

/// How often its windows meet the targets, and how sure that makes it.
void add_certificate(const Plan& plan, const Node& one, report::Sheet& sheet) {
  if (!is_known(one, "certificate")) {
    return;
  }
  add_topic(
      "windows",
      fmt::format("{} of {} meet every target with {}; with 95 % confidence at least "
                  "{:.0f} %",
                  count_of(one, "certificate.passed"),
                  count_of(one, "certificate.windows"),
                  report::counted(plan.serving(count_of(one, "deployment.replicas")), "replica"),
                  number_at(one, "certificate.at_least") * 100.0),
      sheet);
  if (!is_known(one, "bound")) {
    add_topic("sure",
              fmt::format("suffices with {}; with {} no other deployment would have been better",
                          sure_text(number_at(one, "p_feasible")),
                          sure_text(number_at(one, "p_best"))),
              sheet);
  }
}

}  // namespace

report::Sheet plan_sheet(const Node& answer) {
  const Plan plan(answer);
  const report::Rows ranking = plan.ranking();
  report::Sheet sheet("Plan");
  sheet.sentence(headline_of(plan)).gap();
  if (node_at(answer, "partial").describe() == "true") {
    sheet.row("Interrupted: the best so far.").gap();
  }
  if (!ranking.empty()) {
    std::vector<Node> rows;
    for (std::size_t i = 0; i < ranking.size(); ++i) {
      rows.push_back(deployment_row(plan, i + 1, *ranking[i]));
    }
    if (auto cheaper = cheaper_row(plan, node_at(answer, "answer.cheaper"))) {
      rows.push_back(*std::move(cheaper));
    }
    report::TableView view = deployments_view(plan);
    view.missing = "";
    sheet.table(std::move(view), std::move(rows)).gap();
  }
  if (const Node* const pick = plan.find(text_at(answer, "answer.id")); pick != nullptr) {
    add_pick(plan, answer, *pick, sheet);
  } else {
    sheet.sentence(text_at(answer, "answer.failure"));
    for (const std::string& nearest : texts_of(answer, "answer.nearest")) {
      add_topic("nearest", nearest, sheet);
    }
  }
  add_topic("bounds", bounds_text(ranking), sheet);
  add_topic("same", twins_text(plan, ranking), sheet);
  add_topic("search", searched_text(answer), sheet);
  const std::vector<std::string> files = texts_of(answer, "answer.files");
  if (!files.empty()) {
    sheet.gap();
  }
  for (const std::string& file : files) {
    sheet.row(file);
  }
  const core::Warnings warnings = document::warnings_of(node_at(answer, "warnings"));
  return std::move(warnings.empty() ? sheet : sheet.gap().warnings(warnings));
}

std::optional<report::Sheet> plan_explanation(const Node& answer, const std::string& id) {
  const Plan plan(answer);
  const Node* found = nullptr;
  const report::Rows ranking = plan.ranking();
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    if (id == fmt::format("{}", i + 1)) {
      found = ranking[i];
    }
  }
  for (const Node* candidate : plan.candidates()) {
    if (found == nullptr && (text_at(*candidate, "id").starts_with(id) ||
                             text_at(*candidate, "deployment.label") == id)) {
      found = candidate;
    }
  }
  if (found == nullptr) {
    return std::nullopt;
  }
  const Node& one = *found;
  const auto number = [&](std::string_view path) { return significant(number_at(one, path)); };
  report::Sheet sheet("Deployment");
  sheet.row(fmt::format("{}  {} on {}",
                        text_at(one, "id"),
                        text_at(one, "deployment.label"),
                        text_at(one, "deployment.model")));
  add_topic("GPUs", fmt::format("{} a replica", count_of(one, "gpus_per_replica")), sheet);
  add_topic("bound", fmt::format("at most {} a replica", number("most_rps")), sheet);
  if (number_at(one, "fluid_rps") > 0.0) {
    add_topic("fluid", fmt::format("{} a replica, in means", number("fluid_rps")), sheet);
  }
  if (is_known(one, "replica_capacity")) {
    add_topic("runs",
              fmt::format("{} a replica within the targets (80 %: {} to {}; sampling {:.1f} %, "
                          "model {:.1f} %)",
                          number("replica_capacity.value"),
                          number("replica_capacity.lo"),
                          number("replica_capacity.hi"),
                          number_at(one, "replica_capacity.sampling_pct"),
                          number_at(one, "replica_capacity.model_pct")),
              sheet);
  }
  add_topic("at best", text_at(one, "bound"), sheet);
  add_certificate(plan, one, sheet);
  add_topic("fate",
            is_known(one, "dropped") ? fmt::format("dropped ({}): {}",
                                                   text_at(one, "dropped.stage"),
                                                   text_at(one, "dropped.reason"))
                                     : std::string("kept to the end"),
            sheet);
  return sheet;
}

}  // namespace ridgeline::verbs
