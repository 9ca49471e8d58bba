// The scheduler and the tokens that come out of a step.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/scheduler.hpp"

namespace ridgeline::engine::vllm::plain {

/// Tokens behind the request's end are dropped.
bool Scheduler::take_tokens(Sequence& sequence,
                            const ScheduledSequence& part,
                            std::int64_t tokens) {
  sequence.num_in_flight_tokens -= part.num_scheduled_tokens;
  if (connector_ != nullptr && sequence.status == Status::kRunning) {
    offer_blocks(sequence, part);
  }
  const bool is_lost = sequence.num_lost_tokens > 0;
  sequence.num_lost_tokens -= is_lost ? part.num_scheduled_tokens : 0;
  if (std::exchange(sequence.drops_step, false) || is_lost) {
    return false;
  }
  // A token after the end is thrown away; an unfinished prefill has none.
  if (!part.samples || sequence.status == Status::kFinished) {
    return false;
  }
  const bool is_running = sequence.status == Status::kRunning;
  if (loses_results_ && !is_running) {
    return false;
  }
  preempted_alone_ = is_stuck_ = false;
  if (const std::int64_t rejected = part.num_drafts + 1 - tokens; rejected > 0) {
    sequence.num_computed_tokens -= sequence.num_computed_tokens > 0 ? rejected : 0;
    sequence.num_placeholders -= sequence.num_placeholders > 0 ? rejected : 0;
  }
  const std::int64_t taken = std::min(tokens, sequence.stop_after - sequence.num_output_tokens);
  sequence.num_output_tokens += taken;
  const bool ends = sequence.num_output_tokens >= sequence.stop_after;
  const bool caches = options_.profile.caches_ended_steps &&
                      (options_.num_speculative_tokens > 0 || sequence.num_placeholders > 0);
  if (caches && is_running) {
    // Less what is computed behind the request's end.
    hash_full_blocks(
        sequence, sequence.num_computed_tokens - (tokens - taken) - sequence.num_in_flight_tokens);
  }
  if (options_.async_scheduling) {
    sequence.num_placeholders -= taken;
    if (is_running && !caches) {
      hash_full_blocks(sequence, sequence.num_computed_tokens - sequence.num_placeholders);
    }
  } else if (is_running && !ends) {
    sequence.num_drafts = sequence.drafts_to_come;
  }
  return ends;
}

}  // namespace ridgeline::engine::vllm::plain
