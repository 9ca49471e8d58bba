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
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "workload/generate/client.hpp"
#include "workload/generate/law.hpp"
#include "workload/generate/law_reader.hpp"
#include "workload/generate/rate_curve.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/limits.hpp"
#include "workload/traces/format.hpp"

namespace ridgeline::workload {
namespace {

constexpr document::Range<std::int64_t> kPerfCount{.lowest = 1, .highest = 100'000'000};
constexpr document::Range<double> kPerfRate{.lowest = 1e-6, .highest = 1e9};

struct PerfStage {
  std::optional<double> rate;
  double duration = 0.0;
  std::int64_t requests = 0;
  std::int64_t concurrency = 0;
  std::int64_t sessions = 0;
};

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

  [[nodiscard]] std::unique_ptr<ItemStream> make(std::uint64_t seed) const;

 private:
  void read_load(const document::Node& node) {
    document::ObjectReader reader(node, "load", errors_, document::ObjectReader::Unknown::kIgnore);
    const std::string type = reader.string("type").value_or("constant");
    poisson_ = type == "poisson";
    interval_ = reader.real("interval", {.lowest = 0.0, .highest = 1e6}).value_or(0.0);
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
      if (!by_rate && !by_count) {
        stage.problem("rate",
                      "missing, expected rate and duration, num_requests and concurrency_level, or "
                      "num_sessions and concurrent_sessions");
      }
      stages_.push_back(read);
    }
  }

  void read_data(const document::Node& node) {
    document::ObjectReader reader(node, "data", errors_, document::ObjectReader::Unknown::kIgnore);
    const std::string type = reader.string("type").value_or("mock");
    if (type == "shared_prefix") {
      read_shared_prefix(reader);
    } else if (type == "conversation_replay") {
      read_conversations(reader);
    } else if (type == "mock" || type == "random" || type == "synthetic") {
      read_distributions(reader);
    } else {
      reader.problem("type",
                     fmt::format("'{}' needs a data set from outside, expected mock, random, "
                                 "synthetic, shared_prefix or conversation_replay",
                                 type));
    }
  }

  void read_distributions(document::ObjectReader& reader) {
    constexpr double kMockTokens = 128.0;
    spec_.input = law(reader, "data", "input_distribution").value_or(Law::constant(kMockTokens));
    spec_.output = law(reader, "data", "output_distribution").value_or(Law::constant(kMockTokens));
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
    constexpr std::int64_t kDefaultGroups = 10;
    prompts_ = either("num_unique_system_prompts", "num_groups", kDefaultGroups);
    users_ = either("num_users_per_system_prompt", "num_prompts_per_group", kDefaultGroups);
    constexpr double kDefaultPrompt = 100.0;
    constexpr double kDefaultRest = 50.0;
    spec_.prefix = ClientPrefix{.group = "shared_prefix",
                                .length = law(inner, "data.shared_prefix", "system_prompt_len")
                                              .value_or(Law::constant(kDefaultPrompt)),
                                .count = prompts_};
    spec_.input =
        law(inner, "data.shared_prefix", "question_len").value_or(Law::constant(kDefaultRest));
    spec_.output =
        law(inner, "data.shared_prefix", "output_len").value_or(Law::constant(kDefaultRest));
    if (inner.boolean("enable_multi_turn_chat").value_or(false)) {
      // A user's rounds follow each other and hold the conversation so far.
      spec_.session = ClientSession{.turns = Law::constant(static_cast<double>(users_))};
      counts_requests_ = true;
    }
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
      spec_.prefix = ClientPrefix{.group = "conversation_replay", .length = *shared};
    }
    ClientSession session;
    session.own_prefix = law(inner, path, "dynamic_system_prompt_len");
    session.turns = law(inner, path, "turns_per_conversation").value_or(Law::constant(1.0));
    session.think = law(inner, path, "tool_call_latency_sec").value_or(Law::constant(0.0));
    spec_.input = law(inner, path, "input_tokens_per_turn").value_or(Law::constant(1.0));
    spec_.output = law(inner, path, "output_tokens_per_turn").value_or(Law::constant(1.0));
    spec_.session = std::move(session);
    counts_requests_ = true;
  }

  std::optional<Law> law(document::ObjectReader& reader,
                         const std::string& path,
                         std::string_view key) {
    const auto* node = reader.node(key);
    return node == nullptr ? std::nullopt
                           : read_perf_law(*node, fmt::format("{}.{}", path, key), errors_);
  }

  core::Errors& errors_;
  bool poisson_ = false;
  bool counts_requests_ = false;
  double interval_ = 0.0;
  std::int64_t prompts_ = 1;
  std::int64_t users_ = 1;
  std::vector<PerfStage> stages_;
  ClientSpec spec_;

  friend class PerfStream;
};

