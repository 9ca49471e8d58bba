#include "workload/agents/trace.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/agents/recorded_time.hpp"
#include "workload/limits.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"

namespace ridgeline::workload::agents {
namespace {

class Reader {
 public:
  explicit Reader(const TraceLine& line) : line_(&line), json_(line) {}

  std::optional<Trace> read() {
    std::string_view key;
    for (json_.enter('{'); json_.next_key(key);) {
      if (!member(key)) {
        return std::nullopt;
      }
    }
    if (!json_.at_end() || !is_whole()) {
      return std::nullopt;
    }
    return std::move(trace_);
  }

 private:
  bool member(std::string_view key) {
    if (key == "id") {
      return text(key, trace_.id);
    }
    if (key == "block_size") {
      return json_.integer(key, 1, kMaxTokensPerRequest, trace_.block_size);
    }
    if (key == "hash_id_scope") {
      std::string scope;
      return text(key, scope) &&
             (scope == "local" || wrong(key, fmt::format("'{}'", scope), "'local'"));
    }
    if (key == "tool_tokens" || key == "system_tokens") {
      return declared(key, trace_.prefix_tokens);
    }
    if (key == "requests") {
      return entries();
    }
    return key == "models" || key == "totals" ? json_.skip() : unknown(key, "trace");
  }

  bool entries() {
    for (json_.enter('[', "requests"); json_.next_item();) {
      TraceRequest request;
      SubAgent agent;
      bool is_agent = false;
      if (!entry(request, agent, is_agent)) {
        return false;
      }
      const std::size_t index = is_agent ? trace_.sub_agents.size() : trace_.requests.size();
      trace_.entries.push_back(
          {.is_sub_agent = is_agent, .index = static_cast<std::uint32_t>(index)});
      if (is_agent) {
        trace_.sub_agents.push_back(std::move(agent));
      } else {
        trace_.requests.push_back(std::move(request));
      }
    }
    return json_.sound();
  }

  /// Keys of a request and of a sub-agent in one walk: which of them it is may be said last.
  bool entry(TraceRequest& request, SubAgent& agent, bool& is_agent) {
    const std::string_view place = json_.rest();
    std::set<std::string_view> keys;
    std::string type;
    std::string_view key;
    for (json_.enter('{'); json_.next_key(key);) {
      if (!keys.insert(key).second) {
        return wrong(key, "the key twice", "it once");
      }
      if (key == "type" ? !text(key, type) : !entry_member(key, request, agent)) {
        return false;
      }
    }
    if (!json_.sound()) {
      return false;
    }
    is_agent = type == "subagent";
    if (!is_agent && type != "n" && type != "s") {
      return wrong("type", fmt::format("'{}'", type), "'n', 's' or 'subagent'", place);
    }
    agent.start = request.start;
    return has_its_keys(keys, is_agent, type == "s", place) && settle(agent, is_agent, place);
  }

  bool entry_member(std::string_view key, TraceRequest& request, SubAgent& agent) {
    if (key == "t") {
      return json_.time(key, kSecondsUnit, request.start);
    }
    if (key == "in" || key == "out") {
      return json_.integer(
          key, 0, kMaxTokensPerRequest, key == "in" ? request.input : request.output);
    }
    if (key == "model") {
      std::string name;
      if (!text(key, name)) {
        return false;
      }
      request.model = model_of(name);
      return true;
    }
    if (key == "hash_ids") {
      return blocks(request.blocks);
    }
    if (key == "api_time") {
      return optional_time(key, kSecondsUnit, request.api_time);
    }
    if (key == "input_types") {
      return input_types(request);
    }
    if (key == "stop") {
      std::string stop;
      if (!text(key, stop)) {
        return false;
      }
      request.next_input = stop.empty()         ? InputKind::kUnknown
                           : stop == "tool_use" ? InputKind::kToolResult
                                                : InputKind::kUser;
      return true;
    }
    if (key == "agent_id") {
      return text(key, agent.id);
    }
    if (key == "duration_ms") {
      return optional_time(key, kMillisecondsUnit, agent.duration);
    }
    if (key == "tool_tokens" || key == "system_tokens") {
      return declared(key, agent.prefix_tokens);
    }
    if (key == "requests") {
      return inner_requests(agent);
    }
    return allowed().contains(key) ? json_.skip() : unknown(key, "request");
  }

  bool inner_requests(SubAgent& agent) {
    for (json_.enter('[', "requests"); json_.next_item();) {
      TraceRequest request;
      SubAgent nested;
      bool is_agent = false;
      const std::string_view place = json_.rest();
      if (!entry(request, nested, is_agent)) {
        return false;
      }
      if (is_agent) {
        return wrong("type", "a sub-agent inside a sub-agent", "requests only", place);
      }
      agent.requests.push_back(std::move(request));
    }
    return json_.sound();
  }

