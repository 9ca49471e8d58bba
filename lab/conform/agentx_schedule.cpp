// Schedules: what the loader builds of traces, where lanes begin, and the requests that are sent.
#include "lab/conform/agentx_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/reader.hpp"
#include "lab/conform/agentx.hpp"
#include "lab/conform/conform.hpp"
#include "lab/conform/node_compare.hpp"
#include "workload/agents/conversations.hpp"
#include "workload/agents/options.hpp"
#include "workload/agents/replay.hpp"

namespace ridgeline::conform {
namespace {

namespace agents = workload::agents;
using document::MapBuilder;
using document::Node;

/// Times within half a millisecond; tokens within what a cut character of the recorded prompts is.
constexpr double kNear = 0.5;
constexpr std::int64_t kCutTokens = 3;

Tolerance tolerance_of(std::string_view key) {
  if (key.ends_with("_ms")) {
    return {.absolute = kNear};
  }
  return {.absolute = key == "delta" ? static_cast<double>(kCutTokens) : 0.0};
}

double milliseconds(core::Duration time) {
  return time.to_milliseconds();
}
double milliseconds(core::SimTime time) {
  return time.since_start().to_milliseconds();
}
Node milliseconds(const std::optional<core::Duration>& time) {
  return document::number_node(time ? std::optional(milliseconds(*time)) : std::nullopt);
}

const char* kind_name(agents::TurnKind kind) {
  return kind == agents::TurnKind::kMain       ? "weka_main"
         : kind == agents::TurnKind::kSubAgent ? "weka_subagent"
                                               : "weka_flat";
}

Node input_kind_node(agents::InputKind kind) {
  return document::text_or_null(kind == agents::InputKind::kToolResult ? "tool_result"
                                : kind == agents::InputKind::kUser     ? "user_input"
                                                                       : "");
}

Node messages_node(const agents::TurnMessages& turn) {
  return document::list_of(turn.messages, [](const agents::Message& message) {
    const char* role = message.role == agents::Message::Role::kSystem ? "system"
                       : message.role == agents::Message::Role::kUser ? "user"
                                                                      : "assistant";
    return document::list_node({document::text_node(role), document::integer_node(message.tokens)});
  });
}

Node names_of(const agents::SessionTree& tree, const std::vector<std::int32_t>& branches) {
  return document::list_of(branches, [&](std::int32_t number) {
    return document::text_node(
        tree.conversations.front().branches[static_cast<std::size_t>(number)].name);
  });
}

Node predecessors_node(const agents::SessionTree& tree, const agents::Turn& turn) {
  std::vector<std::pair<std::string, std::int64_t>> sorted;
  for (const agents::TurnRef& one : turn.predecessors) {
    sorted.emplace_back(tree.conversations[static_cast<std::size_t>(one.conversation)].id,
                        one.turn);
  }
  std::ranges::sort(sorted);
  return document::list_of(sorted, [](const auto& one) {
    return document::list_node(
        {document::text_node(one.first), document::integer_node(one.second)});
  });
}

Node turn_node(const agents::SessionTree& tree,
               const agents::Conversation& conversation,
               std::size_t k,
               const agents::TurnMessages& messages,
               const std::string& network) {
  const agents::Turn& turn = conversation.turns[k];
  return MapBuilder()
      .add("timestamp_ms", milliseconds(turn.start))
      .add("delay_ms", milliseconds(turn.delay))
      .add("api_time_ms", milliseconds(turn.api_time))
      .add("max_tokens", turn.max_tokens)
      .add("model", network)
      .add("kind", kind_name(conversation.kind))
      .add("reset_context", messages.is_reset)
      .add("input_kind", input_kind_node(turn.input_kind))
      .add("hit_blocks", turn.hit_blocks)
      .add("total_blocks", turn.hash_blocks)
      .add("delta", messages_node(messages))
      .add("branches", names_of(tree, turn.spawns))
      .add("joins", names_of(tree, turn.joins))
      .add("predecessors", predecessors_node(tree, turn))
      .add("in", turn.input)
      .add("hash_blocks", turn.hash_blocks);
}

Node branches_node(const agents::SessionTree& tree, const agents::Conversation& conversation) {
  return document::list_of(conversation.branches, [&](const agents::Branch& branch) -> Node {
    return MapBuilder()
        .add("id", branch.name)
        .add("children",
             document::list_of(branch.children,
                               [&](std::int32_t child) {
                                 return document::text_node(
                                     tree.conversations[static_cast<std::size_t>(child)].id);
                               }))
        .add("background", !branch.join_turn.has_value())
        .add("start_ms", milliseconds(branch.start))
        .add("mode", "spawn");
  });
}

Node conversation_node(const AgentxInput& input,
                       std::size_t t,
                       std::size_t c,
                       const std::string& network) {
  const agents::SessionTree& tree = input.trees[t];
  const agents::Conversation& conversation = tree.conversations[c];
  std::vector<Node> turns;
  for (std::size_t k = 0; k < conversation.turns.size(); ++k) {
    turns.push_back(turn_node(tree, conversation, k, input.messages[t][c][k], network));
  }
  return MapBuilder()
      .add("id", conversation.id)
      .add("is_root", c == 0)
      .add("depth", conversation.depth())
      .add("parent", document::text_or_null(c == 0 ? "" : tree.id))
      .add("scope", conversation.scope)
      .add("branches", branches_node(tree, conversation))
      .add("turns", document::list_node(std::move(turns)));
}

/// The network that all requests are sent to: a case serves one.
std::string served_network(const Node& conversations) {
  for (const Node& conversation : conversations.items()) {
    const Node* turns = conversation.find("turns");
    if (turns != nullptr && turns->is_list() && !turns->items().empty()) {
      const Node* model = turns->items().front().find("model");
      return model != nullptr && model->is_string() ? model->as_string() : std::string();
    }
  }
  return {};
}

std::optional<Difference> compare_conversations(const Node& recorded, const AgentxInput& input) {
  const std::string network = served_network(recorded);
  std::map<std::string, Node> ours;
  for (std::size_t t = 0; t < input.trees.size(); ++t) {
    for (std::size_t c = 0; c < input.trees[t].conversations.size(); ++c) {
      ours.emplace(input.trees[t].conversations[c].id, conversation_node(input, t, c, network));
    }
  }
  if (recorded.items().size() != ours.size()) {
    return Difference{.where = "number of conversations",
                      .recorded = std::to_string(recorded.items().size()),
                      .ours = std::to_string(ours.size())};
  }
  for (const Node& one : recorded.items()) {
    const Node* id = one.find("id");
    const auto own = id == nullptr ? ours.end() : ours.find(id->as_string());
    if (own == ours.end()) {
      return Difference{.where = "conversation",
                        .recorded = id == nullptr ? "no id" : id->as_string(),
                        .ours = "not built"};
    }
    if (auto difference = first_difference(one, own->second, own->first, tolerance_of)) {
      return difference;
    }
  }
  return std::nullopt;
}

Node lane_node(const AgentxInput& input, const agents::StartPoint& point, std::size_t lane) {
  const agents::SessionTree& tree = input.trees[static_cast<std::size_t>(point.tree)];
  const bool has_main = !point.streams.empty() && point.streams.front().conversation == 0;
  return MapBuilder()
      .add("lane", lane)
      .add("trace", tree.id)
      .add("start_turn_index", has_main ? point.streams.front().next_turn : 0)
      .add("t_star_ms", point.milliseconds)
      .add("states",
           document::list_of(point.streams, [&](const agents::StreamState& state) -> Node {
             const auto& conversation =
                 tree.conversations[static_cast<std::size_t>(state.conversation)];
             return MapBuilder()
                 .add("conversation", conversation.id)
                 .add("next_turn", state.next_turn)
                 .add("offset_ms", milliseconds(state.offset))
                 .add("depth", conversation.depth())
                 .add("waiting_on_children", state.waits)
                 .add("join_turn", state.join_turn)
                 .add("warmup_turn",
                      state.next_turn > 0 ? std::optional(state.next_turn - 1) : std::nullopt);
           }));
}

Node phases_node(const ServedRun& run) {
  const auto phase = [](const agents::PhaseTimes& times) -> Node {
    return MapBuilder()
        .add("start_ms", milliseconds(times.start))
        .add("sending_complete_ms", milliseconds(times.sending_complete))
        .add("complete_ms", milliseconds(times.complete));
  };
  MapBuilder phases;
  phases.add("warmup", phase(run.warm_up)).add("profiling", phase(run.profiling));
  if (run.aborted) {
    phases.add("abort_ms", milliseconds(*run.aborted));
  }
  return phases;
}

Node totals_node(const AgentxInput& input, const ServedRun& run) {
  std::int64_t warm_up = 0;
  std::int64_t profiling = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
  for (const ServedRequest& request : run.requests) {
    const bool is_profiling = request.sent.phase == agents::Phase::kProfiling;
    ++(is_profiling ? profiling : warm_up);
    if (is_profiling && request.outcome == "ok") {
      in += input.trees[static_cast<std::size_t>(request.sent.tree)]
                .conversations[static_cast<std::size_t>(request.sent.turn.conversation)]
                .turns[static_cast<std::size_t>(request.sent.turn.turn)]
                .input;
      out += request.sent.max_tokens;
    }
  }
  return MapBuilder()
      .add("requests", MapBuilder().add("warmup", warm_up).add("profiling", profiling))
      .add("profiling_in", in)
      .add("profiling_out", out);
}

/// Matches recorded requests with ours: the order of those that are sent at one time is free, and
/// names of sessions, trees and markers need only be equal where the recorded ones are.
class RowMatcher {
 public:
  RowMatcher(const AgentxInput& input, const ServedRun& run) : input_(input), run_(run) {
    taken_.resize(run.requests.size());
  }

