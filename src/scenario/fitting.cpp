#include "scenario/fitting.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/units.hpp"
#include "engine/capacity.hpp"
#include "model/catalogue.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::scenario {

namespace {

/// Share of the memory above which published deployments do not go.
constexpr double kMostUtilization = 0.95;
/// Limits below vLLM's defaults that deployments choose: requests at once, tokens of a step.
constexpr std::int64_t kFewestSeqs = 16;
constexpr std::int64_t kFewestBatchedTokens = 2048;
constexpr std::int64_t kMostStages = 16;

bool fits(const FittingQuestion& question) {
  const engine::MemoryOptions& options = question.options;
  if (!model::check_sharding(question.network, options.sharding)) {
    return false;
  }
  const engine::MemoryPlan plan = engine::plan_memory(question.network, question.gpu, options);
  return engine::has_room_for_states(plan, plan.num_gpu_blocks, options) &&
         engine::longest_request(
             plan, plan.num_gpu_blocks, options.max_num_batched_tokens, question.tokens) >=
             question.tokens;
}

/// `value`, and the powers of two below it down to `lowest`.
std::vector<std::int64_t> cuts(std::int64_t value, std::int64_t lowest) {
  std::vector<std::int64_t> all = {value};
  std::int64_t power = 1;
  while (power * 2 < value) {
    power *= 2;
  }
  for (; power >= lowest && power < value; power /= 2) {
    all.push_back(power);
  }
  return all;
}

std::optional<std::string> sampler_that_fits(const FittingQuestion& question) {
  FittingQuestion candidate = question;
  candidate.options.profile.sorts_to_sample = false;
  return question.options.profile.sorts_to_sample && fits(candidate)
             ? std::optional<std::string>("--sampler flashinfer")
             : std::nullopt;
}

std::optional<std::string> settings_that_fit(const FittingQuestion& question) {
  const engine::MemoryOptions& own = question.options;
  std::vector<double> shares = {own.gpu_memory_utilization};
  if (own.gpu_memory_utilization < kMostUtilization) {
    shares.push_back(kMostUtilization);
  }
  const auto seqs = cuts(own.max_num_seqs, kFewestSeqs);
  const auto tokens = cuts(own.max_num_batched_tokens.value(), kFewestBatchedTokens);
  std::optional<std::string> best;
  std::pair<int, std::size_t> least{std::numeric_limits<int>::max(), 0};
  for (std::size_t share = 0; share < shares.size(); ++share) {
    for (std::size_t rows = 0; rows < seqs.size(); ++rows) {
      for (std::size_t batch = 0; batch < tokens.size(); ++batch) {
        const int changed =
            static_cast<int>(share > 0) + static_cast<int>(rows > 0) + static_cast<int>(batch > 0);
        const std::pair cost{changed, share + rows + batch};
        if (changed == 0 || seqs[rows] > tokens[batch] || cost >= least) {
          continue;
        }
        FittingQuestion candidate = question;
        candidate.options.gpu_memory_utilization = shares[share];
        candidate.options.max_num_seqs = seqs[rows];
        candidate.options.max_num_batched_tokens = core::Tokens(tokens[batch]);
        if (fits(candidate)) {
          least = cost;
          best = fmt::format(
                     "{}{}{}",
                     batch > 0 ? fmt::format(" --max-num-batched-tokens {}", tokens[batch]) : "",
                     rows > 0 ? fmt::format(" --max-num-seqs {}", seqs[rows]) : "",
                     share > 0 ? fmt::format(" --gpu-memory-utilization {}", shares[share]) : "")
                     .substr(1);
        }
      }
    }
  }
  return best;
}

std::optional<std::string> cut_that_fits(const FittingQuestion& question) {
  const model::Sharding& own = question.options.sharding;
  std::optional<std::string> best;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t stages = own.pipeline_parallel_size; stages <= kMostStages; stages *= 2) {
    for (std::int64_t ranks = 1; ranks <= question.gpu.gpus_per_node; ranks *= 2) {
      FittingQuestion candidate = question;
      model::Sharding& cut = candidate.options.sharding;
      cut.tensor_parallel_size = ranks;
      cut.pipeline_parallel_size = stages;
      if (cut.gpus() < fewest && fits(candidate)) {
        fewest = cut.gpus();
        best = fmt::format("--tensor-parallel-size {}", ranks);
        if (stages != own.pipeline_parallel_size) {
          *best += fmt::format(" --pipeline-parallel-size {}", stages);
        }
        if (!hardware::knows_link(question.gpu, cut.gpus())) {
          *best += fmt::format(
              " and --set hardware.network_bandwidth=RATE (not known of {}, whose nodes have {})",
              question.gpu.name,
              question.gpu.gpus_per_node);
        }
      }
    }
    if (best) {
      break;  // A cut within a node comes before a longer pipeline.
    }
  }
  return best;
}

