// The waiting pass of the scheduler: which requests it takes, with how many tokens and blocks.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/units.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/block_tables.hpp"
#include "engine/vllm/plain/scheduler.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

bool is_one_of(const std::vector<core::LoraId>& adapters, core::LoraId adapter) {
  return std::find(adapters.begin(), adapters.end(), adapter) != adapters.end();
}

}  // namespace

/// The distinct adapters of the running requests, or of those of them in a step that preempted
/// none.
void Scheduler::note_adapters(const ScheduledStep& step) {
  adapters_.clear();
  const auto note = [&](const Sequence& sequence) {
    if (sequence.lora.valid() && !is_one_of(adapters_, sequence.lora)) {
      adapters_.push_back(sequence.lora);
    }
  };
  for (const ScheduledSequence& scheduled : step) {
    note(static_cast<const Sequence&>(*scheduled.sequence));
  }
  for (const SequencePtr& sequence : running_) {
    if (sequence->decoding.is_member || options_.profile.caps_adapters_of_running) {
      note(*sequence);
    }
  }
}

bool Scheduler::exceeds_lora_cap(const Sequence& sequence) const {
  return options_.max_loras > 0 && sequence.lora.valid() &&
         static_cast<std::int64_t>(adapters_.size()) == options_.max_loras &&
         !is_one_of(adapters_, sequence.lora);
}

/// Whether something other than room keeps it waiting; others may pass it.
bool Scheduler::is_held_back(Sequence& sequence) {
  if (sequence.waits_for_grammar || sequence.status == Status::kAsleep) {
    return true;
  }
  if (sequence.status == Status::kLoading) {
    if (!sequence.remote_arrived) {
      return true;
    }
    take_remote_tokens(sequence);
  }
  const bool stale = options_.profile.waits_for_stale_steps && sequence.num_in_flight_tokens > 0 &&
                     sequence.num_lost_tokens == 0;
  return stale || exceeds_lora_cap(sequence);
}

/// The KV has arrived: its blocks can be found by others, and the request computes the rest, at
/// least one token.
void Scheduler::take_remote_tokens(Sequence& sequence) {
  // Preempted later, it is computed here: the other engine has freed its blocks.
  sequence.loads_remote = false;
  sequence.num_remote_tokens = 0;
  sequence.status = sequence.record.preemptions > 0 ? Status::kPreempted : Status::kWaiting;
  if (std::exchange(sequence.load_failed, false)) {
    if (sequence.num_computed_tokens > 0) {
      hash_full_blocks(sequence, sequence.num_computed_tokens);
    } else {
      manager_.release(sequence.blocks, sequence.block_hashes);
    }
    return;
  }
  std::int64_t there = sequence.num_computed_tokens;
  if (options_.profile.remote_rounds_up_to_blocks) {
    const std::int64_t blocks = sequence.blocks.groups.front().size();
    there = std::min(blocks * manager_.block_size(), sequence.num_tokens());
    there -= there == sequence.num_tokens() ? 1 : 0;
  }
  hash_full_blocks(sequence, there);
  sequence.num_computed_tokens = std::min(there, sequence.num_tokens() - 1);
}

std::int64_t Scheduler::watermark_blocks() const {
  if (!options_.profile.has_watermark || running_.empty()) {
    return 0;
  }
  return static_cast<std::int64_t>(std::floor(
      options_.profile.watermark * static_cast<double>(options_.num_gpu_blocks.value())));
}

/// Tokens of a step with drafts, and what drafting writes beyond them; none without drafts.
std::int64_t Scheduler::draft_step_tokens() const {
  return options_.num_speculative_tokens > 0 ? tokens_per_step() + lookahead_ : 0;
}

