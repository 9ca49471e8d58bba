// KV events are the prefix cache: replayed, they give the blocks that can be found, at the end of
// each step, with the request and the parent that each block has; and they change no result.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "engine/engine.hpp"
#include "engine/kv_events.hpp"
#include "engine/loop/step_loop.hpp"
#include "engine/prefix_hashes.hpp"
#include "engine/vllm/plain/scheduler.hpp"
#include "equal_runs.hpp"
#include "random_scenario.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"

namespace ridgeline {
namespace {

/// Follows the events, and holds them against the cache.
class Follower final : public engine::KvEventSink {
 public:
  explicit Follower(const test::Scenario& scenario) : scenario_(scenario) {}
  void watch(const engine::vllm::plain::Scheduler& scheduler) { scheduler_ = &scheduler; }

  void on_stored(const engine::StoredBlocks& blocks) override {
    RC_ASSERT(!blocks.hashes.empty());
    RC_ASSERT(blocks.parent.has_value() == (blocks.first > 0));
    const auto found = std::ranges::find(scenario_.requests, blocks.request, &domain::Request::id);
    RC_ASSERT(found != scenario_.requests.end());
    const std::vector<std::uint64_t> own =
        engine::prefix_hashes(*found, scenario_.options.block_size);
    for (std::size_t i = 0; i < blocks.hashes.size(); ++i) {
      blocks_.insert(blocks.hashes[i]);
      if (const auto at = static_cast<std::size_t>(blocks.first) + i; at < own.size()) {
        RC_ASSERT(blocks.hashes[i] == own[at]);
      }
    }
    stored_ += blocks.hashes.size();
  }
  void on_removed(std::uint64_t hash) override {
    const auto found = blocks_.find(hash);
    RC_ASSERT(found != blocks_.end());
    blocks_.erase(found);
    ++removed_;
  }
  void on_cleared() override { blocks_.clear(); }
  void on_step_end(core::SimTime end) override {
    RC_ASSERT(end >= last_);
    last_ = end;
    const std::vector<std::uint64_t> cached = scheduler_->kv_cache().cached_hashes();
    RC_ASSERT(blocks_ == std::multiset<std::uint64_t>(cached.begin(), cached.end()));
  }

  [[nodiscard]] std::size_t stored() const { return stored_; }
  [[nodiscard]] std::size_t removed() const { return removed_; }

 private:
  const test::Scenario& scenario_;
  const engine::vllm::plain::Scheduler* scheduler_ = nullptr;
  std::multiset<std::uint64_t> blocks_;
  core::SimTime last_;
  std::size_t stored_ = 0;
  std::size_t removed_ = 0;
};

RC_GTEST_PROP(KvEvents, GiveThePrefixCacheAtEachStep, ()) {
  const test::Scenario scenario = test::random_scenario({.handed_over = true, .aborts = true});
  const test::LinearModel model(scenario.costs);
  Follower follower(scenario);
  test::EngineRun told;
  auto scheduler = std::make_unique<engine::vllm::plain::Scheduler>(scenario.options);
  follower.watch(*scheduler);
  engine::StepLoop loop({.options = scenario.options,
                         .model = model,
                         .host = scenario.host,
                         .sink = told.sink,
                         .kv_events = &follower},
                        std::move(scheduler),
                        true);
  test::drive(loop, scenario.requests, scenario.aborts);
  told.totals = loop.totals();
  told.end = loop.now();
  const test::EngineRun untold = test::run_scenario(scenario, test::Twin::kStepping);
  test::expect_equal(untold, told);
  RC_CLASSIFY(follower.stored() > 0, "blocks came");
  RC_CLASSIFY(follower.removed() > 0, "blocks went");
}

}  // namespace
}  // namespace ridgeline
