#include "scenario/speculation.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/reader.hpp"
#include "domain/draft_level.hpp"
#include "latency/step_time_model.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::scenario {
namespace {

using document::MapBuilder;

constexpr const char* kConfigPath = "engine.speculative_config";
/// vLLM's methods with a price here; it has others (medusa, mlp_speculator, suffix). Behind "mtp":
/// older words for it (MTPModelTypes, config/speculative.py).
const std::array<std::string, 12> kSpeculativeMethods = {"ngram",
                                                         "draft_model",
                                                         "eagle",
                                                         "eagle3",
                                                         "mtp",
                                                         "deepseek_mtp",
                                                         "qwen3_next_mtp",
                                                         "glm4_moe_mtp",
                                                         "mimo_mtp",
                                                         "ernie_mtp",
                                                         "longcat_flash_mtp",
                                                         std::string(kBlockDrafts)};
/// Vectors that an EAGLE head joins at its input: the token's embedding and the target's hidden
/// state (arXiv:2401.15077, section 3), and in EAGLE-3 the states of three layers
/// (arXiv:2503.01840, section 3.1), as in DSpark.
constexpr std::int64_t kEagleInputs = 2;
constexpr std::int64_t kEagle3Inputs = 4;
constexpr document::Range<double> kProbability{.lowest = 0.0, .highest = 1.0};

constexpr const char* kRates = "synthetic_acceptance_rates";
constexpr const char* kLength = "synthetic_acceptance_length";
constexpr const char* kMeanLength = "acceptance_length";

/// The probability of each draft, given those before it, where every one has the same and a step
/// brings so many tokens on average, its own included: 1 + p + ... + p^drafts.
double rate_of_length(double length, std::int64_t drafts) {
  double low = 0.0;
  double high = 1.0;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2.0;
    double sum = 0.0;
    for (std::int64_t draft = 0; draft <= drafts; ++draft) {
      sum = sum * middle + 1.0;
    }
    (sum < length ? low : high) = middle;
  }
  return high;
}

/// vLLM's synthetic rejection sampling (config/speculative.py): unconditional rates per position,
/// or a mean length, of which the fewest drafts have a probability between 0 and 1.
std::vector<double> read_synthetic(document::ObjectReader& reader, std::int64_t drafts) {
  const auto length =
      reader.real(kLength, {.lowest = 1.0, .highest = static_cast<double>(drafts + 1)});
  std::vector<double> rates = reader.reals(kRates, kProbability).value_or(std::vector<double>());
  if (length.has_value() == !rates.empty()) {
    reader.problem(kRates, fmt::format("found both or none, expected either this or {}", kLength));
    return {};
  }
  if (length) {
    for (std::int64_t i = 0; i < drafts; ++i) {
      rates.push_back(std::clamp(*length - 1.0 - static_cast<double>(i), 0.0, 1.0));
    }
  } else if (std::ssize(rates) != drafts ||
             !std::ranges::is_sorted(rates, std::ranges::greater())) {
    reader.problem(kRates,
                   fmt::format("expected num_speculative_tokens = {} rates, none above the one "
                               "before it",
                               drafts));
    return {};
  }
  for (std::size_t i = rates.size() - 1; i > 0; --i) {
    rates[i] = rates[i - 1] > 0.0 ? rates[i] / rates[i - 1] : 0.0;
  }
  return rates;
}

std::vector<double> read_acceptance(document::ObjectReader& reader, std::int64_t drafts) {
  // "block" accepts or rejects drafts together: its acceptance is stated, or published, all the
  // same.
  static const std::array<std::string, 3> kSamplers = {"standard", "block", "synthetic"};
  const auto sampler = reader.choice("rejection_sample_method", kSamplers).value_or("standard");
  const document::Node* node = reader.node("acceptance");
  const bool is_stated = node != nullptr && !node->is_null();
  const auto length =
      reader.real(kMeanLength, {.lowest = 1.0, .highest = static_cast<double>(drafts + 1)});
  if ((is_stated ? 1 : 0) + (length ? 1 : 0) + (sampler == "synthetic" ? 1 : 0) > 1) {
    reader.problem("acceptance",
                   fmt::format("expected one of acceptance, {} and synthetic rejection sampling",
                               kMeanLength));
    return {};
  }
  if (sampler == "synthetic") {
    return read_synthetic(reader, drafts);
  }
  if (length) {
    return {rate_of_length(*length, drafts)};
  }
  if (!is_stated) {
    return {};
  }
  if (node->is_list()) {
    auto curve = reader.reals("acceptance", kProbability).value_or(std::vector<double>());
    if (node->items().empty()) {
      reader.problem("acceptance", "found an empty list, expected at least one probability");
    }
    return curve;
  }
  const auto rate = reader.real("acceptance", kProbability);
  return rate ? std::vector<double>{*rate} : std::vector<double>();
}

constexpr const char* kNoDrop = "disable_eagle_block_drop";
constexpr const char* kLevels = "num_speculative_tokens_per_batch_size";

