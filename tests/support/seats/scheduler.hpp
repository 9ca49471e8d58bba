// A scheduling policy as docs/guide/adding.md says: one folder, and one line in a table. First come
// first served on max_num_seqs seats, as if there were KV blocks without end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "domain/request.hpp"
#include "engine/loop/queue_scheduler.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"

namespace ridgeline::test::seats {

struct Seated : engine::Sequence {
  using engine::Sequence::Sequence;
  std::int64_t computed = 0;  ///< Tokens, steps in flight included.
  std::int64_t sampled = 0;   ///< Output tokens, steps in flight included.
  std::int64_t outputs = 0;   ///< Output tokens that are known.
};

class Scheduler final : public engine::QueueScheduler<Seated> {
 public:
  explicit Scheduler(const engine::EngineOptions& options) : options_(options) {}

  engine::SequencePtr add(const domain::Request& request) override {
    const auto one = std::make_shared<Seated>(request, options_.max_model_len);
    return one->max_output_tokens > 0 ? waiting_.emplace_back(one) : nullptr;
  }
  void schedule(engine::ScheduledStep& step) override {
    step.clear();
    for (; has_seat() && !waiting_.empty(); waiting_.pop_front()) {
      running_.push_back(waiting_.front());
    }
    std::int64_t budget = options_.max_num_batched_tokens.value();
    for (const RequestPtr& one : running_) {
      const std::int64_t prompt = std::max<std::int64_t>(one->num_prompt_tokens - one->computed, 0);
      const bool goes_on = one->sampled - one->outputs < engine::steps_per_request(options_) &&
                           one->sampled < one->max_output_tokens;
      const std::int64_t tokens = std::min(prompt > 0 ? prompt : std::int64_t{goes_on}, budget);
      if (tokens > 0) {
        step.push_back({one.get(), one->computed, tokens, 0, prompt > 0, tokens >= prompt});
        one->computed += tokens;
        one->sampled += tokens >= prompt ? 1 : 0;
        budget -= tokens;
      }
    }
  }
  [[nodiscard]] std::int64_t quiet_steps() const override {
    if (has_seat() && !waiting_.empty()) {
      return 0;
    }
    std::int64_t rounds = options_.max_model_len.value();
    for (const RequestPtr& one : running_) {
      const bool is_full = one->sampled - one->outputs == engine::steps_per_request(options_);
      rounds = std::min(rounds, is_full ? one->stop_after - one->sampled : 0);
    }
    return rounds;
  }

 private:
  bool take_tokens(Seated& one, const engine::ScheduledSequence& part, std::int64_t) override {
    return part.samples && !one.has_ended && ++one.outputs == one.stop_after;
  }
  [[nodiscard]] bool has_seat() const { return num_running() < options_.max_num_seqs; }

  engine::EngineOptions options_;
};

}  // namespace ridgeline::test::seats
