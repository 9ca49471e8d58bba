// Quiet steps: decodes that go on one token at a time. Only blocks tell one such step from the
// next, so that many are taken at once, block by block.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/scheduler.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

/// A request, and the next round in which its token changes its blocks.
struct Decode {
  Sequence* sequence = nullptr;
  std::int64_t round = 0;
  std::int64_t ahead = 0;  ///< Tokens since what its counters say, that one included.
};

/// How many of so many rounds are those of the step in one of `steps` places.
std::int64_t times_in(std::int64_t rounds, std::int64_t place, std::int64_t steps) {
  return (rounds - place + steps - 1) / steps;
}

}  // namespace

std::int64_t Scheduler::quiet_steps() const {
  const bool seats_left = num_running() < seats_;
  // Those that wait for KV are passed over; each pass may change their order.
  const auto on_their_way = options_.profile.reverses_passed_over
                                ? 0
                                : std::ranges::count_if(loading_, [](const auto& load) {
                                    return load.second->status == Status::kLoading;
                                  });
  // Drafts that change from step to step are stepped, and so are turns, and frees to come.
  if (running_.empty() || !options_.draft_levels.empty() || turns_of_decodes_ > 1 ||
      !deferred_.empty() || pause_ != Pause::kNone ||
      (num_waiting() > on_their_way && seats_left)) {
    return 0;
  }
  if (options_.prefill_schedule_interval > 1 && has_waiting()) {
    return 0;
  }
  if (decodes_.gathers()) {
    return quiet_steps_of_members();
  }
  std::int64_t tokens = std::numeric_limits<std::int64_t>::max();
  for (const SequencePtr& sequence : running_) {
    tokens = std::min(tokens, quiet_tokens(*sequence));
    if (tokens <= 0) {
      return 0;
    }
  }
  while (tokens > 0 && blocks_taken(tokens) > kv_cache().num_free()) {
    tokens /= 2;
  }
  return tokens / tokens_per_step() * (steps_in_flight(options_) / steps_per_request_);
}

/// For how many tokens a running request goes on as it is: it is in flight as often as can be, each
/// time with one token that it samples and its drafts, and none of them is its last.
std::int64_t Scheduler::quiet_tokens(const Sequence& sequence) const {
  const bool async = options_.async_scheduling;
  const std::int64_t computed = sequence.num_computed_tokens;
  const std::int64_t in_flight = steps_per_request_ * tokens_per_step();
  if (sequence.images != nullptr && !sequence.images->held.empty()) {
    return 0;
  }
  if (sequence.num_in_flight_tokens != in_flight ||
      sequence.num_placeholders != (async ? in_flight : 0) ||
      computed != sequence.num_tokens() + in_flight - 1) {
    return 0;
  }
  const std::int64_t tokens =
      std::min(sequence.stop_after - sequence.num_output_tokens - 1, last_position_ - computed);
  if (!foresees_end_ || steps_per_request_ == 1) {
    return tokens;
  }
  // As last_token_in_flight() will be asked, with one step less in flight.
  const std::int64_t last = sequence.num_prompt_tokens + sequence.max_tokens + in_flight - 3;
  return std::min(tokens, last - computed);
}

/// Blocks that so many more tokens of each running request take.
std::int64_t Scheduler::blocks_taken(std::int64_t tokens) const {
  std::int64_t blocks = 0;
  for (const SequencePtr& sequence : running_) {
    const std::int64_t end = sequence->num_computed_tokens + tokens + lookahead_;
    blocks +=
        manager_.blocks_to_extend(sequence->blocks, std::min(end, options_.max_model_len.value()));
  }
  return blocks;
}

/// With which of the tokens to come extend() has something to do: 1 is the next.
std::int64_t Scheduler::tokens_until_event(const Sequence& sequence) const {
  const std::int64_t lag = steps_per_request_ - 1;  // Steps in flight when the next is formed.
  const std::int64_t kept = options_.profile.windows_keep_steps_in_flight ? lag : 0;
  const BlockTables& blocks = sequence.blocks;
  std::int64_t computed = std::min(blocks.tokens_held, blocks.windows_rest_below + kept);
  if (kv_cache().has_lookups() || !sequence.decoding.is_member) {  // Else settle() enters them.
    computed = std::min(computed, blocks.hashed_below + lag - 1);
  }
  return std::max<std::int64_t>(computed - sequence.num_computed_tokens + 1, 1);
}