  std::optional<Difference> match(const Node& recorded, const std::vector<std::string>& columns) {
    if (recorded.items().size() != run_.requests.size()) {
      // The first row that is not there says more than the number.
      count_ = fmt::format("{} requests, ours {}", recorded.items().size(), run_.requests.size());
    }
    for (std::size_t n = 0; n < recorded.items().size(); ++n) {
      std::map<std::string, Node> row;
      const auto& cells = recorded.items()[n].items();
      for (std::size_t i = 0; i < std::min(columns.size(), cells.size()); ++i) {
        row.emplace(columns[i], cells[i]);
      }
      if (auto difference = match_row(row, n)) {
        return difference;
      }
    }
    if (!count_.empty()) {
      return Difference{.where = "requests", .recorded = count_, .ours = "more"};
    }
    return std::nullopt;
  }

 private:
  using Row = std::map<std::string, Node>;

  std::optional<Difference> match_row(const Row& row, std::size_t n) {
    std::optional<Difference> nearest;
    std::size_t most = 0;
    for (std::size_t i = 0; i < run_.requests.size(); ++i) {
      if (taken_[i]) {
        continue;
      }
      std::size_t equal = 0;
      const Node own = node_of(i);
      std::optional<Difference> difference;
      for (const char* key : {"t_ms",
                              "conversation",
                              "phase",
                              "turn",
                              "depth",
                              "max_tokens",
                              "first_token_ms",
                              "end_ms",
                              "outcome",
                              "in"}) {
        difference = first_difference(row.at(key), *own.find(key), key, tolerance_of);
        if (difference) {
          break;
        }
        ++equal;
      }
      if (!difference) {
        difference = partitions(row, i);
        ++equal;
      }
      if (!difference) {
        taken_[i] = true;
        matched_.push_back(i);
        remember(row, i);
        return shared(row, n);
      }
      if (equal >= most) {
        most = equal;
        nearest = difference;
      }
    }
    if (nearest) {
      nearest->where = fmt::format("request {}: {}", n, nearest->where);
      return nearest;
    }
    return Difference{.where = fmt::format("request {}", n),
                      .recorded = row.at("conversation").describe(),
                      .ours = "not sent"};
  }

