// The fast twin's scheduler against the reference twin's, decision by decision: batches, queues,
// preemptions, the identity of every block, free list and statistics, over random requests of which
// some are aborted, in every version. (tests/property/engine/twins_prop.cpp compares whole runs.)
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "random_scenario.hpp"

namespace ridgeline {
namespace {

using engine::SchedulerProbe;

struct ProbeArrival {
  domain::Request request;
  std::int64_t step = 0;
  std::int64_t abort_step = -1;
};

std::vector<ProbeArrival> random_probe_arrivals(const engine::EngineOptions& options) {
  using rc::gen::element;
  using rc::gen::inRange;
  std::vector<ProbeArrival> arrivals;
  const bool aborts = *rc::gen::arbitrary<bool>();
  std::int64_t step = 0;
  for (const domain::Request& request : test::random_requests({})) {
    if (request.prompt_tokens >= options.max_model_len) {
      continue;
    }
    step += *element<std::int64_t>(0, 0, 0, 1, 7, 40);
    const bool goes = aborts && *element(false, true);
    arrivals.push_back({.request = request,
                        .step = step,
                        .abort_step = goes ? step + *inRange<std::int64_t>(0, 60) : -1});
  }
  return arrivals;
}

class ProbeTwins {
 public:
  ProbeTwins(const engine::EngineOptions& options, std::vector<ProbeArrival> arrivals)
      : depth_(static_cast<std::size_t>(engine::steps_in_flight(options))),
        arrivals_(std::move(arrivals)),
        reference_(engine::make_reference_probe(options)),
        fast_(engine::make_fast_probe(options)) {}

  void run() {
    constexpr std::int64_t kStuck = 20'000;
    for (std::int64_t step = 0; !is_over(step); ++step) {
      RC_ASSERT(step < kStuck);
      for (const ProbeArrival& arrival : arrivals_) {
        arrive_or_go(arrival, step);
      }
      compare_state();
      const bool formed = in_flight_.size() < depth_ && form();
      compare_state();
      if (!in_flight_.empty() && !(formed && in_flight_.size() < depth_)) {
        end_oldest();
        compare_state();
      }
    }
  }
  [[nodiscard]] bool preempted() const { return preempted_; }
  [[nodiscard]] bool aborted() const { return aborted_; }
  [[nodiscard]] bool hit() const { return reference_->statistics().hits > 0; }

 private:
  [[nodiscard]] bool is_over(std::int64_t step) const {
    return (arrivals_.empty() || step > arrivals_.back().step) && in_flight_.empty() &&
           reference_->running().empty() && reference_->waiting().empty();
  }

  void arrive_or_go(const ProbeArrival& arrival, std::int64_t step) {
    if (arrival.step == step) {
      reference_->add(arrival.request, core::Tokens(0));
      fast_->add(arrival.request, core::Tokens(0));
      inside_.insert(arrival.request.id);
    }
    if (arrival.abort_step == step && inside_.contains(arrival.request.id)) {
      reference_->abort(arrival.request.id);
      fast_->abort(arrival.request.id);
      RC_ASSERT(reference_->output_tokens(arrival.request.id) ==
                fast_->output_tokens(arrival.request.id));
      inside_.erase(arrival.request.id);
      aborted_ = true;
    }
  }

  bool form() {
    const SchedulerProbe::Step wanted = reference_->schedule();
    const SchedulerProbe::Step found = fast_->schedule();
    RC_ASSERT(wanted.scheduled.size() == found.scheduled.size());
    for (std::size_t i = 0; i < wanted.scheduled.size(); ++i) {
      RC_ASSERT(wanted.scheduled[i].id == found.scheduled[i].id);
      RC_ASSERT(wanted.scheduled[i].tokens == found.scheduled[i].tokens);
      RC_ASSERT(wanted.scheduled[i].samples == found.scheduled[i].samples);
    }
    RC_ASSERT(wanted.admitted.size() == found.admitted.size());
    for (std::size_t i = 0; i < wanted.admitted.size(); ++i) {
      RC_ASSERT(wanted.admitted[i].id == found.admitted[i].id);
      RC_ASSERT(wanted.admitted[i].computed_tokens == found.admitted[i].computed_tokens);
      RC_ASSERT(wanted.admitted[i].resumed == found.admitted[i].resumed);
    }
    RC_ASSERT(wanted.preempted == found.preempted);
    preempted_ = preempted_ || !wanted.preempted.empty();
    if (!wanted.scheduled.empty()) {
      in_flight_.push_back(wanted.scheduled);
    }
    return !wanted.scheduled.empty();
  }

  void end_oldest() {
    std::vector<std::int64_t> tokens;
    for (const auto& item : in_flight_.front()) {
      tokens.push_back(item.samples ? 1 : 0);
    }
    in_flight_.pop_front();
    const auto ended = reference_->update(tokens);
    RC_ASSERT(ended == fast_->update(tokens));
    for (const core::RequestId id : ended) {
      RC_ASSERT(inside_.erase(id) == 1);
    }
  }

  void compare_state() const {
    RC_ASSERT(reference_->running() == fast_->running());
    RC_ASSERT(reference_->waiting() == fast_->waiting());
    RC_ASSERT(reference_->num_free_blocks() == fast_->num_free_blocks());
    RC_ASSERT(reference_->free_list() == fast_->free_list());
    for (const core::RequestId id : reference_->running()) {
      RC_ASSERT(reference_->blocks(id) == fast_->blocks(id));
    }
    for (const core::RequestId id : inside_) {
      RC_ASSERT(reference_->output_tokens(id) == fast_->output_tokens(id));
      RC_ASSERT(reference_->preemptions(id) == fast_->preemptions(id));
    }
    const auto wanted = reference_->statistics();
    const auto found = fast_->statistics();
    RC_ASSERT(wanted.requests == found.requests);
    RC_ASSERT(wanted.queries == found.queries);
    RC_ASSERT(wanted.hits == found.hits);
    RC_ASSERT(wanted.preempted_requests == found.preempted_requests);
    RC_ASSERT(wanted.preempted_queries == found.preempted_queries);
    RC_ASSERT(wanted.preempted_hits == found.preempted_hits);
  }

  std::size_t depth_;
  std::vector<ProbeArrival> arrivals_;
  std::unique_ptr<SchedulerProbe> reference_;
  std::unique_ptr<SchedulerProbe> fast_;
  std::deque<std::vector<SchedulerProbe::Scheduled>> in_flight_;
  std::set<core::RequestId> inside_;
  bool preempted_ = false;
  bool aborted_ = false;
};

RC_GTEST_PROP(ProbeTwinsLaw, DecideAlikeBlockByBlock, ()) {
  const engine::EngineOptions options = test::random_options({});
  ProbeTwins twins(options, random_probe_arrivals(options));
  twins.run();
  RC_CLASSIFY(twins.preempted(), "preempted");
  RC_CLASSIFY(twins.aborted(), "aborted");
  RC_CLASSIFY(twins.hit(), "prefix hits");
}

}  // namespace
}  // namespace ridgeline
