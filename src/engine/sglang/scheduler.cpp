#include "engine/sglang/scheduler.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/policy.hpp"
#include "engine/sglang/prefill_adder.hpp"
#include "engine/sglang/radix_cache.hpp"
#include "engine/sglang/request.hpp"

namespace ridgeline::engine::sglang {
namespace {

/// What a prefill adds to the counter of scheduler_recv_interval (recv_skipper.py); all else
/// adds 1.
constexpr std::int64_t kPrefillReceives = 1000;
/// Tokens that SGLang keeps a prompt below the longest request (managers/tp_worker.py).
constexpr std::int64_t kInputMargin = 5;

bool is_prefill(Mode mode) {
  return mode == Mode::kExtend || mode == Mode::kMixed;
}

}  // namespace

const Options& settings_of(const EngineOptions& options) {
  const auto* own = dynamic_cast<const Options*>(options.own.get());
  RIDGELINE_CHECK(own != nullptr, "the options are SGLang's");
  return *own;
}

Scheduler::Scheduler(const EngineOptions& options)
    : settings_(settings_of(options)),
      seed_(options.acceptance_seed),
      has_stages_(options.pipeline_depth > 0),
      tree_(settings_.page_size, settings_.radix_eviction_policy),
      free_pages_(settings_.max_total_num_tokens / settings_.page_size),
      init_ratio_(
          std::min(settings_.init_new_token_ratio * settings_.schedule_conservativeness, 1.0)),
      min_ratio_(std::min(init_ratio_ * settings_.min_new_token_ratio_factor, 1.0)),
      ratio_decay_((init_ratio_ - min_ratio_) /
                   static_cast<double>(settings_.new_token_ratio_decay_steps)),
      ratio_(init_ratio_),
      phases_(settings_.page_size),
      draws_(seed_, 0, "engine.sglang.schedule-policy") {}

/// Prompt and output together that the server lets a request have.
std::int64_t Scheduler::longest(const domain::Request& request) const {
  const std::int64_t pool = settings_.max_total_num_tokens;
  const std::int64_t prompt = request.prompt_tokens.value();
  const std::int64_t most = std::min(settings_.context_length - 1, pool - 1);
  std::int64_t outputs = most - prompt - 1;
  if (settings_.rules.clips_to_pool) {
    const std::int64_t page = settings_.page_size;
    outputs = std::min(outputs, pool - pages(prompt) * page - page - 1);
  }
  return prompt + outputs;
}

/// Whether it comes to run if it is alone; SGLang's server refuses it, or never gets to it.
bool Scheduler::can_ever_run(const domain::Request& request, bool ignore_eos) const {
  const std::int64_t pool = settings_.max_total_num_tokens;
  const std::int64_t most = std::min(settings_.context_length - 1, pool - 1);
  const std::int64_t prompt = request.prompt_tokens.value();
  if (prompt >= most - kInputMargin || longest(request) <= prompt) {
    return false;
  }
  // The look-ahead keeps a token more, and counts the prompt in whole pages.
  const std::int64_t outputs = std::min(request.max_tokens.value(), longest(request) - prompt);
  return !ignore_eos || !settings_.disable_radix_cache ||
         prompt + outputs + settings_.page_size < pool;
}

engine::SequencePtr Scheduler::add(const domain::Request& request) {
  // A client that asks for as many tokens as there are to come ignores the end of sequence, as
  // benchmarks do.
  const bool ignore_eos = request.output_tokens >= request.max_tokens;
  return can_ever_run(request, ignore_eos) ? take(request, ignore_eos) : nullptr;
}

RequestPtr Scheduler::take(const domain::Request& request, bool ignore_eos) {
  const auto taken = std::make_shared<Sequence>(request, core::Tokens(longest(request)));
  taken->ignore_eos = ignore_eos;
  queued_prompt_tokens_ += taken->num_prompt_tokens;
  inbox_.push_back(taken);
  return taken;
}

/// Reads what has arrived, if it is time to.
void Scheduler::receive() {
  if (settings_.scheduler_recv_interval > 1) {
    receive_counter_ += is_prefill(last_.mode) ? kPrefillReceives : 1;
    if (receive_counter_ < settings_.scheduler_recv_interval) {
      return;
    }
    receive_counter_ = 0;
  }
  for (const RequestPtr& request : inbox_) {
    iteration_.received.push_back(request->record.id);
    enter(request);
  }
  inbox_.clear();
}

void Scheduler::enter(const RequestPtr& request) {
  request->entered = ++stamp_;
  waiting_.push_back(request);
}

bool Scheduler::propose() {
  choose(proposed_.emplace());
  return !proposed_->empty();
}

/// An idle batch counts as one of decodes.
void Scheduler::pass_idle_rounds(std::int64_t rounds) {
  if (const SchedulerCounts all = counts(); all.running + all.waiting == 0) {
    receive_counter_ = (receive_counter_ + rounds) % settings_.scheduler_recv_interval;
  }
}

void Scheduler::schedule(ScheduledStep& step) {
  if (proposed_) {
    step = std::move(*proposed_);
    proposed_.reset();
    return;
  }
  // An iteration without a batch takes no time: where nothing is in flight, the next follows.
  constexpr std::int64_t kStuck = 3;  // After so many without a request to receive none will come.
  std::int64_t empty = 0;
  do {
    iterate(step);
    empty += is_empty(step) && inbox_.empty() ? 1 : 0;
  } while (is_empty(step) && in_flight_ == 0 &&
           (!inbox_.empty() || (!waiting_.empty() && empty < kStuck)));
}

void Scheduler::iterate(ScheduledStep& step) {
  const bool follows_batch = last_.mode != Mode::kNone;
  choose(step);
  if (is_empty(step) && !(settings_.overlap && follows_batch)) {
    reset_when_idle();
  }
}

/// An iteration without idle housekeeping.
void Scheduler::choose(ScheduledStep& step) {
  step.clear();
  decodes_.leave_out_of_step();
  iteration_.mode = Mode::kNone;
  iteration_.received.clear();
  iteration_.retracted.clear();
  iteration_.evicted_tokens = 0;
  receive();
  merge_last();
  if (!form_prefill(step)) {
    form_decode(step);
  }
  last_.mode = iteration_.mode;
  iteration_.new_token_ratio = ratio_;
  in_flight_ += is_empty(step) ? 0 : 1;
  if (decodes_.gathers() && iteration_.mode == Mode::kDecode) {
    gather(step);
  }
}

/// Idle housekeeping (self_check_during_idle).
void Scheduler::reset_when_idle() {
  const bool is_idle = waiting_.empty() && running_.requests.empty();
  if (settings_.rules.resets_ratio_when_empty || is_idle) {
    ratio_ = init_ratio_;
  }
}

/// What the last batch leaves: its requests decode from now on, but for those that ended and the
/// one in mid-prompt.
void Scheduler::merge_last() {
  if (chunked_ != nullptr) {
    cache_unfinished(*chunked_, true);
  }
  if (is_prefill(last_.mode)) {
    RequestList& batch = last_.requests;
    const auto before = batch.size();
    std::erase_if(batch, [&](const RequestPtr& request) {
      return request->is_finished || request == chunked_ || request == last_.chunked;
    });
    if (batch.size() < before) {
      running_.is_full = false;
    }
    if (!batch.empty() && running_.requests.empty()) {
      running_.is_full = false;  // The batch takes the place of the running one, without its latch.
    }
    for (const RequestPtr& request : batch) {
      request->place = num_placed_++;
      running_.requests.push_back(request);
      running_.singles.push_back(request);
    }
  }
  last_ = {};
}

/// Whether a prefill is tried at all.
bool Scheduler::prefill_is_due() {
  if (settings_.preempts()) {
    running_.is_full = false;
  }
  if ((running_.is_full || waiting_.empty()) && chunked_ == nullptr) {
    return false;
  }
  const bool has_seat = std::ssize(running_.requests) < settings_.max_running_requests;
  if (!has_seat && chunked_ == nullptr && !settings_.preempts()) {
    running_.is_full = true;
    return false;
  }
  return true;
}

bool Scheduler::form_prefill(ScheduledStep& step) {
  if (!prefill_is_due()) {
    return false;
  }
  settle_members();
  sort_waiting(waiting_, settings_, settings_.disable_radix_cache ? nullptr : &tree_, draws_);
  PrefillAdder adder(*this, settings_.enable_mixed_chunk ? std::ssize(running_.requests) : 0);
  if (chunked_ != nullptr) {
    chunked_->extend_len = chunked_->num_tokens() - chunked_->prefix_len;
    if (!adder.add_chunked(chunked_)) {
      chunked_ = nullptr;
    } else if (adder.admitted().empty()) {
      return false;  // There is no page for it, and so for no other.
    }
  }
  fill_adder(adder);
  for (const RequestPtr& request : adder.preempted()) {
    enter(request);
  }
  if (adder.admitted().empty()) {
    return false;
  }
  launch_prefill(adder, step);
  return true;
}

/// Takes waiting requests in order until one does not get in.
void Scheduler::fill_adder(PrefillAdder& adder) {
  std::int64_t taken = 0;
  for (const RequestPtr& request : waiting_) {
    if (std::ssize(adder.admitted()) >=
        settings_.max_running_requests - std::ssize(running_.requests)) {
      running_.is_full = true;
    }
    if (running_.is_full && !(settings_.preempts() && adder.preempt_for(*request))) {
      break;
    }
    match_prefix(*request);
    const std::int64_t admitted = std::ssize(adder.admitted());
    const PrefillAdder::Verdict verdict = adder.add(request);
    taken += std::ssize(adder.admitted()) - admitted;
    if (verdict != PrefillAdder::Verdict::kContinue) {
      running_.is_full = running_.is_full || verdict == PrefillAdder::Verdict::kNoToken;
      break;
    }
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + taken);
}

void Scheduler::launch_prefill(PrefillAdder& adder, ScheduledStep& step) {
  if (adder.new_chunked() != nullptr) {
    chunked_ = adder.new_chunked();
  }
  iteration_.mode = Mode::kExtend;
  std::int64_t tokens = 0;
  for (const RequestPtr& request : adder.admitted()) {
    tokens += request->extend_len;
  }
  const std::int64_t spare = settings_.page_size > 1 ? settings_.page_size : 0;
  make_room(tokens + std::ssize(adder.admitted()) * spare);
  for (const RequestPtr& request : adder.admitted()) {
    if (const bool goes_on = request->fill_len > 0; !goes_on) {
      queued_prompt_tokens_ -= request->num_prompt_tokens;
      prefix_hits_ += core::Tokens(request->prefix_len);
      prefix_queries_ += core::Tokens(request->prefix_len);
      if (request->record.preemptions == 0) {
        request->record.cached_tokens =
            core::Tokens(std::min(request->prefix_len, request->num_prompt_tokens));
      }
    }
    prefix_queries_ += core::Tokens(request->extend_len);
    request->drops_tokens = false;
    request->fill_len = request->prefix_len + request->extend_len;
    extend_kv(*request, request->extend_len);
    step.push_back({.sequence = request.get(),
                    .num_computed_tokens = request->prefix_len,
                    .num_scheduled_tokens = request->extend_len,
                    .num_drafts = 0,
                    .is_prefill = true,
                    .samples = request != chunked_});
  }
  last_.requests = adder.admitted();
  last_.chunked = chunked_;
  if (settings_.enable_mixed_chunk) {
    mix_with_running(step);
  }
}

/// The running requests join a prefill with a token each.
void Scheduler::mix_with_running(ScheduledStep& step) {
  drop_finished();
  const std::int64_t needed = pages_for_decode() * settings_.page_size;
  // SGLang looks at no memory here and ends where there is none; here they wait for the prefill.
  if (running_.requests.empty() || free_tokens() + evictable() < needed) {
    return;
  }
  iteration_.mode = Mode::kMixed;
  put_decodes(step);
  RequestList& batch = last_.requests;
  batch.insert(batch.end(), running_.requests.begin(), running_.requests.end());
  running_.requests.clear();
  running_.singles.clear();
}

std::vector<engine::SequencePtr> Scheduler::update(const ScheduledStep& step,
                                                   std::span<const std::int64_t> tokens) {
  static_cast<void>(tokens);  // One each: there are no drafts.
  RIDGELINE_CHECK(in_flight_ > 0, "a step that ends was in flight");
  --in_flight_;
  std::vector<engine::SequencePtr> ended;
  for (const ScheduledSequence& part : step) {
    auto& request = static_cast<Sequence&>(*part.sequence);
    if (request.drops_tokens || request.is_finished) {
      free_delayed(request, part);
    } else if (take_token(request, part)) {
      ended.push_back(owner_of(request));
    }
  }
  return ended;
}

/// What a step brings to a request; true where the request ends with it.
bool Scheduler::take_token(Sequence& request, const ScheduledSequence& part) {
  if (!part.samples) {
    return false;
  }
  if (++request.outputs >= request.stop_after) {
    cache_finished(request);
    return true;
  }
  if (part.is_prefill) {
    cache_unfinished(request, false);
  }
  return false;
}

/// A request of which the scheduler holds a plain reference.
RequestPtr Scheduler::owner_of(const Sequence& request) const {
  for (const RequestList* list : {&running_.requests, &last_.requests}) {
    const auto found = std::ranges::find(*list, &request, &RequestPtr::get);
    if (found != list->end()) {
      return *found;
    }
  }
  RIDGELINE_CHECK(false, "a request that ends is in a batch");
}

RequestList Scheduler::inside() const {
  RequestList all;
  const auto add = [&](const RequestPtr& request) {
    if (request != nullptr && !request->is_finished &&
        std::ranges::find(all, request) == all.end()) {
      all.push_back(request);
    }
  };
  std::ranges::for_each(running_.requests, add);
  std::ranges::for_each(last_.requests, add);
  add(chunked_);
  std::ranges::for_each(waiting_, add);
  std::ranges::for_each(inbox_, add);
  return all;
}

engine::SequencePtr Scheduler::abort(core::RequestId id) {
  for (const RequestPtr& request : inside()) {
    if (request->record.id != id) {
      continue;
    }
    if (request->decoding.is_member) {
      leave_decodes(*request);
    }
    const bool waits = std::erase(waiting_, request) + std::erase(inbox_, request) > 0;
    if (waits) {
      queued_prompt_tokens_ -= request->num_prompt_tokens;
      request->is_finished = true;
    } else if (request->outputs > 0 && request != chunked_) {
      cache_finished(*request);
    } else {
      release(*request);
      request->is_finished = true;
      running_.some_finished = true;
      if (request == chunked_) {
        chunked_ = nullptr;
      }
    }
    return request;
  }
  return nullptr;
}

std::vector<engine::SequencePtr> Scheduler::drain() {
  const RequestList all = inside();
  dissolve_members();
  for (const RequestPtr& request : all) {
    release(*request);
    request->is_finished = true;
  }
  inbox_.clear();
  waiting_.clear();
  running_ = {};
  last_ = {};
  chunked_ = nullptr;
  in_flight_ = 0;
  queued_prompt_tokens_ = 0;
  return {all.begin(), all.end()};
}

std::vector<engine::SequencePtr> Scheduler::take_failed() {
  const RequestList failed = std::exchange(failed_, {});
  return {failed.begin(), failed.end()};
}

SchedulerCounts Scheduler::counts() const {
  const std::int64_t all = settings_.max_total_num_tokens / settings_.page_size;
  const std::int64_t free = free_pages_ + evictable() / settings_.page_size;
  const std::int64_t prefilled = is_prefill(last_.mode) ? std::ssize(last_.requests) : 0;
  return {.running = std::ssize(running_.requests) + prefilled,
          .waiting = std::ssize(waiting_) + std::ssize(inbox_),
          .used_blocks = all - free,
          .free_blocks = free,
          .shared_context = {},
          .preemptions = num_retractions_,
          .prefix_queries = prefix_queries_,
          .prefix_hits = prefix_hits_};
}

core::Tokens Scheduler::queued_prompt_tokens() const {
  return core::Tokens(queued_prompt_tokens_);
}

core::Tokens Scheduler::cached_prefix(const domain::Request& request, std::optional<KvLook> look) {
  static_cast<void>(look);  // SGLang's tree keeps no history here: what it holds now.
  if (settings_.disable_radix_cache) {
    return {};
  }
  const Tokens tokens(request, 0);
  return core::Tokens(tree_.find(tokens, tokens.length() - 1, request.lora.value()));
}

}  // namespace ridgeline::engine::sglang
