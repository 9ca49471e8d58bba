#include "engine/schedulers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/reader.hpp"
#include "engine/engine.hpp"
#include "engine/engine_plan.hpp"
#include "engine/loop/rank_agreement.hpp"
#include "engine/loop/step_loop.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "engine/sglang/attention_dp.hpp"
#include "engine/sglang/scheduler.hpp"
#include "engine/sglang/settings.hpp"
#include "engine/tensorrt_llm/attention_dp.hpp"
#include "engine/tensorrt_llm/options.hpp"
#include "engine/tensorrt_llm/scheduler.hpp"
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
     .make_fast = vllm::fast::make_engine,
     // _has_global_unfinished_reqs (vllm/v1/engine/core.py)
     .ranks_agree_every = 32},
    {.name = "sglang",
     .summary =
         "SGLang: prefill steps first, radix cache, admission by expected outputs, retraction",
     .make = make_policy<sglang::Scheduler>,
     .make_agreement = sglang::make_agreement,
     .own = &sglang::kSettings},
    {.name = "tensorrt-llm",
     .summary = "TensorRT-LLM's PyTorch executor: blocks to the last token, prompts beside decodes",
     .make = make_policy<tensorrt_llm::Scheduler>,
     .make_agreement = tensorrt_llm::make_agreement,
     .own = &tensorrt_llm::kSettings},
});

}  // namespace

const SchedulerEntry& scheduler_of(const EngineOptions& options) {
  const SchedulerEntry* const entry = find_scheduler(kSchedulers, options.scheduler);
  RIDGELINE_CHECK(entry != nullptr, "the options name a scheduler of the registry");
  return *entry;
}

namespace {

using VersionNumbers = std::vector<std::int64_t>;

/// "0.5.5" as numbers, which compare as versions do; none of a name such as "main". What stands
/// behind the numbers ("0.5.5.post1", "1.2rc3") is left out.
VersionNumbers version_numbers(std::string_view text) {
  VersionNumbers numbers;
  while (!text.empty()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
    if (error != std::errc()) {
      break;
    }
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
    if (!text.starts_with('.')) {
      break;
    }
    text.remove_prefix(1);
  }
  return numbers;
}

/// Whether a version is a profile's own: it has the profile's numbers, and perhaps more of a patch.
bool is_own(const VersionNumbers& profile, const VersionNumbers& version) {
  return !profile.empty() && std::ranges::mismatch(profile, version).in1 == profile.end();
}

EngineChoice::Match match_of(std::string_view named,
                             std::string_view taken,
                             std::string_view newest) {
  const VersionNumbers version = version_numbers(named);
  if (named == taken || is_own(version_numbers(taken), version)) {
    return EngineChoice::Match::kOwn;
  }
  const VersionNumbers last = version_numbers(newest);
  return !last.empty() && version > last ? EngineChoice::Match::kBeyond
                                         : EngineChoice::Match::kOlder;
}

/// The version named: by its name, or the greatest not above a number.
const EngineVersion* find_version(std::span<const EngineVersion> versions, std::string_view named) {
  const auto same = std::ranges::find(versions, named, &EngineVersion::name);
  if (same != versions.end()) {
    return &*same;
  }
  const VersionNumbers wanted = version_numbers(named);
  const EngineVersion* found = nullptr;
  for (const EngineVersion& version : versions) {
    if (version_numbers(version.since) <= wanted) {
      found = &version;
    }
  }
  return found;
}

core::Error unknown_engine(std::string_view version) {
  std::vector<std::string> names;
  for (const EngineName& known : engine_names()) {
    names.push_back(known.name);
  }
  const auto near = document::nearest(version, names);
  return {
      .field = "engine.version",
      .message = fmt::format(
          "\"{}\" is not an engine version, expected one of {}", version, fmt::join(names, ", ")),
      .hint = near ? fmt::format("did you mean '{}'?", *near) : ""};
}

}  // namespace

core::Result<EngineChoice> find_engine(std::string_view version) {
  const std::string_view name = version.substr(0, version.find('@'));
  const SchedulerEntry* const entry = find_scheduler(kSchedulers, name);
  if (entry == nullptr || entry->own == nullptr) {
    const auto profile = find_profile(version);
    if (!profile) {
      return core::fail(unknown_engine(version));
    }
    const auto number = [](std::string_view whole) { return whole.substr(whole.find('@') + 1); };
    return EngineChoice{
        .engine = kSchedulers.data(),
        .version = {},
        .profile = profile->name,
        .match = match_of(number(version), number(profile->name), number(profiles().back().name))};
  }
  const std::span<const EngineVersion> versions = entry->own->versions;
  if (name.size() == version.size()) {
    return EngineChoice{.engine = entry,
                        .version = versions.back().name,
                        .profile = fmt::format("{}@{}", name, versions.back().name)};
  }
  const std::string_view named = version.substr(name.size() + 1);
  const EngineVersion* const found = find_version(versions, named);
  if (found == nullptr) {
    return core::fail(unknown_engine(version));
  }
  return EngineChoice{.engine = entry,
                      .version = found->name,
                      .profile = fmt::format("{}@{}", name, found->name),
                      .match = match_of(named, found->name, versions.back().name)};
}

std::vector<EngineName> engine_names() {
  std::vector<EngineName> names;
  for (const Profile& profile : profiles()) {
    names.push_back({.name = profile.name,
                     .summary = fmt::format("{}", fmt::join(distinctions(profile), "; "))});
  }
  for (const SchedulerEntry& entry : kSchedulers) {
    if (entry.own == nullptr) {
      continue;
    }
    for (const EngineVersion& version : entry.own->versions) {
      names.push_back({.name = fmt::format("{}@{}", entry.name, version.name),
                       .summary = std::string(version.summary)});
    }
  }
  return names;
}

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

std::unique_ptr<RankAgreement> make_rank_agreement(const EngineOptions& options) {
  const SchedulerEntry& entry = scheduler_of(options);
  return entry.make_agreement == nullptr ? nullptr : entry.make_agreement(options);
}

std::unique_ptr<Engine> make_reference_engine(const EngineInputs& inputs) {
  return make_step_engine(scheduler_of(inputs.options), inputs, false);
}

std::unique_ptr<Engine> make_fast_engine(const EngineInputs& inputs, bool jump) {
  const SchedulerEntry& entry = scheduler_of(inputs.options);
  if (entry.make_fast != nullptr) {
    if (auto engine = entry.make_fast(inputs, jump); engine != nullptr) {
      return engine;
    }
  }
  return make_step_engine(entry, inputs, jump);
}

}  // namespace ridgeline::engine
