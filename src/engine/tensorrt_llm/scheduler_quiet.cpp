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
namespace {

/// For how many tokens a generation goes on as it is: none of them is its last, nor do the steps in
/// flight behind one of them give its last.
std::int64_t quiet_tokens(const Sequence& sequence, const EngineOptions& options) {
  const std::int64_t each = 1 + options.num_speculative_tokens;
  const std::int64_t in_flight = steps_per_request(options) * each;
  if (sequence.tokens_in_flight != in_flight) {
    return 0;
  }
  const std::int64_t before_completing =
      sequence.max_output_tokens - sequence.output_tokens - (in_flight - each) - 1;
  return std::min(sequence.stop_after - sequence.output_tokens - 1, before_completing);
}

/// Blocks that so many more tokens of each generation take.
std::int64_t blocks_taken(const Selection& selection, const KvCache& kv, std::int64_t tokens) {
  std::int64_t blocks = 0;
  for (const Sequence* const sequence : selection.fitting) {
    const auto held = static_cast<std::int64_t>(sequence->blocks.size());
    blocks += std::max<std::int64_t>(kv.blocks_of(sequence->kv_tokens + tokens) - held, 0);
  }
  return blocks;
}

/// In which step from the next on a generation takes a block: 0 is the next.
std::int64_t next_block_in(const Sequence& sequence, core::Tokens block_size) {
  const std::int64_t held = static_cast<std::int64_t>(sequence.blocks.size()) * block_size.value();
  return std::max<std::int64_t>(held - sequence.kv_tokens, 0);
}

/// A member's counters are as of now.
void settle(DecodeSet& members, Sequence& sequence) {
  const DecodeSet::Progress steps = members.settle(sequence);
  sequence.kv_tokens += steps.formed;
  sequence.output_tokens += steps.ended;
  sequence.parts_in_flight += steps.formed - steps.ended;
  sequence.tokens_in_flight += steps.formed - steps.ended;
}

}  // namespace

/// Contexts that the last pass left out stay out until a request ends: under both policies that
/// reserve, what is left for them does not change, and otherwise there are only fewer free blocks.
std::int64_t Scheduler::quiet_steps() const {
  if (has_changed_ || !batch_.contexts.empty() ||
      (batch_.generations.empty() && decodes_.empty()) ||
      (!waiting_.empty() && num_running() < capacity_.most_active)) {
    return 0;
  }
  if (selection_.size() != num_.started) {
    return 0;  // A context that has started stands still.
  }
  if (options_.num_speculative_tokens > 0 && num_.started < num_running()) {
    return 0;  // Drafts that are not accepted give blocks back, which may let a context in.
  }
  if (decodes_.gathers()) {
    const bool some_started = std::ranges::any_of(singles_, &Sequence::holds_blocks);
    return some_started || decodes_.empty() ? 0 : decodes_.steps_left();
  }
  std::int64_t tokens = std::numeric_limits<std::int64_t>::max();
  for (const Sequence* const sequence : selection_.fitting) {
    if (sequence->is_context()) {
      return 0;  // It has blocks, and waits for something else.
    }
    tokens = std::min(tokens, quiet_tokens(*sequence, options_));
  }
  // What the last of those steps looks ahead at; in a pipeline, of requests whose own step is
  // formed.
  const std::int64_t steps_ahead =
      capacity_.lookahead_steps - (options_.pipeline_depth > 0 ? 0 : 1);
  const std::int64_t ahead = steps_ahead * tokens_per_step();
  while (tokens > 0 && blocks_taken(selection_, kv_, tokens + ahead) > kv_.num_free()) {
    tokens /= 2;
  }
  return std::max<std::int64_t>(tokens, 0) / tokens_per_step() *
         (steps_in_flight(options_) / steps_per_request(options_));
}

std::vector<BlockChange> Scheduler::advance_quiet(std::span<ScheduledStep* const> in_flight,
                                                  std::int64_t rounds) {
  const auto depth = static_cast<std::int64_t>(in_flight.size());
  balance_.advance_quiet(rounds);
  if (decodes_.gathers()) {
    return turns_.take_rounds(
        decodes_,
        rounds,
        [this](engine::Sequence& member) { extend_member(member); },
        [this] { return used_blocks(); });
  }
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

/// Generations of the step that was formed from which nothing but tokens is to come for a while
/// become members.
void Scheduler::gather(const ScheduledStep& step) {
  const std::int64_t first = decodes_.next_step() + 1;
  bool joined = false;
  for (const ScheduledSequence& part : step) {
    auto& sequence = static_cast<Sequence&>(*part.sequence);
    if (!part.samples || sequence.repeats > 0 ||
        sequence.num_delivered_tokens != sequence.output_tokens) {
      continue;
    }
    // Once step s has ended, base + s + 2 tokens are known. The step that could give the last
    // possible token is the last that is formed.
    const std::int64_t base = sequence.kv_tokens - first;
    const std::int64_t ends_with = sequence.num_prompt_tokens + sequence.stop_after - base - 2;
    const std::int64_t last_formed = sequence.most_tokens() - base - 2;
    const std::int64_t until = std::min(ends_with, last_formed - (steps_per_request(options_) - 1));
    constexpr std::int64_t kWorthwhile = 2;
    if (until < first + kWorthwhile) {
      continue;
    }
    decodes_.add(sequence, sequence.kv_tokens, first, until);
    num_.blocks_of_members += kv_.blocks_to_completion(sequence);
    turns_.add(sequence, first + next_block_in(sequence, options_.block_size));
    joined = true;
  }
  if (joined) {
    std::erase_if(singles_, [](const Sequence* sequence) { return sequence->decoding.is_member; });
  }
}

void Scheduler::leave_decodes(engine::Sequence& sequence) {
  auto& own = static_cast<Sequence&>(sequence);
  settle(decodes_, own);
  decodes_.remove(own);
  turns_.remove(own);
  num_.blocks_of_members -= kv_.blocks_to_completion(own);
  const auto behind = std::ranges::find_if(
      singles_, [&](const Sequence* other) { return other->place > own.place; });
  singles_.insert(behind, &own);
  has_changed_ = true;
}

/// The next token of a member is the first in a block.
void Scheduler::extend_member(engine::Sequence& member) {
  auto& sequence = static_cast<Sequence&>(member);
  settle(decodes_, sequence);
  num_.blocks_of_members -= kv_.extend(sequence, sequence.kv_tokens + 1);
  turns_.add(sequence, decodes_.next_step() + next_block_in(sequence, options_.block_size));
}

}  // namespace ridgeline::engine::tensorrt_llm
