// inference-sim's workload description, version 2 (and 1, whose SLO classes had other names):
// clients and cohorts with rates, lengths, prefix groups and sessions; unknown keys are errors.
//
// Where the origin is known to be wrong we do what its specification says, and tell so in warnings
// that only a comparison with it needs (source.hpp, kBlisWarning).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/document.hpp"
#include "core/reader.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/generate/client.hpp"
#include "workload/generate/law.hpp"
#include "workload/generate/law_reader.hpp"
#include "workload/generate/rate_curve.hpp"
#include "workload/item_stream.hpp"
#include "workload/limits.hpp"
#include "workload/traces/format.hpp"

namespace ridgeline::workload {
namespace {

constexpr core::Range<double> kAnyTime{.lowest = 0.0, .highest = 9.2e12};  // microseconds
constexpr core::Range<double> kAnyRate{.lowest = 0.0, .highest = 1e9};
constexpr double kMicrosecond = 1e-6;

struct BlisWindow {
  double start = 0.0;  ///< Seconds.
  double end = 0.0;
  std::optional<double> rate;
};

/// A client before rates are shared out.
struct BlisClient {
  ClientSpec spec;
  double fraction = 0.0;
  std::optional<double> rate;  ///< Stated by the arrival process itself.
  std::vector<BlisWindow> windows;
  std::optional<RateCurve> shape;  ///< Of rate 1: diurnal and drain.
  std::int64_t concurrency = 0;
  Law think = Law::constant(0.0);
  bool single_session = false;
};

class BlisReader {
 public:
  explicit BlisReader(core::Errors& errors) : errors_(errors) {}

  void read(const core::Node& document) {
    core::ObjectReader reader(document, "", errors_);
    const std::string version = read_version(reader);
    is_version_1_ = version == "1";
    has_seed_ = reader.integer("seed").has_value();
    reader.string("category");
    aggregate_ = reader.real("aggregate_rate", kAnyRate).value_or(0.0);
    horizon_ = reader.real("horizon", kAnyTime).value_or(0.0) * kMicrosecond;
    num_requests_ = reader.integer("num_requests", {.lowest = 0, .highest = kMaxRequests});
    slo_targets_ = reader.node("goodput_slo_targets") != nullptr;
    if (reader.node("servegen_data") != nullptr) {
      reader.problem("servegen_data",
                     "is not read from here, expected clients, cohorts or inference_perf",
                     "give the folder itself: --trace FOLDER");
    }
    const auto* perf = reader.node("inference_perf");
    if (perf != nullptr) {
      read_inference_perf(*perf);
    }
    read_list(reader, "clients", 1);
    read_list(reader, "cohorts", 0);
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
    return make_clients(specs, seed, stage, groups, warnings());
  }

 private:
  static bool all_bounded(const std::vector<ClientSpec>& specs) {
    return std::ranges::all_of(specs, [](const ClientSpec& spec) {
      return spec.num_groups ||
             (!spec.at_once && !spec.rate.repeats && spec.rate.pieces.back().seconds < 1e7);
    });
  }

  /// All clients have a class or none has: a class of some would say nothing about the others.
  void check_slo_classes(core::ObjectReader& reader) const {
    const auto without = [](const BlisClient& client) { return client.spec.slo_class.empty(); };
    const auto count = std::ranges::count_if(clients_, without);
    if (count > 0 && static_cast<std::size_t>(count) < clients_.size()) {
      reader.problem("clients",
                     fmt::format("{} of {} are without slo_class, expected it for all or for none",
                                 count,
                                 clients_.size()));
    }
  }

  std::string read_version(core::ObjectReader& reader) {
    const auto* node = reader.node("version");
    const std::string text = node == nullptr     ? ""
                             : node->is_string() ? node->as_string()
                                                 : node->describe();
    if (text != "1" && text != "2") {
      reader.problem("version", fmt::format("found '{}', expected \"2\" or \"1\"", text));
    }
    return text;
  }

  void read_list(core::ObjectReader& reader, std::string_view key, int is_client) {
    const auto* node = reader.node(key);
    if (node == nullptr) {
      return;
    }
    if (!node->is_list()) {
      reader.problem(key, fmt::format("found {}, expected a list", node->describe()));
      return;
    }
    for (std::size_t i = 0; i < node->items().size(); ++i) {
      read_client(node->items()[i], fmt::format("{}[{}]", key, i), is_client == 1);
    }
  }