void Scheduler::advance_round(ScheduledStep& step, std::span<const std::int64_t> tokens) {
  RIDGELINE_CHECK(update(step, tokens).empty(), "a request ended in a quiet step");
  for (ScheduledSequence& part : step) {
    auto& sequence = static_cast<Sequence&>(*part.sequence);
    RIDGELINE_CHECK(extend(sequence, part.num_scheduled_tokens, lookahead_),
                    "a quiet step found no block");
    part.num_computed_tokens = sequence.num_computed_tokens;
    count_in_flight(part);
  }
  note_quiet_steps(0);
  note_step(step);
}

/// Steps without a prefill, formed and ended, while none waits.
void Scheduler::note_quiet_steps(std::int64_t steps) {
  steps_formed_ += steps;
  steps_ended_ += steps;
  is_short_of_room_ = false;
  carries_prefill_ = false;
}

std::vector<BlockChange> Scheduler::advance_quiet(std::span<ScheduledStep* const> in_flight,
                                                  std::int64_t rounds) {
  preempted_alone_ = is_stuck_ = false;  // Each step brings tokens.
  note_quiet_steps(rounds);
  if (decodes_.gathers()) {
    if (counts_blocks()) {
      return count_rounds(rounds);
    }
    return turns_.take_rounds(
        decodes_,
        rounds,
        [this](engine::Sequence& member) { extend_member(member); },
        [this] { return kv_cache().num_used(); });
  }
  // A request is in every step in flight, or in one of them.
  const auto depth = static_cast<std::int64_t>(in_flight.size());
  const std::int64_t compositions = depth / steps_per_request_;
  std::vector<Decode> decodes;
  const auto find_next_round = [&](Decode& decode) {
    decode.ahead = tokens_until_event(*decode.sequence);
    decode.round += decode.ahead * compositions;
  };
  for (std::int64_t slot = 0; slot < compositions; ++slot) {
    for (const ScheduledSequence& part : *in_flight[static_cast<std::size_t>(slot)]) {
      find_next_round(decodes.emplace_back(
          Decode{.sequence = static_cast<Sequence*>(part.sequence), .round = slot - compositions}));
    }
  }
  std::vector<BlockChange> changes;
  const auto next_round = [&] {
    return std::ranges::min_element(decodes, {}, &Decode::round)->round;
  };
  for (std::int64_t round = next_round(); round < rounds; round = next_round()) {
    for (Decode& decode : decodes) {  // In the order of the step.
      if (decode.round == round) {
        go_on(*decode.sequence, decode.ahead - 1);
        take_quiet_token(*decode.sequence);
        find_next_round(decode);
      }
    }
    changes.push_back({.step = round, .used_blocks = kv_cache().num_used()});
  }
  for (std::int64_t slot = 0; slot < depth; ++slot) {
    for (ScheduledSequence& part : *in_flight[static_cast<std::size_t>(slot)]) {
      auto& sequence = static_cast<Sequence&>(*part.sequence);
      if (slot < compositions) {
        const std::int64_t before = part.num_computed_tokens + steps_per_request_;
        go_on(sequence,
              before + times_in(rounds, slot, compositions) - sequence.num_computed_tokens);
      }
      part.num_computed_tokens += steps_per_request_ * times_in(rounds, slot, depth);
      // The step formed last is the one that stands before the oldest.
      const std::int64_t age = (rounds - 1 - slot + depth * rounds) % depth;
      sequence.last_step = std::max(sequence.last_step, steps_formed_ - age);
    }
  }
  return changes;
}

/// Tokens of a request that change none of its blocks.
void Scheduler::go_on(Sequence& sequence, std::int64_t tokens) {
  sequence.num_computed_tokens += tokens;
  sequence.num_output_tokens += tokens;
}

/// One token of a request as update() and then schedule() take it: the counters are those of the
/// instant between the two.
void Scheduler::take_quiet_token(Sequence& sequence) {
  const std::int64_t placeholder = options_.async_scheduling ? 1 : 0;
  ++sequence.num_output_tokens;
  --sequence.num_in_flight_tokens;
  sequence.num_placeholders -= placeholder;
  RIDGELINE_CHECK(extend(sequence, 1, lookahead_), "a quiet step found no block");
  ++sequence.num_computed_tokens;
  ++sequence.num_in_flight_tokens;
  sequence.num_placeholders += placeholder;
}

}  // namespace ridgeline::engine::vllm::plain
