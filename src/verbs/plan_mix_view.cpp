#include "verbs/plan_mix_view.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "metrics/slo.hpp"
#include "plan/cost.hpp"
#include "plan/target.hpp"
#include "report/format.hpp"
#include "report/table/grid.hpp"
#include "report/text_lines.hpp"
#include "report/warning_lines.hpp"

namespace ridgeline::verbs {
namespace {

using plan::MixAnswer;
using plan::MixCandidate;
using plan::MixPool;

bool counts_gpus(const MixAnswer& answer) {
  return answer.question.objectives.front() == plan::Objective::kGpus;
}

std::string cost_text(const MixAnswer& answer, double cost) {
  return counts_gpus(answer) ? fmt::format("{:.0f} GPUs", cost) : fmt::format("{:.2f} USD/h", cost);
}

std::string replicas_text(std::int64_t replicas, const std::string& label, bool ascii) {
  return fmt::format("{} {} {}", replicas, ascii ? "x" : "×", label);
}

std::string mix_headline(const MixAnswer& answer, bool ascii) {
  std::vector<std::string> classes;
  for (std::size_t c = 0; c < answer.rates.size(); ++c) {
    classes.push_back(
        fmt::format("{} {:.4g} req/s", answer.question.classes[c].name, answer.rates[c]));
  }
  std::vector<std::string> targets;
  for (const plan::Target& target : answer.question.slo.targets) {
    targets.push_back(target.text());
  }
  return fmt::format("{}; {}; {} at {} {:.3g} %",
                     fmt::join(classes, ", "),
                     fmt::join(targets, ", "),
                     counts_gpus(answer) ? "fewest GPUs" : "least USD/h",
                     ascii ? ">=" : "≥",
                     answer.question.confidence * 100.0);
}

std::string mix_grid(const MixAnswer& answer, const report::TextStyle& style) {
  std::vector<report::Grid::Column> columns = {{.title = ""},
                                               {.title = "pool", .left = true},
                                               {.title = "GPUs"},
                                               {.title = counts_gpus(answer) ? "" : "USD/h"},
                                               {.title = "serves", .left = true},
                                               {.title = "req/s"}};
  for (const plan::Target& target : answer.question.slo.targets) {
    columns.push_back(
        {.title =
             target.is_attainment
                 ? "over"
                 : fmt::format("{} {}",
                               metrics::kStatisticNames[static_cast<std::size_t>(target.statistic)],
                               target.name())});
  }
  columns.push_back({.title = "sure"});
  report::Grid grid(std::move(columns));
  for (std::size_t i = 0; i < answer.pools.size(); ++i) {
    const MixPool& pool = answer.pools[i];
    const MixCandidate& candidate = answer.candidates[pool.candidate];
    std::vector<std::string> cells = {
        fmt::format("{}", i + 1),
        replicas_text(pool.replicas, candidate.label, style.ascii),
        fmt::format("{}", pool.replicas * candidate.gpus),
        counts_gpus(answer)
            ? ""
            : fmt::format("{:.2f}", static_cast<double>(pool.replicas) * candidate.cost),
        served_text(answer, pool),
        report::significant(pool.rate)};
    for (const plan::TargetResult& result : pool.targets) {
      cells.push_back(result.value_ms
                          ? fmt::format("{} ms", report::significant(result.value_ms->value))
                          : report::percent(result.exceed_share));
    }
    cells.resize(6 + answer.question.slo.targets.size());
    cells.push_back(candidate.bound.empty() ? fmt::format("{:.0f} %", pool.p_feasible * 100.0)
                                            : "at best");
    grid.add(std::move(cells));
  }
  constexpr std::array<std::size_t, 2> kShrinkable = {1, 4};
  return grid.render(style, kShrinkable);
}

}  // namespace

std::string served_text(const MixAnswer& answer, const MixPool& pool) {
  std::vector<std::string> serves;
  for (std::size_t c = 0; c < pool.shares.size(); ++c) {
    if (pool.shares[c] > 0.0) {
      serves.push_back(
          fmt::format("{:.0f} % of {}", pool.shares[c] * 100.0, answer.question.classes[c].name));
    }
  }
  return fmt::format("{}", fmt::join(serves, ", "));
}

std::string mix_table(const MixAnswer& answer,
                      const report::TextStyle& style,
                      const std::vector<std::string>& files) {
  report::LineLayout layout = report::sentence_layout(style);
  layout.separator = " ";
  std::string text =
      report::wrapped("", report::words(mix_headline(answer, style.ascii)), layout) + "\n";
  if (answer.partial) {
    return text + "Interrupted before the mix was certified.\n";
  }
  if (!answer.pools.empty()) {
    text += mix_grid(answer, style) + "\n";
  }
  if (!answer.failure.empty()) {
    text += report::wrapped("", report::words(answer.failure), layout);
  } else {
    std::string compared = fmt::format("mix {}", cost_text(answer, answer.cost));
    if (answer.alone) {
      compared += fmt::format("; one deployment for all classes, by the same estimate: {}, {}",
                              replicas_text(answer.alone->replicas,
                                            answer.candidates[answer.alone->candidate].label,
                                            style.ascii),
                              cost_text(answer, answer.alone->cost));
    }
    text += report::wrapped("", report::words(compared), layout);
    for (std::size_t i = 0; i < answer.pools.size(); ++i) {
      const std::string& bound = answer.candidates[answer.pools[i].candidate].bound;
      if (!bound.empty()) {
        text += report::wrapped(
            "", report::words(fmt::format("pool {} at best: {}", i + 1, bound)), layout);
      }
    }
  }
  text += report::wrapped(
      "",
      report::words(fmt::format(
          "{} compared, {} simulated",
          report::counted(static_cast<std::int64_t>(answer.candidates.size()), "deployment"),
          report::counted(answer.requests_simulated, "request"))),
      layout);
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

}  // namespace ridgeline::verbs
