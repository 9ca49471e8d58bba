#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lab/conform/decisions/decision_case.hpp"
#include "lab/conform/decisions/part.hpp"
#include "lab/conform/decisions/systems.hpp"
#include "routing/dp_balancer.hpp"

namespace ridgeline::conform {
namespace {

bool check_balancer(DecisionCase& recorded, routing::DpBalancer::Generation generation) {
  const Part params = recorded.params();
  const auto ids = numbered_ids("e", params.at("engines").size());
  if (ids.empty()) {
    return true;
  }
  using Fields = std::vector<std::string>;
  const Fields fields = words_of(params.at("snapshot_fields"));
  const bool with_kv = generation == routing::DpBalancer::Generation::kKvPressure;
  if (fields !=
      (with_kv ? Fields{"waiting", "running", "kv_usage"} : Fields{"waiting", "running"})) {
    params.at("snapshot_fields").note_wrong("those that this generation looks at");
    return true;
  }
  routing::DpBalancer balancer(
      generation, ids.size(), params.count("client_count", 1), params.count("client_index"));
  const std::vector<Part> steps = recorded.steps_with({"routed_to"});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::vector<Part> snapshot = steps[i].list("snapshot");
    for (std::size_t engine = 0; engine < snapshot.size(); ++engine) {
      const std::vector<Part> numbers = snapshot[engine].items();
      if (numbers.size() != fields.size() || engine >= ids.size()) {
        snapshot[engine].note_wrong("a list of snapshot_fields of each engine");
        continue;
      }
      balancer.publish(engine,
                       {.waiting = numbers[0].count(),
                        .running = numbers[1].count(),
                        .kv_usage = with_kv ? numbers[2].number() : 0.0});
    }
    std::vector<std::string> ours;
    for (std::int64_t n = steps[i].at("requests").count(); n > 0; --n) {
      ours.push_back(ids[balancer.pick()]);
    }
    recorded.check_text(fmt::format("step {}: routed to", i),
                        fmt::format("{}", words_of(steps[i].at("routed_to"))),
                        fmt::format("{}", ours));
    for (const Part& engine : steps[i].list("finished_after")) {
      balancer.end(known_place(ids, engine));
    }
  }
  return true;
}

bool check_budget(DecisionCase& recorded, bool by_tokens) {
  const std::size_t ranks = recorded.params().at("ranks").size();
  if (ranks == 0) {
    return true;
  }
  routing::DpBudget budget(ranks, by_tokens);
  const std::vector<Part> steps = recorded.steps_with({"routed_to"});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const Part& load : steps[i].list("snapshot")) {
      const auto rank = static_cast<std::size_t>(load.at("rank").count());
      if (rank >= ranks) {
        load.at("rank").note_wrong("one of the ranks");
        continue;
      }
      budget.report(rank,
                    load.number("timestamp"),
                    load.count("running") + load.count("waiting"),
                    load.count("tokens"));
    }
    std::vector<double> ours;
    for (const Part& tokens : steps[i].list("requests")) {
      ours.push_back(static_cast<double>(budget.pick(tokens.count())));
    }
    recorded.check_numbers(fmt::format("step {}: rank", i), steps[i].at("routed_to"), ours);
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

}  // namespace ridgeline::conform
