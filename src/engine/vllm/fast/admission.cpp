// The waiting pass of the fast twin's scheduler.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/check.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/leg.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"
#include "engine/vllm/fast/scheduler_runs.hpp"
#include "engine/vllm/fast/slot.hpp"

namespace ridgeline::engine::vllm::fast {

/// The record of a request that could not run even alone.
domain::RequestRecord Scheduler::refusal(const domain::Request& request, core::SimTime queued) {
  domain::RequestRecord record;
  record.id = request.id;
  record.label_set = request.label_set;
  record.arrival = request.arrival;
  record.queued = queued;
  record.prompt_tokens = request.prompt_tokens;
  record.outcome = domain::Outcome::kRejected;
  return record;
}

/// Takes a chain for a new request whose prompt states its content, so that it can be shared.
void Scheduler::assign_chain(const domain::Request& request, Waiting& entry) {
  const bool quoted = cache_.prompts_quote_requests();
  entry.chain = cache_.take_chain();
  cache_.assign(entry.chain, request);
  if (!quoted && cache_.prompts_quote_requests()) {
    make_all_blocks_findable();
  }
}

/// Called when the first prompt arrives that contains content of another request (an answer in a
/// dialogue): from then on the cache is asked for every request's blocks.
void Scheduler::make_all_blocks_findable() {
  // What the head finds of its own blocks is counted in another way from now on.
  head_blocked_ = false;
  blocked_budget_ = -1;
  cache_.make_ended_blocks_findable();
  const auto make_held_findable = [this](SlotIndex index) {
    if (slots_[index].table.own) {
      cache_.make_findable(slots_[index].table, index, own_content(slots_[index]));
    }
  };
  for (SlotIndex i = first_running_; i != kNoSlot; i = slots_[i].next) {
    make_held_findable(i);
  }
  for (const Loading& load : loading_) {
    if (load.entry.slot != kNoSlot) {
      make_held_findable(load.entry.slot);
    }
  }
  std::ranges::for_each(abandoned_, make_held_findable);
  std::ranges::for_each(holding_, make_held_findable);
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (const SlotIndex index = waiting_[i].slot; has_left_blocks(waiting_[i])) {
      cache_.make_left_blocks_findable(slots_[index].table, index, own_content(slots_[index]));
    }
  }
}

void Scheduler::schedule_waiting(Batch& batch, core::SimTime now) {
  if (loading_.empty()) [[likely]] {
    num_ahead_ = 0;
    schedule_queue(waiting_.size(), batch, now);
  } else {
    schedule_around_loads(batch, now);
  }
  const std::size_t last = passed_over_.size();
  for (std::size_t i = 1; i <= last; ++i) {
    waiting_.push_front(passed_over_[options_.profile.reverses_passed_over ? i - 1 : last - i]);
  }
}

/// Tries the first `most` entries of the queue; false where one of them does not fit, so that
/// nothing behind it is tried.
bool Scheduler::schedule_queue(std::size_t most, Batch& batch, core::SimTime now) {
  for (; most > 0 && has_room(); --most) {
    if (is_own(waiting_.front()) && !waiting_.front().leg.loads &&
        admit_whole(waiting_.front(), batch, now)) {
      waiting_.pop_front();
      continue;
    }
    const Waiting entry = waiting_.front();
    Verdict verdict = try_admit(entry, batch, now);
    if (verdict == Verdict::kBlocked && num_running_ == 0 && num_ahead_ > 0 && has_loaded_from(0)) {
      verdict = Verdict::kPassedOver;  // As in schedule_loaded().
    }
    if (verdict == Verdict::kBlocked) {
      if (num_ready_ > 0) {
        return false;  // Others that were tried before may fit before this one does.
      }
      head_blocked_ = true;
      head_budget_ = budget_;
      // A prompt that is not cut is passed over once too many of its blocks have been evicted, so
      // that a blocked head need not stay blocked.
      if (passed_over_.empty() && !whole_prompts_ && is_alone_with_its_content(entry)) {
        blocked_budget_ = budget_;
        blocked_evicted_ = match_.free_blocks == 0 ? 0 : evicted_of(entry);
      }
      return false;
    }
    waiting_.pop_front();
    if (verdict == Verdict::kPassedOver) {
      passed_over_.push_back(entry);
    }
  }
  return true;
}

