#include "engine/tensorrt_llm/scheduler.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/tensorrt_llm/capacity.hpp"
#include "engine/tensorrt_llm/chunking.hpp"
#include "engine/tensorrt_llm/kv_cache.hpp"
#include "engine/tensorrt_llm/micro_batch.hpp"
#include "engine/tensorrt_llm/options.hpp"
#include "engine/tensorrt_llm/sequence.hpp"
#include "engine/tensorrt_llm/settings.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

/// Contexts stand before all generations of a step.
constexpr std::int64_t kContextsFirst = std::int64_t{1} << 62;

/// Without the block that EngineOptions counts for vLLM's null block.
KvCacheLimits kv_limits(const EngineOptions& options, const Settings& settings) {
  return {.num_blocks = options.num_gpu_blocks.value() - 1,
          .tokens_per_block = options.block_size.value(),
          .enable_block_reuse = options.enable_prefix_caching,
          .enable_partial_reuse = settings.enable_partial_reuse,
          .copy_on_partial_reuse = settings.copy_on_partial_reuse};
}

MicroBatchLimits micro_batch_limits(const EngineOptions& options, const Settings& settings) {
  return {.max_batch_size = options.max_num_seqs,
          .max_num_tokens = options.max_num_batched_tokens.value(),
          .tokens_per_step = 1 + options.num_speculative_tokens,
          .chunk = options.enable_chunked_prefill
                       ? chunking_scheduler(settings.context_chunking_policy)
                       : nullptr,
          .chunk_unit =
              settings.chunk_unit_size > 0 ? settings.chunk_unit_size : options.block_size.value(),
          .one_step_each = options.pipeline_depth > 0};
}

}  // namespace

Settings settings_of(const EngineOptions& options) {
  const auto* const own = dynamic_cast<const OwnOptions*>(options.own.get());
  return own == nullptr ? Settings() : own->settings;
}

Scheduler::Scheduler(const EngineOptions& options) : Scheduler(options, settings_of(options)) {}

Scheduler::Scheduler(const EngineOptions& options, const Settings& settings)
    : options_(options),
      kv_(kv_limits(options, settings)),
      capacity_{
          .select = capacity_scheduler(settings.capacity_scheduler_policy),
          .reserves = settings.capacity_scheduler_policy != CapacityPolicy::kMaxUtilization,
          .skips_duplicate_prefixes =
              settings.skips_duplicate_prefixes && options.enable_prefix_caching,
          .most_active = options.max_num_seqs * std::max<std::int64_t>(options.pipeline_depth, 1),
          .lookahead_steps = settings.two_step_lookahead ? 2 : 1},
      limits_(micro_batch_limits(options, settings)),
      batch_wait_(
          settings.batch_wait_timeout_iters,
          settings.batch_wait_max_tokens_ratio * static_cast<double>(limits_.max_num_tokens),
          limits_.tokens_per_step),
      balance_(settings, options.max_num_seqs),
      is_rank_(settings.enable_attention_dp) {}

bool Scheduler::can_ever_run(const Sequence& sequence) const {
  const bool fits_a_step = limits_.chunk != nullptr || sequence.loads ||
                           sequence.num_prompt_tokens <= limits_.max_num_tokens;
  return sequence.max_output_tokens > 0 && fits_a_step &&
         kv_.blocks_of(sequence.most_tokens()) <= kv_.num_blocks();
}

engine::SequencePtr Scheduler::add_leg(const domain::Request& request, const Leg& leg) {
  auto sequence = std::make_shared<Sequence>(request, options_.max_model_len);
  sequence->is_read = leg.holds_blocks;
  sequence->loads = leg.loads;
  if (leg.loads) {  // The first token that the other server sampled is computed here.
    sequence->context_tokens = std::max<std::int64_t>(
        std::min(leg.remote_tokens.value(), sequence->num_prompt_tokens - 1), 1);
  }
  if (!can_ever_run(*sequence)) {
    return nullptr;
  }
  if (!request.prompt.empty()) {
    kv_.begin_lookups();
  }
  has_changed_ = true;
  return waiting_.emplace_back(std::move(sequence));
}

