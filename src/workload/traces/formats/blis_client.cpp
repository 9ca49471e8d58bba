// Clients and cohorts of inference-sim's workload description.
#include "workload/traces/formats/blis_client.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/reader.hpp"
#include "workload/generate/client.hpp"
#include "workload/generate/law.hpp"
#include "workload/generate/law_reader.hpp"
#include "workload/generate/rate_curve.hpp"
#include "workload/limits.hpp"

namespace ridgeline::workload {
namespace {

void read_blis_prefix(document::ObjectReader& reader, const std::string& id, ClientSpec& spec) {
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

/// A law of percent as one of shares.
Law blis_percent(Law law) {
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

/// Adds the members of a cohort, which share its rate; a client is a cohort of one.
void add_cohort_members(const BlisClient& client,
                        std::int64_t population,
                        bool shares_prefix,
                        const std::string& id,
                        std::vector<BlisClient>& clients) {
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
    clients.push_back(std::move(member));
  }
}

}  // namespace

RateCurve blis_rate_curve(const BlisClient& client, double rate) {
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

void BlisClientReader::read(const document::Node& node,
                            const std::string& path,
                            bool is_client,
                            std::vector<BlisClient>& clients) {
  document::ObjectReader reader(node, path, errors_);
  BlisClient client;
  const std::string id = reader.string("id").value_or(path);
  client.spec.tenant = reader.string("tenant_id").value_or("");
  client.spec.model = reader.string("model").value_or("");
  client.spec.adapter = reader.string("adapter").value_or("");
  client.spec.slo_class = slo_class(reader);
  client.fraction = reader.real("rate_fraction", kBlisRate).value_or(0.0);
  client.concurrency =
      reader.integer("concurrency", {.lowest = 0, .highest = kMaxConcurrencyOfClient}).value_or(0);
  client.think =
      Law::constant(reader.real("think_time_us", kBlisTime).value_or(0.0) * kBlisMicrosecond);
  client.spec.gaps = read_arrival(reader.node("arrival"), path + ".arrival", client.rate);
  read_lengths(reader, path, client.spec);
  read_blis_prefix(reader, id, client.spec);
  reader.boolean("streaming");
  traits_.network = reader.node("network") != nullptr || traits_.network;
  traits_.timeouts = reader.node("timeout") != nullptr || traits_.timeouts;
  traits_.slo_targets = reader.node("slo_target_us") != nullptr || traits_.slo_targets;
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
  add_cohort_members(client, population, shares_prefix, id, clients);
}

std::string BlisClientReader::slo_class(document::ObjectReader& reader) const {
  std::string name = reader.string("slo_class").value_or("");
  if (is_version_1_) {
    name = name == "realtime" ? "critical" : name == "interactive" ? "standard" : name;
  }
  return name;
}

GapLaw BlisClientReader::read_arrival(const document::Node* node,
                                      const std::string& path,
                                      std::optional<double>& rate) {
  if (node == nullptr) {
    return {};
  }
  static const std::vector<std::string> kProcesses = {"poisson", "gamma", "weibull", "constant"};
  document::ObjectReader reader(*node, path, errors_);
  const std::string process = reader.choice("process", kProcesses).value_or("poisson");
  const double cv = reader.real("cv", {.lowest = 0.01, .highest = 100.0}).value_or(1.0);
  const auto shape = reader.real("shape", {.lowest = 0.01, .highest = 1e6});
  const auto scale = reader.real("scale", {.lowest = 1e-3, .highest = 9.2e12});
  const bool has_shape = process == "gamma" || process == "weibull";
  if ((shape || scale) && !has_shape) {
    reader.problem(shape ? "shape" : "scale",
                   fmt::format("says nothing of {} arrivals, expected gamma or weibull", process));
  } else if (scale && !shape) {
    reader.problem("scale", "stands without shape, expected both of them or neither");
  }
  reader.finish();
  if (shape && scale && has_shape) {
    // Mean gaps: shape * scale, and scale * Gamma(1 + 1 / shape).
    const double unit = process == "gamma" ? *shape : gamma_of_one_plus(1.0 / *shape);
    rate = 1.0 / (unit * *scale * kBlisMicrosecond);
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

void BlisClientReader::read_law(document::ObjectReader& reader,
                                std::string_view key,
                                const std::string& path,
                                std::optional<Law>& law) {
  if (const auto* node = reader.node(key)) {
    law = read_blis_law(*node, fmt::format("{}.{}", path, key), errors_);
  }
}

void BlisClientReader::read_lengths(document::ObjectReader& reader,
                                    const std::string& path,
                                    ClientSpec& spec) {
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

void BlisClientReader::read_multimodal(const document::Node& node,
                                       const std::string& path,
                                       ClientSpec& spec,
                                       std::optional<Law>& input) {
  document::ObjectReader reader(node, path, errors_);
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

void BlisClientReader::read_reasoning(document::ObjectReader& reader,
                                      const std::string& path,
                                      bool closed,
                                      BlisClient& client) {
  const auto* node = reader.node("reasoning");
  if (node == nullptr) {
    return;
  }
  const std::string below = path + ".reasoning";
  document::ObjectReader inner(*node, below, errors_);
  std::optional<Law> ratio;
  read_law(inner, "reason_ratio_distribution", below, ratio);
  if (ratio) {
    client.spec.reasoning = blis_percent(*ratio);
  }
  if (const auto* turns = inner.node("multi_turn")) {
    document::ObjectReader rounds(*turns, below + ".multi_turn", errors_);
    ClientSession session;
    session.turns = Law::constant(static_cast<double>(
        rounds.integer("max_rounds", {.lowest = 1, .highest = 100'000}).value_or(1)));
    session.think =
        Law::constant(rounds.real("think_time_us", kBlisTime).value_or(0.0) * kBlisMicrosecond);
    session.accumulate = rounds.string("context_growth").value_or("") == "accumulate";
    client.single_session = rounds.boolean("single_session").value_or(false);
    session.open_loop = !closed;
    rounds.finish();
    traits_.accumulates = traits_.accumulates || session.accumulate;
    traits_.sessions = true;
    client.spec.session = std::move(session);
  }
  inner.finish();
}

void BlisClientReader::read_lifecycle(document::ObjectReader& reader,
                                      const std::string& path,
                                      BlisClient& client) {
  const auto* node = reader.node("lifecycle");
  if (node == nullptr) {
    return;
  }
  document::ObjectReader inner(*node, path + ".lifecycle", errors_);
  const auto* windows = inner.node("windows");
  if (windows != nullptr && windows->is_list()) {
    for (std::size_t i = 0; i < windows->items().size(); ++i) {
      const std::string at = fmt::format("{}.lifecycle.windows[{}]", path, i);
      document::ObjectReader window(windows->items()[i], at, errors_);
      BlisWindow read;
      read.start = window.required_real("start_us", kBlisTime) * kBlisMicrosecond;
      read.end = window.required_real("end_us", kBlisTime) * kBlisMicrosecond;
      read.rate = window.real("trace_rate", kBlisRate);
      for (const char* key : {"arrival", "input_distribution", "output_distribution"}) {
        if (window.node(key) != nullptr) {
          window.problem(key, "is not read inside a window, expected it in the client");
        }
      }
      window.finish();
      if (!(read.end > read.start)) {
        window.problem("end_us", "is not after start_us, expected a window");
      } else {
        traits_.windows = traits_.windows || read.rate;
        client.windows.push_back(read);
      }
    }
  }
  inner.finish();
}

void BlisClientReader::read_cohort(document::ObjectReader& reader,
                                   const std::string& path,
                                   BlisClient& client) {
  if (const auto* node = reader.node("diurnal")) {
    document::ObjectReader inner(*node, path + ".diurnal", errors_);
    const double peak = inner.required_real("peak_hour", {.lowest = 0.0, .highest = 23.0});
    const double ratio =
        inner.required_real("peak_to_trough_ratio", {.lowest = 1.0, .highest = 1e6});
    inner.finish();
    // (1 + cos) / 2 * (1 - 1/R) + 1/R: mean (1 + 1/R) / 2 and depth (R - 1) / (R + 1).
    client.shape =
        RateCurve::diurnal((1.0 + 1.0 / ratio) / 2.0, (ratio - 1.0) / (ratio + 1.0), peak);
    traits_.diurnal = true;
  }
  if (const auto* node = reader.node("spike")) {
    document::ObjectReader inner(*node, path + ".spike", errors_);
    BlisWindow window;
    window.start = inner.required_real("start_time_us", kBlisTime) * kBlisMicrosecond;
    window.end = window.start + inner.required_real("duration_us", kBlisTime) * kBlisMicrosecond;
    window.rate = inner.real("trace_rate", kBlisRate);
    inner.finish();
    traits_.windows = traits_.windows || window.rate;
    client.windows.push_back(window);
  }
  if (const auto* node = reader.node("drain")) {
    document::ObjectReader inner(*node, path + ".drain", errors_);
    const double start = inner.required_real("start_time_us", kBlisTime) * kBlisMicrosecond;
    const double ramp = inner.required_real("ramp_duration_us", kBlisTime) * kBlisMicrosecond;
    inner.finish();
    client.shape = RateCurve{.pieces = {{.seconds = start, .from = 1.0, .to = 1.0},
                                        {.seconds = ramp, .from = 1.0, .to = 0.0}}};
  }
}

}  // namespace ridgeline::workload
