// Requests that decode, as members of the loop's DecodeSet: which join, which of their blocks
// change when, and when they have to be looked at one by one again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/check.hpp"
#include "engine/loop/decode_set.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/scheduler.hpp"

namespace ridgeline::engine::vllm::plain {

/// With drafts each request goes its own way, and masks are made for some requests alone. The
/// stages of a pipeline hold different requests.
bool Scheduler::can_gather() const {
  return options_.num_speculative_tokens == 0 && !options_.grammars && options_.pipeline_depth == 0;
}

/// All members are in the step, ahead of the other running requests; or, where that could leave one
/// of these or of those without its tokens or blocks, none is a member any more.
void Scheduler::schedule_members() {
  if (!decodes_.empty() && !members_fit()) {
    singles_.clear();
    for (const SequencePtr& sequence : running_) {
      if (sequence->decoding.is_member) {
        stop_gathering(*sequence);
      }
      singles_.push_back(sequence.get());
    }
  }
  if (decodes_.empty()) {
    decodes_.leave_out_of_step();
  } else {
    decodes_.put_in_step();
    spend(decodes_.count());
    if (const std::int64_t begun = phases_.in(decodes_.next_step()); begun > 0) {
      manager_.pool().promise(begun);
    }
  }
  turns_.begin(decodes_.next_step());
}

/// Whether the order in which running requests are served makes no difference: tokens suffice for
/// all members and what stands before one of them, and blocks for all.
bool Scheduler::members_fit() const {
  std::int64_t tokens = decodes_.count();
  std::int64_t blocks =
      phases_.in(decodes_.next_step()) +
      turns_.most_in(decodes_.next_step()) * static_cast<std::int64_t>(manager_.num_groups());
  const std::int64_t budget = std::min(budget_, input_budget_);
  if (tokens > budget) {
    return false;
  }
  if (singles_.empty()) {
    return blocks <= kv_cache().num_free();
  }
  const std::int64_t last_member =
      (*std::find_if(running_.rbegin(), running_.rend(), [](const SequencePtr& sequence) {
        return sequence->decoding.is_member;
      }))->place;
  for (const Sequence* const sequence : singles_) {
    const std::int64_t wanted = tokens_to_run(*sequence);  // With the whole budget.
    if (wanted <= 0) {
      continue;
    }
    if (sequence->place < last_member) {
      tokens += wanted;
    }
    const std::int64_t end = std::min(sequence->num_computed_tokens + wanted + lookahead_,
                                      options_.max_model_len.value());
    blocks += manager_.blocks_to_extend(sequence->blocks, end);
  }
  return tokens <= budget && blocks <= kv_cache().num_free();
}

/// The next token of a member changes its blocks.
void Scheduler::extend_member(engine::Sequence& member) {
  auto& sequence = static_cast<Sequence&>(member);
  settle(sequence);
  RIDGELINE_CHECK(extend(sequence, 1, lookahead_), "a member found no block");
  turns_.add(sequence,
             decodes_.next_step() + std::max<std::int64_t>(tokens_until_event(sequence) - 1, 1));
}

/// Requests of the step that was formed from which nothing but tokens is to come join the set.
void Scheduler::gather(const ScheduledStep& step) {
  // Where blocks are about to run out, requests would leave again at once.
  if (num_running() * static_cast<std::int64_t>(manager_.num_groups()) > kv_cache().num_free()) {
    return;
  }
  bool joined = false;
  for (const ScheduledSequence& part : step) {
    auto& sequence = static_cast<Sequence&>(*part.sequence);
    if (!part.samples || sequence.status != Status::kRunning ||
        sequence.num_delivered_tokens != sequence.num_output_tokens ||
        sequence.session != nullptr ||
        (sequence.images != nullptr && !sequence.images->held.empty())) {
      continue;
    }
    const std::int64_t first = decodes_.next_step() + 1;
    const std::int64_t until = last_quiet_step(sequence, first) - (steps_per_request_ - 1);
    constexpr std::int64_t kWorthwhile = 2;
    if (until < first + kWorthwhile) {
      continue;
    }
    RIDGELINE_CHECK(
        sequence.blocks.tokens_held < sequence.num_computed_tokens + manager_.block_size(),
        "a request that decodes has no block too many");
    decodes_.add(sequence, sequence.num_computed_tokens, first, until);
    if (counts_blocks()) {
      phases_.add(sequence.decoding.base);
    } else {
      turns_.add(sequence, first + tokens_until_event(sequence) - 1);
    }
    joined = true;
  }
  if (joined) {
    std::erase_if(singles_, [](const Sequence* sequence) { return sequence->decoding.is_member; });
  }
}

/// The last step that a request is in which decodes from step `first` on.
std::int64_t Scheduler::last_quiet_step(const Sequence& sequence, std::int64_t first) const {
  const std::int64_t base = sequence.num_computed_tokens - first;
  // After step s has ended, base + s + 2 tokens are known.
  const std::int64_t ends_with = sequence.num_prompt_tokens + sequence.stop_after - base - 2;
  // An asynchronous engine has formed another step by then.
  std::int64_t last = std::min(ends_with + steps_per_request_ - 1, last_position_ - 1 - base);
  if (foresees_end_ && steps_per_request_ > 1) {
    last = std::min(last, sequence.num_prompt_tokens + sequence.max_tokens - base - 2);
  }
  return last;
}

/// A member's counters are as of now.
void Scheduler::settle(Sequence& sequence) {
  const DecodeSet::Progress steps = decodes_.settle(sequence);
  sequence.num_computed_tokens += steps.formed;
  sequence.num_output_tokens += steps.ended;
  sequence.num_in_flight_tokens += steps.formed - steps.ended;
  sequence.num_placeholders += options_.async_scheduling ? steps.formed - steps.ended : 0;
  sequence.last_step = steps.formed > 0 ? steps_formed_ : sequence.last_step;
  if (counts_blocks()) {
    manager_.claim(sequence.blocks, sequence.num_computed_tokens);
  }
  if (!kv_cache().has_lookups()) {
    // No step was looked at for the blocks that it filled: as the newest left it.
    hash_full_blocks(sequence, sequence.num_computed_tokens - (steps_per_request_ - 1));
  }
}

/// A member is one no more, and no single request yet.
void Scheduler::stop_gathering(Sequence& sequence) {
  settle(sequence);
  decodes_.remove(sequence);
  if (counts_blocks()) {
    phases_.remove(sequence.decoding.base);
  } else {
    turns_.remove(sequence);
  }
}

void Scheduler::leave_decodes(engine::Sequence& sequence) {
  auto& own = static_cast<Sequence&>(sequence);
  stop_gathering(own);
  const auto behind = std::ranges::find_if(
      singles_, [&](const Sequence* other) { return other->place > own.place; });
  singles_.insert(behind, &own);
}

/// Steps of members alone, for all of which there are blocks.
std::int64_t Scheduler::quiet_steps_of_members() const {
  if (!singles_.empty()) {
    return 0;
  }
  std::int64_t steps = decodes_.steps_left();
  const std::int64_t free = kv_cache().num_free();
  const auto groups = static_cast<std::int64_t>(manager_.num_groups());
  const auto most_blocks = [&](std::int64_t count) {
    return decodes_.count() * groups * ((count - 1) / manager_.block_size() + 1);
  };
  while (steps > 0 && most_blocks(steps) > free) {
    std::int64_t blocks = 0;
    for (const SequencePtr& sequence : running_) {
      const std::int64_t computed = sequence->decoding.base + decodes_.next_step();
      const std::int64_t end = std::min(computed + steps, options_.max_model_len.value());
      const std::int64_t size = manager_.block_size();
      blocks += counts_blocks() ? (end + size - 1) / size - (computed + size - 1) / size
                                : manager_.blocks_to_extend(sequence->blocks, end);
    }
    if (blocks <= free) {
      break;
    }
    steps /= 2;
  }
  return steps;
}

/// Rounds of members whose blocks are counts.
std::vector<BlockChange> Scheduler::count_rounds(std::int64_t rounds) {
  std::vector<BlockChange> changes;
  changes.reserve(static_cast<std::size_t>(std::min(rounds, 2 * decodes_.count())));
  const std::int64_t next = decodes_.next_step();
  for (std::int64_t round = 0; round < rounds; ++round) {
    if (const std::int64_t begun = phases_.in(next + round); begun > 0) {
      manager_.pool().promise(begun);
      changes.push_back({.step = round, .used_blocks = kv_cache().num_used()});
    }
  }
  decodes_.go_to(next + rounds, decodes_.oldest_step() + rounds);
  return changes;
}

}  // namespace ridgeline::engine::vllm::plain