void Scheduler::activate() {
  for (; num_running() < capacity_.most_active && !waiting_.empty(); waiting_.pop_front()) {
    waiting_.front()->is_active = true;
    waiting_.front()->place = num_.activated++;
    running_.push_back(waiting_.front());
    singles_.push_back(waiting_.front().get());
  }
}

/// What the next step has, if no other rank keeps it from running; pauses what gives way.
void Scheduler::choose() {
  has_changed_ = false;
  if (std::exchange(apart_.starts_are_told, false)) {
    apart_.starts.clear();
  }
  activate();
  selection_.clear();
  std::int64_t promised = num_.blocks_of_members;
  for (const Sequence* const sequence : apart_.loading) {
    promised += kv_.blocks_to_completion(*sequence);
  }
  capacity_.select({.active = singles_,
                    .kv = kv_,
                    .max_requests = capacity_.most_active,
                    .lookahead_steps = capacity_.lookahead_steps,
                    .tokens_per_step = limits_.tokens_per_step,
                    .skips_duplicate_prefixes = capacity_.skips_duplicate_prefixes,
                    .num_members = decodes_.count(),
                    .blocks_of_members = promised},
                   selection_);
  start_loads();
  MicroBatchLimits limits = limits_;  // What members leave of a step.
  limits.max_batch_size -= decodes_.count();
  limits.max_num_tokens -= decodes_.count() * tokens_per_step();
  form_micro_batch(selection_.fitting, kv_, limits, batch_);
  for (Sequence* const sequence : selection_.paused) {
    pause(*sequence);
  }
}

RankStatus Scheduler::propose() {
  choose();
  is_proposed_ = true;
  // Where all that it has waits for other servers, it runs a dummy beside the others.
  const bool waits = waits_for_others() && batch_.contexts.empty() && batch_.generations.empty();
  const bool is_idle = running_.empty() || waits;
  return {.is_idle = is_idle,
          .contexts = std::ssize(batch_.contexts),
          .generations = is_idle ? 1 : std::ssize(batch_.generations)};
}

void Scheduler::withdraw() {
  batch_.clear();
  has_changed_ = true;
}

void Scheduler::schedule(ScheduledStep& step) {
  step.clear();
  if (!is_proposed_ && is_rank_) {
    const RankStatus own = propose();
    if (balance_.holds({&own, 1})) {
      hold_contexts();
    }
  } else if (!is_proposed_) {
    choose();
    batch_wait_.apply(batch_, decodes_.count());
  }
  is_proposed_ = false;
  apart_.starts_are_told = true;
  decodes_.put_in_step();
  launch_contexts(step);
  make_room_for_generations();
  for (Sequence* const sequence : batch_.generations) {
    launch_generation(*sequence, step);
  }
  if (decodes_.gathers()) {
    gather(step);
  }
}

/// Its blocks are free, and what it has generated is part of its next context. A token in flight
/// arrives, and is part of it too.
void Scheduler::pause(Sequence& sequence) {
  kv_.begin_lookups();  // It may find its own blocks again.
  release(sequence);
  sequence.holds_blocks = false;
  sequence.position = 0;
  sequence.kv_tokens = 0;
  set_context(sequence);
  ++sequence.record.preemptions;
  ++num_.pauses;
  --num_.started;
  has_changed_ = true;  // In the next pass it is a context.
}

/// Makes all known tokens of a paused request its context. A context that is computed whole is cut
/// to max_num_tokens, and what was behind is generated anew (llmRequest.h: pause).
void Scheduler::set_context(Sequence& sequence) const {
  const std::int64_t known = sequence.num_prompt_tokens + sequence.output_tokens;
  sequence.context_tokens =
      limits_.chunk != nullptr ? known : std::min(known, limits_.max_num_tokens);
  sequence.repeats = known - sequence.context_tokens;
}

/// A context may find less than the micro-batch scheduler saw, where one before it took the blocks:
/// it then computes more, or waits for the next step where the budget has no room for that.
void Scheduler::launch_contexts(ScheduledStep& step) {
  std::int64_t room = limits_.max_num_tokens -
                      (std::ssize(batch_.generations) + decodes_.count()) * limits_.tokens_per_step;
  for (const ContextChunk& context : batch_.contexts) {
    room -= context.tokens;
  }
  for (ContextChunk& context : batch_.contexts) {
    const std::int64_t rest = tokens_left(*context.sequence, kv_);
    const std::int64_t more =
        (context.ends_context() ? rest : std::min(context.tokens, rest)) - context.tokens;
    if (more <= room) {
      room -= more;
      context.tokens += more;
      launch(context, step);
    }
  }
}

