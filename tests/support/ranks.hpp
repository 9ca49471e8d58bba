#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/instance.hpp"
#include "engine/instance_group.hpp"
#include "engine/loop/lock_step.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "latency/step_time_model.hpp"
#include "support/drive.hpp"

namespace ridgeline::test {

/// What the ranks of a group did, each by itself.
struct RanksRun {
  std::vector<EngineRun> ranks;
  std::vector<engine::RankSteps> steps;
  std::vector<engine::InstanceState> last;  ///< When all was done.
  engine::Pause pause = engine::Pause::kIdle;
};

/// Does what clients do, in order of time: `advance(at)`, then a request or an abort at its rank.
template <class Advance, class RankOf>
void drive_ranks(const std::vector<domain::Request>& requests,
                 const std::vector<Abort>& aborts,
                 const Advance& advance,
                 const RankOf& rank_of) {
  auto abort = aborts.begin();
  auto request = requests.begin();
  while (abort != aborts.end() || request != requests.end()) {
    const bool gives_up =
        abort != aborts.end() && (request == requests.end() || abort->at < request->arrival);
    advance(gives_up ? abort->at : request->arrival);
    if (gives_up) {
      engine::Instance& rank = rank_of(abort->id);
      rank.abort(abort->id, std::max(abort->at, rank.now()));
      ++abort;
    } else {
      rank_of(request->id).submit(*request);
      ++request;
    }
  }
  advance(core::SimTime::never());
}

/// Ranks in lock-step, each with the requests whose id leaves that rank's number when divided by
/// `ranks`, until all have ended. `requests` and `aborts` are in order of time. `alone`: one
/// instance that is in no group, in the reference core.
inline RanksRun run_ranks(std::size_t ranks,
                          const engine::EngineOptions& options,
                          const latency::StepTimeModel& model,
                          const engine::HostTime& host,
                          const std::vector<domain::Request>& requests,
                          bool jump,
                          const std::vector<Abort>& aborts = {},
                          bool alone = false) {
  RanksRun run;
  run.ranks.resize(ranks);
  const engine::RequestPath path;
  std::vector<std::unique_ptr<engine::Instance>> instances;
  std::vector<engine::Instance*> members;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    instances.push_back(std::make_unique<engine::Instance>(engine::InstanceInputs{
        .engine = {.options = options, .model = model, .host = host, .sink = run.ranks[rank].sink},
        .path = path,
        .id = core::InstanceId(static_cast<core::InstanceId::Rep>(rank)),
        .core = alone ? engine::EngineCore::kReference : engine::EngineCore::kFast,
        .jump = jump,
        .in_lock_step = !alone}));
    members.push_back(instances.back().get());
  }
  std::unique_ptr<engine::InstanceGroup> group;
  if (!alone) {
    group = std::make_unique<engine::InstanceGroup>(members);
  }
  drive_ranks(
      requests,
      aborts,
      [&](core::SimTime limit) {
        run.pause = group ? group->advance(limit, false, kNoBudget)
                          : instances.front()->advance(limit, false, kNoBudget);
      },
      [&](core::RequestId id) -> engine::Instance& { return *instances[id.value() % ranks]; });
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    run.ranks[rank].totals = instances[rank]->totals();
    run.ranks[rank].end = instances[rank]->now();
    run.steps.push_back(group ? group->steps_of(rank) : engine::RankSteps());
    run.last.push_back(instances[rank]->state(instances[rank]->now()));
  }
  return run;
}

}  // namespace ridgeline::test
