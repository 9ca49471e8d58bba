#include "sim/cache_state.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/reader.hpp"
#include "domain/prompt.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "metrics/request_metrics.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "sim/fleet_pools.hpp"
#include "workload/item.hpp"
#include "workload/limits.hpp"

namespace ridgeline::sim {
namespace {

constexpr std::int64_t kSchemaVersion = 1;
constexpr const char* kPath = "cache_state";
constexpr core::Blocks kHoldsNothing{1};  ///< The null block.
constexpr document::Range<std::int64_t> kTokens{.lowest = 1,
                                                .highest = workload::kMaxTokensPerRequest};

/// The deployment of each instance: one where there is no cluster.
std::vector<const scenario::Deployment*> deployments_of(const scenario::Resolved& resolved) {
  std::vector<const scenario::Deployment*> deployments;
  for (const std::size_t pool : pools_of_instances(resolved)) {
    deployments.push_back(resolved.pools[pool].deployment.get());
  }
  if (deployments.empty()) {
    deployments.assign(static_cast<std::size_t>(resolved.run.cluster.instances.value_or(1)),
                       resolved.deployment.get());
  }
  return deployments;
}

/// The beginning of a prompt that requests of another run can ask for: it holds no answer.
domain::Prompt findable(const domain::Prompt& prompt) {
  domain::Prompt named;
  for (const domain::Segment& segment : prompt) {
    if (segment.content >= workload::kContentLimit) {
      break;
    }
    named.push_back(segment);
  }
  return named;
}

domain::Segment read_segment(const document::Node& node,
                             const std::string& path,
                             core::Errors& errors) {
  const auto is_count = [](const document::Node& item) {
    return item.kind() == document::Node::Kind::kInteger && item.as_integer() >= 0;
  };
  const bool fits =
      node.is_list() && node.items().size() == 2 && is_count(node.items()[0]) &&
      is_count(node.items()[1]) && node.items()[1].as_integer() > 0 &&
      node.items()[1].as_integer() <= kTokens.highest &&
      static_cast<std::uint64_t>(node.items()[0].as_integer()) < workload::kContentLimit;
  if (!fits) {
    errors.push_back(
        {.field = path,
         .message = fmt::format("found {}, expected [content, tokens]", node.describe()),
         .where = node.where()});
    return {};
  }
  return {static_cast<std::uint64_t>(node.items()[0].as_integer()),
          core::Tokens(node.items()[1].as_integer())};
}

CacheState::Entry read_entry(const document::Node& node,
                             const std::string& path,
                             core::Errors& errors) {
  document::ObjectReader reader(node, path, errors);
  CacheState::Entry entry;
  entry.tokens = reader.required_integer("tokens", kTokens);
  std::int64_t named = 0;
  if (const document::Node* prompt = reader.node("prompt");
      prompt != nullptr && prompt->is_list()) {
    for (const document::Node& segment : prompt->items()) {
      entry.prompt.push_back(read_segment(segment, reader.path_of("prompt"), errors));
      named += entry.prompt.back().length.value();
    }
  } else if (prompt != nullptr) {
    reader.problem("prompt", fmt::format("found {}, expected a list", prompt->describe()));
  }
  if (named > entry.tokens) {
    reader.problem("prompt", fmt::format("has {} tokens, more than `tokens`", named));
  }
  reader.finish();
  return entry;
}

CacheState::Instance read_instance(const document::Node& node,
                                   const std::string& path,
                                   core::Errors& errors) {
  document::ObjectReader reader(node, path, errors);
  CacheState::Instance instance;
  instance.model = reader.required_string("model");
  if (const document::Node* list = reader.node("requests"); list != nullptr && list->is_list()) {
    for (std::size_t i = 0; i < list->items().size(); ++i) {
      instance.requests.push_back(
          read_entry(list->items()[i], fmt::format("{}.requests[{}]", path, i), errors));
    }
  } else {
    reader.problem("requests", "expected a list");
  }
  reader.finish();
  return instance;
}

}  // namespace

CacheStateKeeper::CacheStateKeeper(const scenario::Resolved& resolved) {
  for (const scenario::Deployment* const deployment : deployments_of(resolved)) {
    state_.instances.push_back({.model = deployment->network.name});
    capacities_.push_back({.block_tokens = deployment->engine.block_size.value(),
                           .blocks = (deployment->engine.num_gpu_blocks - kHoldsNothing).value()});
  }
}

void CacheStateKeeper::on_arrival(const domain::Request& request) {
  here_[request.id] = request.lora.valid() ? domain::Prompt() : findable(request.prompt);
}

void CacheStateKeeper::on_request(const domain::RequestRecord& record,
                                  const metrics::RequestMetrics& /*metrics*/) {
  const auto prompt = here_.extract(record.id);
  const std::size_t place = record.instance.valid() ? record.instance.value() : 0;
  if (!metrics::completed(record.outcome) || place >= state_.instances.size()) {
    return;
  }
  Capacity& capacity = capacities_[place];
  std::deque<CacheState::Entry>& kept = state_.instances[place].requests;
  CacheState::Entry entry;
  entry.tokens = (record.prompt_tokens + record.output_tokens).value() - 1;
  const std::int64_t blocks = (entry.tokens + capacity.block_tokens - 1) / capacity.block_tokens;
  entry.new_blocks = blocks - record.cached_tokens.value() / capacity.block_tokens;
  entry.prompt = prompt.empty() ? domain::Prompt() : prompt.mapped();
  capacity.new_blocks += entry.new_blocks;
  kept.push_back(std::move(entry));
  // What was there before so many new blocks came is gone.
  while (capacity.new_blocks - kept.front().new_blocks >= capacity.blocks) {
    capacity.new_blocks -= kept.front().new_blocks;
    kept.pop_front();
  }
}

std::string cache_state_text(const CacheState& state) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  std::string text = fmt::format("{{\"schema_version\":{},\"instances\":[", kSchemaVersion);
  for (std::size_t i = 0; i < state.instances.size(); ++i) {
    const CacheState::Instance& instance = state.instances[i];
    document::JsonWriter model(document::JsonWriter::Layout::kOneLine);
    model.value(instance.model);
    text += fmt::format("{}\n{{\"model\":{},\"requests\":[", i == 0 ? "" : ",", model.text());
    for (std::size_t k = 0; k < instance.requests.size(); ++k) {
      const CacheState::Entry& entry = instance.requests[k];
      text += fmt::format("{}\n{{\"tokens\":{}", k == 0 ? "" : ",", entry.tokens);
      for (std::size_t s = 0; s < entry.prompt.size(); ++s) {
        text += fmt::format("{}[{},{}]",
                            s == 0 ? ",\"prompt\":[" : ",",
                            entry.prompt[s].content,
                            entry.prompt[s].length.value());
      }
      text += entry.prompt.empty() ? "}" : "]}";
    }
    text += "]}";
  }
  return text + "]}\n";
}

