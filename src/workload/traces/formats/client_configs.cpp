// Configurations of guidellm (0.8.1: schemas/benchmark, scheduler/strategies) and of AIPerf
// (0.13.0: config/phases.py) whose data they generate themselves. What needs a running server or
// data from outside is refused by its name.
#include "workload/traces/formats/client_configs.hpp"

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
#include "document/yaml_documents.hpp"
#include "workload/generate/law.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/formats/perf_stream.hpp"

namespace ridgeline::workload {
namespace {

using document::Node;

constexpr double kLongestLength = 1e8;

/// Looks into a document, and notes what is not read.
class ClientConfigReader {
 public:
  explicit ClientConfigReader(core::Errors& errors) : errors_(errors) {}

 protected:
  void refuse(const Node& at, std::string field, std::string message, std::string hint = {}) {
    errors_.push_back({.field = std::move(field),
                       .message = std::move(message),
                       .where = at.where(),
                       .hint = std::move(hint)});
  }

  /// The numbers of a member: one, a list of them, or none.
  std::vector<double> numbers(const Node& node, std::string_view key) {
    const Node* found = node.find(key);
    std::vector<double> all;
    if (found == nullptr || found->is_null()) {
      return all;
    }
    for (const Node& item : found->is_list() ? found->items() : std::vector<Node>{*found}) {
      if (item.is_number() && item.as_real() > 0.0) {
        all.push_back(item.as_real());
      } else {
        refuse(item,
               std::string(key),
               fmt::format("found {}, expected a number above 0", item.describe()));
      }
    }
    return all;
  }
  std::optional<double> number(const Node& node, std::string_view key) {
    const auto all = numbers(node, key);
    return all.empty() ? std::nullopt : std::optional(all.front());
  }
  static std::string text(const Node& node, std::string_view key) {
    const Node* found = node.find(key);
    return found != nullptr && found->is_string() ? found->as_string() : "";
  }
  static std::int64_t whole(double value) { return static_cast<std::int64_t>(value); }

  core::Errors& errors_;
};

/// A map with the value at a dotted path in place of its own.
Node with_member(const Node& map, std::string_view path, const Node& value) {
  const std::size_t dot = path.find('.');
  const std::string key(path.substr(0, dot));
  std::vector<Node::Member> members;
  bool is_there = false;
  const auto changed = [&](const Node& old) {
    return dot == std::string_view::npos ? value : with_member(old, path.substr(dot + 1), value);
  };
  for (const Node::Member& member : map.is_map() ? map.members() : std::vector<Node::Member>()) {
    const bool is_it = member.key == key;
    is_there = is_there || is_it;
    members.push_back({.key = member.key,
                       .value = is_it ? changed(member.value) : member.value,
                       .where = member.where});
  }
  if (!is_there) {
    members.push_back({.key = key, .value = changed(Node()), .where = value.where()});
  }
  return Node::map(std::move(members), map.where());
}

class GuidellmScenarioReader : private ClientConfigReader {
 public:
  using ClientConfigReader::ClientConfigReader;

  PerfPlan read(const Node& document) {
    plan_.interval = 0.0;
    plan_.is_drawn_alike = true;  // Every benchmark starts again at the seed.
    const Node* spec = document.find("spec");
    const Node* benchmarks = document.find("benchmarks");
    std::vector<Node> runs;
    for (const Node& changes : benchmarks != nullptr && benchmarks->is_list()
                                   ? benchmarks->items()
                                   : std::vector<Node>{Node()}) {
      Node run = *spec;
      for (const Node::Member& change :
           changes.is_map() ? changes.members() : std::vector<Node::Member>()) {
        run = with_member(run, change.key, change.value);
      }
      read_run(run);
    }
    return std::move(plan_);
  }

 private:
  void read_run(const Node& run) {
    const Node* profile = run.find("profile");
    const Node* data = run.find("data");
    if (profile == nullptr || !profile->is_map()) {
      refuse(run, "spec.profile", "missing, expected the load of guidellm's scenario");
      return;
    }
    if (plan_.stages.empty()) {
      read_data(run,
                data != nullptr && data->is_list() && !data->items().empty()
                    ? data->items().front()
                    : (data != nullptr ? *data : Node()));
    }
    PerfStage limits;
    const Node* constraints = run.find("constraints");
    for (const Node& limit : constraints != nullptr && constraints->is_list()
                                 ? constraints->items()
                                 : std::vector<Node>()) {
      limits.duration = number(limit, "seconds").value_or(limits.duration);
      limits.requests =
          whole(number(limit, "count").value_or(static_cast<double>(limits.requests)));
    }
    if (limits.duration == 0.0 && limits.requests == 0) {
      refuse(run, "spec.constraints", "missing, expected max_duration or max_requests of guidellm");
      return;
    }
    read_profile(*profile, limits);
  }

