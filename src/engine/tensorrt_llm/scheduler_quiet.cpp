// Quiet steps: generations that go on one token at a time while no context can come in. Blocks are
// only taken, so that many steps are done at once.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "engine/loop/queue_scheduler.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/tensorrt_llm/scheduler.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// Contexts that the last pass left out stay out until a request ends: under both policies that
/// reserve, what is left for them does not change, and otherwise there are only fewer free blocks.
std::int64_t Scheduler::quiet_steps() const {
  if (has_changed_ || !batch_.contexts.empty() || batch_.generations.empty() ||
      (!waiting_.empty() && num_running() < most_active_)) {
    return 0;
  }
  if (selection_.size() != num_started_) {
    return 0;  // A context that has started stands still.
  }
  if (options_.num_speculative_tokens > 0 && num_started_ < num_running()) {
    return 0;  // Drafts that are not accepted give blocks back, which may let a context in.
  }
  std::int64_t tokens = std::numeric_limits<std::int64_t>::max();
  for (const Sequence* const sequence : selection_.fitting) {
    if (sequence->is_context()) {
      return 0;  // It has blocks, and waits for something else.
    }
    tokens = std::min(tokens, quiet_tokens(*sequence));
  }
  // What the last of those steps looks ahead at; in a pipeline, of requests whose own step is
  // formed.
  const std::int64_t steps_ahead = lookahead_steps_ - (options_.pipeline_depth > 0 ? 0 : 1);
  const std::int64_t ahead = steps_ahead * tokens_per_step();
  while (tokens > 0 && blocks_taken(tokens + ahead) > kv_.num_free()) {
    tokens /= 2;
  }
  return std::max<std::int64_t>(tokens, 0) / tokens_per_step() *
         (steps_in_flight(options_) / steps_per_request(options_));
}

/// For how many tokens a generation goes on as it is: none of them is its last, nor do the steps in
/// flight behind one of them give its last.
std::int64_t Scheduler::quiet_tokens(const Sequence& sequence) const {
  const std::int64_t in_flight = steps_per_request(options_) * tokens_per_step();
  if (sequence.tokens_in_flight != in_flight) {
    return 0;
  }
  const std::int64_t before_completing =
      sequence.max_output_tokens - sequence.output_tokens - (in_flight - tokens_per_step()) - 1;
  return std::min(sequence.stop_after - sequence.output_tokens - 1, before_completing);
}

/// Blocks that so many more tokens of each generation take.
std::int64_t Scheduler::blocks_taken(std::int64_t tokens) const {
  std::int64_t blocks = 0;
  for (const Sequence* const sequence : selection_.fitting) {
    const auto held = static_cast<std::int64_t>(sequence->blocks.size());
    blocks += std::max<std::int64_t>(kv_.blocks_of(sequence->kv_tokens + tokens) - held, 0);
  }
  return blocks;
}

std::vector<BlockChange> Scheduler::advance_quiet(std::span<ScheduledStep* const> in_flight,
                                                  std::int64_t rounds) {
  const auto depth = static_cast<std::int64_t>(in_flight.size());
  balance_.advance_quiet(rounds);
  if (options_.pipeline_depth > 0) {
    return StepScheduler::advance_quiet(in_flight, rounds);
  }
  std::int64_t used = kv_.num_blocks() - kv_.num_free();
  std::vector<std::int64_t> taken(static_cast<std::size_t>(rounds));  // Blocks, by round.
  for (const ScheduledSequence& part : *in_flight.front()) {
    auto& sequence = static_cast<Sequence&>(*part.sequence);
    const std::int64_t size = options_.block_size.value();
    // The token of round r, from 0, is the one at place kv_tokens + r: the first in a block takes
    // it.
    const auto held = static_cast<std::int64_t>(sequence.blocks.size()) * size;
    for (std::int64_t round = held - sequence.kv_tokens; round < rounds; round += size) {
      ++taken[static_cast<std::size_t>(round)];
    }
    sequence.output_tokens += rounds;
    sequence.kv_tokens += rounds;
    kv_.extend(sequence, sequence.kv_tokens);
  }
  for (std::int64_t slot = 0; slot < depth; ++slot) {
    // How often the step in this place of the ring is formed anew.
    const std::int64_t times = (rounds - slot + depth - 1) / depth;
    for (ScheduledSequence& part : *in_flight[static_cast<std::size_t>(slot)]) {
      part.num_computed_tokens += times * depth;
    }
  }
  std::vector<BlockChange> changes;
  for (std::int64_t round = 0; round < rounds; ++round) {
    if (const std::int64_t blocks = taken[static_cast<std::size_t>(round)]; blocks > 0) {
      used += blocks;
      changes.push_back({.step = round, .used_blocks = used});
    }
  }
  return changes;
}

}  // namespace ridgeline::engine::tensorrt_llm
