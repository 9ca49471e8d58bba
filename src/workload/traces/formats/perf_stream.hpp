#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "workload/generate/client.hpp"
#include "workload/generate/law.hpp"
#include "workload/item_stream.hpp"

namespace ridgeline::workload {

/// A stage of inference-perf: by rate and duration, or by a number of requests or sessions and how
/// many of them run at once.
struct PerfStage {
  std::optional<double> rate = {};
  double duration = 0.0;
  std::int64_t requests = 0;
  std::int64_t concurrency = 0;
  std::int64_t sessions = 0;
};

/// data.shared_prefix: a list of prompts that every stage sends in turn, from its first one on. The
/// prompts of a group begin with its text.
struct PerfPrompts {
  std::int64_t groups = 10;
  std::int64_t per_group = 10;
  Law system = Law::constant(100.0);
  Law question = Law::constant(50.0);
  Law output = Law::constant(50.0);
  bool is_chat = false;  ///< A prompt's requests are rounds of one conversation.

  [[nodiscard]] std::int64_t size() const { return groups * per_group; }
};

/// What a configuration of inference-perf sends.
struct PerfPlan {
  /// How the times of a stage by rate are found: gaps that are drawn and scaled, the same within
  /// Poisson numbers of each second, evenly, or gaps that are drawn.
  enum class Times : std::uint8_t { kScaled, kBySecond, kEven, kPoisson };
  Times times = Times::kScaled;
  bool is_drawn_alike = false;  ///< Each stage draws the requests of the first one.
  double interval = 1.0;        ///< Seconds between the answers of a stage and the next one.
  std::vector<PerfStage> stages = {};
  ClientSpec spec = {};          ///< Requests that are drawn one by one.
  bool counts_requests = false;  ///< A stage ends in the middle of a conversation of `spec`.
  std::optional<PerfPrompts> prompts = {};
  /// The stages follow each other by the clock, whatever is unanswered.
  bool by_clock = false;
};

/// Its requests, stage after stage.
[[nodiscard]] std::unique_ptr<ItemStream> make_perf_stream(const PerfPlan& plan,
                                                           std::uint64_t seed);

}  // namespace ridgeline::workload