/// Rows of first and last number of requests, and drafts: the first begins at 1, each further one
/// behind the one before it.
std::vector<domain::DraftLevel> read_levels(document::ObjectReader& reader, std::int64_t most) {
  const document::Node* node = reader.node(kLevels);
  if (node == nullptr || node->is_null()) {
    return {};
  }
  std::vector<domain::DraftLevel> levels;
  std::int64_t next = 1;
  for (const document::Node& row :
       node->is_list() ? node->items() : std::vector<document::Node>()) {
    const auto number = [&](std::size_t at) {
      const bool is_number = row.is_list() && row.items().size() == 3 &&
                             row.items()[at].kind() == document::Node::Kind::kInteger;
      return is_number ? row.items()[at].as_integer() : std::int64_t{-1};
    };
    if (number(0) != next || number(1) < next || number(2) < 0 || number(2) > most) {
      reader.problem(
          kLevels,
          fmt::format("row {} is not one of first request, last request and 0 to {} drafts, "
                      "expected one that begins at {}",
                      levels.size() + 1,
                      most,
                      next),
          "[[1, 8, 4], [9, 256, 2]]");
      return {};
    }
    levels.push_back({.most_requests = number(1), .drafts = number(2)});
    next = number(1) + 1;
  }
  if (levels.empty()) {
    reader.problem(kLevels,
                   "expected a list of rows: first request, last request, drafts",
                   "[[1, 8, 4], [9, 256, 2]]");
  }
  return levels;
}

/// Whether a network of its own drafts from the target's hidden states.
bool reads_states(const std::string& method) {
  return method.starts_with("eagle") || method == kBlockDrafts;
}

/// A network by its name; or by the last part of a path that is not here, where it is one.
core::Result<model::ModelSpec> find_draft(const std::string& name) {
  auto found = model::find_model(name);
  if (const std::size_t slash = name.rfind('/'); !found && slash != std::string::npos) {
    if (auto by_folder = model::find_model(name.substr(slash + 1))) {
      return by_folder;
    }
  }
  return found;
}

tl::unexpected<core::Errors> refuse_config(const char* key, std::string message) {
  return core::fail(core::Error{.code = core::ErrorCode::kUsage,
                                .field = fmt::format("{}.{}", kConfigPath, key),
                                .message = std::move(message),
                                .where = {},
                                .hint = {}});
}

/// The network that drafts; nothing with n-grams.
core::Result<std::optional<model::ModelSpec>> drafting_network(const SpeculativeConfig& config,
                                                               const model::ModelSpec& target) {
  if (config.method == "ngram") {
    return std::nullopt;
  }
  if (config.method == "mtp") {
    auto draft = model::draft_network(target);
    if (!draft) {
      return refuse_config(
          "method", fmt::format("mtp, but {} has no layers that predict further", target.name));
    }
    return draft;
  }
  auto draft = find_draft(*config.model);
  if (!draft) {
    core::Errors errors = draft.error();
    for (core::Error& error : errors) {
      error.field = fmt::format("{}.model", kConfigPath);
    }
    return core::fail(std::move(errors));
  }
  if (reads_states(config.method)) {
    // Embedding and head are the target's.
    draft->has_embedding = false;
    draft->tied_embeddings = true;
    draft->draft_inputs = config.method == "eagle" ? kEagleInputs : kEagle3Inputs;
  }
  draft->precision.kv = target.precision.kv;  // One cache configuration is both networks'.
  if (draft->vocab_size != target.vocab_size) {
    return refuse_config("model",
                         fmt::format("{} has {} tokens and {} has {}: drafts must be of the same",
                                     draft->name,
                                     draft->vocab_size,
                                     target.name,
                                     target.vocab_size));
  }
  return std::move(*draft);
}

}  // namespace

std::string draft_method(std::string_view word) {
  return std::string(word.ends_with("_mtp") ? "mtp" : word);
}

std::optional<SpeculativeConfig> read_speculative(const document::Node& node,
                                                  const std::string& path,
                                                  core::Errors& errors) {
  const std::size_t before = errors.size();
  document::ObjectReader reader(node, path, errors);
  SpeculativeConfig config;
  if (node.is_map()) {
    const auto method = reader.choice("method", kSpeculativeMethods);
    if (!method && errors.size() == before) {
      reader.problem(
          "method",
          fmt::format("missing, expected one of: {}", fmt::join(kSpeculativeMethods, ", ")));
    }
    config.method = draft_method(method.value_or(""));
    config.model = reader.string("model");
    config.num_speculative_tokens =
        reader.required_integer("num_speculative_tokens", {.lowest = 1, .highest = kMostDrafts});
    config.acceptance = read_acceptance(reader, config.num_speculative_tokens);
    config.levels = read_levels(reader, config.num_speculative_tokens);
    config.disable_eagle_block_drop = reader.boolean(kNoDrop).value_or(false);
    const bool by_name = config.method == "draft_model" || reads_states(config.method);
    if (method && by_name != config.model.has_value()) {
      reader.problem("model",
                     by_name ? fmt::format("missing: {} drafts with a network of its own", *method)
                             : fmt::format("would be ignored: {} needs no other network", *method));
    }
    reader.finish();
  }
  return errors.size() == before ? std::optional(std::move(config)) : std::nullopt;
}

