#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/error.hpp"
#include "ridgeline/tree.hpp"

/// Ridgeline as a library: load a scenario, resolve it, run it, read the result.
///
/// Nothing here prints, reads the environment or ends the process. Problems are values: what a user
/// causes, and a check of the library's own that fails, which is ErrorCode::kInternal. Any number
/// of threads may call at once, each with objects of its own; const members of one object too.
namespace ridgeline {

namespace scenario {
struct LoadedScenario;
struct Resolved;
}  // namespace scenario

inline namespace v0 {

/// "0.1.0"
[[nodiscard]] RIDGELINE_EXPORTED std::string version();

/// A setting beside the document, which wins over it: "engine.block_size" and "32", as after a
/// flag.
struct Setting {
  std::string path;
  std::string text;
};

/// How far a run is.
struct Progress {
  double simulated_s = 0.0;
  std::int64_t done = 0;              ///< Requests that have ended.
  std::optional<std::int64_t> total;  ///< Requests in all, where that is known.
};

/// A request that has ended. Instants are picoseconds of simulated time; nothing where the request
/// did not come so far.
struct RequestEnd {
  std::int64_t id = 0;
  /// "finished", "length_capped", "rejected", "aborted", "unfinished", "failed", "no_such_model" or
  /// "expired".
  std::string outcome;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;  ///< Generated.
  std::int64_t cached_tokens = 0;  ///< Prompt tokens found in the prefix cache.
  std::int64_t preemptions = 0;
  std::int64_t arrival_ps = 0;
  std::optional<double> ttft_ms;  ///< On the client's clock, as the next two.
  std::optional<double> tpot_ms;
  std::optional<double> e2e_ms;
};

/// What a host hears of a run, and says to it, while it goes on: called on the thread of the run.
/// An exception that leaves one ends the run and becomes an error of the result.
struct Hooks {
  /// Whether to stop soon, with what there is; asked every few milliseconds.
  std::function<bool()> interrupted;
  /// At most 20 times a second.
  std::function<void(const Progress&)> progress;
  /// Every request, as it ends.
  std::function<void(const RequestEnd&)> request;
};

/// What a run gave.
class RIDGELINE_EXPORTED RunResult {
 public:
  RunResult(Tree tree, bool partial, bool answered)
      : tree_(std::move(tree)), partial_(partial), answered_(answered) {}

  /// {schema_version, run_info, config, summary, warnings, digest ...}: `ridgeline schema result`.
  [[nodiscard]] const Tree& tree() const { return tree_; }
  /// Interrupted: it covers what happened until then.
  [[nodiscard]] bool partial() const { return partial_; }
  /// False where there were requests and none got an answer.
  [[nodiscard]] bool answered() const { return answered_; }

 private:
  Tree tree_;
  bool partial_;
  bool answered_;
};

/// A scenario with every default filled and every name looked up.
class RIDGELINE_EXPORTED ResolvedScenario {
 public:
  explicit ResolvedScenario(std::shared_ptr<const scenario::Resolved> resolved);

  /// The whole scenario; loaded again, it gives the same run.
  [[nodiscard]] Expected<Tree> config() const;
  /// What `ridgeline explain` says: memory, limits, where each value came from.
  [[nodiscard]] Expected<Tree> explanation() const;
  /// Simulates it. Fails where its workload cannot be read, or passes the range of simulated time.
  [[nodiscard]] Expected<RunResult> run(const Hooks& hooks = {}) const;

 private:
  std::shared_ptr<const scenario::Resolved> resolved_;
};

/// The work of one step, as the flags of `ridgeline step` give it.
struct StepWork {
  std::string decode;   ///< "700x32": KV lengths, with how many sequences have each.
  std::string prefill;  ///< "0+2048": tokens before and now, of each prompt chunk.
  bool samples = true;  ///< Whether the chunks end their prompts.
  std::vector<std::string> compare = {};  ///< Step-time models side by side, instead of its own.
};

/// What a scenario is loaded for decides which parts must be there.
enum class Purpose {
  kRun,     ///< A workload is required.
  kReplay,  ///< A workload with a trace is.
  kLook,    ///< Network and GPU are enough, for explanations and steps.
};

/// A scenario as its author states it.
class RIDGELINE_EXPORTED Scenario {
 public:
  /// From a JSON document; an empty text is an empty document. Every problem of it is an error.
  [[nodiscard]] static Expected<Scenario> from_json(std::string_view json,
                                                    const std::vector<Setting>& settings = {},
                                                    Purpose purpose = Purpose::kRun);
  /// From a file: JSON by its name, else YAML.
  [[nodiscard]] static Expected<Scenario> from_file(const std::string& path,
                                                    const std::vector<Setting>& settings = {},
                                                    Purpose purpose = Purpose::kRun);
  explicit Scenario(std::shared_ptr<const scenario::LoadedScenario> loaded);

  /// Looks up network, GPU and engine. A network that does not fit is ErrorCode::kInfeasible.
  [[nodiscard]] Expected<ResolvedScenario> resolve() const;
  /// Prices one step of the engine: `ridgeline schema step`.
  [[nodiscard]] Expected<Tree> step(const StepWork& work) const;

 private:
  std::shared_ptr<const scenario::LoadedScenario> loaded_;
};

/// What there is to choose from: "models", "gpus", "latency", "engines", "traces", "presets",
/// "formats", "options". [{name, summary ...}, ...]
[[nodiscard]] RIDGELINE_EXPORTED Expected<Tree> list(const std::string& kind);

/// A JSON Schema by its name: "scenario", "result", "step", ...
[[nodiscard]] RIDGELINE_EXPORTED Expected<std::string> schema(const std::string& name);

}  // namespace v0
}  // namespace ridgeline
