#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "domain/step.hpp"
#include "engine/loop/pace.hpp"
#include "engine/loop/rank_agreement.hpp"
#include "engine/loop/rank_steps.hpp"
#include "engine/loop/step_loop.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/server.hpp"

namespace ridgeline::engine {

/// Data-parallel ranks whose experts are cut over all of them: each has its own scheduler and KV
/// cache, and no step ends before all have brought their tokens to the experts and back. So a step
/// is one step of every rank, and takes as long as the longest of them. A rank with requests makes
/// all others step with it; one without requests runs a dummy batch of one token. Every
/// `agreed_every` steps the ranks agree whether any of them has requests left; where none has, they
/// stop (vLLM's DPEngineCoreProc: its wave ends). One rank alone is an engine: it runs no dummy.
/// Ranks of an engine with an agreement settle each step by it, and stop when it says so.
///
/// For any scheduler. Not for the stages of a pipeline.
class LockStep {
 public:
  /// Ranks of equal options, which outlive this and are advanced by it alone. `agreed_every` is
  /// not looked at where there is an agreement.
  LockStep(std::vector<StepLoop*> ranks,
           std::int64_t agreed_every,
           std::unique_ptr<RankAgreement> agreement = nullptr);

  /// As Server::advance(), of all ranks together.
  Pause advance(core::SimTime limit, bool pause_at_completion, std::int64_t max_segments);

  [[nodiscard]] const RankSteps& steps_of(std::size_t rank) const { return steps_[rank]; }

 private:
  using InFlight = StepLoop::InFlight;
  using QuietRun = StepLoop::QuietRun;

  /// A rank's part of the next step.
  struct Part {
    bool has_requests = false;
    domain::StepBatch batch;
    StepLoop::Priced priced;
  };
  /// A rank's part of a quiet run.
  struct QuietPart {
    QuietRun run;
    std::optional<StepLoop::OnLine> place;  ///< None: dummies.
    Pace own;                               ///< Its pace if it were alone.
  };

  [[nodiscard]] std::optional<core::SimTime> due() const;
  [[nodiscard]] bool has_unfinished() const;
  [[nodiscard]] bool stands_still() const;
  [[nodiscard]] core::SimTime next_grammar() const;
  [[nodiscard]] bool fill_pipeline(core::SimTime now);
  [[nodiscard]] bool form_parts();
  [[nodiscard]] bool form_agreed_parts();
  [[nodiscard]] bool launch();
  bool complete_oldest();
  [[nodiscard]] static StepLoop::Priced price_dummy(StepLoop& rank);

  [[nodiscard]] bool jump(core::SimTime limit);
  [[nodiscard]] bool plan(StepLoop& rank, QuietPart& part) const;
  [[nodiscard]] bool is_idle(StepLoop& rank) const;
  static void take_dummies(StepLoop& rank, QuietPart& part);

  std::vector<StepLoop*> ranks_;
  std::int64_t agreed_every_;
  std::unique_ptr<RankAgreement> agreement_;
  std::vector<StepScheduler*> schedulers_;  ///< By rank.
  std::size_t depth_;
  std::vector<RankSteps> steps_;  ///< By rank.
  std::vector<Part> parts_;       ///< By rank; scratch of fill_pipeline().
  bool runs_ = false;             ///< Every rank steps, with requests or without.
  std::int64_t since_start_ = 0;  ///< Steps formed since it began to run.
  bool past_horizon_ = false;     ///< A step was formed that ends too late.
};

}  // namespace ridgeline::engine
