#include "engine/loop/step_scheduler.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"

namespace ridgeline::engine {

Sequence::Sequence(const domain::Request& request, core::Tokens max_model_len)
    : num_prompt_tokens(request.prompt_tokens.value()), grammar(request.grammar) {
  const std::int64_t room = max_model_len.value() - num_prompt_tokens;
  const std::int64_t wanted = std::min(request.output_tokens, request.max_tokens).value();
  max_output_tokens = std::min(request.max_tokens.value(), room);
  // A prompt that leaves no room is refused; a scheduler driven without a server gives it one
  // token.
  stop_after = std::min(wanted, std::max<std::int64_t>(room, 1));
  outcome_at_stop = room < wanted ? domain::Outcome::kLengthCapped : domain::Outcome::kFinished;
  record.id = request.id;
  record.label_set = request.label_set;
  record.arrival = request.arrival;
  record.prompt_tokens = request.prompt_tokens;
}

void Sequence::end(domain::Outcome outcome) {
  has_ended = true;
  record.outcome = outcome;
  record.output_tokens = core::Tokens(num_delivered_tokens);
  record.last_token = last_token;
}

void StepScheduler::advance_round(ScheduledStep& step, std::span<const std::int64_t> tokens) {
  const std::size_t requests = step.size();
  RIDGELINE_CHECK(update(step, tokens).empty(), "a request ended in a quiet step");
  schedule(step);
  RIDGELINE_CHECK(step.size() == requests, "a quiet step has other requests than the one before");
}

std::vector<BlockChange> StepScheduler::advance_quiet(std::span<ScheduledStep* const> in_flight,
                                                      std::int64_t rounds) {
  std::vector<BlockChange> changes;
  std::int64_t used = counts().used_blocks;
  for (std::int64_t round = 0; round < rounds; ++round) {
    ScheduledStep& step = *in_flight[static_cast<std::size_t>(round) % in_flight.size()];
    const std::vector<std::int64_t> one_each(step.size(), 1);
    advance_round(step, one_each);
    if (const std::int64_t now = counts().used_blocks; now != used) {
      changes.push_back({.step = round, .used_blocks = now});
      used = now;
    }
  }
  return changes;
}

}  // namespace ridgeline::engine
