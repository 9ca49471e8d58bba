// inference-sim's workload description, version 2 (and 1, whose SLO classes had other names):
// clients and cohorts with rates, lengths, prefix groups and sessions; unknown keys are errors.
//
// Where the origin is known to be wrong we do what its specification says, and tell so in warnings
// that only a comparison with it needs (source.hpp, kBlisWarning).
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
#include "workload/generate/rate_curve.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/limits.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/formats/blis_client.hpp"
#include "workload/traces/formats/perf_stream.hpp"

namespace ridgeline::workload {
namespace {

class BlisReader {
 public:
  explicit BlisReader(core::Errors& errors) : errors_(errors), client_reader_(errors) {}

  void read(const document::Node& document) {
    document::ObjectReader reader(document, "", errors_);
    const std::string version = read_version(reader);
    if (version == "1") {
      client_reader_.set_version_1();
    }
    client_reader_.traits().has_seed = reader.integer("seed").has_value();
    reader.string("category");
    aggregate_ = reader.real("aggregate_rate", kBlisRate).value_or(0.0);
    horizon_ = reader.real("horizon", kBlisTime).value_or(0.0) * kBlisMicrosecond;
    num_requests_ = reader.integer("num_requests", {.lowest = 0, .highest = kMaxRequests});
    client_reader_.traits().slo_targets = reader.node("goodput_slo_targets") != nullptr;
    if (reader.node("servegen_data") != nullptr) {
      reader.problem("servegen_data",
                     "is not read from here, expected clients, cohorts or inference_perf",
                     "give the folder itself: --trace FOLDER");
    }
    const auto* perf = reader.node("inference_perf");
    if (perf != nullptr) {
      read_inference_perf(*perf);
    }
    read_list(reader, "clients", true);
    read_list(reader, "cohorts", false);
    reader.finish();
    if (perf != nullptr && clients_.size() > 1) {
      reader.problem("inference_perf", "stands beside clients or cohorts, expected one of them");
    }
    check_slo_classes(reader);
    if (clients_.empty() && errors_.empty()) {
      reader.problem("clients", "missing, expected clients, cohorts or inference_perf");
    }
  }

  core::Result<std::unique_ptr<ItemStream>> make(std::uint64_t seed) {
    if (chats_) {
      return make_perf_stream(*chats_, seed);
    }
    share_rates();
    Stage stage;
    std::vector<ClientSpec> specs;
    for (BlisClient& client : clients_) {
      if (client.concurrency > 0) {
        if (clients_.size() > 1) {
          return core::fail(core::Error{
              .field = "clients",
              .message = "found a client with concurrency beside others, expected it alone: "
                         "its users share nothing with them",
              .hint = "give each its own file"});
        }
        stage.max_concurrency = client.concurrency;
        stage.think = core::Duration::from_seconds(LawSampler(client.think).at(0.5))
                          .value_or(core::Duration());
        client.spec.at_once = true;
        if (horizon_ > 0.0) {
          stage.end = core::Duration::from_seconds(horizon_);
        }
      }
      if (horizon_ > 0.0) {
        client.spec.end = core::Duration::from_seconds(horizon_);
      }
      specs.push_back(client.spec);
    }
    const bool bounded = num_requests_.value_or(0) > 0 || horizon_ > 0.0 || all_bounded(specs);
    if (!bounded) {
      return core::fail(core::Error{.field = "num_requests",
                                    .message = "missing, expected num_requests or horizon: the "
                                               "workload would not end"});
    }
    std::optional<std::int64_t> groups;
    if (num_requests_.value_or(0) > 0) {
      groups = num_requests_;
    }
    return make_clients(specs, seed, stage, groups, blis_warnings(client_reader_.traits()));
  }

 private:
  static bool all_bounded(const std::vector<ClientSpec>& specs) {
    return std::ranges::all_of(specs, [](const ClientSpec& spec) {
      return spec.num_groups ||
             (!spec.at_once && !spec.rate.repeats && spec.rate.pieces.back().seconds < 1e7);
    });
  }

  /// All clients have a class or none has: a class of some would say nothing about the others.
  void check_slo_classes(document::ObjectReader& reader) const {
    const auto without = [](const BlisClient& client) { return client.spec.slo_class.empty(); };
    const auto count = std::ranges::count_if(clients_, without);
    if (count > 0 && static_cast<std::size_t>(count) < clients_.size()) {
      reader.problem("clients",
                     fmt::format("{} of {} are without slo_class, expected it for all or for none",
                                 count,
                                 clients_.size()));
    }
  }

  std::string read_version(document::ObjectReader& reader) {
    const auto* node = reader.node("version");
    const std::string text = node == nullptr     ? ""
                             : node->is_string() ? node->as_string()
                                                 : node->describe();
    if (text != "1" && text != "2") {
      reader.problem("version", fmt::format("found '{}', expected \"2\" or \"1\"", text));
    }
    return text;
  }

