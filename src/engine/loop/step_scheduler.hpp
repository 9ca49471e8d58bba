#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/kv_connector.hpp"
#include "engine/kv_events.hpp"
#include "engine/kv_look.hpp"
#include "engine/leg.hpp"
#include "engine/loop/decode_set.hpp"

namespace ridgeline::engine {

/// A request inside an engine, as far as the step loop keeps it. A scheduler derives its own from
/// it.
struct Sequence {
  Sequence(const domain::Request& request, core::Tokens max_model_len);

  domain::RequestRecord record;  ///< Complete once the request has ended. The scheduler counts
                                 ///< preemptions and cached_tokens in it, the loop sets the rest.
  std::int64_t num_prompt_tokens = 0;
  /// Output tokens that the client and max_model_len allow: all that a policy may know of the
  /// request's length before it ends.
  std::int64_t max_output_tokens = 0;
  std::int64_t stop_after = 0;  ///< Output tokens after which it ends.
  domain::Outcome outcome_at_stop = domain::Outcome::kFinished;

  std::int64_t num_delivered_tokens = 0;  ///< That the client has got.
  core::SimTime last_token = core::SimTime::never();
  core::GrammarId grammar;             ///< Grammar of its structured output.
  bool waits_for_grammar = false;      ///< It may not run before the loop says so.
  std::int64_t num_verifications = 0;  ///< Steps so far that verified drafts of it.
  bool has_ended = false;
  bool reports_steps = false;  ///< Leg::reports_steps.
  bool drops_tokens = false;  ///< The scheduler took it back: what steps in flight sample for it is
                              ///< thrown away.

  std::int64_t place = 0;  ///< Requests of a step stand in the order of their places, where some
                           ///< are members of a DecodeSet.
  Decoding decoding;

  /// Completes the record.
  void end(domain::Outcome outcome);
};
using SequencePtr = std::shared_ptr<Sequence>;

/// One request's part of a step.
struct ScheduledSequence {
  Sequence* sequence = nullptr;          ///< The loop keeps it until the step has ended.
  std::int64_t num_computed_tokens = 0;  ///< Before the step.
  std::int64_t num_scheduled_tokens = 0;
  std::int64_t num_drafts = 0;  ///< Drafts to be verified among the scheduled tokens.
  bool is_prefill = false;
  bool samples = false;    ///< Its last known token is processed: at least one token comes out.
  std::int64_t place = 0;  ///< Sequence::place when the step was formed.

  /// One token behind those of the prompt, and no drafts.
  [[nodiscard]] bool is_decode() const { return !is_prefill && num_drafts == 0; }
};

/// The requests of one step, in order; but for the members of the scheduler's DecodeSet, of which
/// each has a token in it besides.
using ScheduledStep = std::vector<ScheduledSequence>;

/// What a scheduler counts.
struct SchedulerCounts {
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t used_blocks = 0;
  std::int64_t free_blocks = 0;
  core::Tokens shared_context = {};  ///< domain::StepBatch::shared_context.
  std::int64_t preemptions = 0;
  core::Tokens prefix_queries = {};  ///< Looked up in the prefix cache.
  core::Tokens prefix_hits = {};     ///< Tokens found there.
};

/// The number of blocks in use from the schedule() of a quiet step on.
struct BlockChange {
  std::int64_t step = 0;  ///< From 0.
  std::int64_t used_blocks = 0;
};

/// A scheduling policy: decides which requests run in a step, and with how many tokens. It knows no
/// time: the step loop (engine/loop/step_loop.hpp) asks it for steps, prices them, and hands their
/// tokens back when they end. Several steps may be in flight; they end in order.
class StepScheduler {
 public:
  virtual ~StepScheduler() = default;