/// Blocks that prefills still need for the tokens they have, beyond those they hold: of running
/// requests, and of those that hold blocks for their KV.
std::int64_t Scheduler::blocks_of_prefills() const {
  const Profile& profile = options_.profile;
  const std::int64_t block = manager_.block_size();
  const std::int64_t drafting = profile.load_spares_draft_steps ? draft_step_tokens() : 0;
  std::int64_t blocks = 0;
  const auto add = [&](const Sequence& sequence) {
    const std::int64_t whole = std::min(sequence.num_tokens(), options_.max_model_len.value());
    const std::int64_t shared = profile.draft_steps_share_blocks ? drafting : 0;
    blocks += manager_.blocks_needed(sequence.blocks, {}, whole + shared, true) +
              (drafting - shared + block - 1) / block;
  };
  for (const Sequence* const sequence : singles_) {  // Members have blocks for what they have.
    if (sequence->num_computed_tokens < sequence->num_tokens()) {
      add(*sequence);
    }
  }
  const auto add_holders = [&](const auto& sequences) {
    for (const SequencePtr& sequence : sequences) {
      if (!sequence->blocks.groups.empty()) {
        add(*sequence);
      }
    }
  };
  add_holders(skipped_);
  add_holders(waiting_);
  add_holders(passed_over_);
  return blocks;
}

bool Scheduler::fits(const Sequence& sequence, const Admission& admission) const {
  const std::int64_t free = kv_cache().num_free() - watermark_blocks();
  const std::int64_t most = options_.max_model_len.value();
  const std::int64_t end =
      std::min(admission.cached + admission.tokens + admission.lookahead, most);
  if (options_.profile.reserve_full_prompt &&
      manager_.blocks_needed(sequence.blocks,
                             admission.prefix,
                             std::min(sequence.num_tokens(), most),
                             options_.profile.caps_windows_at_admission) > free) {
    return false;
  }
  const bool spares = admission.loads && options_.profile.remote_load_spares_prefills;
  const std::int64_t own_step = options_.profile.load_spares_draft_steps ? draft_step_tokens() : 0;
  const std::int64_t block = manager_.block_size();
  const std::int64_t reserved = spares ? blocks_of_prefills() + (own_step + block - 1) / block : 0;
  return manager_.blocks_needed(sequence.blocks, admission.prefix, end, false) <= free - reserved;
}

void Scheduler::count_lookup(const Sequence& sequence, const CachedPrefix& prefix) {
  if (!options_.enable_prefix_caching) {
    return;
  }
  std::int64_t queries = sequence.num_tokens();
  std::int64_t hits = prefix.num_blocks * manager_.block_size();
  if (options_.profile.prefix_stats_in_blocks) {
    // The hashes made so far count: those of accepted drafts are made when the request runs again.
    // The last one is left out where it would cover the last token.
    const std::int64_t made = options_.num_speculative_tokens > 0
                                  ? sequence.num_hashes_made
                                  : sequence.num_tokens() / manager_.block_size();
    queries = made - (made * manager_.block_size() == sequence.num_tokens() ? 1 : 0);
    hits = prefix.num_blocks;
  }
  const bool apart =
      options_.profile.prefix_stats_split_preempted && sequence.record.preemptions > 0;
  (apart ? statistics_.preempted_requests : statistics_.requests) += 1;
  (apart ? statistics_.preempted_queries : statistics_.queries) += queries;
  (apart ? statistics_.preempted_hits : statistics_.hits) += hits;
}

/// What of the request is cached here or elsewhere, and so what is left to compute.
Scheduler::Admission Scheduler::plan(Sequence& sequence) {
  Admission admission;
  const std::int64_t known = sequence.num_tokens();
  const std::int64_t drafting = lookahead_;
  if (sequence.num_computed_tokens > 0) {
    // It holds what was loaded for it (or is taken to hold it): nothing is looked up.
    admission.cached = sequence.num_computed_tokens;
    admission.lookahead = drafting;
  } else {
    if (sequence.session != nullptr && hash_ahead_ > 0) {
      sequence.block_hashes = {};  // The last of them may have read a token that was dropped.
    }
    if (kv_cache().has_lookups() && options_.enable_prefix_caching) {
      extend_hash_chain(sequence);
    }
    if (sequence.num_hashes_made == 0) {
      sequence.num_hashes_made = known / manager_.block_size();
    }
    // At least one token is computed, or there would be no logits to sample from.
    admission.prefix =
        manager_.find_prefix(sequence.block_hashes, (known - 1) / manager_.block_size());
    admission.looked_up = true;
    const std::int64_t local = admission.prefix.num_blocks * manager_.block_size();
    // A load may bring every token: the last one is then computed again. There has to be another.
    const bool may_bring_all = sequence.loads_remote && known > 1;
    const std::int64_t reach =
        std::min(sequence.num_remote_tokens, known - (may_bring_all ? 0 : 1));
    const std::int64_t remote = std::max<std::int64_t>(reach - local, 0);
    admission.local = local;
    admission.stored = remote > 0 ? 0 : find_stored(sequence, admission.prefix.num_blocks);
    admission.cached = local + remote + admission.stored * manager_.block_size();
    admission.loads = (sequence.loads_remote && remote > 0) || admission.stored > 0;
    admission.lookahead = options_.profile.lookahead_from_first_chunk ? drafting : 0;
  }
  admission.tokens = known - admission.cached;
  if (admission.loads) {
    admission.tokens = 0;
    admission.lookahead = 0;
  }
  return admission;
}

