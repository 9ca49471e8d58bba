// Our own description of a workload (docs/workloads.md): sources (files, presets, clients) that are
// cut, scaled, shifted, repeated, thinned and resampled, and then laid over each other or mixed by
// weight.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
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
#include "workload/compose.hpp"
#include "workload/generate/client.hpp"
#include "workload/generate/law.hpp"
#include "workload/generate/law_reader.hpp"
#include "workload/generate/presets.hpp"
#include "workload/generate/rate_curve.hpp"
#include "workload/item_stream.hpp"
#include "workload/limits.hpp"
#include "workload/merge.hpp"
#include "workload/trace_part.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::workload {
namespace {

constexpr document::Range<double> kSpecRate{.lowest = 1e-6, .highest = 1e9};
constexpr document::Range<double> kSpecTime{.lowest = 0.0, .highest = 9.2e6};
constexpr document::Range<double> kSpecShare{.lowest = 0.0, .highest = 1.0};
constexpr document::Range<std::int64_t> kSpecCount{.lowest = 1, .highest = kMaxRequests};

core::Duration seconds_of(double seconds) {
  return core::Duration::from_seconds(seconds).value_or(core::Duration());
}

/// Reads a client's own keys.
class ClientReader {
 public:
  ClientReader(const std::string& path, core::Errors& errors) : path_(path), errors_(errors) {}

  void read(const document::Node& node, ClientSpec& spec) {
    document::ObjectReader reader(node, path_, errors_);
    read_arrivals(reader, spec);
    set(reader, "input_len", spec.input);
    set(reader, "output_len", spec.output);
    spec.correlation =
        reader.real("correlation", {.lowest = -1.0, .highest = 1.0}).value_or(spec.correlation);
    set(reader, "reasoning_share", spec.reasoning);
    set(reader, "images", spec.images);
    set(reader, "image_tokens", spec.image_tokens);
    if (const auto* prefix = reader.node("prefix")) {
      read_prefix(*prefix, spec);
    }
    if (const auto* session = reader.node("session")) {
      read_session(*session, spec);
    }
    spec.slo_class = reader.string("slo_class").value_or(spec.slo_class);
    spec.tenant = reader.string("tenant").value_or(spec.tenant);
    spec.model = reader.string("model").value_or(spec.model);
    spec.adapter = reader.string("adapter").value_or(spec.adapter);
    spec.priority = static_cast<std::int32_t>(
        reader.integer("priority", {.lowest = -1'000'000, .highest = 1'000'000})
            .value_or(spec.priority));
    reader.finish();
  }

 private:
  template <class Target>
  void set(document::ObjectReader& reader, std::string_view key, Target& target) {
    if (const auto* node = reader.node(key)) {
      if (auto law = read_own_law(*node, fmt::format("{}.{}", path_, key), errors_)) {
        target = std::move(*law);
      }
    }
  }

  void read_arrivals(document::ObjectReader& reader, ClientSpec& spec) {
    static const std::vector<std::string> kKinds = {
        "poisson", "constant", "gamma", "weibull", "lognormal"};
    const std::string kind = reader.choice("arrivals", kKinds).value_or("poisson");
    const double cv = reader.real("cv", {.lowest = 0.01, .highest = 100.0}).value_or(1.0);
    spec.gaps = kind == "gamma" ? GapLaw{.kind = GapLaw::Kind::kGamma, .shape = 1.0 / (cv * cv)}
                : kind == "weibull"
                    ? GapLaw{.kind = GapLaw::Kind::kWeibull, .shape = weibull_shape_of(cv)}
                : kind == "lognormal" ? GapLaw{.kind = GapLaw::Kind::kLognormal, .shape = cv}
                : kind == "constant"  ? GapLaw{.kind = GapLaw::Kind::kConstant}
                                      : GapLaw{};
    if (const auto rate = reader.real("request_rate", kSpecRate)) {
      spec.rate = RateCurve::constant(*rate);
    }
    if (const auto* node = reader.node("diurnal")) {
      document::ObjectReader inner(*node, path_ + ".diurnal", errors_);
      const double mean = inner.required_real("mean_rate", kSpecRate);
      const double depth = inner.required_real("depth", kSpecShare);
      const double peak = inner.real("peak_hour", {.lowest = 0.0, .highest = 24.0}).value_or(14.0);
      inner.finish();
      spec.rate = RateCurve::diurnal(mean, depth, peak);
    }
    if (const auto* node = reader.node("rates")) {
      read_rates(*node, spec);
    }
    if (const auto* node = reader.node("markov")) {
      document::ObjectReader inner(*node, path_ + ".markov", errors_);
      MarkovRates markov;
      markov.rates =
          inner.reals("rates", {.lowest = 0.0, .highest = 1e9}).value_or(std::vector<double>());
      markov.mean_seconds = inner.reals("mean_seconds", {.lowest = 1e-3, .highest = 9e6})
                                .value_or(std::vector<double>());
      if (markov.rates.empty() || markov.rates.size() != markov.mean_seconds.size() ||
          *std::ranges::max_element(markov.rates) <= 0.0) {
        inner.problem("rates", "expected as many rates as mean_seconds, one of them above 0");
      }
      inner.finish();
      spec.markov = std::move(markov);
    }
  }