  /// Takes a request into the waiting queue; nullptr, and nothing done, where it could not run even
  /// alone.
  virtual SequencePtr add(const domain::Request& request) = 0;
  /// Takes a request of which a part is computed elsewhere. By default only whole ones are taken.
  virtual SequencePtr add_leg(const domain::Request& request, const Leg& leg) {
    RIDGELINE_CHECK(leg == Leg(), "the scheduler takes no KV from elsewhere");
    return add(request);
  }
  /// The requests to which the last schedule() gave blocks for their KV from elsewhere, in order.
  [[nodiscard]] virtual std::span<const LoadStart> load_starts() const { return {}; }
  /// As Engine::finish_load() and Engine::release_blocks().
  virtual void finish_load(LoadId id, bool arrived) {
    static_cast<void>(id);
    static_cast<void>(arrived);
  }
  virtual void release_blocks(core::RequestId id) { static_cast<void>(id); }
  /// How long the copy takes that the step just formed waits for, layer by layer: KV that comes
  /// back from the host's memory.
  [[nodiscard]] virtual core::Duration copy_time() const { return {}; }
  /// As Engine::connect(). Here: no KV is kept elsewhere.
  virtual void connect(KvConnector& connector) {
    static_cast<void>(connector);
    RIDGELINE_CHECK(false, "the scheduler keeps no KV outside the GPUs");
  }
  /// Whether requests may wait for what another engine does: a load, or blocks that it reads.
  [[nodiscard]] virtual bool waits_for_others() const { return false; }
  /// The client of a request gives up: it leaves, with its blocks. nullptr where none of that id is
  /// inside. What steps in flight compute for it is thrown away.
  virtual SequencePtr abort(core::RequestId id) = 0;
  /// Forms the next step. `step` is overwritten; empty where there is nothing to run but the
  /// members of decodes() (DecodeSet::in_step).
  virtual void schedule(ScheduledStep& step) = 0;
  /// The requests that the last schedule() ended because they can never go on, in order; they are
  /// handed over once.
  [[nodiscard]] virtual std::vector<SequencePtr> take_failed() { return {}; }
  /// The oldest step in flight has ended; `tokens` came out for each of its requests (looked at
  /// where `samples`). Returns the requests that ended with it, in order.
  virtual std::vector<SequencePtr> update(const ScheduledStep& step,
                                          std::span<const std::int64_t> tokens) = 0;
  /// Everything still inside, running requests first; the scheduler forgets it.
  virtual std::vector<SequencePtr> drain() = 0;
  [[nodiscard]] virtual SchedulerCounts counts() const = 0;
  /// Two of the counts, asked for several times a step.
  [[nodiscard]] virtual std::int64_t used_blocks() const { return counts().used_blocks; }
  [[nodiscard]] virtual std::int64_t num_preemptions() const { return counts().preemptions; }
  /// Sum of the prompt lengths of the waiting requests.
  [[nodiscard]] virtual core::Tokens queued_prompt_tokens() const = 0;
  /// As Engine::cached_prefix(), now or as Engine::cached_prefix_at(). Here: nothing is cached.
  [[nodiscard]] virtual core::Tokens cached_prefix(const domain::Request& request,
                                                   std::optional<KvLook> look) {
    static_cast<void>(request);
    static_cast<void>(look);
    return {};
  }
  /// Called once, before anything else, where cached_prefix() is asked of earlier instants; and
  /// set_now() then before each other call, with its instant.
  virtual void keep_kv_changes(const KvHistory& history) { static_cast<void>(history); }
  virtual void set_now(core::SimTime now) { static_cast<void>(now); }
  /// Called once, before anything else, where the sink gets what changes in the prefix cache.
  virtual void tell_kv_events(KvEventSink& sink) {
    static_cast<void>(sink);
    RIDGELINE_CHECK(false, "KV events are vLLM's alone");
  }

  /// A round is: the oldest step in flight ends (update), and the next is formed (schedule). For
  /// how many rounds from here on, if nothing is added or aborted, the step formed has the requests
  /// of the step that ended, each with one token that it samples and all its drafts, and no request
  /// ends, however many drafts are accepted. 0: that is not known, and the loop goes on step by
  /// step.
  [[nodiscard]] virtual std::int64_t quiet_steps() const { return 0; }

  /// Requests that the scheduler keeps as sums. None where it does not know how to, or where the
  /// loop asked for none (DecodeSet::gather).
  [[nodiscard]] DecodeSet& decodes() { return decodes_; }
  [[nodiscard]] const DecodeSet& decodes() const { return decodes_; }
  /// Whether it ever keeps some.
  [[nodiscard]] virtual bool can_gather() const { return false; }
  /// The oldest step is about to end: members leave that should before.
  void retire_decodes() {
    while (Sequence* const sequence = decodes_.due_to_leave()) {
      leave_decodes(*sequence);
    }
  }

  /// Does one quiet round: update(step, tokens), then schedule(step). Here: by these two, which is
  /// right for any policy.
  virtual void advance_round(ScheduledStep& step, std::span<const std::int64_t> tokens);

  /// Does `rounds` <= quiet_steps() rounds without drafts at once, with the same results, if a
  /// token comes out for each request of each step. `in_flight` are the
  /// steps in flight, the oldest first; a round overwrites the oldest with the step that it forms,
  /// so that in_flight[rounds % size] is the oldest afterwards. Returns the rounds after which
  /// another number of blocks is in use, in order. Here: by advance_round().
  virtual std::vector<BlockChange> advance_quiet(std::span<ScheduledStep* const> in_flight,
                                                 std::int64_t rounds);

 protected:
  /// A member leaves, with its counters as of now.
  virtual void leave_decodes(Sequence& sequence) {
    decodes_.settle(sequence);
    decodes_.remove(sequence);
  }

  DecodeSet decodes_;
};

}  // namespace ridgeline::engine
