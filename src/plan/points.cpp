#include "plan/points.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/math.hpp"
#include "core/parallel.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "metrics/slo.hpp"
#include "plan/answer.hpp"
#include "plan/bounds.hpp"
#include "plan/demand.hpp"
#include "plan/fluid.hpp"
#include "plan/question.hpp"
#include "plan/space.hpp"
#include "plan/sure_load.hpp"
#include "plan/target.hpp"
#include "scenario/accuracy_question.hpp"
#include "scenario/resolve.hpp"
#include "scenario/sections/cluster.hpp"

namespace ridgeline::plan {
namespace {

/// Points, spread over the space, that are tried first for one that can be resolved.
constexpr std::int64_t kTriedPoints = 64;
/// Replicas without any limit: instances behind one gateway.
constexpr std::int64_t kMostInstances = scenario::kMaxInstances;

/// What looking at one point gave.
struct Look {
  std::string id;
  NetworkAndGpu network_and_gpu;
  core::Errors errors;
  std::string refusal;  ///< What refuses the point, where that is no error of the deployment's own.
  PlanCandidate candidate;
  std::optional<BoundProof> proof;
  std::vector<BoundProof> least;  ///< By target; of points with a proof.
  OpenPoint open;
};

/// Prompts that the engine would reject: too many for a 99th percentile are an error, fewer a
/// warning.
std::optional<core::Error> refused_prompts(const scenario::Deployment& deployment,
                                           const Demand& demand,
                                           core::Warnings& warnings) {
  constexpr double kMostRefused = 0.01;
  const std::int64_t longest = deployment.engine.max_model_len.value();
  const std::int64_t refused =
      std::ranges::count_if(demand.by_input, [&](const auto& one) { return one.input > longest; });
  if (refused == 0) {
    return std::nullopt;
  }
  const auto share = core::real(refused) / core::real(std::ssize(demand.by_input));
  std::string message = fmt::format(
      "would reject {:.3g} % of the prompts: longer than max_model_len {}", 100.0 * share, longest);
  if (share > kMostRefused) {
    return core::Error{.code = core::ErrorCode::kInfeasible,
                       .field = "engine.max_model_len",
                       .message = std::move(message)};
  }
  warnings.push_back({.code = "W-rejected", .message = "the engine " + message, .hint = {}});
  return std::nullopt;
}

Look look_at(const Question& question,
             const Space& space,
             std::int64_t ordinal,
             const Demand& demand) {
  Look look;
  const SpacePoint point = space.point(ordinal);
  auto found = space.resolve(point);
  PlanCandidate& candidate = look.candidate;
  candidate.ordinal = ordinal;
  look.network_and_gpu = network_and_gpu(point);
  candidate.split = point.split;
  candidate.settings = point.settings;
  if (!found) {
    look.errors = std::move(found).error();
    return look;
  }
  const scenario::Resolved& resolved = found->resolved;
  const scenario::Deployment& deployment = *resolved.deployment;
  candidate.warnings = resolved.warnings;
  if (auto refused = refused_prompts(deployment, demand, candidate.warnings)) {
    look.refusal = refused->message;
    look.errors = {std::move(*refused)};
    return look;
  }
  look.id = found->id;
  candidate.id = found->id;
  candidate.label = label_of(point, resolved);
  candidate.model = deployment.section.model;
  candidate.gpu = deployment.gpu.name;
  candidate.gpus_per_replica = gpus_of(resolved, point.split);
  candidate.engine = deployment.section.engine.version;
  candidate.bound = scenario::bound_text(scenario::why_bound(resolved));
  candidate.expected_errors = scenario::expected_errors(deployment, demand.clients.has_value());
  const FluidInputs inputs{
      .deployment = deployment, .model = *deployment.latency, .demand = demand};
  const Targets& targets = question.slo.targets;
  const Bounds bounds = bounds_of(inputs, targets);
  const std::int64_t parts = point.split ? point.split->prefill + point.split->decode : 1;
  const auto scale = core::real(std::max<std::int64_t>(1, resolved.workload.ranks) * parts);
  candidate.most_rate = bounds.most_rate * scale;
  if (bounds.proof) {
    look.proof = bounds.proof;
    for (const Target& target : targets) {
      BoundProof worst;
      for (std::size_t m = 0; m < metrics::kNumMetrics; ++m) {
        if (target.limits[m]) {
          BoundProof proof = least_of(inputs, target, static_cast<metrics::Metric>(m));
          if (proof.at_least >= worst.at_least) {
            worst = std::move(proof);
          }
        }
      }
      look.least.push_back(std::move(worst));
    }
    return look;
  }
  const double most = question.limits.max_utilisation;
  look.open.range = load_range(inputs, targets, scale, most);
  candidate.fluid_capacity = look.open.range.guess;
  look.open.doubt = latency_doubt(candidate.expected_errors);
  const Targets lower = tightened(targets, look.open.doubt, question.confidence);
  if (look.open.doubt.is_known() && !bounds_of(inputs, lower).proof) {
    look.open.sure_range = load_range(inputs, lower, scale, most);
  }
  return look;
}

/// Rejections by reason, in the order in which each first occurs.
class Rejections {
 public:
  void add(const std::string& reason, const std::string& example, const std::string& nearest) {
    const auto [at, is_new] = places_.try_emplace(reason, found_.size());
    if (is_new) {
      found_.push_back({.reason = reason, .count = 0, .example = example, .nearest = nearest});
    }
    ++found_[at->second].count;
  }
  [[nodiscard]] std::vector<Rejection> take() { return std::move(found_); }

