#include "sim/logs/step_log.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_builder.hpp"
#include "document/reader.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"
#include "sim/step_watch.hpp"
#include "workload/traces/reading/line_reader.hpp"

namespace ridgeline::sim {
namespace {

using document::list_node;
using document::MapBuilder;

constexpr std::int64_t kSummarySchemaVersion = 1;

const char* kind_name(std::size_t kind) {
  return domain::kBottleneckNames[kind];
}

/// A chunk with drafts is a decode that is verified.
const char* phase_of(const StepSegment& segment) {
  const auto verified = std::count_if(
      segment.prefills.begin(), segment.prefills.end(), [](const domain::PrefillChunk& chunk) {
        return chunk.drafts > 0;
      });
  if (segment.record.num_prefills == verified) {
    return "decode";
  }
  return segment.record.num_decodes + verified == 0 ? "prefill" : "mixed";
}

class StepLog final : public StepListener {
 public:
  explicit StepLog(std::ostream& out) : out_(out), json_(document::JsonWriter::Layout::kOneLine) {}

  void on_segment(const StepSegment& segment) override {
    json_.clear();
    json_.begin_object();
    batch(segment);
    sums(segment);
    json_.key("parts").begin_array();
    for (const latency::OperatorTime& part : segment.parts) {
      write_part(part);
    }
    json_.end_array().key("hidden").begin_array();
    for (const latency::OperatorTime& part : segment.hidden) {
      write_part(part);
    }
    json_.end_array();
    json_.member("rounding_us", core::exact_microseconds(segment.rounding));
    json_.end_object();
    out_ << json_.text() << '\n';
  }

 private:
  void batch(const StepSegment& segment) {
    const auto& record = segment.record;
    json_.member("step", record.first_step)
        .member("steps", record.steps)
        .member("start_s", record.start.to_seconds())
        .member("phase", phase_of(segment))
        .member("num_decodes", record.num_decodes)
        .member("decode_context", record.decode_context.value())
        .key("prefills")
        .begin_array();
    for (const domain::PrefillChunk& chunk : segment.prefills) {
      json_.begin_array().value(chunk.past.value()).value(chunk.new_tokens.value()).end_array();
    }
    json_.end_array();
  }

  void sums(const StepSegment& segment) {
    std::array<double, domain::kNumBottlenecks> by_kind{};
    double flops = 0.0;
    double bytes = 0.0;
    double weights = 0.0;
    double kv = 0.0;
    std::int64_t lookups = 0;
    std::int64_t misses = 0;
    double farthest = 0.0;
    for (const latency::OperatorTime& part : segment.parts) {
      by_kind[static_cast<std::size_t>(part.bottleneck)] += core::exact_microseconds(part.time);
      flops += part.flops.value();
      bytes += part.bytes.value();
      weights += part.weights.value();
      kv += part.kv.value();
      lookups += part.distance ? 1 : 0;
      misses += part.distance.value_or(0.0) > 0.0 ? 1 : 0;
      farthest = std::max(farthest, part.distance.value_or(0.0));
    }
    const auto most = std::ranges::max_element(by_kind) - by_kind.begin();
    json_.member("busy_us", segment.busy.to_microseconds())
        .member("cpu_us", (segment.record.time.cpu * segment.record.steps).to_microseconds())
        .member("bottleneck", kind_name(static_cast<std::size_t>(most)))
        .key("time_by_bottleneck")
        .begin_object();
    for (std::size_t kind = 0; kind < by_kind.size(); ++kind) {
      json_.member(kind_name(kind), by_kind[kind]);
    }
    json_.end_object()
        .member("flops", flops)
        .member("bytes", bytes)
        .member("weight_bytes", weights)
        .member("kv_bytes", kv)
        .member("lookups", lookups)
        .member("misses", misses)
        .member("distance", farthest);
  }

  void write_part(const latency::OperatorTime& part) {
    json_.begin_object()
        .member("operator", part.name)
        .member("phase", part.phase)
        .member("shape", part.shape)
        .member("calls", part.calls)
        .member("us", core::exact_microseconds(part.time))
        .member("bottleneck", kind_name(static_cast<std::size_t>(part.bottleneck)))
        .member("flops", part.flops.value())
        .member("bytes", part.bytes.value());
    known("distance", part.distance);
    known_time("compute_us", part.compute);
    known_time("memory_us", part.memory);
    json_.member("weight_bytes", part.weights.value()).member("kv_bytes", part.kv.value());
    known("mfu", part.mfu);
    known("row", part.row);
    json_.member("source", part.source).end_object();
  }