/// The layers without their formats, equal neighbours together: what two checkpoints of one network
/// share.
std::vector<model::LayerGroup> shapes(const model::ModelSpec& network) {
  std::vector<model::LayerGroup> all;
  for (model::LayerGroup group : network.layers) {
    group.precision.reset();
    const std::int64_t count = group.count;
    group.count = all.empty() ? count : all.back().count;
    if (!all.empty() && all.back() == group) {
      all.back().count += count;
    } else {
      group.count = count;
      all.push_back(group);
    }
  }
  return all;
}

struct NamedNetwork {
  std::string name;
  model::ModelSpec network;
};

/// The catalogue's networks of that width. Kept, since a plan asks again for every point that does
/// not fit: reading them was two fifths of what a refused plan took.
const std::vector<NamedNetwork>& networks_of_width(std::int64_t hidden_size) {
  static std::mutex mutex;
  static std::map<std::int64_t, std::vector<NamedNetwork>> known;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace(hidden_size);
  if (is_new) {
    // As the catalogue's files spell it.
    const std::string width = fmt::format("\"hidden_size\": {}", hidden_size);
    for (const std::string& name : model::catalogue_names_with(width)) {
      auto network = model::find_model(name);
      if (network && network->hidden_size == hidden_size) {
        at->second.push_back({.name = name, .network = std::move(*network)});
      }
    }
  }
  return at->second;  // Never changes again, wherever the map puts others.
}

/// The catalogue's checkpoint of the same network, vision tower included, that loses the least, or
/// what vLLM quantises by itself while it loads 16-bit weights.
std::optional<std::string> format_that_fits(const FittingQuestion& question) {
  const model::ModelSpec& own = question.network;
  const auto layers = shapes(own);
  std::optional<std::string> best;
  core::Bytes heaviest;
  for (const auto& [name, other] : networks_of_width(own.hidden_size)) {
    if (other.vocab_size != own.vocab_size || other.vision != own.vision ||
        shapes(other) != layers || !model::check_sharding(other, question.options.sharding)) {
      continue;
    }
    const core::Bytes weights = model::weight_bytes_per_rank(other, question.options.sharding);
    if (weights > heaviest && fits({.network = other,
                                    .gpu = question.gpu,
                                    .options = question.options,
                                    .tokens = question.tokens})) {
      heaviest = weights;
      best = fmt::format("--model {}", name);
    }
  }
  if (!best && own.precision.ffn == own.precision.embedding) {
    model::ModelSpec quantised = own;
    model::set_weight_format(quantised, model::DType::kFp8);
    if (fits({.network = quantised,
              .gpu = question.gpu,
              .options = question.options,
              .tokens = question.tokens})) {
      best = "--quantization fp8";
    }
  }
  return best;
}

}  // namespace

std::string fitting_hint(const FittingQuestion& question) {
  std::vector<std::string> ways;
  for (const auto way : {settings_that_fit, sampler_that_fits, cut_that_fits, format_that_fits}) {
    if (auto found = way(question)) {
      ways.push_back(std::move(*found));
    }
  }
  if (ways.empty()) {
    return fmt::format(
        "neither tensor_parallel_size up to {} with pipeline_parallel_size up to {} "
        "nor smaller limits fit: choose a larger GPU or a smaller network",
        question.gpu.gpus_per_node,
        kMostStages);
  }
  return fmt::format("it fits with {}", fmt::join(ways, "; or with "));
}

}  // namespace ridgeline::scenario
