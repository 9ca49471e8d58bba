// inference-perf's configuration (github.com/kubernetes-sigs/inference-perf): load stages by rate,
// by concurrency and by sessions, with the data that it generates itself: mock, random, synthetic,
// shared_prefix and conversation_replay. Data sets that it downloads cannot be read here.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "workload/generate/client.hpp"
#include "workload/generate/law.hpp"
#include "workload/generate/law_reader.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/formats/perf_stream.hpp"

namespace ridgeline::workload {
namespace {

constexpr document::Range<std::int64_t> kPerfCount{.lowest = 1, .highest = 100'000'000};
constexpr std::int64_t kMaxPrompts = 1'000'000;
constexpr document::Range<double> kPerfRate{.lowest = 1e-6, .highest = 1e9};

class PerfReader {
 public:
  explicit PerfReader(core::Errors& errors) : errors_(errors) {}

  void read(const document::Node& document) {
    document::ObjectReader reader(document, "", errors_, document::ObjectReader::Unknown::kIgnore);
    const auto* load = reader.node("load");
    const auto* data = reader.node("data");
    if (load == nullptr) {
      reader.problem("load", "missing, expected stages");
    } else {
      read_load(*load);
    }
    if (data == nullptr) {
      reader.problem("data", "missing, expected a type");
    } else {
      read_data(*data);
    }
  }

  [[nodiscard]] const PerfPlan& plan() const { return plan_; }

 private:
  void read_load(const document::Node& node) {
    document::ObjectReader reader(node, "load", errors_, document::ObjectReader::Unknown::kIgnore);
    const std::string type = reader.string("type").value_or("constant");
    plan_.times = type == "poisson" ? PerfPlan::Times::kBySecond : PerfPlan::Times::kScaled;
    plan_.interval = reader.real("interval", {.lowest = 0.0, .highest = 1e6}).value_or(1.0);
    if (type == "trace_replay") {
      reader.problem("type",
                     "'trace_replay' sends the rows of another file, whose stages say nothing",
                     "give the file of load.trace itself");
      return;
    }
    const bool is_sessions = type == "trace_session_replay";
    if (reader.node("sweep") != nullptr) {
      reader.problem("sweep", "is a search on a running server, expected stages");
    }
    const auto* stages = reader.node("stages");
    if (stages == nullptr || !stages->is_list() || stages->items().empty()) {
      reader.problem("stages", "missing, expected a list of stages");
      return;
    }
    for (std::size_t i = 0; i < stages->items().size(); ++i) {
      document::ObjectReader stage(stages->items()[i],
                                   fmt::format("load.stages[{}]", i),
                                   errors_,
                                   document::ObjectReader::Unknown::kIgnore);
      PerfStage read;
      read.rate = stage.real("rate", kPerfRate);
      read.duration = stage.real("duration", {.lowest = 1e-3, .highest = 9e6}).value_or(0.0);
      read.requests = stage.integer("num_requests", kPerfCount).value_or(0);
      read.sessions = stage.integer("num_sessions", kPerfCount).value_or(0);
      read.concurrency = std::max(stage.integer("concurrency_level", kPerfCount).value_or(0),
                                  stage.integer("concurrent_sessions", kPerfCount).value_or(0));
      const bool by_rate = read.rate && read.duration > 0.0;
      const bool by_count = read.concurrency > 0 && (read.requests > 0 || read.sessions > 0);
      if (!by_rate && !by_count && !is_sessions) {  // All sessions of the data: its own reader.
        stage.problem("rate",
                      "missing, expected rate and duration, num_requests and concurrency_level, or "
                      "num_sessions and concurrent_sessions");
      }
      plan_.stages.push_back(read);
    }
  }

  void read_data(const document::Node& node) {
    document::ObjectReader reader(node, "data", errors_, document::ObjectReader::Unknown::kIgnore);
    const std::string type = reader.string("type").value_or("mock");
    if (reader.node("multimodal") != nullptr) {
      reader.problem("multimodal", "images, video and audio of a generated load are not read");
    }
    if (type == "shared_prefix") {
      read_shared_prefix(reader);
    } else if (type == "conversation_replay") {
      read_conversations(reader);
    } else if (type == "mock" || type == "random" || type == "synthetic") {
      read_distributions(reader);
    } else {
      reader.problem(
          "type",
          fmt::format("'{}' needs a data set from outside, expected mock, random, "
                      "synthetic, shared_prefix or conversation_replay",
                      type),
          type == "shareGPT" || type == "otel_trace_replay"
              ? "give the file of data.path itself: ShareGPT and OpenTelemetry spans are "
                "read"
              : "");
    }
  }