  void read_rates(const document::Node& node, ClientSpec& spec) {
    RateCurve curve;
    for (std::size_t i = 0; node.is_list() && i < node.items().size(); ++i) {
      document::ObjectReader piece(node.items()[i], fmt::format("{}.rates[{}]", path_, i), errors_);
      RatePiece read;
      constexpr document::Range<double> kFromZero{.lowest = 0.0, .highest = 1e9};
      read.seconds = piece.required_real("seconds", {.lowest = 1e-3, .highest = 9e6});
      read.from = piece.required_real("from", kFromZero);
      read.to = piece.real("to", kFromZero).value_or(read.from);
      piece.finish();
      curve.pieces.push_back(read);
    }
    if (curve.pieces.empty()) {
      errors_.push_back({.field = path_ + ".rates",
                         .message = "expected a list of {seconds, from, to}",
                         .where = node.where()});
      return;
    }
    spec.rate = std::move(curve);
  }

  void read_prefix(const document::Node& node, ClientSpec& spec) {
    document::ObjectReader reader(node, path_ + ".prefix", errors_);
    ClientPrefix prefix;
    prefix.group = reader.string("group").value_or("system");
    if (const auto* length = reader.node("len")) {
      if (auto law = read_own_law(*length, path_ + ".prefix.len", errors_)) {
        prefix.length = std::move(*law);
      }
    }
    prefix.count = reader.integer("count", {.lowest = 1, .highest = 1'000'000'000}).value_or(1);
    prefix.zipf_exponent =
        reader.real("zipf_exponent", {.lowest = 0.0, .highest = 100.0}).value_or(0.0);
    reader.finish();
    spec.prefix = std::move(prefix);
  }

  void read_session(const document::Node& node, ClientSpec& spec) {
    document::ObjectReader reader(node, path_ + ".session", errors_);
    ClientSession session;
    const auto law =
        [&](const char* key, auto& target, const document::Range<double>& range = kAnyQuantity) {
          if (const auto* value = reader.node(key)) {
            if (auto read = read_own_law(
                    *value, fmt::format("{}.session.{}", path_, key), errors_, range)) {
              target = std::move(*read);
            }
          }
        };
    law("turns", session.turns, {.lowest = 0.0, .highest = kMostTurns});
    law("think_s", session.think);
    law("own_prefix", session.own_prefix);
    law("fan_out", session.fan_out, {.lowest = 0.0, .highest = kMostCallsAtOnce});
    session.accumulate = reader.boolean("accumulate").value_or(true);
    session.open_loop = reader.boolean("open_loop").value_or(false);
    reader.finish();
    spec.session = std::move(session);
  }

  const std::string& path_;
  core::Errors& errors_;
};

struct SpecSource {
  double weight = 1.0;
  StreamFactory make;
};

class SpecReader {
 public:
  SpecReader(const TraceDocument& document, core::Errors& errors)
      : document_(document), errors_(errors) {}

  core::Result<std::unique_ptr<ItemStream>> read(const document::Node& tree) {
    document::ObjectReader reader(tree, "", errors_);
    reader.integer("ridgeline_workload", {.lowest = 1, .highest = 1});
    static const std::vector<std::string> kCombine = {"superpose", "mix"};
    const std::string combine = reader.choice("combine", kCombine).value_or("superpose");
    const auto rate = reader.real("request_rate", kSpecRate);
    const auto count = reader.integer("num_prompts", kSpecCount);
    const auto limit = reader.integer("max_concurrency", {.lowest = 1, .highest = 1'000'000});
    const auto* list = reader.node("sources");
    reader.finish();
    if (list == nullptr || !list->is_list() || list->items().empty()) {
      reader.problem("sources", "missing, expected a list of sources");
    } else {
      for (std::size_t i = 0; i < list->items().size(); ++i) {
        read_source(list->items()[i], fmt::format("sources[{}]", i), i);
      }
    }
    if (combine == "mix" && (!rate || !count)) {
      reader.problem("request_rate", "missing, expected request_rate and num_prompts to mix");
    }
    if (!errors_.empty()) {
      return core::fail(errors_);
    }
    return combined(combine == "mix", rate.value_or(1.0), count, limit);
  }

 private:
  core::Result<std::unique_ptr<ItemStream>> combined(bool mix,
                                                     double rate,
                                                     std::optional<std::int64_t> count,
                                                     std::optional<std::int64_t> limit) {
    std::vector<MixPart> parts;
    for (SpecSource& source : sources_) {
      auto stream = source.make();
      if (!stream) {
        return stream;
      }
      parts.push_back({.stream = std::move(*stream), .weight = source.weight});
    }
    core::Result<std::unique_ptr<ItemStream>> stream;
    if (mix) {
      stream = mixed(std::move(parts), rate, *count, document_.seed);
    } else if (parts.size() == 1) {
      stream = std::move(parts[0].stream);
    } else {
      std::vector<std::unique_ptr<ItemStream>> streams;
      for (MixPart& part : parts) {
        streams.push_back(std::move(part.stream));
      }
      stream = superposed(std::move(streams));
    }
    if (stream && count && !mix) {
      stream = truncated(std::move(*stream), *count);
    }
    if (stream && limit) {
      stream = limited(std::move(*stream), *limit);
    }
    return stream;
  }

  void read_source(const document::Node& node, const std::string& path, std::size_t number) {
    document::ObjectReader reader(node, path, errors_);
    SpecSource source;
    source.weight = reader.real("weight", {.lowest = 0.0, .highest = 1e9}).value_or(1.0);
    const auto file = reader.string("file");
    const auto preset = reader.string("preset");
    const auto* client = reader.node("client");
    if ((file ? 1 : 0) + (preset || client != nullptr ? 1 : 0) != 1) {
      reader.problem("file",
                     "expected one of file, preset and client (preset and client together "
                     "change the preset)");
      return;
    }
    const auto groups = reader.integer("num_prompts", kSpecCount);
    const auto duration = reader.real("duration_s", kSpecTime);
    const auto rate = reader.real("request_rate", kSpecRate);
    source.make = file
                      ? file_source(*file)
                      : client_source(reader, path, preset, client, number, rate, groups, duration);
    if (file && rate) {
      reader.problem("request_rate", "a file has times of its own, expected speed_up or resample");
    }
    if (file && groups) {
      source.make = then(source.make, [count = *groups](std::unique_ptr<ItemStream> stream) {
        return truncated(std::move(stream), count);
      });
    }
    cut_in_time(reader, path, file.has_value(), duration, source);
    read_changes(reader, path, source);
    reader.finish();
    sources_.push_back(std::move(source));
  }

  StreamFactory file_source(const std::string& file) {
    namespace fs = std::filesystem;
    const fs::path place(file);
    const std::string path =
        place.is_absolute()
            ? file
            : (fs::path(document_.path).parent_path() / place).lexically_normal().string();
    const ReadOptions options{.skip_bad_rows = document_.skip_bad_rows,
                              .session_times = document_.session_times,
                              .seed = document_.seed};
    const std::string own = document_.path;
    return [path, options, own]() -> core::Result<std::unique_ptr<ItemStream>> {
      const auto format = format_of(path);
      if (format && *format == &kWorkloadSpec) {
        return core::fail(
            core::Error{.field = "file",
                        .message = "found a workload description within another, expected a trace",
                        .where = {.file = path}});
      }
      return open_items(path, options);
    };
  }

  StreamFactory client_source(document::ObjectReader& reader,
                              const std::string& path,
                              const std::optional<std::string>& preset,
                              const document::Node* client,
                              std::size_t number,
                              std::optional<double> rate,
                              std::optional<std::int64_t> groups,
                              std::optional<double> duration) {
    ClientSpec spec;
    if (preset) {
      const auto found = find_workload_preset(*preset);
      if (!found) {
        reader.problem("preset", found.error()[0].message, found.error()[0].hint);
        return {};
      }
      spec = (*found)->make();
    }
    if (client != nullptr) {
      const std::string below = path + ".client";
      ClientReader(below, errors_).read(*client, spec);
    }
    if (rate) {
      spec.rate = RateCurve::constant(*rate);
    }
    spec.num_groups = groups;
    if (duration) {
      spec.end = seconds_of(*duration);
    }
    const bool ends =
        groups || duration ||
        (!spec.markov && !spec.rate.repeats && spec.rate.pieces.back().seconds < 9.1e6);
    if (!ends) {
      reader.problem("num_prompts",
                     "missing, expected num_prompts or duration_s: the source "
                     "would not end");
    }
    return [spec, seed = document_.seed, number]() -> core::Result<std::unique_ptr<ItemStream>> {
      return make_client(spec, seed, number);
    };
  }

  template <class Change>
  static StreamFactory then(const StreamFactory& make, const Change& change) {
    return [make, change]() -> core::Result<std::unique_ptr<ItemStream>> {
      auto stream = make();
      if (!stream) {
        return stream;
      }
      return change(std::move(*stream));
    };
  }

  /// duration_s, which a client generates by and a file is cut by, then start_s.
  void cut_in_time(document::ObjectReader& reader,
                   const std::string& path,
                   bool is_file,
                   std::optional<double> duration,
                   SpecSource& source) {
    const document::Node* start_node = reader.node("start_s");
    const auto start = reader.real("start_s", kSpecTime);
    if (start && duration && *start >= *duration) {
      reader.problem(
          "start_s",
          fmt::format("{} s leaves nothing: duration_s is applied first and ends the "
                      "source at {} s",
                      *start,
                      *duration),
          fmt::format(
              "for {1} s from {0} s on, duration_s: {2}", *start, *duration, *start + *duration));
      return;
    }
    TracePart part{.start = seconds_of(start.value_or(0.0)),
                   .start_setting = path + ".start_s",
                   .end_setting = path + ".duration_s"};
    if (start_node != nullptr) {
      part.where = start_node->where();
    }
    if (is_file && duration) {
      part.end = seconds_of(*duration);
    }
    if (!part.is_whole()) {
      source.make = then(source.make, [part](std::unique_ptr<ItemStream> stream) {
        return part_of(std::move(stream), part);
      });
    }
  }

  /// In the order in which docs/workloads.md lists them.
  void read_changes(document::ObjectReader& reader, const std::string& path, SpecSource& source) {
    if (const auto speed = reader.real("speed_up", {.lowest = 1e-6, .highest = 1e6})) {
      source.make = then(source.make, [by = *speed](std::unique_ptr<ItemStream> s) {
        return sped_up(std::move(s), by);
      });
    }
    if (const auto* node = reader.node("resample")) {
      document::ObjectReader inner(*node, path + ".resample", errors_);
      const auto count = inner.required_integer("num_prompts", kSpecCount);
      const double rate = inner.required_real("request_rate", kSpecRate);
      inner.finish();
      source.make = [make = source.make,
                     count,
                     rate,
                     seed = document_.seed]() -> core::Result<std::unique_ptr<ItemStream>> {
        auto stream = make();
        if (!stream) {
          return stream;
        }
        auto list = read_all(**stream);
        if (!list) {
          return core::fail(std::move(list.error()));
        }
        return resampled(std::move(*list), count, rate, seed);
      };
    }
    if (const auto* node = reader.node("repeat")) {
      document::ObjectReader inner(*node, path + ".repeat", errors_);
      const auto times = inner.required_integer("times", {.lowest = 1, .highest = 1'000'000});
      const auto period = seconds_of(inner.required_real("period_s", kSpecTime));
      inner.finish();
      source.make = [make = source.make, times, period]() { return repeated(make, times, period); };
    }
    if (const auto* node = reader.node("ramp")) {
      document::ObjectReader inner(*node, path + ".ramp", errors_);
      const double from = inner.required_real("from", kSpecShare);
      const double to = inner.required_real("to", kSpecShare);
      const auto over = seconds_of(inner.required_real("over_s", kSpecTime));
      inner.finish();
      source.make =
          then(source.make, [from, to, over, seed = document_.seed](std::unique_ptr<ItemStream> s) {
            return ramped(std::move(s), from, to, over, seed);
          });
    }
    if (const auto shift = reader.real("shift_s", kSpecTime)) {
      source.make = then(source.make, [by = seconds_of(*shift)](std::unique_ptr<ItemStream> s) {
        return shifted(std::move(s), by);
      });
    }
  }

  const TraceDocument& document_;
  core::Errors& errors_;
  std::vector<SpecSource> sources_;
};

core::Result<std::unique_ptr<ItemStream>> read_workload_spec(TraceDocument document) {
  const auto tree = document::parse_yaml(document.text, document.path);
  if (!tree) {
    return core::fail(tree.error());
  }
  core::Errors errors;
  return SpecReader(document, errors).read(*tree);
}

}  // namespace

const TraceFormat kWorkloadSpec = {
    .name = "workload-spec",
    .summary = "our own description of a workload (YAML): sources, changed and put together",
    .detect = [](const TraceHead& head) { return head.has_yaml_key("ridgeline_workload"); },
    .open_document = read_workload_spec,
    .heeds_session_times = true,
};

}  // namespace ridgeline::workload