/// A chunk of a context: the first one brings the blocks of the whole. The context counts as
/// computed from its launch on.
void Scheduler::launch(const ContextChunk& context, ScheduledStep& step) {
  Sequence& sequence = *context.sequence;
  std::int64_t tokens = context.tokens;
  if (!sequence.holds_blocks) {
    const std::int64_t found = kv_.start(sequence);
    sequence.position = found;
    sequence.holds_blocks = true;
    ++num_.started;
    if (options_.enable_prefix_caching) {
      num_.prefix_queries += sequence.context_tokens;
      num_.prefix_hits += found;
      if (sequence.record.preemptions == 0) {
        sequence.record.cached_tokens = core::Tokens(found);
      }
    }
    // Behind a prefix that was found, the first of several chunks ends on a block (llmRequest.h:
    // setPrepopulatedPromptLen).
    const std::int64_t size = options_.block_size.value();
    const std::int64_t end = (found + tokens) / size * size;
    if (found > 0 && found + tokens < sequence.context_tokens && end > found) {
      tokens = end - found;
    }
  }
  RIDGELINE_CHECK(tokens > 0 && sequence.position + tokens <= sequence.context_tokens,
                  "a chunk lies within its context");
  const bool samples =
      sequence.position + tokens == sequence.context_tokens && sequence.repeats == 0;
  step.push_back({.sequence = &sequence,
                  .num_computed_tokens = sequence.position,
                  .num_scheduled_tokens = tokens,
                  .num_drafts = 0,
                  .is_prefill = true,
                  .samples = samples,
                  .place = sequence.place - kContextsFirst});
  sequence.position += tokens;
  ++sequence.parts_in_flight;
  sequence.tokens_in_flight += samples ? 1 : 0;
}

/// Blocks for the tokens that can come out first, then for drafts behind a request's last token.
void Scheduler::make_room_for_generations() {
  const auto needed = [&](const Sequence& sequence) {
    return std::min(sequence.kv_tokens + tokens_per_step(), sequence.most_tokens());
  };
  const auto extend = [this](engine::Sequence& member) { extend_member(member); };
  turns_.begin(decodes_.next_step());
  for (Sequence* const sequence : batch_.generations) {
    turns_.take_before(sequence->place, extend);
    kv_.extend(*sequence, needed(*sequence));
  }
  turns_.take_before(num_.activated, extend);
  if (tokens_per_step() == 1) {
    return;
  }
  std::int64_t spare = spare_blocks();
  for (Sequence* const sequence : batch_.generations) {
    spare -= kv_.extend(*sequence, sequence->kv_tokens + tokens_per_step(), spare);
  }
}

/// Free blocks that no request is promised.
std::int64_t Scheduler::spare_blocks() const {
  std::int64_t spare = kv_.num_free();
  if (capacity_.reserves) {
    for (const RequestPtr& sequence : running_) {
      spare -= sequence->holds_blocks ? kv_.blocks_to_completion(*sequence) : 0;
    }
  }
  return spare;
}

void Scheduler::launch_generation(Sequence& sequence, ScheduledStep& step) {
  // A context that ended on a token already known has not sampled it: the first step here is that
  // of the token behind it.
  const bool samples = sequence.repeats <= 1;
  step.push_back({.sequence = &sequence,
                  .num_computed_tokens = sequence.kv_tokens,
                  .num_scheduled_tokens = tokens_per_step(),
                  .num_drafts = options_.num_speculative_tokens,
                  .is_prefill = false,
                  .samples = samples,
                  .place = sequence.place});
  sequence.repeats = std::max<std::int64_t>(sequence.repeats - 1, 0);
  sequence.kv_tokens += tokens_per_step();
  ++sequence.parts_in_flight;
  sequence.tokens_in_flight += samples ? tokens_per_step() : 0;
}