  void read_distributions(document::ObjectReader& reader) {
    constexpr double kMockTokens = 128.0;
    plan_.spec.input =
        law(reader, "data", "input_distribution").value_or(Law::constant(kMockTokens));
    plan_.spec.output =
        law(reader, "data", "output_distribution").value_or(Law::constant(kMockTokens));
  }

  void read_shared_prefix(document::ObjectReader& reader) {
    const auto* node = reader.node("shared_prefix");
    if (node == nullptr) {
      reader.problem("shared_prefix", "missing, expected its lengths");
      return;
    }
    document::ObjectReader inner(
        *node, "data.shared_prefix", errors_, document::ObjectReader::Unknown::kIgnore);
    const auto either = [&](const char* first, const char* second, std::int64_t otherwise) {
      return inner.integer(first, kPerfCount)
          .value_or(inner.integer(second, kPerfCount).value_or(otherwise));
    };
    PerfPrompts prompts;
    prompts.groups = either("num_unique_system_prompts", "num_groups", prompts.groups);
    prompts.per_group =
        either("num_users_per_system_prompt", "num_prompts_per_group", prompts.per_group);
    if (prompts.size() > kMaxPrompts) {
      inner.problem("num_groups", fmt::format("found more than {} prompts", kMaxPrompts));
    }
    const std::string path = "data.shared_prefix";
    const auto length = [&](std::string_view key, std::string_view instead, Law otherwise) {
      const auto plain = law(inner, path, key);
      const auto drawn = instead.empty() ? std::nullopt : law(inner, path, instead);
      return drawn.value_or(plain.value_or(std::move(otherwise)));
    };
    prompts.system = length("system_prompt_len", "", prompts.system);
    prompts.question = length("question_len", "question_distribution", prompts.question);
    prompts.output = length("output_len", "output_distribution", prompts.output);
    prompts.is_chat = inner.boolean("enable_multi_turn_chat").value_or(false);
    if (inner.node("multimodal") != nullptr) {
      inner.problem("multimodal", "images, video and audio of a generated load are not read");
    }
    plan_.prompts = std::move(prompts);
  }

  void read_conversations(document::ObjectReader& reader) {
    const auto* node = reader.node("conversation_replay");
    if (node == nullptr) {
      reader.problem("conversation_replay", "missing, expected its lengths");
      return;
    }
    const std::string path = "data.conversation_replay";
    document::ObjectReader inner(*node, path, errors_, document::ObjectReader::Unknown::kIgnore);
    inner.integer("num_conversations", kPerfCount);
    if (auto shared = law(inner, path, "shared_system_prompt_len")) {
      plan_.spec.prefix = ClientPrefix{.group = "conversation_replay", .length = *shared};
    }
    ClientSession session;
    session.own_prefix = law(inner, path, "dynamic_system_prompt_len");
    session.turns = law(inner, path, "turns_per_conversation").value_or(Law::constant(1.0));
    session.think = law(inner, path, "tool_call_latency_sec").value_or(Law::constant(0.0));
    plan_.spec.input = law(inner, path, "input_tokens_per_turn").value_or(Law::constant(1.0));
    plan_.spec.output = law(inner, path, "output_tokens_per_turn").value_or(Law::constant(1.0));
    plan_.spec.session = std::move(session);
    plan_.counts_requests = true;
  }

  std::optional<Law> law(document::ObjectReader& reader,
                         const std::string& path,
                         std::string_view key) {
    const auto* node = reader.node(key);
    return node == nullptr ? std::nullopt
                           : read_perf_law(*node, fmt::format("{}.{}", path, key), errors_);
  }

  core::Errors& errors_;
  PerfPlan plan_;
};

core::Result<std::unique_ptr<ItemStream>> read_perf_config(TraceDocument document) {
  const auto tree = document::parse_yaml(document.text, document.path);
  if (!tree) {
    return core::fail(tree.error());
  }
  core::Errors errors;
  PerfReader reader(errors);
  reader.read(*tree);
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return make_perf_stream(reader.plan(), document.seed);
}

}  // namespace

const TraceFormat kInferencePerfConfig = {
    .name = "inference-perf-config",
    .summary = "inference-perf's configuration (YAML): generated",
    .detect =
        [](const TraceHead& head) {
          return head.has_yaml_key("load") && head.has_yaml_key("data");
        },
    .open_document = read_perf_config,
};

}  // namespace ridgeline::workload
