#include "verbs/plan_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "accuracy/bands.hpp"
#include "core/text.hpp"
#include "domain/step.hpp"
#include "metrics/slo.hpp"
#include "plan/answer.hpp"
#include "plan/cost.hpp"
#include "plan/target.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/table/grid.hpp"
#include "report/text_lines.hpp"
#include "report/warning_lines.hpp"
#include "verbs/run/expected_error.hpp"

namespace ridgeline::verbs {
namespace {

using plan::Answer;
using plan::Objective;
using plan::PlanCandidate;

/// An effect below this, in percent of capacity per percent of a step's time, is none.
constexpr double kWorthSaying = 0.05;
constexpr std::size_t kTopicWidth = 7;  ///< Width of "search" and the other topics.

/// "3 × h200 TP2", and "3+1 × h200 TP2" where one is spare.
std::string times(const Answer& answer,
                  std::int64_t replicas,
                  const std::string& label,
                  bool ascii) {
  const std::int64_t serving = answer.serving(replicas);
  const std::string spare =
      replicas > serving ? fmt::format("+{}", replicas - serving) : std::string();
  return fmt::format("{}{} {} {}", serving, spare, ascii ? "x" : "×", label);
}

std::string objective_text(Objective objective) {
  constexpr std::array kTexts = {
      "fewest GPUs", "least USD/h", "least USD/M output", "least watts", "least J/token"};
  return kTexts[static_cast<std::size_t>(objective)];
}

/// The objectives that need a column of their own: GPUs and USD/h have theirs.
std::vector<Objective> shown_objectives(const Answer& answer) {
  std::vector<Objective> shown;
  for (const Objective objective : answer.question.objectives) {
    if (objective != Objective::kGpus && objective != Objective::kUsdPerHour) {
      shown.push_back(objective);
    }
  }
  return shown;
}

std::string unit_of(Objective objective) {
  constexpr std::array kUnits = {"GPUs", "USD/h", "USD/M output (in + out)", "W", "J/token"};
  return kUnits[static_cast<std::size_t>(objective)];
}

std::string headline(const Answer& answer, bool ascii) {
  std::vector<std::string> parts;
  std::vector<std::string> models;
  for (const PlanCandidate& candidate : answer.candidates) {
    if (std::ranges::find(models, candidate.model) == models.end()) {
      models.push_back(candidate.model);
    }
  }
  if (!models.empty()) {
    parts.push_back(fmt::format("{}", fmt::join(models, ", ")));
  }
  parts.push_back(answer.workload);
  std::vector<std::string> targets;
  for (const plan::Target& target : answer.question.slo.targets) {
    std::string text = target.text();
    if (const auto at = text.find("<="); !ascii && at != std::string::npos) {
      text.replace(at, 2, "≤");
    }
    targets.push_back(std::move(text));
  }
  parts.push_back(fmt::format("{}", fmt::join(targets, ", ")));
  std::vector<std::string> objectives;
  for (const Objective objective : answer.question.objectives) {
    objectives.push_back(answer.question.most_of ? "most output tokens/s"
                                                 : objective_text(objective));
  }
  parts.push_back(fmt::format("{} at {} {:.3g} %",
                              fmt::join(objectives, " and "),
                              ascii ? ">=" : "≥",
                              answer.question.confidence * 100.0));
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// Capacity of the serving replicas, without spare ones; for bounds, the limit that it does not
/// exceed.
std::string capacity_text(const PlanCandidate& candidate, std::int64_t replicas, bool ascii) {
  if (!candidate.capacity) {
    return "";
  }
  const auto serving = static_cast<double>(replicas);
  if (candidate.is_bound()) {
    return fmt::format(
        "{} {}", ascii ? "<=" : "≤", report::significant(candidate.capacity->value * serving));
  }
  return fmt::format("{} ({}{}{})",
                     report::significant(candidate.capacity->value * serving),
                     report::significant(candidate.capacity->lo * serving),
                     ascii ? "-" : "–",
                     report::significant(candidate.capacity->hi * serving));
}

std::string value_text(const PlanCandidate& candidate, std::size_t target, bool ascii) {
  if (target >= candidate.targets.size() || !candidate.targets[target].value_ms) {
    return target < candidate.targets.size()
               ? report::percent(candidate.targets[target].exceed_share) + " over"
               : "";
  }
  return fmt::format("{}{} ms",
                     !candidate.is_bound() ? ""
                     : ascii               ? ">= "
                                           : "≥ ",
                     report::significant(candidate.targets[target].value_ms->value));
}

std::string sure_text(double p) {
  // Rounded down: 89.9 % is not the 90 % that was asked for.
  constexpr double kRounding = 1e-6;
  return fmt::format("{:.0f} %", std::floor(p * 100.0 + kRounding));
}

/// How sure a deployment is; nothing is, of which bounds alone are known.
std::string sure_text(const PlanCandidate& candidate) {
  return candidate.is_bound() ? "at best" : sure_text(candidate.p_feasible);
}

/// Which rows are bounds, and why.
std::string bounds_text(const Answer& answer) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> rows;
  for (std::size_t i = 0; i < answer.ranking.size(); ++i) {
    const std::string& bound = answer.candidates[answer.ranking[i]].bound;
    if (bound.empty()) {
      continue;
    }
    const auto known = std::ranges::find(rows, bound, &decltype(rows)::value_type::first);
    (known == rows.end() ? rows.emplace_back(bound, std::vector<std::size_t>()) : *known)
        .second.push_back(i + 1);
  }
  std::vector<std::string> parts;
  for (const auto& [bound, places] : rows) {
    parts.push_back(fmt::format("{}: {}", fmt::join(places, ", "), bound));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

bool has_price(const Answer& answer) {
  return std::ranges::any_of(answer.candidates, [](const PlanCandidate& candidate) {
    return candidate.cost.usd_per_hour.has_value();
  });
}

/// What costs less than the first and is not sure enough: a row without a place.
std::vector<std::string> cheaper_cells(const Answer& answer, const report::TextStyle& style) {
  const plan::CheaperChance& chance = *answer.cheaper;
  const PlanCandidate& candidate = answer.candidates[chance.candidate];
  std::vector<std::string> cells = {
      style.ascii ? "-" : "–",
      times(answer, chance.replicas, candidate.label, style.ascii),
      fmt::format("{}", chance.replicas * candidate.gpus_per_replica)};
  if (has_price(answer)) {
    const double each = candidate.cost.usd_per_hour.value_or(0.0) /
                        static_cast<double>(std::max<std::int64_t>(1, candidate.replicas));
    cells.push_back(fmt::format("{:.2f}", each * static_cast<double>(chance.replicas)));
  }
  // Known of the first's number of replicas alone: the load of each is another here.
  cells.insert(cells.end(), shown_objectives(answer).size(), "");
  cells.push_back(capacity_text(candidate, answer.serving(chance.replicas), style.ascii));
  cells.insert(cells.end(), answer.question.slo.targets.size(), "");
  cells.push_back(sure_text(chance.p_feasible));
  return cells;
}

/// A column per target: "p99 TTFT".
void add_targets(const Answer& answer, std::vector<report::Grid::Column>& columns) {
  for (const plan::Target& target : answer.question.slo.targets) {
    columns.push_back(
        {.title =
             target.is_attainment
                 ? "attainment"
                 : fmt::format("{} {}",
                               metrics::kStatisticNames[static_cast<std::size_t>(target.statistic)],
                               target.name())});
  }
}

/// Place, deployment, GPUs and, where there are prices, what they cost.
std::vector<std::string> first_cells(const Answer& answer,
                                     std::size_t place,
                                     const PlanCandidate& candidate,
                                     const report::TextStyle& style) {
  std::vector<std::string> cells = {
      fmt::format("{}", place + 1),
      times(answer, candidate.replicas, candidate.label, style.ascii),
      fmt::format("{}", candidate.replicas * candidate.gpus_per_replica)};
  if (has_price(answer)) {
    cells.push_back(candidate.cost.usd_per_hour
                        ? fmt::format("{:.2f}", *candidate.cost.usd_per_hour)
                        : "no price");
  }
  return cells;
}

void add_result_cells(const Answer& answer,
                      const PlanCandidate& candidate,
                      const report::TextStyle& style,
                      std::vector<std::string>& cells) {
  for (std::size_t target = 0; target < answer.question.slo.targets.size(); ++target) {
    cells.push_back(value_text(candidate, target, style.ascii));
  }
  cells.push_back(sure_text(candidate));
}

/// What is best at the least cost, or yields most.
std::string grid_of(const Answer& answer, const report::TextStyle& style) {
  const bool is_most = answer.question.most_of.has_value();
  std::vector<report::Grid::Column> columns = {
      {.title = ""}, {.title = "deployment", .left = true}, {.title = "GPUs"}};
  if (has_price(answer)) {
    columns.push_back({.title = "USD/h"});
  }
  const std::vector<Objective> objectives =
      is_most ? std::vector<Objective>{} : shown_objectives(answer);
  for (const Objective objective : objectives) {
    columns.push_back({.title = unit_of(objective)});
  }
  if (is_most) {  // "capacity" is in the next column's unit; tok/s are output tokens.
    columns.push_back({.title = "capacity"});
    if (answer.is_closed_loop) {
      columns.push_back({.title = "clients"});
    }
    columns.insert(columns.end(), {{.title = "req/s"}, {.title = "tok/s"}});
  } else {
    columns.push_back({.title = answer.is_closed_loop ? "capacity clients" : "capacity req/s"});
  }
  add_targets(answer, columns);
  columns.push_back({.title = "sure"});
  report::Grid grid(std::move(columns));
  for (std::size_t i = 0; i < answer.ranking.size(); ++i) {
    const PlanCandidate& candidate = answer.candidates[answer.ranking[i]];
    std::vector<std::string> cells = first_cells(answer, i, candidate, style);
    for (const Objective objective : objectives) {
      const auto value = candidate.cost.of(objective);
      cells.push_back(value ? report::significant(*value) : "");
      if (objective == Objective::kUsdPerMtok && candidate.cost.usd_per_total_mtok) {
        cells.back() +=
            fmt::format(" ({})", report::significant(*candidate.cost.usd_per_total_mtok));
      }
    }
    cells.push_back(capacity_text(candidate, answer.serving(candidate.replicas), style.ascii));
    if (is_most) {
      const plan::RunLoad at = candidate.at.value_or(plan::RunLoad{});
      if (answer.is_closed_loop) {
        cells.push_back(fmt::format("{:.0f}", at.load));
      }
      cells.push_back(report::significant(at.requests_per_second));
      cells.push_back(report::grouped(std::llround(at.output_tokens_per_second)));
    }
    add_result_cells(answer, candidate, style, cells);
    grid.add(std::move(cells));
  }
  if (answer.cheaper) {
    grid.add(cheaper_cells(answer, style));
  }
  constexpr std::array<std::size_t, 1> kShrinkable = {1};
  return grid.render(style, kShrinkable);
}

std::string line(const char* label, const std::string& text, const report::TextStyle& style) {
  report::LineLayout layout = report::sentence_layout(style);
  layout.indent = kTopicWidth + 1;
  layout.separator = " ";
  return report::wrapped(report::pad_right(label, kTopicWidth) + " ", report::words(text), layout);
}

std::string why_text(const Answer& answer, const PlanCandidate& pick) {
  std::vector<std::string> shares;
  for (std::size_t i = 0; i < domain::kNumBottlenecks; ++i) {
    constexpr double kWorthNaming = 0.05;
    if (pick.bottlenecks[i] >= kWorthNaming) {
      shares.push_back(
          fmt::format("{} {}", domain::kBottleneckNames[i], report::percent(pick.bottlenecks[i])));
    }
  }
  const std::string binding =
      pick.binding ? answer.question.slo.targets[*pick.binding].name() + " binds first"
                   : "utilisation binds first";
  return fmt::format(
      "1: {}; {}; {:.0f} % headroom{}; {} of {} windows of {} requests meet every "
      "target",
      fmt::join(shares, ", "),
      binding,
      answer.headroom_pct,
      pick.is_bound() ? " at best" : "",
      pick.certificate ? pick.certificate->passed : 0,
      pick.certificate ? pick.certificate->windows : 0,
      pick.certificate ? report::grouped(pick.certificate->window_requests) : "0");
}

std::string sure_line(const Answer& answer, const PlanCandidate& pick) {
  if (pick.is_bound()) {
    return fmt::format("nothing is: 1 is {}, and --accept-bounds ranks it as if it were one",
                       pick.bound);
  }
  std::string text = fmt::format(
      "1 suffices with {}{}; with {} no other deployment would have been better; expected regret "
      "{} %",
      sure_text(pick.p_feasible),
      answer.cheaper ? " (for less: the last row)" : "",
      sure_text(pick.p_best),
      report::significant(answer.expected_regret_pct));
  if (answer.amplification && *answer.amplification >= kWorthSaying) {
    text += fmt::format("; a step 1 % slower costs {:.2g} % of capacity", *answer.amplification);
  }
  if (answer.measurements.empty() ||
      answer.measurements.front().changes_answer < plan::kWorthMeasuring) {
    text += "; nothing worth measuring";
  } else {
    const plan::MeasurementValue& best = answer.measurements.front();
    text += fmt::format("; measure next: {} (changes the answer with {})",
                        best.what,
                        sure_text(best.changes_answer));
  }
  return text;
}

/// The line for the recommended load.
std::string most_line(const Answer& answer, const PlanCandidate& pick) {
  const double serving = static_cast<double>(answer.serving(pick.replicas));
  const auto load = [&](double value) {
    return answer.is_closed_loop ? fmt::format("{:.0f}", value) : report::significant(value);
  };
  return fmt::format("1 keeps within the targets at {} {} with {}; as predicted up to {}",
                     load(answer.load),
                     answer.is_closed_loop ? "clients" : "req/s",
                     sure_text(pick.p_feasible),
                     load(pick.capacity->value * serving));
}

std::string searched_text(const Answer& answer) {
  const plan::SearchCounts& search = answer.search;
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, const std::string& what) {
    if (count > 0) {
      parts.push_back(fmt::format("{} {}", report::grouped(count), what));
    }
  };
  for (const plan::Rejection& rejection : answer.rejected) {
    add(rejection.count, rejection.counted_reason());
  }
  add(search.bounded, "bounded away");
  add(search.by_fluid, "by fluid estimate");
  add(search.simulated, "simulated");
  add(search.certified, "of these certified");
  return fmt::format("{} {}: {}; {} simulated{}",
                     report::grouped(search.points),
                     core::plural("point", search.points),
                     fmt::join(parts, ", "),
                     report::counted(search.requests_simulated, "request"),
                     search.limited ? ", no more by the effort: the best so far" : "");
}

/// Deployments that have the numbers of a row.
std::string twins_text(const Answer& answer) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < answer.ranking.size(); ++i) {
    std::vector<std::string> twins;
    for (const std::size_t twin : answer.candidates[answer.ranking[i]].twins) {
      twins.push_back(answer.candidates[twin].label);
    }
    if (!twins.empty()) {
      parts.push_back(fmt::format("{} has the numbers of {}", i + 1, fmt::join(twins, ", ")));
    }
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string price_text(const Answer& answer) {
  std::vector<std::string> parts;
  for (const plan::BreakEven& even : answer.breakevens) {
    std::string text =
        fmt::format("1 stays best until {} costs {:.2f} x {}", even.gpu, even.ratio, even.against);
    if (even.now) {
      text += fmt::format(" (now {:.2f})", *even.now);
    }
    parts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string failure_text(const Answer& answer, const report::TextStyle& style) {
  report::LineLayout layout = report::sentence_layout(style);
  layout.separator = " ";
  std::string text = report::wrapped("", report::words(answer.failure), layout);
  for (const std::string& nearest : answer.nearest) {
    text += line("nearest", nearest, style);
  }
  return text;
}

}  // namespace

std::string plan_table(const Answer& answer,
                       const report::TextStyle& style,
                       const std::vector<std::string>& files) {
  report::LineLayout layout = report::sentence_layout(style);
  layout.separator = " ";
  std::string text =
      report::wrapped("", report::words(headline(answer, style.ascii)), layout) + "\n";
  if (answer.partial) {
    text += "Interrupted: the best so far.\n\n";
  }
  if (!answer.ranking.empty()) {
    text += grid_of(answer, style) + "\n";
  }
  if (answer.pick) {
    const PlanCandidate& pick = answer.candidates[*answer.pick];
    text += line("why", why_text(answer, pick), style);
    text += line("sure",
                 answer.question.most_of && !pick.is_bound() ? most_line(answer, pick)
                                                             : sure_line(answer, pick),
                 style);
    std::vector<accuracy::ExpectedError> errors = pick.expected_errors;
    std::erase_if(errors, [](const accuracy::ExpectedError& error) {
      return error.band.metric == accuracy::Metric::kOutputThroughput;
    });
    if (const auto pieces = expected_error_pieces(errors, style); !pieces.empty()) {
      report::LineLayout of_pieces = report::sentence_layout(style);
      of_pieces.indent = kTopicWidth + 1;
      text += report::wrapped(report::pad_right("error", kTopicWidth) + " ", pieces, of_pieces);
    }
    if (!answer.breakevens.empty()) {
      text += line("price", price_text(answer), style);
    }
  } else {
    text += failure_text(answer, style);
  }
  if (const std::string bounds = bounds_text(answer); !bounds.empty()) {
    text += line("bounds", bounds, style);
  }
  if (const std::string twins = twins_text(answer); !twins.empty()) {
    text += line("same", twins, style);
  }
  text += line("search", searched_text(answer), style);
  if (!files.empty()) {
    text += "\n";
    for (const std::string& file : files) {
      text += report::printable(file, style.ascii) + "\n";
    }
  }
  if (!answer.warnings.empty()) {
    text += "\n" + report::warning_lines(answer.warnings, style);
  }
  return text;
}

std::optional<std::string> plan_explanation(const Answer& answer,
                                            const std::string& id,
                                            const report::TextStyle& style) {
  const PlanCandidate* found = nullptr;
  for (std::size_t i = 0; i < answer.ranking.size(); ++i) {
    if (id == fmt::format("{}", i + 1)) {
      found = &answer.candidates[answer.ranking[i]];
    }
  }
  for (const PlanCandidate& candidate : answer.candidates) {
    if (found == nullptr && (candidate.id.starts_with(id) || candidate.label == id)) {
      found = &candidate;
    }
  }
  if (found == nullptr) {
    return std::nullopt;
  }
  const PlanCandidate& one = *found;
  std::string text = fmt::format("{}  {} on {}\n", one.id, one.label, one.model);
  text += line("GPUs", fmt::format("{} a replica", one.gpus_per_replica), style);
  text +=
      line("bound", fmt::format("at most {} a replica", report::significant(one.most_rate)), style);
  if (one.fluid_capacity > 0.0) {
    text += line("fluid",
                 fmt::format("{} a replica, in means", report::significant(one.fluid_capacity)),
                 style);
  }
  if (one.capacity) {
    text += line("runs",
                 fmt::format("{} a replica within the targets (80 %: {} to {}; sampling {:.1f} %, "
                             "model {:.1f} %)",
                             report::significant(one.capacity->value),
                             report::significant(one.capacity->lo),
                             report::significant(one.capacity->hi),
                             one.sampling_sd * 100.0,
                             one.model_sd * 100.0),
                 style);
  }
  if (one.is_bound()) {
    text += line("at best", one.bound, style);
  }
  if (one.certificate) {
    text += line("windows",
                 fmt::format("{} of {} meet every target with {}; with 95 % confidence at "
                             "least {:.0f} %",
                             one.certificate->passed,
                             one.certificate->windows,
                             report::counted(answer.serving(one.replicas), "replica"),
                             one.certificate->at_least * 100.0),
                 style);
  }
  if (one.certificate && !one.is_bound()) {
    text += line("sure",
                 fmt::format("suffices with {}; with {} no other deployment would have been better",
                             sure_text(one.p_feasible),
                             sure_text(one.p_best)),
                 style);
  }
  text += line("fate",
               one.dropped_stage.empty()
                   ? std::string("kept to the end")
                   : fmt::format("dropped ({}): {}", one.dropped_stage, one.dropped_reason),
               style);
  return text;
}

}  // namespace ridgeline::verbs