 private:
  std::map<std::string, std::size_t> places_;
  std::vector<Rejection> found_;
};

std::string settings_text(const PlanCandidate& candidate) {
  std::vector<std::string> words;
  for (const auto& [path, value] : candidate.settings) {
    if (value != "null") {
      const auto dot = path.rfind('.');
      words.push_back(
          fmt::format("{} {}", path.substr(dot == std::string::npos ? 0 : dot + 1), value));
    }
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Sorts what was seen of each point.
class Sorter {
 public:
  Sorter(const Question& question, Points& out) : question_(question), out_(out) {}

  void add(Look look) {
    if (!look.errors.empty()) {
      const core::Error& error = look.errors.front();
      const bool infeasible = error.code == core::ErrorCode::kInfeasible;
      rejections_.add(!look.refusal.empty() ? look.refusal
                      : infeasible          ? std::string(Rejection::kDoesNotFit)
                                            : fmt::format("refused: {}", error.field),
                      fmt::format("{}: {}", settings_text(look.candidate), error.message),
                      error.hint);
      return;
    }
    if (!ids_.insert(look.id).second) {
      rejections_.add("the same as another point", look.candidate.label, "");
      return;
    }
    const PlanCandidate& found = look.candidate;
    fits_.insert(look.network_and_gpu);
    if (most_replicas(question_.limits, found.gpu, found.gpus_per_replica) < 1) {
      rejections_.add("more GPUs than the limits allow",
                      fmt::format("{} takes {} {}", found.label, found.gpus_per_replica, found.gpu),
                      "");
      note_beyond_limits(look);
      return;
    }
    note_engine(found.engine);
    if (out_.candidates.empty()) {
      out_.warnings = found.warnings;
    } else {
      std::erase_if(out_.warnings, [&](const core::Warning& warning) {
        return std::ranges::find(found.warnings, warning.message, &core::Warning::message) ==
               found.warnings.end();
      });
    }
    const std::size_t at = out_.candidates.size();
    if (look.proof) {
      note_misses(look, at);
      look.candidate.stage = Stage::kBound;
      look.candidate.binding = look.proof->target;
      look.candidate.dropped_stage = "bound";
      look.candidate.dropped_reason = look.proof->text;
    } else {
      look.candidate.stage = Stage::kFluid;
      look.open.candidate = at;
      out_.open.push_back(std::move(look.open));
    }
    out_.candidates.push_back(std::move(look.candidate));
  }

  [[nodiscard]] const std::set<NetworkAndGpu>& fits() const { return fits_; }
  void finish() { out_.rejected = rejections_.take(); }

 private:
  /// The point that comes nearest to each target that it misses, the others met.
  void note_misses(const Look& look, std::size_t at) {
    const Targets& targets = question_.slo.targets;
    std::optional<std::size_t> missed;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const core::Duration limit = limit_of(targets[i]);
      if (look.least[i].at_least > limit) {
        if (missed) {
          return;  // Two would have to give way.
        }
        missed = i;
      }
    }
    if (!missed) {
      return;
    }
    const BoundProof& least = look.least[*missed];
    const auto known = std::ranges::find(out_.misses, *missed, &NearestMiss::target);
    NearestMiss miss{
        .target = *missed, .limit = least.at_least, .candidate = at, .proof = least.text};
    if (known == out_.misses.end()) {
      out_.misses.push_back(std::move(miss));
    } else if (miss.limit < known->limit) {
      *known = std::move(miss);
    }
  }

  void note_engine(const std::string& engine) {
    if (engines_.insert(engine).second) {
      out_.engine += (out_.engine.empty() ? "" : ", ") + engine;
    }
  }

  void note_beyond_limits(const Look& look) {
    const PlanCandidate& found = look.candidate;
    const bool is_bounded = look.proof.has_value();
    const auto& known = out_.beyond_limits;
    if (!known ||
        std::pair(is_bounded, found.gpus_per_replica) < std::pair(known->is_bounded, known->gpus)) {
      out_.beyond_limits = {.label = found.label,
                            .gpu = found.gpu,
                            .gpus = found.gpus_per_replica,
                            .is_bounded = is_bounded};
    }
  }

  static core::Duration limit_of(const Target& target) {
    core::Duration limit = core::Duration::max();
    for (const auto& one : target.limits) {
      if (one) {
        limit = std::min(limit, *one);
      }
    }
    return limit;
  }

  const Question& question_;
  Points& out_;
  Rejections rejections_;
  std::set<std::string> ids_;
  std::set<NetworkAndGpu> fits_;
  std::set<std::string> engines_;
};

/// What the workload asks, by a point from `from` on that can be resolved: some spread over all of
/// them are tried first. Nothing where there is none; what is wrong with the first whose settings
/// make no sense stays in `usage`.
core::Result<std::optional<Demand>> find_demand(const Space& space,
                                                std::int64_t from,
                                                core::Errors& usage) {
  const std::int64_t points = space.size() - from;
  const std::int64_t tries = std::min(kTriedPoints, points);
  for (std::int64_t i = 0; i < tries + (tries < points ? points : 0); ++i) {
    auto found = space.resolve(space.point(from + (i < tries ? i * points / tries : i - tries)));
    if (found) {
      auto demand = demand_of(found->resolved);
      if (!demand) {
        return core::fail(std::move(demand).error());
      }
      return std::optional(std::move(*demand));
    }
    const bool infeasible = std::ranges::any_of(found.error(), [](const core::Error& error) {
      return error.code == core::ErrorCode::kInfeasible;
    });
    if (usage.empty() && !infeasible) {
      usage = std::move(found).error();
    }
  }
  return std::nullopt;
}

}  // namespace

std::int64_t most_replicas(const Limits& limits,
                           const std::string& gpu,
                           std::int64_t gpus_per_replica) {
  std::int64_t most = kMostInstances;
  if (limits.max_gpus) {
    most = std::min(most, *limits.max_gpus / gpus_per_replica);
  }
  for (const auto& [name, count] : limits.stock) {
    if (name == gpu) {
      most = std::min(most, count / gpus_per_replica);
    }
  }
  return most;
}

core::Result<Points> look_at_points(
    const Question& question,
    Space& space,
    std::int64_t jobs,
    const std::function<void(std::int64_t done, std::int64_t all)>& progress,
    const std::atomic<bool>& interrupt) {
  Points out;
  Sorter sorter(question, out);
  core::Errors usage;
  bool has_demand = false;
  std::int64_t from = 0;
  const auto look_from = [&]() -> core::Result<void> {
    if (!has_demand) {
      auto demand = find_demand(space, from, usage);
      if (!demand) {
        return core::fail(std::move(demand).error());
      }
      has_demand = demand->has_value();
      if (has_demand) {
        out.demand = std::move(**demand);
      }
    }
    const std::int64_t all = space.size();
    std::vector<Look> looks(static_cast<std::size_t>(all - from));
    std::mutex mutex;
    std::int64_t done = 0;
    core::for_each_job(looks.size(), jobs, [&](std::size_t i) {
      if (interrupt) {
        return;
      }
      looks[i] = look_at(question, space, from + static_cast<std::int64_t>(i), out.demand);
      const std::lock_guard lock(mutex);
      ++done;
      if (progress) {
        progress(done, all - from);
      }
    });
    out.interrupted = interrupt;
    for (std::size_t i = 0; i < looks.size() && !out.interrupted; ++i) {
      sorter.add(std::move(looks[i]));
    }
    from = all;
    return {};
  };
  if (auto looked = look_from(); !looked) {
    return core::fail(std::move(looked).error());
  }
  // Settings that no point can have. Of pipelines, which the question does not state, they are one
  // more reason why nothing fits.
  const bool is_usage = !has_demand && !usage.empty();
  if (!is_usage && question.seeks_pipelines && !out.interrupted) {
    // Networks on GPUs of which no tensor parallelism fits.
    std::map<NetworkAndGpu, std::int64_t> widest;
    for (std::int64_t i = 0; i < space.size(); ++i) {
      const SpacePoint point = space.point(i);
      std::int64_t& known = widest.try_emplace(network_and_gpu(point), 1).first->second;
      known = std::max(known, tensor_parallel_size(point));
    }
    const std::int64_t before = space.size();
    for (const auto& [pair, size] : widest) {
      if (!sorter.fits().contains(pair)) {
        space.add_pipelines(pair, size);
      }
    }
    if (space.size() > before) {
      if (auto looked = look_from(); !looked) {
        return core::fail(std::move(looked).error());
      }
    }
  }
  if (is_usage && !out.interrupted) {
    return core::fail(std::move(usage));
  }
  sorter.finish();
  out.points = space.size();
  return out;
}

}  // namespace ridgeline::plan
