// A scheduling policy as docs/guide/adding.md says: one folder, and one line in a table. First come
// first served on max_num_seqs seats, as if there were KV blocks without end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"

namespace ridgeline::test::seats {

struct Seated : engine::Sequence {
  using engine::Sequence::Sequence;
  std::int64_t computed = 0;  ///< Tokens, steps in flight included.
  std::int64_t sampled = 0;   ///< Output tokens, steps in flight included.
  std::int64_t outputs = 0;   ///< Of those, known.
};

class Scheduler final : public engine::StepScheduler {
 public:
  explicit Scheduler(const engine::EngineOptions& options) : options_(options) {}

  engine::SequencePtr add(const domain::Request& request) override {
    const auto one = std::make_shared<Seated>(request, options_.max_model_len);
    return one->max_output_tokens > 0 ? requests_.emplace_back(one) : nullptr;
  }
  engine::SequencePtr abort(core::RequestId id) override {
    const auto has_id = [&](const engine::SequencePtr& one) { return one->record.id == id; };
    const auto found = std::ranges::find_if(requests_, has_id);
    if (found == requests_.end()) {
      return nullptr;
    }
    const engine::SequencePtr gone = *found;
    requests_.erase(found);
    return gone;
  }
  void schedule(engine::ScheduledStep& step) override {
    step.clear();
    std::int64_t budget = options_.max_num_batched_tokens.value();
    for (const engine::SequencePtr& one : seated()) {
      auto& request = static_cast<Seated&>(*one);
      const bool is_prefill = request.computed < request.num_prompt_tokens;
      const bool goes_on = request.sampled - request.outputs < steps_of_one() &&
                           request.sampled < request.max_output_tokens;
      const std::int64_t wanted =
          is_prefill ? request.num_prompt_tokens - request.computed : std::int64_t{goes_on};
      if (const std::int64_t tokens = std::min(wanted, budget); tokens > 0) {
        const bool samples = request.computed + tokens >= request.num_prompt_tokens;
        step.push_back({&request, request.computed, tokens, 0, is_prefill, samples});
        request.computed += tokens;
        request.sampled += samples ? 1 : 0;
        budget -= tokens;
      }
    }
  }
  std::vector<engine::SequencePtr> update(const engine::ScheduledStep& step,
                                          std::span<const std::int64_t> /*tokens*/) override {
    std::vector<engine::SequencePtr> ended;
    for (const engine::ScheduledSequence& part : step) {
      auto& request = static_cast<Seated&>(*part.sequence);
      if (part.samples && !request.has_ended && ++request.outputs == request.stop_after) {
        const auto place = std::ranges::find(requests_, part.sequence, &engine::SequencePtr::get);
        ended.push_back(*place);
        requests_.erase(place);
      }
    }
    return ended;
  }
  std::vector<engine::SequencePtr> drain() override { return std::exchange(requests_, {}); }
  [[nodiscard]] engine::SchedulerCounts counts() const override {
    return {.running = std::ssize(seated()),
            .waiting = std::ssize(requests_) - std::ssize(seated())};
  }
  [[nodiscard]] core::Tokens queued_prompt_tokens() const override {
    core::Tokens sum;
    for (const engine::SequencePtr& one : std::span(requests_).subspan(seated().size())) {
      sum += core::Tokens(one->num_prompt_tokens);
    }
    return sum;
  }
  [[nodiscard]] std::int64_t quiet_steps() const override {
    std::int64_t rounds = std::numeric_limits<std::int64_t>::max();
    for (const engine::SequencePtr& one : seated()) {
      const auto& request = static_cast<const Seated&>(*one);
      const bool all_in_flight = request.sampled - request.outputs == steps_of_one();
      const std::int64_t left = std::min(request.stop_after - request.outputs - 1,
                                         request.max_output_tokens - request.sampled);
      rounds = std::min(rounds, all_in_flight ? left : 0);
    }
    return std::ssize(seated()) <= options_.max_num_batched_tokens.value() ? rounds : 0;
  }

 private:
  /// The requests that have a seat: the first ones.
  [[nodiscard]] std::span<const engine::SequencePtr> seated() const {
    const auto seats = static_cast<std::size_t>(options_.max_num_seqs);
    return std::span(requests_).first(std::min(requests_.size(), seats));
  }
  /// In how many steps in flight a request may be at a time.
  [[nodiscard]] std::int64_t steps_of_one() const {
    return options_.async_scheduling ? engine::steps_in_flight(options_) : 1;
  }

  engine::EngineOptions options_;
  std::vector<engine::SequencePtr> requests_;
};

}  // namespace ridgeline::test::seats