/// Whether no other request computes, holds or looks up the blocks that this entry of the queue
/// finds in the cache.
bool Scheduler::is_alone_with_its_content(const Waiting& entry) const {
  if (!options_.enable_prefix_caching) {
    return true;
  }
  if (cache_.prompts_quote_requests()) {
    return false;
  }
  if (entry.slot == kNoSlot) {
    return entry.chain == PrefixCache::kNone;
  }
  const PrefixCache::Table& table = slots_[entry.slot].table;
  return table.own || cache_.chain(table.chain).shared_tokens() == 0;
}

/// A number that rises by one for each block evicted of those that a preempted request had
/// computed; only differences mean something.
std::int64_t Scheduler::evicted_of(const Waiting& entry) const {
  RIDGELINE_CHECK(entry.slot != kNoSlot, "queue: only a preempted request has computed blocks");
  const PrefixCache::Table& table = slots_[entry.slot].table;
  return table.own ? -cache_.num_left_blocks(entry.slot) : cache_.evicted(table.chain);
}

/// Takes the blocks that decodes begin in the next batches. In each of these batches the head of
/// the queue is looked up again and does not fit; profiles that count every look-up count these
/// too.
void Scheduler::take_blocks_past_head(std::int64_t batches, std::int64_t new_blocks) {
  PrefixCounts& counts = head_lookup_is_preempted_ ? preempted_lookups_ : lookups_;
  if (match_.free_blocks == 0 || !options_.profile.prefix_stats_per_lookup) {
    cache_.allocate(new_blocks);
    counts.add(head_lookup_, batches);
    return;
  }
  RIDGELINE_CHECK(!waiting_.empty() && waiting_.front().slot != kNoSlot,
                  "queue: its head was preempted and finds what it has computed");
  // The head finds fewer blocks as its own are evicted, last block first.
  const Waiting& head = waiting_.front();
  const Slot& slot = slots_[head.slot];
  for (std::int64_t i = 0; i < batches; ++i) {
    cache_.allocate(decodes_.blocks_in(num_batches_ + i));
    const std::int64_t evicted = evicted_of(head);
    if (match_.next_is_cached && evicted != blocked_evicted_) {
      find(head, slot.known);
    } else {
      match_.blocks -= evicted - blocked_evicted_;
      match_.free_blocks -= evicted - blocked_evicted_;
    }
    blocked_evicted_ = evicted;
    count_lookup(head, slot.known);
  }
}

core::Tokens Scheduler::queued_prompt_tokens() const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const Waiting& entry = waiting_[i];
    sum += entry.slot == kNoSlot ? entry.prompt_tokens : slots_[entry.slot].prompt_tokens;
  }
  for (const Loading& load : loading_) {
    sum += load.entry.prompt_tokens;
  }
  return core::Tokens(sum);
}

core::Tokens Scheduler::cached_prefix(const domain::Request& request) {
  if (!options_.enable_prefix_caching || request.prompt.empty()) {
    return {};  // A prompt without stated content is its own: the cache holds none of it.
  }
  Waiting entry;
  assign_chain(request, entry);
  const std::int64_t prompt = request.prompt_tokens.value();
  between_batches_ = true;
  cache_.find(
      cache_.chain(entry.chain), block_size_.whole(prompt - 1), block_size_.whole(prompt), query_);
  between_batches_ = false;
  cache_.drop_chain(entry.chain);
  return options_.block_size * query_.blocks;
}

/// Looks up the cached prefix of a request in the queue.
void Scheduler::find(const Waiting& entry, std::int64_t known) {
  // At least one token is computed, or there would be no logits to sample from.
  const std::int64_t most = block_size_.whole(known - 1);
  if (has_left_blocks(entry)) {
    cache_.find_left_blocks(entry.slot, most, match_);
  } else {
    cache_.find(chain_of(entry), most, block_size_.whole(known), match_);
  }
}