document::Node to_node(const SpeculativeConfig& config) {
  MapBuilder map;
  map.add("method", config.method);
  if (config.model) {
    map.add("model", *config.model);
  }
  std::vector<document::Node> curve;
  curve.reserve(config.acceptance.size());
  for (const double probability : config.acceptance) {
    curve.push_back(document::Node::real(probability, {}));
  }
  map.add("num_speculative_tokens", config.num_speculative_tokens);
  if (!curve.empty()) {
    map.add("acceptance", document::Node::list(std::move(curve), {}));
  }
  std::vector<document::Node> rows;
  std::int64_t next = 1;
  for (const domain::DraftLevel& level : config.levels) {
    std::vector<document::Node> row;
    for (const std::int64_t number : {next, level.most_requests, level.drafts}) {
      row.push_back(document::Node::integer(number, {}));
    }
    rows.push_back(document::Node::list(std::move(row), {}));
    next = level.most_requests + 1;
  }
  if (config.disable_eagle_block_drop) {
    map.add(kNoDrop, true);
  }
  if (!rows.empty()) {
    map.add(kLevels, document::Node::list(std::move(rows), {}));
  }
  return map.build();
}

document::Node speculative_schema() {
  const auto probability = [] {
    return MapBuilder().add("type", "number").add("minimum", 0.0).add("maximum", 1.0);
  };
  std::vector<document::Node> methods;
  for (const std::string& method : kSpeculativeMethods) {
    methods.push_back(document::Node::string(method, {}));
  }
  std::vector<document::Node> either;
  either.push_back(probability());
  either.push_back(MapBuilder()
                       .add("type", "array")
                       .add("minItems", std::int64_t{1})
                       .add("items", probability()));
  std::vector<document::Node> samplers;
  for (const char* sampler : {"standard", "block", "synthetic"}) {
    samplers.push_back(document::Node::string(sampler, {}));
  }
  std::vector<document::Node> required;
  for (const char* key : {"method", "num_speculative_tokens"}) {
    required.push_back(document::Node::string(key, {}));
  }
  return MapBuilder()
      .add("type", "object")
      .add("required", document::Node::list(std::move(required), {}))
      .add("additionalProperties", false)
      .add(
          "properties",
          MapBuilder()
              .add("method", MapBuilder().add("enum", document::Node::list(std::move(methods), {})))
              .add("model", MapBuilder().add("type", "string"))
              .add("num_speculative_tokens",
                   MapBuilder()
                       .add("type", "integer")
                       .add("minimum", std::int64_t{1})
                       .add("maximum", kMostDrafts))
              .add(kLevels, MapBuilder().add("type", "array").add("minItems", std::int64_t{1}))
              .add(kNoDrop, MapBuilder().add("type", "boolean"))
              .add("acceptance",
                   MapBuilder().add("anyOf", document::Node::list(std::move(either), {})))
              .add(kMeanLength, MapBuilder().add("type", "number").add("minimum", 1.0))
              .add("rejection_sample_method",
                   MapBuilder().add("enum", document::Node::list(std::move(samplers), {})))
              .add(kRates, MapBuilder().add("type", "array").add("items", probability()))
              .add(kLength, MapBuilder().add("type", "number").add("minimum", 1.0)));
}

core::Result<latency::Speculation> resolve_speculation(const SpeculativeConfig& config,
                                                       const model::ModelSpec& target,
                                                       const model::Sharding& sharding) {
  if (sharding.pipeline_parallel_size > 1 || sharding.prefill_context_parallel_size > 1) {
    return refuse_config(
        "method",
        fmt::format("{} with {} is not modelled yet",
                    config.method,
                    sharding.pipeline_parallel_size > 1 ? "pipeline_parallel_size above 1"
                                                        : "prefill_context_parallel_size above 1"));
  }
  auto draft = drafting_network(config, target);
  if (!draft) {
    return core::fail(std::move(draft).error());
  }
  latency::Speculation speculation{.method = config.method,
                                   .num_speculative_tokens = config.num_speculative_tokens,
                                   .levels = config.levels,
                                   .chain = {.is_block = config.method == kBlockDrafts}};
  if (*draft) {
    // Layers of the target are cut as the target is; another network by its tensors alone.
    speculation.draft_sharding =
        config.method == "mtp"
            ? sharding
            : model::Sharding{.tensor_parallel_size = sharding.tensor_parallel_size};
    if (auto cut = model::check_sharding(**draft, speculation.draft_sharding); !cut) {
      return refuse_config("model", cut.error().front().message);
    }
    speculation.draft = std::make_shared<const model::ModelSpec>(std::move(**draft));
  }
  return speculation;
}

}  // namespace ridgeline::scenario