core::Result<CacheState> read_cache_state(const std::string& path) {
  const auto document = document::read_document(path);
  if (!document) {
    return core::fail(core::with_field(document.error(), kPath));
  }
  core::Errors errors;
  document::ObjectReader reader(*document, "", errors);
  CacheState state;
  if (reader.required_integer("schema_version") != kSchemaVersion && errors.empty()) {
    reader.problem("schema_version",
                   fmt::format("is not {}, which this version reads", kSchemaVersion));
  }
  if (const document::Node* list = reader.node("instances"); list != nullptr && list->is_list()) {
    for (std::size_t i = 0; i < list->items().size(); ++i) {
      state.instances.push_back(
          read_instance(list->items()[i], fmt::format("instances[{}]", i), errors));
    }
  } else {
    reader.problem("instances", "expected a list", "a file that --cache-state-out wrote");
  }
  reader.finish();
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return state;
}

core::Result<std::vector<std::vector<domain::Request>>> warm_requests(
    const scenario::Resolved& resolved) {
  std::vector<std::vector<domain::Request>> warm;
  if (!resolved.run.cache_state) {
    return warm;
  }
  const auto state = read_cache_state(*resolved.run.cache_state);
  if (!state) {
    return core::fail(state.error());
  }
  const auto refuse = [&](std::string message) {
    return core::fail(core::Error{.field = kPath,
                                  .message = std::move(message),
                                  .where = {.file = *resolved.run.cache_state}});
  };
  const auto deployments = deployments_of(resolved);
  if (state->instances.size() != deployments.size()) {
    return refuse(fmt::format("holds the caches of {} instances, expected {}",
                              state->instances.size(),
                              deployments.size()));
  }
  for (std::size_t i = 0; i < deployments.size(); ++i) {
    const CacheState::Instance& instance = state->instances[i];
    if (instance.model != deployments[i]->network.name) {
      return refuse(fmt::format("holds KV of {} for instance {}, which runs {}",
                                instance.model,
                                i,
                                deployments[i]->network.name));
    }
    auto id = std::numeric_limits<core::RequestId::Rep>::max() - 1;
    std::vector<domain::Request>& requests = warm.emplace_back();
    for (const CacheState::Entry& entry : instance.requests) {
      domain::Request& request = requests.emplace_back();
      request.id = core::RequestId(id--);
      request.prompt_tokens = core::Tokens(entry.tokens);
      request.output_tokens = request.max_tokens = core::Tokens(1);
      request.prompt = entry.prompt;
    }
  }
  return warm;
}

}  // namespace ridgeline::sim