/// Whether it is to be as long as the decodes, so that the batch still fits a CUDA graph.
bool Scheduler::pads(const Admission& admission) const {
  const std::int64_t room = options_.max_model_len.value() - admission.cached;
  const bool is_short = options_.profile.pads_within_model_len && room <= tokens_per_step();
  return admission.tokens == 1 && !is_short &&
         (pads_beside_decodes_ || (pads_cached_ && admission.cached > 0));
}

/// Cuts the tokens to what the step has left; false where they may not be cut and are too many.
bool Scheduler::cut_to_budget(Admission& admission) const {
  if (admission.loads) {
    return true;
  }
  if (pads(admission)) {
    admission.tokens += options_.num_speculative_tokens;
    const std::int64_t room = options_.max_model_len.value() - admission.cached;
    if (admission.tokens > std::min({budget_, input_budget_ - draft_slots_, room})) {
      return false;
    }
  }
  if (threshold_ > 0) {
    admission.tokens = std::min(admission.tokens, threshold_);
  }
  const bool whole = !options_.enable_chunked_prefill && !options_.profile.ignores_whole_prompt;
  if (whole && admission.tokens > budget_) {
    return false;
  }
  admission.tokens = std::min({admission.tokens, budget_, input_budget_ - draft_slots_});
  return true;
}

Scheduler::Verdict Scheduler::try_admit(const SequencePtr& sequence, ScheduledStep& step) {
  if (is_held_back(*sequence)) {
    return Verdict::kSkipped;
  }
  if (sequence->unanswered > 0) {
    --sequence->unanswered;
    return Verdict::kSkipped;
  }
  Admission admission = plan(*sequence);
  if (admission.looked_up && options_.profile.prefix_stats_per_lookup) {
    count_lookup(*sequence, admission.prefix);
  }
  if (admission.stored < 0) {
    return Verdict::kSkipped;
  }
  const bool is_prefill = !admission.loads && admission.cached < sequence->num_tokens() - 1;
  if (holds_prefills_ && is_prefill) {
    return Verdict::kBlocked;
  }
  if (!cut_to_budget(admission)) {
    return options_.profile.whole_prompt_blocks_queue ? Verdict::kBlocked : Verdict::kSkipped;
  }
  if (const Verdict verdict = cut_admission(*sequence, admission); verdict != Verdict::kAdmitted) {
    return verdict;
  }
  if (!fits(*sequence, admission) ||
      manager_.ends_with_new_state(admission.prefix, sequence->block_hashes)) {
    if (sequence->images != nullptr) {
      encoder_.release(*sequence->images);
    }
    return Verdict::kBlocked;
  }
  if (admission.looked_up && !options_.profile.prefix_stats_per_lookup) {
    count_lookup(*sequence, admission.prefix);
  }
  if (admission.looked_up) {
    if (connector_ != nullptr) {
      sequence->load = connector_->begin(sequence->record.id,
                                         sequence->block_hashes.list(sequence->block_hashes.size()),
                                         admission.prefix.num_blocks,
                                         admission.stored);
    }
    adopt(*sequence, std::move(admission.prefix));
    sequence->num_computed_tokens = admission.cached;
    sequence->num_local_tokens = admission.local;
  }
  if (admission.loads) {
    hold_for_load(sequence, admission);
    return Verdict::kSkipped;
  }
  if (sequence->loads_remote) {
    sequence->loads_remote = false;
    sequence->num_remote_tokens = 0;  // Preempted later, it is computed here.
    load_starts_.push_back({.request = sequence->record.id, .blocks = {}});  // Nothing is missing.
  }
  carries_prefill_ = carries_prefill_ || is_prefill;
  admit(sequence, admission, step);
  return Verdict::kAdmitted;
}