  [[nodiscard]] Node node_of(std::size_t i) const {
    const ServedRequest& request = run_.requests[i];
    const agents::SessionTree& tree = input_.trees[static_cast<std::size_t>(request.sent.tree)];
    const auto& conversation =
        tree.conversations[static_cast<std::size_t>(request.sent.turn.conversation)];
    const auto& turn = conversation.turns[static_cast<std::size_t>(request.sent.turn.turn)];
    return MapBuilder()
        .add("t_ms", milliseconds(request.sent.time))
        .add("first_token_ms",
             document::number_node(request.first_token
                                       ? std::optional(milliseconds(*request.first_token))
                                       : std::nullopt))
        .add("end_ms", milliseconds(request.end))
        .add("phase", request.sent.phase == agents::Phase::kWarmUp ? "warmup" : "profiling")
        .add("conversation", conversation.id)
        .add("turn", request.sent.turn.turn)
        .add("depth", conversation.depth())
        .add("max_tokens", request.sent.max_tokens)
        .add("in", turn.input)
        .add("outcome", request.outcome);
  }

  /// (column, our number) of what is compared as a partition.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint32_t>> numbers(std::size_t i) const {
    const agents::Sent& sent = run_.requests[i].sent;
    return {{"session", sent.session}, {"tree", sent.play}, {"marker", sent.play}};
  }

