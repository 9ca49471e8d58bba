#include "engine/sglang/prefill_adder.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "engine/sglang/options.hpp"
#include "engine/sglang/policy.hpp"
#include "engine/sglang/request.hpp"
#include "engine/sglang/scheduler.hpp"

namespace ridgeline::engine::sglang {

PrefillAdder::PrefillAdder(Scheduler& scheduler, std::int64_t mixed)
    : scheduler_(scheduler),
      options_(scheduler.settings_),
      rem_input_(options_.max_prefill_tokens - mixed),
      rem_chunk_(options_.chunked_prefill_size - mixed),
      has_chunks_(options_.chunked_prefill_size > 0),
      total_offset_(static_cast<double>(mixed)),
      current_offset_(mixed) {
  double running = 0.0;
  for (const RequestPtr& request : scheduler_.running()) {
    running += promised(*request);
  }
  total_offset_ += running;
}

/// Tokens that are free, or can be made free.
std::int64_t PrefillAdder::available() const {
  return scheduler_.free_tokens() + scheduler_.evictable();
}

std::int64_t PrefillAdder::ceil_page(std::int64_t tokens) const {
  return scheduler_.pages(tokens) * options_.page_size;
}

/// What SGLang expects of a request that may generate so much.
std::int64_t PrefillAdder::clipped(std::int64_t tokens) const {
  return std::min(tokens, options_.clip_max_new_tokens);
}

double PrefillAdder::promised(const Sequence& running) const {
  const bool is_sure = running.ignore_eos && options_.rules.trusts_ignore_eos;
  return static_cast<double>(clipped(running.max_output_tokens - running.outputs)) *
         (is_sure ? 1.0 : scheduler_.ratio_);
}

bool PrefillAdder::is_full() const {
  const bool has_most =
      options_.prefill_max_requests > 0 && std::ssize(admitted_) >= options_.prefill_max_requests;
  return rem_input_ <= 0 || (has_chunks_ && rem_chunk_ <= 0) || has_most;
}

PrefillAdder::Verdict PrefillAdder::budget() const {
  if (rem_total() <= 0.0 || cur_rem() <= 0.0) {
    return Verdict::kNoToken;
  }
  return is_full() ? Verdict::kOther : Verdict::kContinue;
}

void PrefillAdder::spend(std::int64_t tokens, std::int64_t outputs) {
  const std::int64_t whole = ceil_page(tokens);
  const std::int64_t page = options_.rules.reserves_page ? options_.page_size : 0;
  total_offset_ += static_cast<double>(whole + outputs + page);
  current_offset_ += whole + page;
  rem_input_ -= whole;
  rem_chunk_ -= whole;
}

bool PrefillAdder::add_chunked(const RequestPtr& request) {
  std::int64_t most = std::min(rem_chunk_, static_cast<std::int64_t>(rem_total()));
  if (most <= 0) {
    most = std::max<std::int64_t>(rem_chunk_, options_.page_size);
  }
  // SGLang ends where the pool cannot give what was promised; here the request waits.
  most = std::min(most, scheduler_.whole_pages(available()));
  if (most <= 0) {
    return true;
  }
  const bool is_cut = request->extend_len > most;
  request->extend_len = std::min(request->extend_len, most);
  admitted_.push_back(request);
  spend(request->extend_len, is_cut ? 0 : clipped(request->max_output_tokens));
  return is_cut;
}

PrefillAdder::Verdict PrefillAdder::add(const RequestPtr& request) {
  if (request->ignore_eos && options_.disable_radix_cache) {
    return add_ignoring_eos(request);
  }
  std::int64_t tokens = ceil_page(request->extend_len);
  const std::int64_t expected =
      clipped(std::max<std::int64_t>(request->max_output_tokens - request->outputs, 0));
  const std::int64_t page = options_.rules.reserves_page ? options_.page_size : 0;
  const auto total = static_cast<double>(request->extend_len + request->host_len + expected + page);
  const bool tests_once = options_.rules.tests_pool_once;
  if (!tests_once && total >= rem_total()) {
    return Verdict::kNoToken;
  }
  const bool bounds_input = options_.rules.bounds_input_with_chunks || !has_chunks_;
  const bool exceeds_input = bounds_input && tokens >= rem_input_ && !admitted_.empty();
  if (!tests_once && exceeds_input) {
    return Verdict::kOther;
  }
  // What it found in the tree cannot be evicted any more.
  scheduler_.lock(*request);
  Verdict verdict = Verdict::kContinue;
  const bool fits = total < rem_total();
  if (fits && request->host_len > 0) {
    scheduler_.load_back(*request);
    tokens = ceil_page(request->extend_len);
  }
  if (!fits) {
    verdict = Verdict::kNoToken;
  } else if (exceeds_input) {
    verdict = Verdict::kOther;
  } else if (!cuts(tokens)) {
    admitted_.push_back(request);
    spend(tokens, clipped(request->max_output_tokens));
  } else {
    const std::int64_t chunk = scheduler_.whole_pages(rem_chunk_);  // A prefix is whole pages.
    if (chunk <= 0) {
      verdict = Verdict::kOther;
    } else {
      take_chunk(request, chunk);
    }
  }
  if (verdict != Verdict::kContinue) {
    scheduler_.unlock(*request);
    return verdict;
  }
  return budget();
}

/// Takes so many tokens of the prompt: the rest follows in the next steps.
void PrefillAdder::take_chunk(const RequestPtr& request, std::int64_t tokens) {
  request->extend_len = tokens;
  admitted_.push_back(request);
  new_chunked_ = request;
  spend(tokens, 0);
}

/// What a request still generates, and what it frees at its end, among the others.
void PrefillAdder::note_need(const Sequence& request, bool sorted) {
  const double ratio = request.ignore_eos ? 1.0 : scheduler_.ratio_;
  const Need need{.left = static_cast<double>(request.max_output_tokens) * ratio -
                          static_cast<double>(request.outputs),
                  .occupied = request.num_tokens()};
  if (need.left <= 0) {
    return;
  }
  auto place = needs_.end();
  if (sorted) {
    place =
        std::ranges::find_if(needs_, [&](const Need& other) { return need.left <= other.left; });
    if (place == needs_.end() && !needs_.empty()) {
      --place;  // As add_req_state does: before the last one, not behind it.
    }
  }
  needs_.insert(place, need);
}

/// Whether all of them end without a retraction if so many tokens are computed now.
bool PrefillAdder::needs_fit(std::int64_t tokens) const {
  constexpr double kReservedTokens = 1.0;  // IGNORE_EOS_RESERVE_TOKENS
  const double left = cur_rem() - static_cast<double>(tokens);
  double freed = 0.0;
  auto alive = static_cast<double>(needs_.size());
  for (const Need& need : needs_) {
    if (left + freed - need.left * alive <= kReservedTokens * alive) {
      return false;
    }
    freed += static_cast<double>(need.occupied);
    alive -= 1.0;
  }
  return true;
}

PrefillAdder::Verdict PrefillAdder::add_ignoring_eos(const RequestPtr& request) {
  const std::int64_t tokens = ceil_page(request->extend_len);
  const std::int64_t page = options_.rules.tests_pool_once ? options_.page_size : 0;
  if (static_cast<double>(tokens + page) > std::min(cur_rem(), rem_total())) {
    return Verdict::kNoToken;
  }
  if (has_needs_) {
    note_need(*request, true);
  } else {
    has_needs_ = true;
    note_need(*request, false);
    for (const RequestPtr& other : scheduler_.running()) {
      note_need(*other, false);
    }
    for (const RequestPtr& other : admitted_) {
      note_need(*other, false);
    }
    std::ranges::stable_sort(needs_, {}, &Need::left);
  }
  if (!needs_fit(tokens)) {
    return Verdict::kNoToken;
  }
  if (!cuts(request->extend_len)) {  // A chunk here ends anywhere, not at a page.
    admitted_.push_back(request);
    spend(request->extend_len, clipped(request->max_output_tokens));
  } else if (rem_chunk_ <= 0 || new_chunked_ != nullptr) {
    return Verdict::kOther;
  } else {
    take_chunk(request, rem_chunk_);
  }
  return budget();
}

/// The running requests of worse priority by more than the threshold, worst first, that give way.
RequestList PrefillAdder::candidates(const Sequence& request, double missing) const {
  RequestList sorted;
  for (const RequestPtr& running : scheduler_.running()) {
    if (!running->is_finished) {
      sorted.push_back(running);
    }
  }
  std::ranges::stable_sort(sorted, [&](const RequestPtr& a, const RequestPtr& b) {
    const std::int64_t lead = priority_lead(*b, *a, options_);
    return lead != 0 ? lead > 0 : a->entered > b->entered;
  });
  RequestList found;
  double freed = 0.0;
  const bool as_needed = options_.rules.preempts_as_needed;
  for (const RequestPtr& running : sorted) {
    const bool is_worse = priority_lead(request, *running, options_) >
                          options_.priority_scheduling_preemption_threshold;
    if (!is_worse) {
      if (as_needed) {
        break;
      }
      continue;
    }
    found.push_back(running);
    freed += promised(as_needed ? *running : request);
    if (as_needed && freed >= missing) {
      break;
    }
  }
  return freed >= missing ? found : RequestList();
}

bool PrefillAdder::preempt_for(const Sequence& request) {
  const double missing =
      static_cast<double>(request.extend_len + clipped(request.max_output_tokens)) - rem_total();
  const RequestList victims = candidates(request, missing);
  if (victims.empty()) {
    return false;
  }
  RequestList& running = scheduler_.running_.requests;
  RequestList kept;
  std::int64_t released = 0;
  const std::int64_t all = std::ssize(running);
  for (const RequestPtr& one : running) {
    if (std::ranges::find(victims, one) == victims.end()) {
      kept.push_back(one);
      continue;
    }
    total_offset_ -= promised(options_.rules.preempts_as_needed ? *one : request);
    scheduler_.retract_one(one, all - ++released);
    preempted_.push_back(one);
  }
  running = std::move(kept);
  scheduler_.running_.singles = running;
  return true;
}

}  // namespace ridgeline::engine::sglang