/// A waiting request's chunk, cut as cut_chunk() cuts a running one's. Where nothing is left of it,
/// admission ends, or the request is passed over.
Scheduler::Verdict Scheduler::cut_admission(Sequence& sequence, Admission& admission) {
  image_plan_ = {};
  if (admission.loads) {
    return Verdict::kAdmitted;
  }
  const Profile& profile = options_.profile;
  const std::int64_t computed = admission.cached;
  const bool is_padded = computed + admission.tokens > sequence.num_tokens();
  const auto align = [&] {
    const std::int64_t junction =
        admission.looked_up ? admission.prefix.num_full : sequence.blocks.junction;
    const std::int64_t all = admission.tokens;
    admission.tokens = cut_to_states(sequence, computed, all, junction);
    if (is_padded && profile.pads_within_states && 0 < admission.tokens && admission.tokens < all) {
      admission.tokens = 1;
    }
  };
  if (keeps_states_ && profile.aligns_before_images) {
    align();
    if (admission.tokens == 0) {
      return Verdict::kBlocked;
    }
  }
  admission.tokens = cut_to_images(sequence, computed, admission.tokens);
  if (keeps_states_ && !profile.aligns_before_images && admission.tokens > 0) {
    align();
  }
  admission.tokens = spare_prompt_end(sequence, computed, admission.tokens);
  if (admission.tokens > 0) {
    return Verdict::kAdmitted;
  }
  return profile.passes_over_images ? Verdict::kSkipped : Verdict::kBlocked;
}

void Scheduler::adopt(Sequence& sequence, CachedPrefix prefix) {
  manager_.adopt(sequence.blocks, std::move(prefix), sequence.block_hashes, sequence.tokens);
  note_prompt(sequence);
}

/// What the block manager is to know of a request's prompt.
void Scheduler::note_prompt(Sequence& sequence) {
  sequence.blocks.owner = {.request = sequence.record.id,
                           .prompt_tokens = static_cast<std::uint32_t>(sequence.num_prompt_tokens),
                           .lora = sequence.lora.value()};
  sequence.blocks.last_aligned = (sequence.num_prompt_tokens - 1) / manager_.block_size();
  sequence.blocks.whole_blocks = sequence.num_prompt_tokens / manager_.block_size();
  manager_.reserve(sequence.blocks, sequence.num_prompt_tokens + sequence.stop_after);
}

/// It gets the blocks that its KV is written into, and takes part again when that has arrived.
void Scheduler::hold_for_load(const SequencePtr& sequence, const Admission& admission) {
  manager_.extend(sequence->blocks, admission.cached);
  sequence->status = Status::kLoading;
  sequence->remote_arrived = false;
  loading_.emplace(LoadId(sequence->record.id, sequence->load), sequence);
  if (admission.stored > 0) {
    return;  // The connector knows.
  }
  const core::Tokens missing(admission.cached - admission.local);
  load_starts_.push_back({.request = sequence->record.id,
                          .blocks = core::Blocks(core::ceil_div(missing, options_.block_size))});
}

void Scheduler::finish_load(LoadId id, bool arrived) {
  const auto place = loading_.find(id);
  if (place == loading_.end()) {
    return;
  }
  const SequencePtr sequence = place->second;
  loading_.erase(place);
  sequence->remote_arrived = true;
  if (sequence->status == Status::kFinished) {
    manager_.release(sequence->blocks, sequence->block_hashes);  // Aborted on the way.
  } else if (!arrived) {
    give_up_load(*sequence);
  }
}

/// What was to be loaded is computed here, behind what the own cache held; where that is nothing,
/// the request gives its blocks back in its turn and is looked up anew, as vLLM does. With several
/// kinds of layers all of it is computed.
void Scheduler::give_up_load(Sequence& sequence) {
  sequence.load_failed = true;
  sequence.num_computed_tokens = manager_.num_groups() == 1 ? sequence.num_local_tokens : 0;
}