  void read_list(document::ObjectReader& reader, std::string_view key, bool is_client) {
    const auto* node = reader.node(key);
    if (node == nullptr) {
      return;
    }
    if (!node->is_list()) {
      reader.problem(key, fmt::format("found {}, expected a list", node->describe()));
      return;
    }
    for (std::size_t i = 0; i < node->items().size(); ++i) {
      client_reader_.read(node->items()[i], fmt::format("{}[{}]", key, i), is_client, clients_);
    }
  }

  /// stages [{rate, duration}] and shared_prefix: users times prompts, of one length each.
  void read_inference_perf(const document::Node& node) {
    document::ObjectReader reader(node, "inference_perf", errors_);
    RateCurve curve;
    if (const auto* stages = reader.node("stages"); stages != nullptr && stages->is_list()) {
      for (std::size_t i = 0; i < stages->items().size(); ++i) {
        document::ObjectReader stage(
            stages->items()[i], fmt::format("inference_perf.stages[{}]", i), errors_);
        const double rate = stage.required_real("rate", kBlisRate);
        const double seconds = stage.required_real("duration", {.lowest = 1e-3, .highest = 9e6});
        stage.finish();
        curve.pieces.push_back({.seconds = seconds, .from = rate, .to = rate});
      }
    }
    BlisClient client;
    const auto* shared = reader.node("shared_prefix");
    if (shared == nullptr || curve.pieces.empty()) {
      reader.problem("shared_prefix", "missing, expected stages and shared_prefix");
    } else {
      document::ObjectReader inner(*shared, "inference_perf.shared_prefix", errors_);
      constexpr document::Range<std::int64_t> kCount{.lowest = 1, .highest = 1'000'000};
      const auto prompts = inner.required_integer("num_unique_system_prompts", kCount);
      const auto users = inner.required_integer("num_users_per_system_prompt", kCount);
      constexpr document::Range<double> kLengths{.lowest = 1.0, .highest = 1e8};
      client.spec.prefix =
          ClientPrefix{.group = "inference_perf",
                       .length = Law::constant(inner.required_real("system_prompt_len", kLengths)),
                       .count = prompts};
      client.spec.input = Law::constant(inner.required_real("question_len", kLengths));
      client.spec.output = Law::constant(inner.required_real("output_len", kLengths));
      if (inner.boolean("enable_multi_turn_chat").value_or(false)) {
        chats_ = PerfPlan{.prompts = PerfPrompts{.groups = prompts,
                                                 .per_group = users,
                                                 .system = client.spec.prefix->length,
                                                 .question = client.spec.input,
                                                 .output = client.spec.output,
                                                 .is_chat = true},
                          .by_clock = true};
        for (const RatePiece& piece : curve.pieces) {
          chats_->stages.push_back({.rate = piece.from, .duration = piece.seconds});
        }
      }
      inner.finish();
    }
    reader.finish();
    client.spec.rate = curve;
    is_inference_perf_ = true;
    clients_.push_back(std::move(client));
  }

  void share_rates() {
    if (is_inference_perf_) {
      return;
    }
    double total = 0.0;
    for (const BlisClient& client : clients_) {
      total += client.concurrency > 0 ? 0.0 : client.fraction;
    }
    // With windows a client has its fraction of those that are active beside it.
    const bool share_all = std::ranges::all_of(
        clients_, [](const BlisClient& client) { return client.windows.empty(); });
    if (total > 0.0 && share_all) {
      client_reader_.traits().fractions = total;
    }
    for (BlisClient& client : clients_) {
      const double share = total > 0.0 ? aggregate_ * client.fraction / total : 0.0;
      const double rate = client.rate.value_or(share);
      client.spec.rate = blis_rate_curve(client, rate);
      if (client.single_session) {
        client.spec.num_groups = 1;
      }
      if (client.spec.session && num_requests_.value_or(0) > 0) {
        client_reader_.traits().counts_sessions = true;
      }
    }
  }

  core::Errors& errors_;
  BlisClientReader client_reader_;
  bool is_inference_perf_ = false;
  std::optional<PerfPlan> chats_;  ///< inference_perf of several rounds.
  double aggregate_ = 0.0;
  double horizon_ = 0.0;
  std::optional<std::int64_t> num_requests_;
  std::vector<BlisClient> clients_;
};

core::Result<std::unique_ptr<ItemStream>> read_blis_workload(TraceDocument document) {
  const auto tree = document::parse_yaml(document.text, document.path);
  if (!tree) {
    return core::fail(tree.error());
  }
  core::Errors errors;
  BlisReader reader(errors);
  reader.read(*tree);
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return reader.make(document.seed);
}

}  // namespace

const TraceFormat kBlisWorkload = {
    .name = "blis-workload",
    .summary = "inference-sim's workload description v2 (YAML): generated",
    .detect =
        [](const TraceHead& head) {
          return head.has_yaml_key("clients") || head.has_yaml_key("cohorts") ||
                 head.has_yaml_key("aggregate_rate") ||
                 (head.has_yaml_key("version") &&
                  (head.has_yaml_key("inference_perf") || head.has_yaml_key("servegen_data")));
        },
    .open_document = read_blis_workload,
};

}  // namespace ridgeline::workload
