#include "engine/sglang/scheduler.hpp"

#include <algorithm>
#include <cstddef>
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
      draws_(seed_, 0, "engine.sglang.schedule-policy") {
  if (const HostTier& host = settings_.host; host.tokens > 0) {
    tree_.attach({.free = host.tokens,
                  .states = host.states,
                  .hits_to_write = host.writes == HostWrites::kThroughSelective ? 2 : 1,
                  .on_eviction = host.writes == HostWrites::kBack});
  }
  if (settings_.state_slots > 0) {
    tree_.states().attach(
        settings_.state_slots, settings_.rules.keeps_states_apart, settings_.most_states_per_path);
  }
}

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
  return add_leg(request, {});
}

engine::SequencePtr Scheduler::add_leg(const domain::Request& request, const Leg& leg) {
  // A client that asks for as many tokens as there are to come ignores the end of sequence, as
  // benchmarks do.
  const bool ignore_eos = request.output_tokens >= request.max_tokens;
  return can_ever_run(request, ignore_eos) ? take(request, ignore_eos, leg) : nullptr;
}

RequestPtr Scheduler::take(const domain::Request& request, bool ignore_eos, const Leg& leg) {
  const auto taken =
      std::make_shared<Sequence>(request, core::Tokens(longest(request)), settings_.speculation);
  taken->ignore_eos = ignore_eos;
  taken->holds_blocks = leg.holds_blocks;
  taken->reports_steps = leg.reports_steps;
  taken->loads = leg.loads;
  taken->answered =
      leg.loads ? std::max<std::int64_t>(taken->num_prompt_tokens - leg.remote_tokens.value(), 0)
                : 0;
  decodes_for_others_ = decodes_for_others_ || leg.loads;
  prefills_for_others_ = prefills_for_others_ || leg.holds_blocks;
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
    if (request->loads) {
      preallocating_.push_back(request);
    } else {
      enter(request);
    }
  }
  inbox_.clear();
}

void Scheduler::enter(const RequestPtr& request) {
  request->entered = ++stamp_;
  request->prefilled_before = prefilled_;
  waiting_.push_back(request);
}

bool Scheduler::propose_prefill() {
  if (std::exchange(loads_are_told_, false)) {
    load_starts_.clear();
  }
  return choose_prefill(proposed_.emplace());
}

bool Scheduler::propose_decode(bool may_decode) {
  choose_decode(*proposed_, may_decode);
  return !is_empty(*proposed_);
}

bool Scheduler::has_few_running() const {
  return std::ssize(running_.requests) < settings_.prefill_decode_interval_min_bs;
}

/// So many iterations try no prefill, if it is not time for one.
void Scheduler::pass_interval(std::int64_t iterations) {
  decodes_due_ = has_few_running() ? 0 : std::max<std::int64_t>(decodes_due_ - iterations, 0);
}

/// An idle batch counts as one of decodes.
void Scheduler::pass_idle_rounds(std::int64_t rounds) {
  if (const SchedulerCounts all = counts(); all.running + all.waiting == 0) {
    pass_interval(rounds);
    num_iterations_ += rounds;
    receive_counter_ = (receive_counter_ + rounds) % settings_.scheduler_recv_interval;
  }
}

void Scheduler::schedule(ScheduledStep& step) {
  if (proposed_) {
    step = std::move(*proposed_);
    proposed_.reset();
    loads_are_told_ = true;
    return;
  }
  load_starts_.clear();
  // An iteration without a batch takes no time: where nothing is in flight, the next follows.
  constexpr std::int64_t kStuck = 3;  // After so many without a request to receive none will come.
  std::int64_t empty = 0;
  bool waited = false;
  do {
    waited = waits_its_turn();
    pass(step);
    empty += is_empty(step) && inbox_.empty() && !waited ? 1 : 0;
  } while (is_empty(step) && in_flight_ == 0 &&
           (!inbox_.empty() || waited || (has_queued() && empty < kStuck)));
}

void Scheduler::iterate(ScheduledStep& step) {
  load_starts_.clear();
  pass(step);
}