  void read_profile(const Node& profile, const PerfStage& limits) {
    const std::string kind = text(profile, "kind");
    const double most = number(profile, "max_concurrency").value_or(0.0);
    PerfStage stage = limits;
    if (profile.find("rampup_duration") != nullptr) {
      refuse(profile, "spec.profile.rampup_duration", "a load of guidellm that rises is not read");
    }
    if (kind == "synchronous" || kind == "concurrent" || kind == "throughput") {
      constexpr double kAllAtOnce = 1e6;
      std::vector<double> streams = numbers(profile, "streams");
      if (kind != "concurrent") {
        streams = {kind == "synchronous" ? 1.0 : (most > 0.0 ? most : kAllAtOnce)};
      }
      for (const double stream : streams) {
        stage.concurrency = whole(stream);
        plan_.stages.push_back(stage);
      }
    } else if (kind == "constant" || kind == "async" || kind == "poisson") {
      plan_.times = kind == "poisson" ? PerfPlan::Times::kPoisson : PerfPlan::Times::kEven;
      for (const double rate : numbers(profile, "rate")) {
        stage.rate = rate;
        stage.concurrency = whole(most);
        if (stage.duration == 0.0) {
          stage.duration = static_cast<double>(limits.requests) / rate;
        }
        plan_.stages.push_back(stage);
      }
    } else {
      refuse(profile,
             "spec.profile.kind",
             fmt::format("\"{}\" of guidellm is a search on a running server, or no load", kind),
             "write its rates out: kind: poisson, rate: [1, 2]");
    }
  }

  void read_data(const Node& run, const Node& data) {
    const std::string kind = text(data, "kind");
    if (!data.is_map() || (kind != "synthetic_text" && !kind.empty())) {
      refuse(data.is_map() ? data : run,
             "spec.data",
             "data of guidellm from outside, expected kind: synthetic_text",
             "give the data's own file");
      return;
    }
    for (const Node::Member& member : data.members()) {
      const std::string& key = member.key;
      if (key.starts_with("prefix_") || key.starts_with("turns") || key.starts_with("branches") ||
          key.starts_with("delay") || key.starts_with("first_prompt")) {
        refuse(member.value, "spec.data." + key, "this member of guidellm's data is not read yet");
      }
    }
    plan_.spec.input = length(data, "prompt_tokens");
    plan_.spec.output = length(data, "output_tokens");
  }

  Law length(const Node& data, const std::string& key) {
    const auto mean = number(data, key);
    if (!mean) {
      refuse(data, "spec.data." + key, "missing, expected tokens");
      return Law::constant(1.0);
    }
    const auto deviation = number(data, key + "_stdev");
    const double least = number(data, key + "_min").value_or(1.0);
    const double greatest = number(data, key + "_max").value_or(kLongestLength);
    return deviation ? Law::normal(*mean, *deviation, least, greatest) : Law::constant(*mean);
  }

  PerfPlan plan_;
};

class AiperfConfigReader : private ClientConfigReader {
 public:
  using ClientConfigReader::ClientConfigReader;

  PerfPlan read(const Node& document) {
    plan_.interval = 0.0;
    const Node& benchmark = *document.find("benchmark");
    const Node* datasets = benchmark.find("datasets");
    const Node* phases = benchmark.find("phases");
    if (datasets == nullptr || !datasets->is_list() || datasets->items().size() != 1) {
      refuse(benchmark, "benchmark.datasets", "expected one dataset of AIPerf");
    } else {
      read_dataset(datasets->items().front());
    }
    for (const Node& phase :
         phases != nullptr && phases->is_list() ? phases->items() : std::vector<Node>()) {
      const Node* excluded = phase.find("exclude_from_results");
      const bool is_warm_up =
          text(phase, "kind") == "warmup" ||
          (excluded != nullptr && excluded->kind() == Node::Kind::kBool && excluded->as_bool());
      if (!is_warm_up) {
        read_phase(phase);
      }
    }
    if (plan_.stages.empty() && errors_.empty()) {
      refuse(benchmark, "benchmark.phases", "missing, expected a phase of AIPerf");
    }
    return std::move(plan_);
  }

