#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "document/document.hpp"
#include "evidence/conform/decisions/decision_case.hpp"
#include "evidence/conform/decisions/systems.hpp"
#include "routing/dp_balancer.hpp"

namespace ridgeline::evidence::conform {
namespace {

using document::Node;

bool check_balancer(DecisionCase& recorded, routing::DpBalancer::Generation generation) {
  const Node& params = recorded.params();
  const auto ids = numbered_ids("e", count_of(params, "engines"));
  routing::DpBalancer balancer(generation,
                               ids.size(),
                               count_of(params, "client_count", 1),
                               count_of(params, "client_index"));
  for (std::size_t i = 0; i < recorded.steps().size(); ++i) {
    const Node& step = recorded.steps()[i];
    const auto& snapshot = items_of(step, "snapshot");
    for (std::size_t engine = 0; engine < snapshot.size(); ++engine) {
      const auto& fields = snapshot[engine].items();
      balancer.publish(engine,
                       {.waiting = fields[0].as_integer(),
                        .running = fields[1].as_integer(),
                        .kv_usage = fields.size() > 2 ? fields[2].as_real() : 0.0});
    }
    std::vector<std::string> ours;
    std::vector<std::string> theirs;
    for (const Node& engine : items_of(step, "routed_to")) {
      theirs.push_back(engine.as_string());
      ours.push_back(ids[balancer.pick()]);
    }
    recorded.check_text(
        fmt::format("step {}: routed to", i), fmt::format("{}", theirs), fmt::format("{}", ours));
    for (const Node& engine : items_of(step, "finished_after")) {
      balancer.end(place_of(ids, engine.as_string()));
    }
  }
  return true;
}

bool check_budget(DecisionCase& recorded, bool by_tokens) {
  routing::DpBudget budget(static_cast<std::size_t>(count_of(recorded.params(), "ranks")),
                           by_tokens);
  for (std::size_t i = 0; i < recorded.steps().size(); ++i) {
    const Node& step = recorded.steps()[i];
    for (const Node& load : items_of(step, "snapshot")) {
      budget.report(static_cast<std::size_t>(count_of(load, "rank")),
                    number_of(load, "timestamp"),
                    count_of(load, "running") + count_of(load, "waiting"),
                    count_of(load, "tokens"));
    }
    std::vector<std::int64_t> ours;
    for (const Node& tokens : items_of(step, "requests")) {
      ours.push_back(static_cast<std::int64_t>(budget.pick(tokens.as_integer())));
    }
    std::vector<std::int64_t> theirs;
    for (const Node& rank : items_of(step, "routed_to")) {
      theirs.push_back(rank.as_integer());
    }
    recorded.check_text(
        fmt::format("step {}: routed to", i), fmt::format("{}", theirs), fmt::format("{}", ours));
  }
  return true;
}

}  // namespace

bool check_data_parallel(DecisionCase& recorded) {
  using Generation = routing::DpBalancer::Generation;
  const std::string policy = recorded.policy();
  if (policy == "dp-lb/fixed-start") {
    return check_balancer(recorded, Generation::kFixedStart);
  }
  if (policy == "dp-lb/rotating-start") {
    return check_balancer(recorded, Generation::kRotatingStart);
  }
  if (policy == "dp-lb/kv-pressure") {
    return check_balancer(recorded, Generation::kKvPressure);
  }
  if (policy == "dp-budget/total_requests" || policy == "dp-budget/total_tokens") {
    return check_budget(recorded, policy == "dp-budget/total_tokens");
  }
  return false;
}

}  // namespace ridgeline::evidence::conform
