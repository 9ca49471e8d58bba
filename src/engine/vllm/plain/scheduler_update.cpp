// The scheduler and the tokens that come out of a step.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "domain/request.hpp"
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
  if (sequence.images != nullptr && !part.samples) {
    encoder_.release_read(*sequence.images,
                          sequence.num_computed_tokens - sequence.num_placeholders);
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
  if (sequence.images != nullptr) {
    encoder_.release_read(*sequence.images,
                          sequence.num_computed_tokens - sequence.num_placeholders);
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
  if (ends && sequence.session != nullptr) {
    if (options_.profile.keeps_tokens_of_turn && is_running) {
      sequence.num_computed_tokens -= tokens - taken;
      sequence.num_placeholders -= options_.async_scheduling ? tokens - taken : 0;
    }
    return end_turn(sequence);
  }
  return ends;
}

/// A session's answer has ended: it goes on with its next input, sleeps until there is one, or ends
/// too, which this returns.
bool Scheduler::end_turn(Sequence& sequence) {
  if (options_.profile.drops_steps_of_turn) {
    sequence.num_computed_tokens -= sequence.num_placeholders;
    sequence.num_placeholders = 0;
    sequence.num_drafts = 0;
    sequence.num_lost_tokens = sequence.num_in_flight_tokens;
  }
  Session& session = *sequence.session;
  if (session.inputs.empty() && session.is_closed) {
    return true;
  }
  std::erase(singles_, &sequence);
  SequencePtr self = QueueScheduler::remove(sequence);
  if (self == nullptr) {
    self = take_out(skipped_, sequence);  // Preempted, and passed over since.
  }
  if (session.inputs.empty()) {
    sequence.status = Status::kAsleep;
    ++num_asleep_;
  } else {
    const domain::Request input = session.inputs.front();
    session.inputs.pop_front();
    begin_turn(sequence, input);
  }
  enqueue(self);
  return false;
}

/// A request joins the queue that it belongs in.
void Scheduler::enqueue(const SequencePtr& sequence) {
  sequence->was_passed_over = sequence->status == Status::kAsleep;
  const bool is_apart = options_.profile.has_kv_queue
                            ? sequence->holds_kv()
                            : options_.profile.has_skipped_queue && sequence->was_passed_over;
  push_waiting(is_apart ? skipped_ : waiting_, sequence, false);
}

void Scheduler::send(const SequencePtr& session, const domain::Request& input) {
  if (session->status != Status::kAsleep) {
    session->session->inputs.push_back(input);
    return;
  }
  --num_asleep_;
  begin_turn(*session, input);
}

bool Scheduler::close(const SequencePtr& session) {
  session->session->is_closed = true;
  const bool ends = session->status == Status::kAsleep;
  if (ends) {
    remove(*session);
  }
  return ends;
}

/// The input follows what the session keeps of its tokens: the one sampled last has no KV, and is
/// dropped.
void Scheduler::begin_turn(Sequence& sequence, const domain::Request& input) {
  const std::int64_t known = sequence.num_tokens();
  const std::int64_t kept = options_.profile.keeps_tokens_of_turn
                                ? known - 1
                                : std::min(known, sequence.num_computed_tokens);
  // Releases 0.31 and 0.32 count drafts that were accepted behind the answer's end.
  sequence.num_computed_tokens = std::min(sequence.num_computed_tokens, kept);
  sequence.num_generated += sequence.num_output_tokens;
  sequence.tokens.go_on(kept, input, sequence.num_generated);
  const auto hashes = static_cast<std::size_t>(kept / manager_.block_size());
  if (options_.profile.drops_hashes_of_turn && sequence.block_hashes.size() > hashes) {
    sequence.block_hashes.cut(hashes);
    sequence.num_hashes_made =
        std::min(sequence.num_hashes_made, static_cast<std::int64_t>(hashes));
  }
  sequence.num_prompt_tokens = kept + input.prompt_tokens.value();
  sequence.num_output_tokens = 0;
  if (options_.profile.drops_steps_of_turn) {
    sequence.max_tokens = input.max_tokens.value();
  }
  const std::int64_t room = options_.max_model_len.value() - sequence.num_prompt_tokens;
  sequence.max_output_tokens = std::min(sequence.max_tokens, room);
  sequence.stop_after =
      std::min({input.output_tokens.value(), sequence.max_tokens, std::max<std::int64_t>(room, 1)});
  sequence.record.arrival = input.arrival;
  sequence.status = sequence.record.preemptions > 0 ? Status::kPreempted : Status::kWaiting;
  if (!sequence.blocks.groups.empty()) {
    note_prompt(sequence);
  }
}

}  // namespace ridgeline::engine::vllm::plain