/// The stages one after the other, each a client of its own.
class PerfStream final : public ItemStream {
 public:
  PerfStream(const PerfReader& reader, std::uint64_t seed) : reader_(reader), seed_(seed) {
    for (std::size_t i = 0; i < reader_.stages_.size(); ++i) {
      rules_.push_back({.max_concurrency = reader_.stages_[i].concurrency,
                        .after_previous = i > 0,
                        .pause = core::Duration::from_seconds(i > 0 ? reader_.interval_ : 0.0)
                                     .value_or(core::Duration())});
    }
    waits_ = rules_.size() > 1 || rules_[0].max_concurrency > 0 || reader_.spec_.session;
  }

  bool next(Item& item) override {
    for (; stage_ < rules_.size(); ++stage_, current_.reset()) {
      if (current_ == nullptr) {
        current_ = stage_client();
        items_ = 0;
      }
      const std::int64_t most = reader_.counts_requests_ && reader_.stages_[stage_].requests > 0
                                    ? reader_.stages_[stage_].requests
                                    : kMaxRequests;
      // A stage of num_requests ends with that many requests, in the middle of a conversation too.
      if (items_ < most && current_->next(item)) {
        ++items_;
        if (item.starts_group) {
          ++sessions_;
        }
        item.session = item.session >= 0 ? sessions_ - 1 : -1;
        item.stage = static_cast<std::int32_t>(stage_);
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] std::optional<double> share_read() const override {
    const double part = current_ ? current_->share_read().value_or(0.0) : 0.0;
    return (static_cast<double>(stage_) + part) / static_cast<double>(rules_.size());
  }
  [[nodiscard]] const std::vector<Stage>& stages() const override { return rules_; }
  [[nodiscard]] bool waits_for_answers() const override { return waits_; }
  [[nodiscard]] bool is_flat() const override { return !reader_.spec_.session; }

 private:
  [[nodiscard]] std::unique_ptr<ItemStream> stage_client() const {
    ClientSpec spec = reader_.spec_;
    const PerfStage& stage = reader_.stages_[stage_];
    if (stage.concurrency > 0) {
      spec.at_once = true;
      spec.num_groups = stage.sessions > 0 ? stage.sessions : stage.requests;
    } else {
      spec.gaps.kind = reader_.poisson_ ? GapLaw::Kind::kPoisson : GapLaw::Kind::kConstant;
      spec.rate = RateCurve{
          .pieces = {{.seconds = stage.duration, .from = *stage.rate, .to = *stage.rate}}};
    }
    return make_client(spec, seed_, stage_);
  }

  PerfReader reader_;
  std::uint64_t seed_;
  std::vector<Stage> rules_;
  bool waits_ = false;
  std::size_t stage_ = 0;
  std::unique_ptr<ItemStream> current_;
  std::int64_t items_ = 0;
  std::int32_t sessions_ = 0;
};

std::unique_ptr<ItemStream> PerfReader::make(std::uint64_t seed) const {
  return std::make_unique<PerfStream>(*this, seed);
}

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
  return reader.make(document.seed);
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