  void read_client(const core::Node& node, const std::string& path, bool is_client) {
    core::ObjectReader reader(node, path, errors_);
    BlisClient client;
    const std::string id = reader.string("id").value_or(path);
    client.spec.tenant = reader.string("tenant_id").value_or("");
    client.spec.model = reader.string("model").value_or("");
    client.spec.adapter = reader.string("adapter").value_or("");
    client.spec.slo_class = slo_class(reader);
    client.fraction = reader.real("rate_fraction", kAnyRate).value_or(0.0);
    client.concurrency =
        reader.integer("concurrency", {.lowest = 0, .highest = kMaxConcurrencyOfClient})
            .value_or(0);
    client.think =
        Law::constant(reader.real("think_time_us", kAnyTime).value_or(0.0) * kMicrosecond);
    client.spec.gaps = read_arrival(reader.node("arrival"), path + ".arrival", client.rate);
    read_lengths(reader, path, client.spec);
    read_prefix(reader, path, id, client.spec, is_client);
    reader.boolean("streaming");
    network_ = reader.node("network") != nullptr || network_;
    timeouts_ = reader.node("timeout") != nullptr || timeouts_;
    slo_targets_ = reader.node("slo_target_us") != nullptr || slo_targets_;
    const bool closed = reader.boolean("closed_loop").value_or(true);
    read_reasoning(reader, path, closed, client);
    read_lifecycle(reader, path, client);
    if (client.concurrency > 0 && client.spec.session) {
      reader.problem("concurrency",
                     "stands beside multi_turn, expected one of them: its users have no rounds");
    }
    std::int64_t population = 1;
    bool shares_prefix = true;
    if (!is_client) {
      population = reader.integer("population", {.lowest = 1, .highest = 100'000}).value_or(1);
      shares_prefix = reader.string("prefix_sharing").value_or("shared") != "per_member";
      read_cohort(reader, path, client);
    }
    reader.finish();
    add_members(client, population, shares_prefix, id);
  }

  void add_members(const BlisClient& client,
                   std::int64_t population,
                   bool shares_prefix,
                   const std::string& id) {
    for (std::int64_t j = 0; j < population; ++j) {
      BlisClient member = client;
      member.fraction /= static_cast<double>(population);
      for (BlisWindow& window : member.windows) {
        if (window.rate) {
          *window.rate /= static_cast<double>(population);
        }
      }
      if (member.rate) {
        *member.rate /= static_cast<double>(population);
      }
      if (member.spec.prefix && !shares_prefix) {
        member.spec.prefix->group += fmt::format("/{}-{}", id, j);
      }
      clients_.push_back(std::move(member));
    }
  }

  std::string slo_class(core::ObjectReader& reader) const {
    std::string name = reader.string("slo_class").value_or("");
    if (is_version_1_) {
      name = name == "realtime" ? "critical" : name == "interactive" ? "standard" : name;
    }
    return name;
  }

  /// `rate` is set where shape and scale say what the mean gap is: those win over the client's
  /// share of the rate.
  GapLaw read_arrival(const core::Node* node,
                      const std::string& path,
                      std::optional<double>& rate) {
    if (node == nullptr) {
      return {};
    }
    static const std::vector<std::string> kProcesses = {"poisson", "gamma", "weibull", "constant"};
    core::ObjectReader reader(*node, path, errors_);
    const std::string process = reader.choice("process", kProcesses).value_or("poisson");
    const double cv = reader.real("cv", {.lowest = 0.01, .highest = 100.0}).value_or(1.0);
    const auto shape = reader.real("shape", {.lowest = 0.01, .highest = 1e6});
    const auto scale = reader.real("scale", {.lowest = 1e-3, .highest = 9.2e12});
    const bool has_shape = process == "gamma" || process == "weibull";
    if ((shape || scale) && !has_shape) {
      reader.problem(
          shape ? "shape" : "scale",
          fmt::format("says nothing of {} arrivals, expected gamma or weibull", process));
    } else if (scale && !shape) {
      reader.problem("scale", "stands without shape, expected both of them or neither");
    }
    reader.finish();
    if (shape && scale && has_shape) {
      // Mean gaps: shape * scale, and scale * Gamma(1 + 1 / shape).
      const double unit = process == "gamma" ? *shape : gamma_of_one_plus(1.0 / *shape);
      rate = 1.0 / (unit * *scale * kMicrosecond);
    }
    if (process == "gamma") {
      // Below 0.01 the origin takes Poisson, for its sampler's sake; ours has no such limit.
      return {.kind = GapLaw::Kind::kGamma, .shape = shape.value_or(1.0 / (cv * cv))};
    }
    if (process == "weibull") {
      return {.kind = GapLaw::Kind::kWeibull, .shape = shape ? *shape : weibull_shape_of(cv)};
    }
    return {.kind = process == "constant" ? GapLaw::Kind::kConstant : GapLaw::Kind::kPoisson};
  }

  void read_law(core::ObjectReader& reader,
                std::string_view key,
                const std::string& path,
                std::optional<Law>& law) {
    if (const auto* node = reader.node(key)) {
      law = read_blis_law(*node, fmt::format("{}.{}", path, key), errors_);
    }
  }

  void read_lengths(core::ObjectReader& reader, const std::string& path, ClientSpec& spec) {
    std::optional<Law> input;
    std::optional<Law> output;
    read_law(reader, "input_distribution", path, input);
    read_law(reader, "output_distribution", path, output);
    if (const auto* node = reader.node("multimodal")) {
      read_multimodal(*node, path + ".multimodal", spec, input);
    }
    if (!input && errors_.empty()) {
      reader.problem("input_distribution", "missing, expected a distribution");
    }
    if (!output && errors_.empty()) {
      reader.problem("output_distribution", "missing, expected a distribution");
    }
    spec.input = input.value_or(Law::constant(1.0));
    spec.output = output.value_or(Law::constant(1.0));
  }

  void read_multimodal(const core::Node& node,
                       const std::string& path,
                       ClientSpec& spec,
                       std::optional<Law>& input) {
    core::ObjectReader reader(node, path, errors_);
    std::optional<Law> text;
    std::optional<Law> unused;
    read_law(reader, "text_distribution", path, text);
    read_law(reader, "image_distribution", path, spec.image_tokens);
    read_law(reader, "image_count_distribution", path, spec.images);
    for (const char* key : {"audio_distribution",
                            "audio_count_distribution",
                            "video_distribution",
                            "video_count_distribution"}) {
      if (reader.node(key) != nullptr) {
        reader.problem(key, "is not generated yet, expected text and images");
      }
    }
    if (spec.image_tokens && !spec.images) {
      spec.images = Law::constant(1.0);
    }
    // As there: the text of a multimodal request replaces input_distribution.
    if (text) {
      input = text;
    }
    reader.finish();
  }

  static void read_prefix(core::ObjectReader& reader,
                          const std::string& path,
                          const std::string& id,
                          ClientSpec& spec,
                          bool is_client) {
    static_cast<void>(path);
    static_cast<void>(is_client);
    const auto group = reader.string("prefix_group");
    const std::int64_t length =
        reader.integer("prefix_length", {.lowest = 0, .highest = kMaxTokensPerRequest}).value_or(0);
    if (!group && length == 0) {
      return;
    }
    constexpr double kDefaultLength = 50.0;  // of a group without one, as there
    spec.prefix = ClientPrefix{
        .group = group.value_or("own/" + id),
        .length = Law::constant(length > 0 ? static_cast<double>(length) : kDefaultLength)};
  }

  void read_reasoning(core::ObjectReader& reader,
                      const std::string& path,
                      bool closed,
                      BlisClient& client) {
    const auto* node = reader.node("reasoning");
    if (node == nullptr) {
      return;
    }
    const std::string below = path + ".reasoning";
    core::ObjectReader inner(*node, below, errors_);
    std::optional<Law> ratio;
    read_law(inner, "reason_ratio_distribution", below, ratio);
    if (ratio) {
      client.spec.reasoning = percent(*ratio);
    }
    if (const auto* turns = inner.node("multi_turn")) {
      core::ObjectReader rounds(*turns, below + ".multi_turn", errors_);
      ClientSession session;
      session.turns = Law::constant(static_cast<double>(
          rounds.integer("max_rounds", {.lowest = 1, .highest = 100'000}).value_or(1)));
      session.think =
          Law::constant(rounds.real("think_time_us", kAnyTime).value_or(0.0) * kMicrosecond);
      session.accumulate = rounds.string("context_growth").value_or("") == "accumulate";
      client.single_session = rounds.boolean("single_session").value_or(false);
      session.open_loop = !closed;
      rounds.finish();
      accumulates_ = accumulates_ || session.accumulate;
      sessions_ = true;
      client.spec.session = std::move(session);
    }
    inner.finish();
  }

  /// A law of percent as one of shares.
  static Law percent(Law law) {
    constexpr double kPercent = 0.01;
    if (law.kind == Law::Kind::kLogOfNormal || law.kind == Law::Kind::kParetoLognormal) {
      return law;
    }
    law.a *= kPercent;
    law.b *= kPercent;
    law.lowest *= kPercent;
    law.highest *= kPercent;
    for (double& value : law.values) {
      value *= kPercent;
    }
    return law;
  }

  void read_lifecycle(core::ObjectReader& reader, const std::string& path, BlisClient& client) {
    const auto* node = reader.node("lifecycle");
    if (node == nullptr) {
      return;
    }
    core::ObjectReader inner(*node, path + ".lifecycle", errors_);
    const auto* windows = inner.node("windows");
    if (windows != nullptr && windows->is_list()) {
      for (std::size_t i = 0; i < windows->items().size(); ++i) {
        const std::string at = fmt::format("{}.lifecycle.windows[{}]", path, i);
        core::ObjectReader window(windows->items()[i], at, errors_);
        BlisWindow read;
        read.start = window.required_real("start_us", kAnyTime) * kMicrosecond;
        read.end = window.required_real("end_us", kAnyTime) * kMicrosecond;
        read.rate = window.real("trace_rate", kAnyRate);
        for (const char* key : {"arrival", "input_distribution", "output_distribution"}) {
          if (window.node(key) != nullptr) {
            window.problem(key, "is not read inside a window, expected it in the client");
          }
        }
        window.finish();
        if (!(read.end > read.start)) {
          window.problem("end_us", "is not after start_us, expected a window");
        } else {
          windows_ = windows_ || read.rate;
          client.windows.push_back(read);
        }
      }
    }
    inner.finish();
  }

  void read_cohort(core::ObjectReader& reader, const std::string& path, BlisClient& client) {
    if (const auto* node = reader.node("diurnal")) {
      core::ObjectReader inner(*node, path + ".diurnal", errors_);
      const double peak = inner.required_real("peak_hour", {.lowest = 0.0, .highest = 23.0});
      const double ratio =
          inner.required_real("peak_to_trough_ratio", {.lowest = 1.0, .highest = 1e6});
      inner.finish();
      // (1 + cos) / 2 * (1 - 1/R) + 1/R: mean (1 + 1/R) / 2 and depth (R - 1) / (R + 1).
      client.shape =
          RateCurve::diurnal((1.0 + 1.0 / ratio) / 2.0, (ratio - 1.0) / (ratio + 1.0), peak);
      diurnal_ = true;
    }
    if (const auto* node = reader.node("spike")) {
      core::ObjectReader inner(*node, path + ".spike", errors_);
      BlisWindow window;
      window.start = inner.required_real("start_time_us", kAnyTime) * kMicrosecond;
      window.end = window.start + inner.required_real("duration_us", kAnyTime) * kMicrosecond;
      window.rate = inner.real("trace_rate", kAnyRate);
      inner.finish();
      windows_ = windows_ || window.rate;
      client.windows.push_back(window);
    }
    if (const auto* node = reader.node("drain")) {
      core::ObjectReader inner(*node, path + ".drain", errors_);
      const double start = inner.required_real("start_time_us", kAnyTime) * kMicrosecond;
      const double ramp = inner.required_real("ramp_duration_us", kAnyTime) * kMicrosecond;
      inner.finish();
      client.shape = RateCurve{.pieces = {{.seconds = start, .from = 1.0, .to = 1.0},
                                          {.seconds = ramp, .from = 1.0, .to = 0.0}}};
    }
  }

  /// stages [{rate, duration}] and shared_prefix: users times prompts, of one length each.
  void read_inference_perf(const core::Node& node) {
    core::ObjectReader reader(node, "inference_perf", errors_);
    RateCurve curve;
    double requests = 0.0;
    if (const auto* stages = reader.node("stages"); stages != nullptr && stages->is_list()) {
      for (std::size_t i = 0; i < stages->items().size(); ++i) {
        core::ObjectReader stage(
            stages->items()[i], fmt::format("inference_perf.stages[{}]", i), errors_);
        const double rate = stage.required_real("rate", kAnyRate);
        const double seconds = stage.required_real("duration", {.lowest = 1e-3, .highest = 9e6});
        stage.finish();
        curve.pieces.push_back({.seconds = seconds, .from = rate, .to = rate});
        requests += rate * seconds;
      }
    }
    BlisClient client;
    const auto* shared = reader.node("shared_prefix");
    if (shared == nullptr || curve.pieces.empty()) {
      reader.problem("shared_prefix", "missing, expected stages and shared_prefix");
    } else {
      core::ObjectReader inner(*shared, "inference_perf.shared_prefix", errors_);
      constexpr core::Range<std::int64_t> kCount{.lowest = 1, .highest = 1'000'000};
      const auto prompts = inner.required_integer("num_unique_system_prompts", kCount);
      const auto users = inner.required_integer("num_users_per_system_prompt", kCount);
      constexpr core::Range<double> kLengths{.lowest = 1.0, .highest = 1e8};
      client.spec.prefix =
          ClientPrefix{.group = "inference_perf",
                       .length = Law::constant(inner.required_real("system_prompt_len", kLengths)),
                       .count = prompts};
      client.spec.input = Law::constant(inner.required_real("question_len", kLengths));
      client.spec.output = Law::constant(inner.required_real("output_len", kLengths));
      if (inner.boolean("enable_multi_turn_chat").value_or(false)) {
        const auto chats = static_cast<double>(prompts * users);
        client.spec.session =
            ClientSession{.turns = Law::constant(std::max(requests / chats, 1.0)),
                          .think = Law::constant(chats / std::max(curve.pieces[0].from, 1e-9)),
                          .accumulate = false};
        client.spec.num_groups = prompts * users;
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
    for (BlisClient& client : clients_) {
      const double share = total > 0.0 ? aggregate_ * client.fraction / total : 0.0;
      const double rate = client.rate.value_or(share);
      client.spec.rate = curve_of(client, rate);
      if (client.single_session) {
        client.spec.num_groups = 1;
      }
      if (client.spec.session && num_requests_.value_or(0) > 0) {
        counts_sessions_ = true;
      }
    }
  }

  static RateCurve curve_of(const BlisClient& client, double rate) {
    if (client.shape) {
      RateCurve curve = *client.shape;
      for (RatePiece& piece : curve.pieces) {
        piece.from *= rate;
        piece.to *= rate;
      }
      return curve;
    }
    if (client.windows.empty()) {
      return RateCurve::constant(rate);
    }
    auto windows = client.windows;
    std::ranges::sort(windows, {}, &BlisWindow::start);
    RateCurve curve;
    double now = 0.0;
    for (const BlisWindow& window : windows) {
      if (window.start > now) {
        curve.pieces.push_back({.seconds = window.start - now, .from = 0.0, .to = 0.0});
      }
      const double begin = std::max(window.start, now);
      if (window.end > begin) {
        const double level = window.rate.value_or(rate);
        curve.pieces.push_back({.seconds = window.end - begin, .from = level, .to = level});
        now = window.end;
      }
    }
    return curve;
  }

  [[nodiscard]] core::Warnings warnings() const {
    core::Warnings all;
    const auto add = [&](bool applies, std::string code, std::string message) {
      if (applies) {
        all.push_back({.code = "W-blis-" + std::move(code), .message = std::move(message)});
      }
    };
    add(accumulates_,
        "context",
        "a conversation keeps all tokens of its answers; inference-sim loses the last one of each "
        "round");
    add(counts_sessions_,
        "sessions",
        "num_requests counts sessions where a client has rounds; inference-sim cuts a schedule of "
        "rounds first and then runs more requests than asked");
    add(sessions_,
        "client-clock",
        "the next round's think time begins when the client has the whole answer; inference-sim "
        "starts it at the engine's step");
    add(diurnal_,
        "diurnal",
        "the rate follows the cosine over every day; inference-sim switches it on and off within "
        "each hour of the first");
    add(windows_,
        "windows",
        "clients beside windows with a rate of their own are generated too, and all keep their "
        "prefixes and images; inference-sim drops them");
    add(has_seed_,
        "seed",
        "the seed of the run is taken, not the file's; the generators differ, so that only the "
        "laws are the same");
    if (slo_targets_) {
      all.push_back({.code = "W-slo-targets",
                     .message = "goodput_slo_targets and slo_target_us are read over: targets are "
                                "the run's",
                     .hint = "--goodput"});
    }
    add(network_, "network", "network is read over, as inference-sim does for simulated metrics");
    add(timeouts_, "timeout", "timeouts of clients are read over: no request is given up");
    return all;
  }

  static constexpr std::int64_t kMaxConcurrencyOfClient = 1'000'000;

  core::Errors& errors_;
  bool is_version_1_ = false;
  bool is_inference_perf_ = false;
  double aggregate_ = 0.0;
  double horizon_ = 0.0;
  std::optional<std::int64_t> num_requests_;
  std::vector<BlisClient> clients_;
  bool accumulates_ = false;
  bool sessions_ = false;
  bool counts_sessions_ = false;
  bool diurnal_ = false;
  bool network_ = false;
  bool timeouts_ = false;
  bool windows_ = false;
  bool has_seed_ = false;
  bool slo_targets_ = false;
};

core::Result<std::unique_ptr<ItemStream>> read_blis_workload(TraceDocument document) {
  const auto tree = core::parse_yaml(document.text, document.path);
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