const Chain& Scheduler::chain_of(const Waiting& entry) {
  if (entry.slot != kNoSlot) {
    return cache_.chain(slots_[entry.slot].table.chain);
  }
  if (entry.chain != PrefixCache::kNone) {
    return cache_.chain(entry.chain);
  }
  if (unique_chain_of_ != entry.id) {
    unique_chain_.assign_unique(entry.id, entry.lora, core::Tokens(entry.prompt_tokens));
    unique_chain_of_ = entry.id;
  }
  return unique_chain_;
}

void Scheduler::count_lookup(const Waiting& entry, std::int64_t known) {
  if (!options_.enable_prefix_caching) {
    return;
  }
  const bool in_blocks = options_.profile.prefix_stats_in_blocks;
  head_lookup_ = {.requests = 1,
                  .queries = in_blocks ? block_size_.whole(known - 1) : known,
                  .hits = in_blocks ? match_.blocks : match_.blocks * block_size_.value()};
  head_lookup_is_preempted_ =
      options_.profile.prefix_stats_split_preempted && entry.slot != kNoSlot;
  (head_lookup_is_preempted_ ? preempted_lookups_ : lookups_).add(head_lookup_, 1);
}

Scheduler::Verdict Scheduler::try_admit(const Waiting& entry, Batch& batch, core::SimTime now) {
  const std::int64_t known = entry.slot != kNoSlot ? slots_[entry.slot].known : entry.prompt_tokens;
  head_lookup_ = {};
  if (options_.enable_prefix_caching && is_own(entry)) {
    match_.clear();
  } else if (options_.enable_prefix_caching) {
    find(entry, known);
  }
  const std::int64_t cached = match_.blocks * block_size_.value();
  if (options_.profile.prefix_stats_per_lookup) {
    count_lookup(entry, known);
  }
  if (entry.leg.loads) {
    // A load may bring every token: the last one is then computed again. There has to be another.
    const std::int64_t reach =
        std::min(entry.leg.remote_tokens.value(), known - (known > 1 ? 0 : 1));
    if (reach > cached) {
      return try_load(entry, known, reach);
    }
  }
  std::int64_t tokens = known - cached;
  if (options_.long_prefill_token_threshold.value() > 0) {
    tokens = std::min(tokens, options_.long_prefill_token_threshold.value());
  }
  if (whole_prompts_ && tokens > budget_) {
    return options_.profile.whole_prompt_blocks_queue ? Verdict::kBlocked : Verdict::kPassedOver;
  }
  tokens = std::min(tokens, budget_);
  const std::int64_t available = admissible_blocks() + match_.blocks - match_.free_blocks;
  const std::int64_t must_fit = options_.profile.reserve_full_prompt ? known : cached + tokens;
  if (blocks_for(must_fit) > available) {
    return Verdict::kBlocked;
  }
  if (!options_.profile.prefix_stats_per_lookup) {
    count_lookup(entry, known);
  }
  if (entry.leg.loads) {
    load_starts_.push_back({.request = entry.id, .blocks = {}});  // Nothing is missing.
    --num_reporting_;
  }
  admit(entry, batch, tokens, now);
  return Verdict::kAdmitted;
}

