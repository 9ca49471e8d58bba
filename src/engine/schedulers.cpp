#include "engine/schedulers.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>

#include "core/check.hpp"
#include "engine/engine.hpp"
#include "engine/loop/step_loop.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/vllm/fast/fast_engine.hpp"
#include "engine/vllm/plain/scheduler.hpp"

namespace ridgeline::engine {
namespace {

template <class Policy>
std::unique_ptr<StepScheduler> make_policy(const EngineOptions& options) {
  return std::make_unique<Policy>(options);
}

constexpr auto kSchedulers = std::to_array<SchedulerEntry>({
    {.name = "vllm",
     .summary = "vLLM V1: first come first served or by priority, paged KV blocks, preemption",
     .make = make_policy<vllm::plain::Scheduler>,
     .make_fast = vllm::fast::make_engine},
});

const SchedulerEntry& entry_of(const EngineOptions& options) {
  const SchedulerEntry* const entry = find_scheduler(kSchedulers, options.scheduler);
  RIDGELINE_CHECK(entry != nullptr, "the options name a scheduler of the registry");
  return *entry;
}

}  // namespace

std::span<const SchedulerEntry> schedulers() {
  return kSchedulers;
}

const SchedulerEntry* find_scheduler(std::span<const SchedulerEntry> table, std::string_view name) {
  const auto entry = std::ranges::find(table, name, &SchedulerEntry::name);
  return entry == table.end() ? nullptr : &*entry;
}

std::unique_ptr<Engine> make_step_engine(const SchedulerEntry& entry,
                                         const EngineInputs& inputs,
                                         bool jump) {
  return std::make_unique<StepLoop>(inputs, entry.make(inputs.options), jump);
}

std::unique_ptr<Engine> make_reference_engine(const EngineInputs& inputs) {
  return make_step_engine(entry_of(inputs.options), inputs, false);
}

std::unique_ptr<Engine> make_fast_engine(const EngineInputs& inputs, bool jump) {
  const SchedulerEntry& entry = entry_of(inputs.options);
  if (entry.make_fast != nullptr) {
    if (auto engine = entry.make_fast(inputs, jump); engine != nullptr) {
      return engine;
    }
  }
  return make_step_engine(entry, inputs, jump);
}

}  // namespace ridgeline::engine
