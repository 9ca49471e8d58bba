// Prefill and decode on servers of their own (disaggregation/prefill.py and decode.py): KV that
// another engine reads, and requests whose prompt another engine computes.
#include <algorithm>
#include <cstdint>
#include <iterator>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/units.hpp"
#include "engine/leg.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/request.hpp"
#include "engine/sglang/scheduler.hpp"

namespace ridgeline::engine::sglang {

/// A prefill has ended: the prompt enters the tree, locked until its KV is read.
void Scheduler::keep_for_reader(Sequence& request) {
  cache_unfinished(request, false);
  request.is_finished = true;
  running_.some_finished = true;
  held_.push_back(owner_of(request));
}

void Scheduler::release_blocks(core::RequestId id) {
  const auto found =
      std::ranges::find(held_, id, [](const RequestPtr& request) { return request->record.id; });
  if (found != held_.end()) {
    cache_finished(**found);
    held_.erase(found);
  }
}

void Scheduler::finish_load(LoadId id, bool arrived) {
  const auto found = std::ranges::find(
      transferring_, id.request, [](const RequestPtr& request) { return request->record.id; });
  if (found == transferring_.end()) {
    return;  // Its client has given up.
  }
  RequestPtr request = std::move(*found);
  transferring_.erase(found);
  if (arrived) {
    arrived_.push_back(std::move(request));
  } else {
    fail(request);
  }
}

/// The decode side of an iteration: requests that were taken back resume, others get slots for
/// their prompt, and those whose KV is there run.
void Scheduler::admit_loads() {
  settle_members();
  resume_retracted();
  if (retracted_.empty()) {
    preallocate();
  }
  while (!arrived_.empty() && std::ssize(running_.requests) < settings_.max_running_requests) {
    const RequestPtr request = arrived_.front();
    arrived_.pop_front();
    request->place = num_placed_++;
    running_.requests.push_back(request);
    running_.singles.push_back(request);
  }
}

/// Tokens of the running requests.
std::int64_t Scheduler::grown() const {
  std::int64_t tokens = 0;
  for (const RequestPtr& request : running_.requests) {
    tokens += request->num_tokens();
  }
  return tokens;
}

/// Tokens that a request may be given (DecodePreallocQueue._allocatable_tokens): what is free, less
/// what those inside are expected to take.
std::int64_t Scheduler::decode_budget(bool beside_retracted) const {
  const std::int64_t each = settings_.num_reserved_decode_tokens;
  const auto inside =
      std::ssize(running_.requests) + std::ssize(transferring_) + std::ssize(arrived_);
  std::int64_t most = 0;
  for (const RequestPtr& request : running_.requests) {
    most = std::max(
        most, std::min(request->most_answer(), settings_.clip_max_new_tokens) + request->prompt());
  }
  std::int64_t budget = free_tokens() - std::max(each * inside, most - grown());
  if (beside_retracted) {
    for (const RequestPtr& request : retracted_) {
      budget -= pages(request->num_tokens() - 1) * settings_.page_size + each;
    }
  }
  return budget;
}

/// Those taken back get their KV again, the first of them first.
void Scheduler::resume_retracted() {
  while (!retracted_.empty()) {
    const RequestPtr request = retracted_.front();
    const std::int64_t held = request->num_tokens() - 1;
    const std::int64_t needed =
        pages(held) * settings_.page_size + settings_.num_reserved_decode_tokens;
    const bool is_alone = running_.requests.empty() && transferring_.empty() && arrived_.empty();
    if (needed > decode_budget(false) && !is_alone) {
      return;
    }
    retracted_.pop_front();
    queued_prompt_tokens_ -= request->num_prompt_tokens;
    request->drops_tokens = false;
    extend_kv(*request, held);
    arrived_.push_back(request);
  }
}

/// Slots for whole prompts, first come first served: the first that finds none ends the walk.
void Scheduler::preallocate() {
  // More request slots than seats, where those are few (disaggregation_decode_extra_slots).
  constexpr std::int64_t kFewSeats = 32;
  const std::int64_t seats = settings_.max_running_requests;
  const std::int64_t slots = seats <= kFewSeats ? 3 * seats : seats;
  while (!preallocating_.empty()) {
    const RequestPtr request = preallocating_.front();
    const std::int64_t prompt = request->prompt();
    const std::int64_t whole =
        settings_.rules.preallocates_pages ? pages(prompt) * settings_.page_size : prompt;
    const std::int64_t needed = std::max(
        whole + settings_.num_reserved_decode_tokens,
        prompt + std::min(request->most_answer(), settings_.clip_max_new_tokens) - grown());
    const auto inside =
        std::ssize(running_.requests) + std::ssize(transferring_) + std::ssize(arrived_);
    // Where nothing else is there, SGLang would wait for ever.
    const bool is_alone = inside == 0 && retracted_.empty() && whole <= free_tokens();
    if (inside >= slots || (needed > decode_budget(true) && !is_alone)) {
      return;
    }
    preallocating_.pop_front();
    queued_prompt_tokens_ -= request->num_prompt_tokens;
    extend_kv(*request, prompt);
    request->committed = prompt;
    transferring_.push_back(request);
    load_starts_.push_back({.request = request->record.id, .blocks = core::Blocks(pages(prompt))});
  }
}

/// A victim of a retraction waits again: on a decode server with its KV on the host, where there is
/// room for it.
void Scheduler::take_back(const RequestPtr& victim) {
  if (!victim->loads) {
    enter(victim);
    return;
  }
  constexpr std::int64_t kHostPart = 5;  // The host's pool is a fifth of the GPU's.
  std::int64_t held = victim->num_tokens() - 1;
  for (const RequestPtr& other : retracted_) {
    held += other->num_tokens() - 1;
  }
  const bool fits = settings_.retraction_backup == RetractionBackup::kCpuTensor ||
                    (settings_.retraction_backup == RetractionBackup::kHostPool &&
                     held <= settings_.max_total_num_tokens / kHostPart);
  if (fits) {
    retracted_.push_back(victim);
  } else {
    queued_prompt_tokens_ -= victim->num_prompt_tokens;
    victim->is_finished = true;
    failed_.push_back(victim);
  }
}

}  // namespace ridgeline::engine::sglang