/// Gives a request blocks for `reach` leading tokens, whose KV is then written into them.
Scheduler::Verdict Scheduler::try_load(const Waiting& entry,
                                       std::int64_t known,
                                       std::int64_t reach) {
  std::int64_t available = admissible_blocks() + match_.blocks - match_.free_blocks;
  if (options_.profile.reserve_full_prompt && blocks_for(known) > available) {
    return Verdict::kBlocked;
  }
  if (options_.profile.remote_load_spares_prefills) {
    for (const SlotIndex index : prefilling_) {
      const Slot& slot = slots_[index];
      available -= blocks_to_compute(slot, slot.known - slot.computed);
    }
    for (const Loading& load : loading_) {
      if (load.entry.slot != kNoSlot) {
        const Slot& slot = slots_[load.entry.slot];
        available -= std::max<std::int64_t>(blocks_for(slot.known) - slot.least_blocks, 0);
      }
    }
  }
  if (blocks_for(reach) > available) {
    return Verdict::kBlocked;
  }
  if (!options_.profile.prefix_stats_per_lookup) {
    count_lookup(entry, known);
  }
  note_duplicates();
  const SlotIndex index = take_slot(entry, core::SimTime::never());
  take_hold(entry, index);
  Slot& slot = slots_[index];
  slot.record.cached_tokens = {};
  slot.status = Status::kLoading;
  slot.computed = match_.blocks * block_size_.value();
  slot.loaded = reach;
  slot.least_blocks = blocks_for(reach);
  cache_.allocate(slot.least_blocks - match_.blocks, index);
  load_starts_.push_back(
      {.request = entry.id, .blocks = core::Blocks(blocks_for(reach - slot.computed))});
  --num_reporting_;
  Loading& load = loading_.emplace_back();
  load.entry = entry;
  load.entry.slot = index;
  load.entry.leg.loads = false;
  return Verdict::kLoads;
}

/// The commonest entry of the queue is a new request with a prompt of its own (is_own) that fits as
/// a whole. Admits it, as try_admit() would, or leaves everything as it is.
bool Scheduler::admit_whole(const Waiting& entry, Batch& batch, core::SimTime now) {
  const std::int64_t tokens = entry.prompt_tokens;
  const std::int64_t threshold = options_.long_prefill_token_threshold.value();
  const std::int64_t blocks = blocks_for(tokens);
  if (!options_.enable_prefix_caching || tokens > budget_ ||
      (threshold > 0 && tokens > threshold) || blocks > admissible_blocks()) {
    return false;
  }
  match_.clear();
  count_lookup(entry, tokens);
  const SlotIndex index = take_slot(entry, now);
  Slot& slot = slots_[index];
  PrefixCache::begin_own_table(slot.table);
  slot.table.keyed = block_size_.whole(tokens);
  slot.status = Status::kPrefilling;
  slot.computed = tokens;
  link_last(index);
  cache_.allocate(blocks, index);
  budget_ -= tokens;
  domain::PrefillChunk& chunk = batch.prefills.extend();
  chunk.past = {};
  chunk.new_tokens = core::Tokens(tokens);
  chunk.samples = true;
  chunk.drafts = 0;
  BatchItem& item = batch.items.extend();
  item.slot = index;
  item.generation = slot.generation;
  item.samples = true;
  item.first = true;
  sampled_.push_back(index);
  return true;
}

void Scheduler::admit(const Waiting& entry, Batch& batch, std::int64_t tokens, core::SimTime now) {
  RIDGELINE_CHECK(tokens > 0 && tokens <= budget_, "batch: a chunk is within the token budget");
  RIDGELINE_CHECK(entry.slot == kNoSlot || slots_[entry.slot].status == Status::kPreempted,
                  "slot: a request in the queue was preempted, or has no slot");
  note_duplicates();
  const SlotIndex index = entry.slot != kNoSlot ? entry.slot : take_slot(entry, now);
  Slot& slot = slots_[index];
  const std::int64_t cached = match_.blocks * block_size_.value();
  take_hold(entry, index);
  slot.status = Status::kPrefilling;
  slot.computed = cached;
  link_last(index);
  prefilling_.push_back(index);
  const std::int64_t missing = blocks_for(cached + tokens) - match_.blocks;
  cache_.allocate(missing, index);
  budget_ -= tokens;
  put(batch, index, tokens);
}

/// Notes whether another request computes the block that the admitted entry did not find.
void Scheduler::note_duplicates() {
  if (match_.growing_elsewhere == PrefixCache::kNone) {
    return;
  }
  const SlotIndex owner = cache_.owner_of(match_.growing_elsewhere);
  PrefixCache::Table& table = slots_[owner].table;
  cache_.expect_duplicates(table);
  if (table.single_blocks_until == PrefixCache::kForever && decodes_or_leaves(slots_[owner])) {
    add_single_block_decode(owner);
  }
}

