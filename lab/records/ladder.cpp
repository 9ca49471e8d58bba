#include "lab/records/ladder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/check.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/staged_source.hpp"
#include "lab/records/campaign.hpp"
#include "lab/records/ladder_source.hpp"

namespace ridgeline::records {
namespace {

const Ladder& ladder(const evidence::validate::FleetLoad& load) {
  const auto* found = dynamic_cast<const Ladder*>(&load);
  RIDGELINE_CHECK(found != nullptr, "loads of fleets are ladders");
  return *found;
}

}  // namespace

std::size_t Ladder::num_stages() const {
  return has_stages ? campaign.stages.size() : 0;
}

bool Ladder::has_prompts_of(const FleetLoad& other) const {
  const Campaign& another = ladder(other).campaign;
  return campaign.poisson == another.poisson && campaign.groups == another.groups &&
         campaign.prompts_per_group == another.prompts_per_group &&
         campaign.system_tokens == another.system_tokens &&
         campaign.question_tokens == another.question_tokens;
}

bool Ladder::holds(const FleetLoad& record) const {
  const Ladder& one = ladder(record);
  return one.stage ? std::ranges::find(campaign.stages, *one.stage) != campaign.stages.end()
                   : campaign.stages == one.campaign.stages;
}

Ladder::Range Ladder::join(const FleetLoad& record) {
  const Ladder& one = ladder(record);
  const std::size_t first = one.warms_up ? 1 : 0;
  if (!one.stage) {
    return {.first = first, .last = campaign.stages.size()};
  }
  // The first stage only warms the caches; its rate may come again.
  const auto place = std::find(campaign.stages.begin() + static_cast<std::ptrdiff_t>(first),
                               campaign.stages.end(),
                               *one.stage);
  const auto at = place == campaign.stages.end()
                      ? std::size_t{0}
                      : static_cast<std::size_t>(place - campaign.stages.begin());
  if (one.achieved_per_s) {
    campaign.set_arrivals(campaign.strategies.front().name, one.stage->rate, *one.achieved_per_s);
  }
  return {.first = at, .last = at + 1};
}

std::string Ladder::assumed_in(const FleetLoad& run) const {
  return is_made_up && campaign.stages == ladder(run).campaign.stages
             ? "a warm-up with each prompt once, at its rate, and no other stage before it"
             : "";
}

std::unique_ptr<evidence::validate::FleetLoad> Ladder::copy() const {
  return std::make_unique<Ladder>(*this);
}

std::unique_ptr<evidence::validate::StagedSource> Ladder::source(std::uint64_t seed) const {
  return std::make_unique<LadderSource>(campaign, campaign.strategies.front(), seed);
}

Ladder& ladder_of(evidence::validate::Fleet& fleet) {
  auto* found = dynamic_cast<Ladder*>(fleet.load.get());
  RIDGELINE_CHECK(found != nullptr, "loads of fleets are ladders");
  return *found;
}

const Ladder& ladder_of(const evidence::validate::Fleet& fleet) {
  return ladder(*fleet.load);
}

}  // namespace ridgeline::records