void Scheduler::pass(ScheduledStep& step) {
  const bool follows_batch = last_.mode != Mode::kNone;
  choose_prefill(step);
  choose_decode(step, true);
  if (is_empty(step) && !(settings_.overlap && follows_batch)) {
    reset_when_idle();
  }
}

/// The first part of an iteration without idle housekeeping; true where it forms a prefill.
bool Scheduler::choose_prefill(ScheduledStep& step) {
  step.clear();
  decodes_.leave_out_of_step();
  iteration_.mode = Mode::kNone;
  iteration_.received.clear();
  iteration_.retracted.clear();
  iteration_.evicted_tokens = 0;
  iteration_.loaded_back = 0;
  iteration_.loaded_states = 0;
  end_copies();
  receive();
  merge_last();
  if (decodes_for_others_) {
    admit_loads();
  }
  const bool is_due = decodes_due_ == 0 || has_few_running();
  pass_interval(1);
  if (!is_due) {
    return false;
  }
  if (!form_prefill(step)) {
    return false;
  }
  decodes_due_ = settings_.prefill_decode_interval;
  return true;
}

/// The other part, if that forms none.
void Scheduler::choose_decode(ScheduledStep& step, bool may_decode) {
  if (iteration_.mode == Mode::kNone && may_decode) {
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
  const bool is_idle = waiting_.empty() && running_.requests.empty() && preallocating_.empty() &&
                       transferring_.empty() && arrived_.empty() && retracted_.empty() &&
                       copies_.empty();
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
  if (settings_.rules.filters_each_iteration && !decodes_for_others_) {
    const auto before = running_.requests.size();
    drop_finished();
    running_.is_full = running_.is_full && running_.requests.size() == before;
  }
}

/// Whether a prefill is tried at all.
bool Scheduler::prefill_is_due() {
  if (prefills_for_others_ || (settings_.rules.blocks_beside_others && running_.requests.empty())) {
    running_.is_full = false;
  }
  if (settings_.preempts()) {
    running_.is_full = false;
  }
  if ((running_.is_full || waiting_.empty()) && chunked_ == nullptr) {
    return false;
  }
  const std::int64_t seats = settings_.max_running_requests - std::ssize(running_.requests);
  const std::int64_t wanted =
      std::min(settings_.min_free_slots_delay, settings_.max_running_requests);
  if (wanted > 1 && chunked_ == nullptr && !running_.requests.empty() && seats < wanted) {
    return false;
  }
  if (seats <= 0 && chunked_ == nullptr && !settings_.preempts()) {
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
  sort_waiting(waiting_,
               {.options = settings_,
                .tree = settings_.disable_radix_cache ? nullptr : &tree_,
                .passes_before = waiting_.empty() ? num_sorts_ : num_sorts_++,
                .prefilled = prefilled_},
               draws_);
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
    if (settings_.rules.tests_pool_once && adder.is_full()) {
      break;
    }
    match_prefix(*request);
    const std::int64_t admitted = std::ssize(adder.admitted());
    const PrefillAdder::Verdict verdict = adder.add(request);
    taken += std::ssize(adder.admitted()) - admitted;
    if (std::ssize(adder.admitted()) == admitted) {
      give_state(*request);
    }
    if (verdict != PrefillAdder::Verdict::kContinue) {
      const bool beside_others = !adder.admitted().empty() || !running_.requests.empty();
      running_.is_full = running_.is_full ||
                         (verdict == PrefillAdder::Verdict::kNoToken &&
                          (beside_others ||
                           (!settings_.rules.blocks_beside_others && settings_.host.tokens == 0)));
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
  prefilled_ += tokens;
  if (settings_.state_slots > 0 && !settings_.rules.keeps_states_apart) {
    // Each request may ask for as many at the peak: its own, and two that enter the tree.
    constexpr std::int64_t kEach = 3;
    shed_states(kEach * std::ssize(adder.admitted()));
  }
  for (const RequestPtr& request : adder.admitted()) {
    if (settings_.state_slots > 0 && !request->has_state) {
      take_state();
      request->has_state = true;
    }
    for (; request->buffers < settings_.state_buffers; ++request->buffers) {
      take_state();
    }
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
    request->committed = request->fill_len;
    if (settings_.state_buffers > 0) {
      track_prefill(*request);
    }
    ++request->in_flight;
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
  set_ending_apart();
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
  RIDGELINE_CHECK(in_flight_ > 0, "a step that ends was in flight");
  --in_flight_;
  std::vector<engine::SequencePtr> ended;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const ScheduledSequence& part = step[i];
    auto& request = static_cast<Sequence&>(*part.sequence);
    --request.in_flight;
    if (request.drops_tokens || request.is_finished) {
      free_delayed(request, part);
    } else if (take_tokens(request, part, tokens[i])) {
      ended.push_back(owner_of(request));
    }
  }
  std::erase_if(ending_, [](const RequestPtr& request) { return request->is_finished; });
  start_writes();
  return ended;
}

/// What a step brings to a request; true where the request ends with it.
bool Scheduler::take_tokens(Sequence& request, const ScheduledSequence& part, std::int64_t tokens) {
  if (!part.samples) {
    return false;
  }
  request.committed += part.is_prefill ? 0 : tokens;
  request.outputs += tokens;
  if (request.outputs >= request.stop_after) {
    if (request.holds_blocks) {
      keep_for_reader(request);
    } else {
      cache_finished(request);
    }
    return true;
  }
  if (part.is_prefill) {
    cache_unfinished(request, false);
  }
  return false;
}

/// A request of which the scheduler holds a plain reference.
RequestPtr Scheduler::owner_of(const Sequence& request) const {
  for (const RequestList* list : {&ending_, &running_.requests, &last_.requests}) {
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
  std::ranges::for_each(ending_, add);
  std::ranges::for_each(running_.requests, add);
  std::ranges::for_each(last_.requests, add);
  add(chunked_);
  for (const WaitingQueue* queue : {&arrived_, &retracted_, &preallocating_}) {
    std::ranges::for_each(*queue, add);
  }
  std::ranges::for_each(transferring_, add);
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
    const bool waits = std::erase(waiting_, request) + std::erase(inbox_, request) +
                           std::erase(preallocating_, request) + std::erase(retracted_, request) >
                       0;
    const bool has_seat = std::erase(transferring_, request) + std::erase(arrived_, request) == 0;
    if (!has_seat) {
      release(*request);
    }
    if (waits || !has_seat) {
      queued_prompt_tokens_ -= waits ? request->num_prompt_tokens : 0;
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
  for (const RequestPtr& request : waiting_) {
    request->node = nullptr;  // It was looked up, and holds nothing.
  }
  for (const RequestPtr& request : all) {
    release(*request);
    request->is_finished = true;
  }
  inbox_.clear();
  waiting_.clear();
  running_ = {};
  last_ = {};
  ending_.clear();
  for (const RequestPtr& request : held_) {
    cache_finished(*request);
  }
  held_.clear();
  transferring_.clear();
  for (WaitingQueue* queue : {&preallocating_, &arrived_, &retracted_}) {
    queue->clear();
  }
  chunked_ = nullptr;
  in_flight_ = 0;
  decodes_due_ = 0;
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
  const std::int64_t prefilled = is_prefill(last_.mode) ? std::ssize(last_.requests)
                                 : chunked_ != nullptr  ? 1
                                                        : 0;
  return {.running = std::ssize(running_.requests) + std::ssize(ending_) + prefilled,
          .waiting = std::ssize(waiting_) + std::ssize(inbox_) + std::ssize(preallocating_) +
                     std::ssize(transferring_) + std::ssize(arrived_) + std::ssize(retracted_),
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
  const Sequence asked(request, core::Tokens(longest(request)), settings_.speculation);
  return core::Tokens(
      tree_.find(asked.keys, asked.num_keys(asked.num_prompt_tokens - 1), asked.salt));
}

}  // namespace ridgeline::engine::sglang
