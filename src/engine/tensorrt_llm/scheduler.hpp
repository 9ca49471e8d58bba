#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/kv_look.hpp"
#include "engine/leg.hpp"
#include "engine/loop/member_turns.hpp"
#include "engine/loop/queue_scheduler.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/tensorrt_llm/attention_dp.hpp"
#include "engine/tensorrt_llm/batch_wait.hpp"
#include "engine/tensorrt_llm/capacity.hpp"
#include "engine/tensorrt_llm/kv_cache.hpp"
#include "engine/tensorrt_llm/micro_batch.hpp"
#include "engine/tensorrt_llm/sequence.hpp"
#include "engine/tensorrt_llm/settings.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// How requests get their blocks.
struct CapacityRules {
  CapacityScheduler select = nullptr;
  bool reserves = true;  ///< A request that has come in is promised its blocks to the last token.
  bool skips_duplicate_prefixes = false;
  std::int64_t most_active = 0;      ///< Requests, over all stages of a pipeline.
  std::int64_t lookahead_steps = 1;  ///< For maximum utilisation.
};

/// What the scheduler counts.
struct Counts {
  std::int64_t activated = 0;
  std::int64_t started = 0;  ///< Active requests that hold blocks.
  std::int64_t pauses = 0;
  std::int64_t prefix_queries = 0;     ///< Tokens.
  std::int64_t prefix_hits = 0;        ///< Tokens.
  std::int64_t blocks_of_members = 0;  ///< That they still take.
};

/// Requests whose context another server computes, or reads.
struct RequestsApart {
  std::vector<Sequence*> loading;        ///< Active, with KV on its way.
  std::vector<LoadStart> starts;         ///< Loads since the last step.
  bool starts_are_told = false;          ///< By the last schedule().
  std::vector<SequencePtr> held;         ///< Ended, with blocks that are read.
  std::vector<SequencePtr> failed = {};  ///< Whose KV did not come.
};

/// TensorRT-LLM's PyTorch executor, decision for decision (docs/internals/tensorrt-llm.md): active
/// requests, the capacity scheduler that says which of them have blocks, and the micro-batch
/// scheduler that says what a step computes. `running_` of the base are the active requests, in the
/// order of their arrival, which never changes.
class Scheduler final : public QueueScheduler<Sequence> {
 public:
  /// With the settings that the options point to (OwnOptions), or else its defaults.
  explicit Scheduler(const EngineOptions& options);
  Scheduler(const EngineOptions& options, const Settings& settings);

  engine::SequencePtr add(const domain::Request& request) override { return add_leg(request, {}); }
  engine::SequencePtr add_leg(const domain::Request& request, const Leg& leg) override;
  [[nodiscard]] std::span<const LoadStart> load_starts() const override { return apart_.starts; }
  void finish_load(LoadId id, bool arrived) override;
  void release_blocks(core::RequestId id) override;
  [[nodiscard]] bool waits_for_others() const override {
    return !apart_.loading.empty() || !apart_.held.empty();
  }
  std::vector<engine::SequencePtr> take_failed() override;
  std::vector<engine::SequencePtr> drain() override;
  void schedule(ScheduledStep& step) override;
  /// Where a generation that has come in has its blocks for sure, and a token of each step.
  [[nodiscard]] bool can_gather() const override {
    return capacity_.reserves && !is_rank_ && options_.num_speculative_tokens == 0 &&
           !options_.grammars && options_.pipeline_depth == 0 &&
           capacity_.most_active <= limits_.max_num_tokens;
  }
  std::vector<engine::SequencePtr> update(const ScheduledStep& step,
                                          std::span<const std::int64_t> tokens) override;
  [[nodiscard]] SchedulerCounts counts() const override;
  [[nodiscard]] std::int64_t used_blocks() const override {
    return kv_.num_blocks() - kv_.num_free();
  }
  [[nodiscard]] core::Tokens queued_prompt_tokens() const override;
  [[nodiscard]] core::Tokens cached_prefix(const domain::Request& request,
                                           std::optional<KvLook> look) override;
  void keep_kv_changes(const KvHistory& history) override { kv_.keep_changes(history); }
  void set_now(core::SimTime now) override { kv_.set_now(now); }
  [[nodiscard]] std::int64_t quiet_steps() const override;
  std::vector<BlockChange> advance_quiet(std::span<ScheduledStep* const> in_flight,
                                         std::int64_t rounds) override;

  /// Chooses the next step of a rank (attention_dp.hpp), which the next schedule() launches.
  RankStatus propose();
  /// The step proposed goes without its contexts; or without anything.
  void hold_contexts() { batch_.contexts.clear(); }
  void withdraw();

  /// Whether a request could run alone, to its last possible token.
  [[nodiscard]] bool can_ever_run(const Sequence& sequence) const;
  [[nodiscard]] const KvCache& kv_cache() const { return kv_; }
  /// What the last schedule() decided.
  [[nodiscard]] const Selection& selection() const { return selection_; }

 private:
  void activate();
  void start_loads();
  void choose();
  void pause(Sequence& sequence);
  void set_context(Sequence& sequence) const;
  void launch_contexts(ScheduledStep& step);
  void launch(const ContextChunk& context, ScheduledStep& step);
  void launch_generation(Sequence& sequence, ScheduledStep& step);
  void make_room_for_generations();
  void extend_member(engine::Sequence& member);
  void gather(const ScheduledStep& step);
  void leave_decodes(engine::Sequence& sequence) override;
  [[nodiscard]] std::int64_t spare_blocks() const;
  bool take_tokens(Sequence& sequence, const ScheduledSequence& part, std::int64_t tokens) override;
  RequestPtr remove(Sequence& sequence) override;
  void take_back(Sequence& sequence, std::int64_t drafts);
  void release(Sequence& sequence);
  [[nodiscard]] std::int64_t tokens_per_step() const { return 1 + options_.num_speculative_tokens; }

  EngineOptions options_;
  KvCache kv_;
  CapacityRules capacity_;
  MicroBatchLimits limits_;
  BatchWait batch_wait_;
  AttentionDpBalance balance_;  ///< For a rank by itself: the others are taken to be like it.
  bool is_rank_;
  Selection selection_;
  MicroBatch batch_;
  /// Active requests that are no members and have their KV, or wait for blocks; in order.
  std::vector<Sequence*> singles_;
  RequestsApart apart_;
  MemberTurns turns_;         ///< When members take a block.
  bool is_proposed_ = false;  ///< The next schedule() launches what is chosen.
  bool has_changed_ = false;  ///< The next pass may select others than the last.
  Counts num_;
};

}  // namespace ridgeline::engine::tensorrt_llm