  void known_time(const char* key, const std::optional<core::Seconds>& time) {
    known(key, time ? std::optional(core::exact_microseconds(*time)) : std::nullopt);
  }

  template <class T>
  void known(const char* key, const std::optional<T>& value) {
    json_.key(key);
    if (value) {
      json_.value(*value);
    } else {
      json_.null();
    }
  }

  std::ostream& out_;
  document::JsonWriter json_;
};

class LookupLog final : public StepListener {
 public:
  LookupLog(std::function<void(const std::string& line)> say, std::unique_ptr<StepListener> next)
      : say_(std::move(say)), next_(std::move(next)) {}

  void on_segment(const StepSegment& segment) override {
    for (const latency::OperatorTime& part : segment.parts) {
      if (part.mfu) {
        const bool said = part.source.find("MFU") != std::string::npos;
        say_(fmt::format(
            "step {}: {} {} {}: {}{}{}{}\n",
            segment.record.first_step,
            part.phase,
            part.name,
            part.shape,
            part.source,
            said ? "" : fmt::format(", MFU {:.6g}", *part.mfu),
            part.row ? fmt::format(", line {}", *part.row) : "",
            part.distance.value_or(0.0) > 0.0 ? fmt::format(", {:.6g} away", *part.distance) : ""));
      }
    }
    if (next_ != nullptr) {
      next_->on_segment(segment);
    }
  }

