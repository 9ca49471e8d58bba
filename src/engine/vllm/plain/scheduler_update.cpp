// What the scheduler does with the tokens that come out of a step.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "core/time.hpp"
#include "domain/record.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/scheduler.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

/// To the run of the same gap if it is one of the last: there are few in a step. It becomes the
/// last, for the next request.
void add_gaps(std::int64_t count, core::Duration gap, std::vector<domain::TokenGaps>& gaps) {
  constexpr std::ptrdiff_t kLookedAt = 4;
  const auto end = gaps.rbegin() + std::min<std::ptrdiff_t>(std::ssize(gaps), kLookedAt);
  const auto run = std::find_if(
      gaps.rbegin(), end, [&](const domain::TokenGaps& one) { return one.gap == gap; });
  if (run == end) {
    gaps.push_back({.gap = gap, .growth = {}, .count = 1, .requests = count});
    return;
  }
  run->requests += count;
  if (run != gaps.rbegin()) {
    std::swap(*run, gaps.back());
  }
}

}  // namespace

std::vector<SequencePtr> Scheduler::update(const ScheduledStep& step,
                                           std::span<const std::int64_t> tokens,
                                           core::SimTime now,
                                           std::vector<domain::TokenGaps>& gaps) {
  std::vector<SequencePtr> finished;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i].is_plain && !gaps.empty()) {
      i = update_quiet(step, i, now, gaps.back());
      if (i == step.size()) {
        break;
      }
    }
    const ScheduledSequence& scheduled = step[i];
    Sequence& sequence = *scheduled.sequence;
    sequence.num_in_flight_tokens -= scheduled.num_scheduled_tokens;
    // A token after the end is thrown away; an unfinished prefill has none.
    if (!scheduled.samples || sequence.status == Status::kFinished) {
      continue;
    }
    if (take_tokens(scheduled, scheduled.num_drafts > 0 ? tokens[i] : 1, now, gaps)) {
      finished.push_back(finish(sequence));
    }
  }
  if (!leaving_.empty()) {
    std::erase_if(leaving_, [](const auto& one) { return one->num_in_flight_tokens == 0; });
  }
  return finished;
}

/// Of a step from one place on, the requests of which there is nothing to tell but that each has a
/// token more, as long after the one before as `run` says: the same as take_tokens() does, without
/// its questions. Returns the place of the first that has more to tell.
std::size_t Scheduler::update_quiet(const ScheduledStep& step,
                                    std::size_t from,
                                    core::SimTime now,
                                    domain::TokenGaps& run) const {
  const std::int64_t placeholder = options_.async_scheduling ? 1 : 0;
  const core::SimTime before = now - run.gap;
  const auto first = step.begin() + static_cast<std::ptrdiff_t>(from);
  auto place = first;
  for (const auto end = step.end(); place != end && place->is_plain; ++place) {
    Sequence& sequence = *place->sequence;
    // Two tokens of it are in flight, or none but this one: the step in flight has it as well.
    if (sequence.num_computed_tokens > sequence.quiet_until ||
        sequence.num_placeholders != 2 * placeholder || sequence.last_token != before) {
      break;
    }
    --sequence.num_in_flight_tokens;
    ++sequence.num_output_tokens;
    sequence.num_placeholders -= placeholder;
    sequence.last_token = now;
  }
  run.requests += place - first;
  return static_cast<std::size_t>(place - step.begin());
}

/// Whether the request ends with these tokens; those behind its end are dropped.
bool Scheduler::take_tokens(const ScheduledSequence& scheduled,
                            std::int64_t tokens,
                            core::SimTime now,
                            std::vector<domain::TokenGaps>& gaps) {
  Sequence& sequence = *scheduled.sequence;
  const bool lost = loses_results_ && sequence.status != Status::kRunning;
  const std::int64_t rejected = scheduled.num_drafts + 1 - tokens;
  if (rejected > 0 && !lost) {
    sequence.num_computed_tokens -= sequence.num_computed_tokens > 0 ? rejected : 0;
    sequence.num_placeholders -= sequence.num_placeholders > 0 ? rejected : 0;
  }
  deliver(sequence, tokens, now, gaps);
  bool ends = false;
  if (lost) {
    sequence.num_lost_tokens += tokens;
  } else {
    const std::int64_t taken = std::min(tokens, sequence.stop_after - sequence.num_output_tokens);
    sequence.num_output_tokens += taken;
    sequence.num_placeholders -= options_.async_scheduling ? taken : 0;
    ends = sequence.num_output_tokens >= sequence.stop_after;
  }
  look_again(sequence, ends);
  return ends;
}

/// Tokens go to the client, but for those behind the request's end: the first a gap after the one
/// before, the others (drafts that were accepted) with it.
void Scheduler::deliver(Sequence& sequence,
                        std::int64_t tokens,
                        core::SimTime now,
                        std::vector<domain::TokenGaps>& gaps) {
  const std::int64_t before = sequence.num_delivered_tokens();
  const std::int64_t delivered = std::min(tokens, sequence.stop_after - before);
  if (delivered <= 0) {
    return;
  }
  if (before == 0) {
    sequence.record.first_token = now;
  } else {
    add_gaps(1, now - sequence.last_token, gaps);
  }
  if (delivered > 1) {
    add_gaps(delivered - 1, core::Duration(), gaps);
  }
  sequence.last_token = now;
}

/// What follows from a token that has come out, unless the request is quiet.
void Scheduler::look_again(Sequence& sequence, bool ends) {
  const bool is_running = sequence.status == Status::kRunning;
  if (!options_.async_scheduling) {
    sequence.num_drafts =
        is_running && !ends ? options_.num_speculative_tokens : sequence.num_drafts;
    return;
  }
  if (sequence.num_placeholders == 0) {
    sequence.quiet_until =
        kNotQuiet;  // The step in flight went without it: all that is scheduled is known.
  }
  if (is_running) {
    hash_full_blocks(sequence, sequence.num_computed_tokens - sequence.num_placeholders);
  }
}

SequencePtr Scheduler::finish(Sequence& sequence) {
  SequencePtr finished = remove(sequence);
  sequence.end(sequence.outcome_at_stop);
  return finished;
}

}  // namespace ridgeline::engine::vllm::plain