  [[nodiscard]] std::optional<Difference> partitions(const Row& row, std::size_t i) const {
    for (const auto& [column, number] : numbers(i)) {
      const std::string& name = row.at(column).as_string();
      const auto known = ours_.find({column, name});
      const auto back = theirs_.find({column, number});
      if ((known == ours_.end()) != (back == theirs_.end()) ||
          (known != ours_.end() && known->second != number)) {
        return Difference{.where = column,
                          .recorded = name,
                          .ours = back == theirs_.end() ? "a new one" : back->second};
      }
    }
    return std::nullopt;
  }
  void remember(const Row& row, std::size_t i) {
    for (const auto& [column, number] : numbers(i)) {
      ours_[{column, row.at(column).as_string()}] = number;
      theirs_[{column, number}] = row.at(column).as_string();
    }
  }

  /// Tokens that the prompts of two of our requests have in common, without the marker.
  [[nodiscard]] std::int64_t common(std::size_t a, std::size_t b) const {
    const agents::Sent& one = run_.requests[a].sent;
    const agents::Sent& other = run_.requests[b].sent;
    const agents::SessionTree& tree = input_.trees[static_cast<std::size_t>(one.tree)];
    const auto turn_of = [&](agents::TurnRef turn) -> const agents::Turn& {
      return tree.conversations[static_cast<std::size_t>(turn.conversation)]
          .turns[static_cast<std::size_t>(turn.turn)];
    };
    if (one.turn == other.turn) {
      return turn_of(one.turn).input;
    }
    return tree.prompts.common(turn_of(one.turn).prompt, turn_of(other.turn).prompt) *
           tree.block_size;
  }

  [[nodiscard]] std::optional<Difference> shared(const Row& row, std::size_t n) const {
    const std::size_t own = matched_.back();
    const auto where = [&](const char* column) { return fmt::format("request {}: {}", n, column); };
    const std::int64_t sent = row.at("in").as_integer() + agents::kMarkerCharacters;
    if (std::abs(row.at("prompt_tokens").as_integer() - sent) > kCutTokens) {
      return Difference{.where = where("prompt_tokens"),
                        .recorded = row.at("prompt_tokens").describe(),
                        .ours = std::to_string(sent)};
    }
    std::int64_t most = 0;
    bool has_earlier = false;
    for (std::size_t i = 0; i + 1 < matched_.size(); ++i) {
      if (run_.requests[matched_[i]].sent.play == run_.requests[own].sent.play) {
        has_earlier = true;
        most = std::max(most, common(own, matched_[i]));
      }
    }
    const Node& with = row.at("shared_with");
    if (std::abs(row.at("shared_prefix_tokens").as_integer() - most) > kCutTokens ||
        with.is_null() == has_earlier) {
      return Difference{.where = where("shared_prefix_tokens"),
                        .recorded = row.at("shared_prefix_tokens").describe(),
                        .ours = std::to_string(most)};
    }
    if (has_earlier) {
      const auto other = matched_[static_cast<std::size_t>(with.as_integer())];
      if (run_.requests[other].sent.play != run_.requests[own].sent.play ||
          most - common(own, other) > kCutTokens) {
        return Difference{
            .where = where("shared_with"),
            .recorded = with.describe(),
            .ours = fmt::format("{} tokens with it, {} with another", common(own, other), most)};
      }
    }
    return std::nullopt;
  }

