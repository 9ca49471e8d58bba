#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "plan/engines.hpp"
#include "plan/question.hpp"
#include "scenario/resolve.hpp"
#include "sweep/axes.hpp"

namespace ridgeline::plan {

/// How far answers of one length are taken apart in a closed loop, as a share, either way: without,
/// the clients of a simulation march in step for ever, all their prompts at once. A convention: no
/// record says by how much those of real servers differ.
inline constexpr double kOutOfStep = 0.02;

/// One point of a space: a deployment that might serve.
struct SpacePoint {
  std::int64_t ordinal = 0;
  std::size_t part = 0;  ///< Part of the space: the settings that an engine has.
  std::optional<Split> split;
  document::Node scenario;  ///< Without the number of its replicas.
  std::vector<std::pair<std::string, std::string>> settings;  ///< Path and value of each axis.
};

/// A point's part of the space, and what of its values says its network and its GPU; empty where
/// the space has one alone.
using NetworkAndGpu = std::tuple<std::size_t, std::string, std::string>;
[[nodiscard]] NetworkAndGpu network_and_gpu(const SpacePoint& point);
/// As the point's values state it; 1 where the space does not vary it.
[[nodiscard]] std::int64_t tensor_parallel_size(const SpacePoint& point);

/// A point made runnable.
struct ResolvedSpacePoint {
  std::string id;
  scenario::Resolved resolved;  ///< One replica: alone, or behind a gateway where it has parts.
};

/// All combinations of a question, in canonical order: engines slowest where there are several,
/// then disaggregation, then the axes as they are stated, the last one fastest; pipelines last.
class Space {
 public:
  /// Fails with all problems of the axes.
  [[nodiscard]] static core::Result<Space> read(const Question& question);

  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] SpacePoint point(std::int64_t ordinal) const;
  /// The point's scenario read and resolved, with that many replicas. A network that does not fit
  /// is infeasible, settings that contradict each other are refused.
  [[nodiscard]] core::Result<ResolvedSpacePoint> resolve(const SpacePoint& point,
                                                         std::int64_t replicas = 1) const;
  /// Adds pipelines of two and four stages for a network on a GPU, each stage that wide: where no
  /// width fits by itself. Points come behind the others.
  void add_pipelines(const NetworkAndGpu& pair, std::int64_t widest);

 private:
  explicit Space(const Question& question) : question_(&question) {}

  /// Combinations of what one engine has.
  struct Part {
    EngineQuestion asked;
    sweep::Axes axes;
    [[nodiscard]] std::int64_t size() const { return axes.size(); }
  };
  const Question* question_;
  std::vector<Part> parts_;
};

/// Deployments of one replica: one, or those of its prefill and decode instances.
[[nodiscard]] std::int64_t instances_of(const std::optional<Split>& split);
/// GPUs of one replica.
[[nodiscard]] std::int64_t gpus_of(const scenario::Resolved& resolved,
                                   const std::optional<Split>& split);

/// "h200 TP2 fp8 mbt 8192": what tells a point from its neighbours. `model` where networks vary.
[[nodiscard]] std::string label_of(const SpacePoint& point, const scenario::Resolved& resolved);

}  // namespace ridgeline::plan
