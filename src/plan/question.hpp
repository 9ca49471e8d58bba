#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "plan/aim.hpp"
#include "plan/classes.hpp"
#include "plan/cost.hpp"
#include "plan/limits.hpp"
#include "plan/slo.hpp"
#include "plan/target.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::plan {

/// Prefill and decode on instances of their own: so many of each are one replica.
struct Split {
  std::int64_t prefill = 1;
  std::int64_t decode = 1;

  friend bool operator==(const Split&, const Split&) = default;
};

/// How many requests each stage simulates, as a multiple.
enum class Effort : std::uint8_t { kQuick, kNormal, kFull };
inline constexpr std::array<std::string_view, 3> kEffortNames = {"quick", "normal", "full"};
[[nodiscard]] double multiple_of(Effort effort);
/// Requests that a search simulates before it says what is best so far: about a minute's on two
/// cores at the normal effort.
[[nodiscard]] std::int64_t most_requests(Effort effort);

/// A question, read: a scenario, what of it is searched, what must hold, and what is to be small.
struct Question {
  document::Node base;  ///< The scenario's document, without the blocks of a plan.
  std::vector<scenario::Override> overrides;  ///< Laid over every point.
  document::Node axes;                        ///< As sweep::Axes::read() takes it.
  bool seeks_pipelines = true;  ///< Pipelines are tried where no tensor parallelism fits.
  std::vector<std::optional<Split>> splits = {std::nullopt};  ///< Nothing: no disaggregation.
  std::vector<std::int64_t> replicas = {};  ///< Ascending; empty: as few as serve.
  bool states_requests = false;             ///< The workload says how many, or for how long.
  std::string assumed_router = {};          ///< Router of several replicas; empty: what is stated.
  Slo slo;
  double confidence = 0.9;
  Limits limits;
  std::vector<Objective> objectives;  ///< The first is the one that the answer is picked by.
  CostWords cost;
  bool accept_bounds = false;
  std::vector<RequestClass> classes = {};  ///< For a mix of GPUs; empty: no mix is asked for.
  /// Set: most output tokens per second of the GPUs that `limits` allow, at the most of this load
  /// within the targets. Not set: least of the objectives for the load that is stated.
  std::optional<LoadToFind> most_of = {};
  std::int64_t top_n = 5;
  Effort effort = Effort::kNormal;
  core::Warnings warnings = {};
  std::vector<hardware::GpuSpec> gpus = {};  ///< That are asked about.
  std::vector<std::string> engines = {};  ///< Engines that are asked about: "vllm@0.15", "sglang".
  document::Node stated;  ///< What was asked, as `config.question` of a result repeats it.
};

/// What a file and flags say.
struct QuestionWords {
  std::optional<std::string> file = {};
  std::optional<document::Node> document = {};     ///< In place of a file.
  std::vector<scenario::Override> overrides = {};  ///< Lists by commas are searched.
  std::vector<std::string> axes = {};              ///< `--axis KEY=V,V`, beside the space.
  std::optional<std::string> objective = {};       ///< Several by commas.
  std::optional<std::string> maximize = {};        ///< "throughput"
  std::optional<std::string> slo = {};             ///< A preset.
  std::optional<std::string> replicas = {};
  std::optional<std::string> prices = {};
  std::optional<std::string> effort = {};
  std::optional<std::string> max_gpus = {};
  std::optional<std::string> top_n = {};
  std::optional<std::string> confidence = {};
  bool accept_bounds = false;
  /// Routing policies that may be stated, the one that is taken where none is first; empty: any.
  std::vector<std::string> routers = {};
  std::string routers_of = {};  ///< Whose they are: "vllm, kubernetes"
};

/// Reads a question. All problems are noted at once: unknown keys and names, lists outside `space`,
/// targets without unit, none at all, objectives without their input.
[[nodiscard]] core::Result<Question> read_question(const QuestionWords& words);

}  // namespace ridgeline::plan