  bool blocks(Blocks& ids) {
    for (json_.enter('[', "hash_ids"); json_.next_item();) {
      std::int64_t id = 0;
      if (!json_.integer("hash_ids", 0, std::numeric_limits<std::uint32_t>::max(), id)) {
        return false;
      }
      ids.push_back(static_cast<std::uint32_t>(id));
    }
    return json_.sound();
  }

  bool input_types(TraceRequest& request) {
    for (json_.enter('[', "input_types"); json_.next_item();) {
      std::string type;
      if (!text("input_types", type)) {
        return false;
      }
      if (type == "tool_result" || request.input_kind == InputKind::kUnknown) {
        request.input_kind = type == "tool_result" ? InputKind::kToolResult : InputKind::kUser;
      }
    }
    return json_.sound();
  }

  bool declared(std::string_view key, std::int64_t& prefix) {
    std::int64_t tokens = 0;
    if (!json_.integer(key, 0, kMaxTokensPerRequest, tokens)) {
      return false;
    }
    prefix += tokens;
    return true;
  }

  bool text(std::string_view key, std::string& value) {
    std::string_view raw;
    if (!json_.string(key, raw)) {
      return false;
    }
    value = unescaped(raw);
    return true;
  }

  bool optional_time(std::string_view key,
                     const TimeUnit& unit,
                     std::optional<core::Duration>& time) {
    return json_.kind() == 'n' ? json_.null() : json_.time(key, unit, time.emplace());
  }

  static const std::set<std::string_view>& allowed() {
    static const std::set<std::string_view> kOthers = {"output_types",
                                                       "think_time",
                                                       "ttft",
                                                       "subagent_type",
                                                       "total_tokens",
                                                       "tool_use_count",
                                                       "status",
                                                       "models"};
    return kOthers;
  }

  /// Whether a request or a sub-agent has the keys that it needs, and none of the other's.
  bool has_its_keys(const std::set<std::string_view>& keys,
                    bool is_agent,
                    bool is_streamed,
                    std::string_view place) {
    static const std::set<std::string_view> kNeeded = {"t", "model", "in", "out"};
    static const std::set<std::string_view> kAgentNeeded = {"t", "agent_id", "requests"};
    static const std::set<std::string_view> kOfRequests = {"model",
                                                           "in",
                                                           "out",
                                                           "hash_ids",
                                                           "input_types",
                                                           "output_types",
                                                           "stop",
                                                           "api_time",
                                                           "think_time",
                                                           "ttft"};
    for (const std::string_view key : is_agent ? kAgentNeeded : kNeeded) {
      if (!keys.contains(key)) {
        return wrong(key, "nothing", is_agent ? "it in a sub-agent" : "it in a request", place);
      }
    }
    for (const std::string_view key : keys) {
      const bool is_of_requests = kOfRequests.contains(key);
      const bool is_of_both = key == "t" || key == "type";
      if (!is_of_both && (is_of_requests == is_agent || (key == "ttft" && !is_streamed))) {
        return wrong(key, "the key", "it not in an entry of this type", place);
      }
    }
    return true;
  }

  bool settle(SubAgent& agent, bool is_agent, std::string_view place) {
    if (!is_agent) {
      return true;
    }
    if (agent.id.empty()) {
      return wrong("agent_id", "an empty text", "a name", place);
    }
    for (TraceRequest& request : agent.requests) {
      if (request.start + kTouch < agent.start) {
        request.start += agent.start;
      }
    }
    return true;
  }

  bool is_whole() {
    const char* missing = trace_.id.empty()        ? "id"
                          : trace_.block_size == 0 ? "block_size"
                          : trace_.entries.empty() ? "requests"
                                                   : nullptr;
    return missing == nullptr || wrong(missing, "nothing", "it in a trace", line_->text());
  }

  std::int32_t model_of(const std::string& name) {
    const auto found = models_.find(name);
    if (found != models_.end()) {
      return found->second;
    }
    const auto number = static_cast<std::int32_t>(trace_.models.size());
    trace_.models.push_back(name);
    models_.emplace(name, number);
    return number;
  }

  bool unknown(std::string_view key, std::string_view of) {
    return wrong(key, "an unknown key", fmt::format("the keys of a {}", of));
  }
  bool wrong(std::string_view key,
             std::string_view found,
             std::string_view expected,
             std::optional<std::string_view> place = {}) {
    line_->problem(key, place ? *place : json_.rest(), found, expected);
    return false;
  }

  const TraceLine* line_;
  JsonCursor json_;
  Trace trace_;
  std::map<std::string, std::int32_t> models_;
};

}  // namespace

std::optional<Trace> read_trace(const TraceLine& line) {
  return Reader(line).read();
}

std::int64_t peak_context(const Trace& trace) {
  std::int64_t peak = 0;
  const auto look = [&](const std::vector<TraceRequest>& requests) {
    for (const TraceRequest& request : requests) {
      peak = std::max(peak, request.input + std::max<std::int64_t>(request.output, 1));
    }
  };
  look(trace.requests);
  for (const SubAgent& agent : trace.sub_agents) {
    look(agent.requests);
  }
  return peak;
}

}  // namespace ridgeline::workload::agents