/// Makes the request a holder of the blocks found in the cache.
void Scheduler::take_hold(const Waiting& entry, SlotIndex index) {
  PrefixCache::Table& table = slots_[index].table;
  if (options_.enable_prefix_caching && is_own(entry)) {
    PrefixCache::begin_own_table(table);
    return;
  }
  if (has_left_blocks(entry)) {
    if (!match_.next_is_cached) {
      cache_.adopt_left_blocks(table, index, match_);
      return;
    }
    // The request will have one block twice. Only extents can express that.
    cache_.make_left_blocks_findable(table, index, own_content(slots_[index]));
    find(entry, slots_[index].known);
  }
  const std::int64_t free_before = cache_.num_free();
  cache_.adopt(table, index, match_);
  num_shared_blocks_ += match_.blocks - (free_before - cache_.num_free());
  RIDGELINE_CHECK(num_shared_blocks_ >= 0, "scheduler: shared blocks are counted in and out");
}

void Scheduler::add_slot() {
  free_slots_.push_back(static_cast<SlotIndex>(slots_.size()));
  slots_.emplace_back();
}

/// Gives the table a copy of the chain that chain_of() made last.
void Scheduler::assign_unique_chain(PrefixCache::Table& table) {
  table.chain = cache_.take_chain();
  cache_.assign(table.chain, unique_chain_);
}

SlotIndex Scheduler::take_slot(const Waiting& entry, core::SimTime now) {
  if (free_slots_.empty()) [[unlikely]] {
    add_slot();
  }
  const SlotIndex index = free_slots_.back();
  free_slots_.pop_back();
  Slot& slot = slots_[index];
  RIDGELINE_CHECK(slot.status == Status::kFree, "slot: a new request takes a free slot");
  slot.prompt_tokens = entry.prompt_tokens;
  slot.known = entry.prompt_tokens;
  slot.stop_after = entry.stop_after;
  slot.last_skipped_batch = -1;
  slot.in_extra_batch = entry.in_extra_batch;
  slot.holds_blocks = entry.leg.holds_blocks;
  slot.reports_steps = entry.leg.reports_steps;
  slot.least_blocks = 0;
  slot.record.outcome = entry.outcome_at_stop;
  slot.record.id = entry.id;
  slot.record.instance = instance_;
  slot.record.label_set = entry.label_set;
  slot.record.preemptions = 0;
  slot.record.first_token = core::SimTime::never();
  slot.record.last_token = core::SimTime::never();
  slot.record.output_tokens = core::Tokens(entry.stop_after);
  slot.record.arrival = entry.arrival;
  slot.record.queued = entry.queued;
  slot.record.prompt_tokens = core::Tokens(entry.prompt_tokens);
  slot.record.cached_tokens =
      core::Tokens(std::min(match_.blocks * block_size_.value(), entry.prompt_tokens));
  slot.record.first_scheduled = now;
  slot.lora = entry.lora;
  slot.table.chain = entry.chain;
  if (entry.chain == PrefixCache::kNone && cache_.prompts_quote_requests()) {
    assign_unique_chain(slot.table);
  }
  return index;
}

void Scheduler::put(Batch& batch, SlotIndex index, std::int64_t tokens) {
  Slot& slot = slots_[index];
  const std::int64_t before = slot.computed;
  RIDGELINE_CHECK(slot.status == Status::kPrefilling && tokens > 0,
                  "batch: a chunk is of a request that computes its prompt");
  slot.computed += tokens;
  RIDGELINE_CHECK(slot.computed <= slot.known, "slot: only known tokens are computed");
  const bool samples = slot.computed == slot.known;
  cache_.set_keyed(slot.table, index, block_size_.whole(slot.computed));
  batch.prefills.push_back(
      {.past = core::Tokens(before), .new_tokens = core::Tokens(tokens), .samples = samples});
  batch.items.push_back({.slot = index,
                         .generation = slot.generation,
                         .samples = samples,
                         .first = slot.known == slot.prompt_tokens,
                         .last_token = slot.last_token});
  if (samples) {
    sampled_.push_back(index);
    prefilling_.erase(index);
  }
}

}  // namespace ridgeline::engine::vllm::fast