 private:
  std::function<void(const std::string& line)> say_;
  std::unique_ptr<StepListener> next_;
};

/// Attention runs as one kernel over prompt chunks and as another over decodes: an operator of one
/// phase is named with it.
std::string operator_name(const std::string& name, const std::optional<std::string>& phase) {
  return !phase || *phase == "step" ? name : fmt::format("{} ({})", name, *phase);
}

/// The two sides of a roofline.
bool is_on_roofline(std::string_view bottleneck) {
  return bottleneck == kind_name(static_cast<std::size_t>(domain::Bottleneck::kCompute)) ||
         bottleneck == kind_name(static_cast<std::size_t>(domain::Bottleneck::kMemory));
}

/// Counts a step from one side of the ridge to the other; `side` is the last one that was met.
void note_side(const std::string& bottleneck, std::string& side, StepSummary& summary) {
  if (!is_on_roofline(bottleneck)) {
    return;
  }
  if (!side.empty() && side != bottleneck) {
    const bool to_compute =
        bottleneck == kind_name(static_cast<std::size_t>(domain::Bottleneck::kCompute));
    ++(to_compute ? summary.memory_to_compute : summary.compute_to_memory);
  }
  side = bottleneck;
}

/// Adds one line of a log; `side` of the ridge is the one met before, then this line's.
void add_line(const document::Node& node,
              StepSummary& summary,
              std::string& side,
              core::Errors& errors) {
  document::ObjectReader line(node, "", errors, document::ObjectReader::Unknown::kIgnore);
  const std::int64_t steps = line.required_integer("steps", {1, std::int64_t{1} << 62});
  const double busy = line.required_real("busy_us", {0.0, 1e19});
  const std::string phase = line.required_string("phase");
  const std::string bottleneck = line.required_string("bottleneck");
  summary.misses += line.integer("misses", {0, std::int64_t{1} << 40}).value_or(0);
  summary.farthest = std::max(summary.farthest, line.real("distance").value_or(0.0));
  ++summary.lines;
  summary.all.steps += steps;
  summary.all.us += busy;
  auto& of_phase = summary.by_phase[phase];
  of_phase.steps += steps;
  of_phase.us += busy;
  summary.by_bottleneck[bottleneck].steps += steps;
  auto& within_phase = summary.bottleneck_by_phase[phase];
  within_phase[bottleneck].steps += steps;
  note_side(bottleneck, side, summary);
  const document::Node* parts = line.node("parts");
  if (parts == nullptr || !parts->is_list()) {
    line.problem("parts", "expected a list of parts");
    return;
  }
  for (const document::Node& item : parts->items()) {
    document::ObjectReader part(item, "parts", errors, document::ObjectReader::Unknown::kIgnore);
    const std::string name = part.required_string("operator");
    const double us = part.required_real("us");
    const auto own_phase = part.string("phase");
    auto& of_operator = summary.by_operator[operator_name(name, own_phase)];
    of_operator.steps += steps;
    of_operator.us += us;
    const std::string kind = part.required_string("bottleneck");
    summary.by_bottleneck[kind].us += us;
    within_phase[kind].us += us;
    summary.us_by_stack[fmt::format("{};{};{}", own_phase.value_or("step"), name, kind)] += us;
    summary.lookups += part.real("distance") ? 1 : 0;
  }
}

document::Node shares_tree(const std::map<std::string, StepSummary::Share>& shares, double all_us) {
  std::vector<document::Node> items;
  for (const auto& [name, share] : shares) {
    items.push_back(MapBuilder()
                        .add("name", name)
                        .add("steps", share.steps)
                        .add("us", share.us)
                        .add("share", all_us > 0.0 ? share.us / all_us : 0.0));
  }
  return list_node(std::move(items));
}

/// Each phase with its shares; those are of the phase's own time.
document::Node phases_tree(const StepSummary& summary) {
  MapBuilder phases;
  for (const auto& [phase, kinds] : summary.bottleneck_by_phase) {
    phases.add(phase, shares_tree(kinds, summary.by_phase.at(phase).us));
  }
  return phases.build();
}

/// Nothing where nothing was counted.
std::optional<double> rate(std::int64_t part, std::int64_t all) {
  return all > 0 ? std::optional(static_cast<double>(part) / static_cast<double>(all))
                 : std::nullopt;
}

}  // namespace

std::unique_ptr<StepListener> make_step_log(std::ostream& out) {
  return std::make_unique<StepLog>(out);
}

std::unique_ptr<StepListener> make_lookup_log(std::function<void(const std::string& line)> say,
                                              std::unique_ptr<StepListener> next) {
  return std::make_unique<LookupLog>(std::move(say), std::move(next));
}

core::Result<StepSummary> summarise_step_log(workload::LineReader lines, const std::string& file) {
  using Status = workload::LineReader::Status;
  StepSummary summary;
  std::string side;
  const auto refuse = [&](std::string message, std::int64_t line, std::string hint = {}) {
    return core::fail(core::Error{.message = std::move(message),
                                  .where = {.file = file, .line = static_cast<int>(line)},
                                  .hint = std::move(hint)});
  };
  std::string_view line;
  Status status = lines.next(line);
  for (; status == Status::kLine; status = lines.next(line)) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    auto node = document::parse_json(line, file);
    core::Errors found;
    if (!node) {
      found = std::move(node).error();
    } else {
      add_line(*node, summary, side, found);
    }
    if (!found.empty()) {
      core::Error& first = found.front();
      first.where = {
          .file = file, .line = static_cast<int>(lines.number()), .column = first.where.column};
      return core::fail(std::move(first));
    }
  }
  if (status == Status::kTooLong) {
    return refuse(
        fmt::format("is longer than {} bytes, expected a line of a step log", lines.line_bytes()),
        lines.number() + 1);
  }
  if (status == Status::kReadError) {
    return refuse(std::string(lines.input_problem()), 0);
  }
  if (summary.lines == 0) {
    return refuse("no step in it", 0, "ridgeline run --steps-out FILE writes one");
  }
  return summary;
}

document::Node summary_tree(const StepSummary& summary) {
  return MapBuilder()
      .add("schema_version", kSummarySchemaVersion)
      .add("lines", summary.lines)
      .add("steps", summary.all.steps)
      .add("busy_us", summary.all.us)
      .add("by_bottleneck", shares_tree(summary.by_bottleneck, summary.all.us))
      .add("by_phase", shares_tree(summary.by_phase, summary.all.us))
      .add("by_operator", shares_tree(summary.by_operator, summary.all.us))
      .add("bottleneck_by_phase", phases_tree(summary))
      .add("ridge_crossings",
           MapBuilder()
               .add("memory_to_compute", summary.memory_to_compute)
               .add("compute_to_memory", summary.compute_to_memory))
      .add("table_lookups", summary.lookups)
      .add("hit_rate", rate(summary.lookups - summary.misses, summary.lookups))
      .add("miss_rate", rate(summary.misses, summary.lookups))
      .add("table_misses", summary.misses)
      .add("farthest_miss", summary.farthest);
}

std::string folded_stacks(const StepSummary& summary) {
  std::string text;
  for (const auto& [stack, us] : summary.us_by_stack) {
    const std::int64_t whole = std::llround(us);
    if (whole > 0) {
      text += fmt::format("{} {}\n", stack, whole);
    }
  }
  return text;
}

}  // namespace ridgeline::sim