 private:
  void read_dataset(const Node& dataset) {
    const Node* prompts = dataset.find("prompts");
    if (text(dataset, "type") != "synthetic" || prompts == nullptr) {
      refuse(dataset,
             "benchmark.datasets.type",
             "data of AIPerf from outside, expected type: synthetic with prompts",
             "give the data's own file");
      return;
    }
    for (const std::string_view key : {"turns", "prefix_prompts", "images", "audio", "video"}) {
      if (const Node* found = dataset.find(key)) {
        refuse(*found,
               fmt::format("benchmark.datasets.{}", key),
               "this member of AIPerf's data is not read yet");
      }
    }
    plan_.spec.input = length(*prompts, "isl");
    plan_.spec.output = length(*prompts, "osl");
  }

  Law length(const Node& prompts, std::string_view key) {
    const Node* node = prompts.find(key);
    if (node == nullptr) {
      refuse(
          prompts, fmt::format("benchmark.datasets.prompts.{}", key), "missing, expected tokens");
      return Law::constant(1.0);
    }
    if (node->is_number()) {
      return Law::constant(node->as_real());
    }
    const double mean = number(*node, "mean").value_or(1.0);
    const Node* deviation = node->find("stddev");
    const bool is_drawn =
        deviation != nullptr && deviation->is_number() && deviation->as_real() > 0.0;
    return is_drawn ? Law::normal(mean, deviation->as_real(), 1.0, kLongestLength)
                    : Law::constant(mean);
  }

  void read_phase(const Node& phase) {
    const std::string type = text(phase, "type");
    PerfStage stage{.duration = number(phase, "duration").value_or(0.0),
                    .requests = whole(number(phase, "requests").value_or(0.0)),
                    .concurrency = whole(number(phase, "concurrency").value_or(0.0))};
    for (const std::string_view key : {"rate_series", "rate_ramp", "prefill_concurrency"}) {
      if (const Node* found = phase.find(key)) {
        refuse(*found,
               fmt::format("benchmark.phases.{}", key),
               "this member of AIPerf's load is not read yet");
      }
    }
    if (type == "poisson" || type == "constant") {
      plan_.times = type == "poisson" ? PerfPlan::Times::kPoisson : PerfPlan::Times::kEven;
      stage.rate = number(phase, "rate");
      if (stage.rate && stage.duration == 0.0) {
        stage.duration = static_cast<double>(stage.requests) / *stage.rate;
      }
    } else if (type == "concurrency") {
      stage.concurrency = stage.concurrency == 0 ? 1 : stage.concurrency;
    } else {
      refuse(phase, "benchmark.phases.type", fmt::format("\"{}\" of AIPerf is not read yet", type));
      return;
    }
    if (stage.duration == 0.0 && stage.requests == 0) {
      refuse(
          phase, "benchmark.phases.requests", "missing, expected requests or duration of AIPerf");
    } else if (plan_.stages.empty() || stage.rate.has_value() == plan_.stages[0].rate.has_value()) {
      plan_.stages.push_back(stage);
    } else {
      refuse(phase,
             "benchmark.phases.type",
             "phases of AIPerf by rate beside others are not read yet");
    }
  }

  PerfPlan plan_;
};

template <class Reader>
core::Result<std::unique_ptr<ItemStream>> read_client_config(TraceDocument document) {
  const auto documents = document::parse_yaml_documents(document.text, document.path);
  if (!documents) {
    return core::fail(documents.error());
  }
  core::Errors errors;
  PerfPlan plan = Reader(errors).read(documents->front());
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return make_perf_stream(plan, document.seed);
}

}  // namespace

const TraceFormat kGuidellmScenario = {
    .name = "guidellm-scenario",
    .summary = "guidellm's scenario (YAML): generated",
    .detect =
        [](const TraceHead& head) {
          return head.has_yaml_key("spec") && !head.has_yaml_key("apiVersion");
        },
    .open_document = read_client_config<GuidellmScenarioReader>,
};

const TraceFormat kAiperfConfig = {
    .name = "aiperf-config",
    .summary = "AIPerf's configuration (YAML): generated",
    .detect = [](const TraceHead& head) { return head.has_yaml_key("benchmark"); },
    .open_document = read_client_config<AiperfConfigReader>,
};

}  // namespace ridgeline::workload