  const AgentxInput& input_;
  const ServedRun& run_;
  std::vector<bool> taken_;
  std::vector<std::size_t> matched_;  ///< Our request of each recorded one.
  std::map<std::pair<std::string, std::string>, std::uint32_t> ours_;
  std::map<std::pair<std::string, std::uint32_t>, std::string> theirs_;
  std::string count_;
};

std::optional<Difference> compare_requests(const Node& recorded,
                                           const AgentxInput& input,
                                           const ServedRun& run,
                                           core::Errors& errors) {
  static const std::set<std::string> kRead = {"n",
                                              "t_ms",
                                              "first_token_ms",
                                              "end_ms",
                                              "phase",
                                              "conversation",
                                              "turn",
                                              "session",
                                              "tree",
                                              "depth",
                                              "max_tokens",
                                              "in",
                                              "prompt_tokens",
                                              "marker",
                                              "shared_prefix_tokens",
                                              "shared_with",
                                              "outcome"};
  document::ObjectReader reader(recorded, "expected.requests", errors);
  const Node* columns = reader.node("columns");
  const Node* rows = reader.node("rows");
  reader.finish();
  std::vector<std::string> names;
  if (columns == nullptr || rows == nullptr || !rows->is_list() || !columns->is_list()) {
    reader.problem("rows", "expected columns and rows");
    return std::nullopt;
  }
  for (const Node& column : columns->items()) {
    names.push_back(column.as_string());
    if (!kRead.contains(names.back())) {
      reader.problem("columns", fmt::format("'{}' is not read", names.back()));
    }
  }
  if (std::set<std::string>(names.begin(), names.end()) != kRead) {
    reader.problem("columns", "expected all that are read");
    return std::nullopt;
  }
  return RowMatcher(input, run).match(*rows, names);
}

}  // namespace

std::optional<Difference> compare_schedule(const Node& expected,
                                           const AgentxInput& input,
                                           core::Errors& errors) {
  document::ObjectReader reader(expected, "expected", errors);
  const Node* conversations = reader.node("conversations");
  const Node* lanes = reader.node("lanes");
  const Node* phases = reader.node("phases");
  const Node* requests = reader.node("requests");
  const Node* totals = reader.node("totals");
  reader.finish();
  if (conversations == nullptr || lanes == nullptr || phases == nullptr || requests == nullptr ||
      totals == nullptr || !conversations->is_list()) {
    reader.problem("conversations", "expected conversations, lanes, phases, requests and totals");
    return std::nullopt;
  }
  if (auto difference = compare_conversations(*conversations, input)) {
    return difference;
  }
  const ServedRun run = serve(input);
  std::vector<Node> own_lanes;
  for (std::size_t lane = 0; lane < run.start_points.size(); ++lane) {
    own_lanes.push_back(lane_node(input, run.start_points[lane], lane));
  }
  if (auto difference = first_difference(
          *lanes, document::list_node(std::move(own_lanes)), "lanes", tolerance_of)) {
    return difference;
  }
  if (auto difference = compare_requests(*requests, input, run, errors)) {
    return difference;
  }
  if (auto difference = first_difference(*phases, phases_node(run), "phases", tolerance_of)) {
    return difference;
  }
  return first_difference(*totals, totals_node(input, run), "totals", tolerance_of);
}

}  // namespace ridgeline::conform