std::vector<SequencePtr> Scheduler::lose_blocks(const std::vector<core::BlockId>& lost,
                                                const ScheduledStep& step) {
  std::vector<core::BlockId> unclaimed = lost;
  std::vector<SequencePtr> affected;
  const auto visit = [&](const SequencePtr& sequence, std::int64_t computed) {
    const std::int64_t blocks = (computed + manager_.block_size() - 1) / manager_.block_size();
    bool is_affected = false;
    bool is_first = true;
    for (std::int64_t i = 0; i < blocks; ++i) {
      const core::BlockId block = sequence->blocks.groups.front()[i];
      is_affected = is_affected || std::ranges::find(lost, block) != lost.end();
      // The first of those that share a block computes it.
      if (std::erase(unclaimed, block) > 0 && std::exchange(is_first, false)) {
        sequence->num_computed_tokens = i * manager_.block_size();
      }
    }
    if (is_affected) {
      sequence->num_computed_tokens = is_first ? computed : sequence->num_computed_tokens;
      affected.push_back(sequence);
    }
    return is_affected;
  };
  for (const auto& [id, sequence] : loading_) {
    if (sequence->status == Status::kLoading && visit(sequence, sequence->num_computed_tokens)) {
      sequence->load_failed = true;
    }
  }
  for (const SequencePtr& sequence : running_) {
    const auto part = std::ranges::find(step, sequence.get(), &ScheduledSequence::sequence);
    const bool is_in_step = part != step.end();
    const std::int64_t scheduled = is_in_step ? part->num_scheduled_tokens : 0;
    sequence->drops_step = visit(sequence, sequence->num_computed_tokens - scheduled) && is_in_step;
  }
  return affected;
}

/// Blocks behind the first `local` that the connector can load. Where it has all, one token is left
/// to compute: there has to be another.
std::int64_t Scheduler::find_stored(const Sequence& sequence, std::int64_t local) const {
  return connector_ == nullptr || sequence.num_tokens() < 2
             ? 0
             : connector_->find(sequence.record.id,
                                sequence.block_hashes.list(sequence.block_hashes.size()),
                                local);
}

/// A step of a request has ended: full blocks of its prompt, or of all its tokens, may be stored.
void Scheduler::offer_blocks(Sequence& sequence, const ScheduledSequence& part) {
  const std::int64_t known =
      connector_->stores_answers() ? sequence.num_tokens() : sequence.num_prompt_tokens;
  const std::int64_t computed = part.num_computed_tokens + part.num_scheduled_tokens;
  const std::int64_t blocks = std::min(computed, known) / manager_.block_size();
  if (blocks > sequence.num_offered) {
    extend_hash_chain(sequence);
    connector_->store(sequence.record.id,
                      sequence.block_hashes.list(static_cast<std::size_t>(blocks)),
                      sequence.num_offered);
    sequence.num_offered = blocks;
  }
}

void Scheduler::release_blocks(core::RequestId id) {
  const auto place = holding_.find(id);
  if (place != holding_.end() && --place->second.readers == 0) {
    Sequence& sequence = *place->second.sequence;
    manager_.release(sequence.blocks, sequence.block_hashes);
    holding_.erase(place);
  }
}

void Scheduler::admit(const SequencePtr& sequence,
                      const Admission& admission,
                      ScheduledStep& step) {
  const std::int64_t known = sequence->num_tokens();
  sequence->prefill_end = known;
  if (sequence->status == Status::kWaiting) {
    sequence->record.cached_tokens =
        core::Tokens(std::min(admission.cached, sequence->num_prompt_tokens));
  }
  sequence->status = Status::kRunning;
  if (sequence->blocks.groups.empty()) {
    adopt(*sequence, {});
  }
  RIDGELINE_CHECK(extend(*sequence, admission.tokens, admission.lookahead),
                  "admission counted too few blocks");
  running_.push_back(sequence);
  singles_.push_back(sequence.get());
  sequence->place = num_admitted_++;
  if (options_.max_loras > 0 && sequence->lora.valid() && !is_one_of(adapters_, sequence->lora)) {
    adapters_.push_back(sequence->lora);
  }
  spend(admission.tokens);
  if (admission.cached + admission.tokens > known) {
    sequence->num_drafts = admission.cached + admission.tokens - known;  // Padding.
  }
  put(step, *sequence, admission.tokens);
  take_images(*sequence);
}

}  // namespace ridgeline::engine::vllm::plain
