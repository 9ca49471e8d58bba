#include "report/lock_step.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "metrics/lock_step_summary.hpp"
#include "report/fleet_rows.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {

using metrics::LockStepSummary;
using metrics::RankSummary;

document::Node lock_step_tree(const LockStepSummary& lock_step) {
  std::vector<document::Node> ranks;
  for (std::size_t id = 0; id < lock_step.per_rank.size(); ++id) {
    const RankSummary& rank = lock_step.per_rank[id];
    ranks.push_back(MapBuilder()
                        .add("id", integer_node(static_cast<std::int64_t>(id)))
                        .add("steps", integer_node(rank.steps))
                        .add("dummy_steps", integer_node(rank.dummy_steps))
                        .add("waited", number_node(rank.waited))
                        .build());
  }
  return MapBuilder()
      .add("ranks", integer_node(lock_step.ranks))
      .add("per_rank", list_node(std::move(ranks)))
      .build();
}

std::string lock_step_line(const LockStepSummary& lock_step, const TextStyle& style) {
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
  std::vector<Piece> pieces = {
      {.text = fmt::format("{} of {} ranks", counted(groups, "group"), lock_step.ranks)},
      {.text =
           fmt::format("{} of {} without a request", grouped(dummies), counted(steps, "step"))}};
  if (stepped > 0) {
    pieces.push_back({.text = fmt::format("{} of their time for the longest rank",
                                          percent(waited / static_cast<double>(stepped)))});
  }
  return fleet_line("lock-step", pieces, style);
}

}  // namespace ridgeline::report