bool Scheduler::take_tokens(Sequence& sequence,
                            const ScheduledSequence& part,
                            std::int64_t tokens) {
  --sequence.parts_in_flight;
  if (sequence.has_left) {
    return false;
  }
  if (!part.samples) {
    take_back(sequence, part.num_drafts);
    return false;
  }
  sequence.tokens_in_flight -= 1 + part.num_drafts;
  sequence.output_tokens += std::min(tokens, sequence.stop_after - sequence.output_tokens);
  if (!sequence.holds_blocks) {
    set_context(sequence);  // It was paused while the step was in flight.
  } else if (part.is_prefill) {
    kv_.store(sequence, sequence.context_tokens, false);
  } else {
    take_back(sequence, 1 + part.num_drafts - tokens);
  }
  return sequence.output_tokens >= sequence.stop_after;
}

/// Requests that end with a step give their blocks back in the order of their arrival, whatever
/// their order in the step (py_executor.py: _handle_responses).
std::vector<engine::SequencePtr> Scheduler::update(const ScheduledStep& step,
                                                   std::span<const std::int64_t> tokens) {
  std::vector<Sequence*> ended;
  for (std::size_t i = 0; i < step.size(); ++i) {
    auto& sequence = static_cast<Sequence&>(*step[i].sequence);
    if (take_tokens(sequence, step[i], tokens[i])) {
      ended.push_back(&sequence);
    }
  }
  std::vector<engine::SequencePtr> left(ended.size());
  std::vector<Sequence*> in_order = ended;
  std::ranges::sort(in_order, {}, &Sequence::place);
  for (Sequence* const sequence : in_order) {
    const auto at = std::ranges::find(ended, sequence);
    left[static_cast<std::size_t>(at - ended.begin())] = remove(*sequence);
  }
  return left;
}

/// Drafts that were not accepted.
void Scheduler::take_back(Sequence& sequence, std::int64_t drafts) {
  if (drafts > 0 && sequence.holds_blocks) {
    sequence.kv_tokens -= drafts;
    kv_.shrink(sequence, sequence.kv_tokens);
  }
}

/// Full blocks of what is computed stay to be found.
void Scheduler::release(Sequence& sequence) {
  const std::int64_t computed = sequence.is_context() ? sequence.position : sequence.kv_tokens;
  const std::int64_t known = sequence.num_prompt_tokens + sequence.output_tokens;
  kv_.store(sequence, std::min(computed, known - 1), true);
  kv_.release(sequence);
}

Scheduler::RequestPtr Scheduler::remove(Sequence& sequence) {
  if (sequence.decoding.is_member) {
    leave_decodes(sequence);
  }
  std::erase(singles_, &sequence);
  std::erase(apart_.loading, &sequence);
  has_changed_ = true;
  sequence.has_left = true;
  if (sequence.holds_blocks && sequence.is_read && sequence.output_tokens >= sequence.stop_after) {
    sequence.holds_blocks = false;
    --num_.started;
    apart_.held.push_back(QueueScheduler::remove(sequence));
    return apart_.held.back();
  }
  if (sequence.holds_blocks) {
    release(sequence);
    sequence.holds_blocks = false;
    --num_.started;
  }
  return QueueScheduler::remove(sequence);
}

SchedulerCounts Scheduler::counts() const {
  return {.running = num_.started,
          .waiting = num_running() - num_.started + std::ssize(waiting_),
          .used_blocks = kv_.num_blocks() - kv_.num_free(),
          .free_blocks = kv_.num_free(),
          .preemptions = num_.pauses,
          .prefix_queries = core::Tokens(num_.prefix_queries),
          .prefix_hits = core::Tokens(num_.prefix_hits)};
}

core::Tokens Scheduler::queued_prompt_tokens() const {
  core::Tokens sum = QueueScheduler::queued_prompt_tokens();
  for (const RequestPtr& request : running_) {
    sum += core::Tokens(request->holds_blocks ? 0 : request->num_prompt_tokens);
  }
  return sum;
}

core::Tokens Scheduler::cached_prefix(const domain::Request& request, std::optional<KvLook> look) {
  kv_.begin_lookups();
  const Sequence sequence(request, options_.max_model_len);
  return core::Tokens(kv_.find_prefix(sequence, look));
}

}  // namespace ridgeline::engine::tensorrt_llm
