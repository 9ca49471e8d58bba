#include "verbs/trace_options.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/piped_files.hpp"
#include "document/reader.hpp"
#include "workload/generate/client.hpp"
#include "workload/generate/law.hpp"
#include "workload/generate/presets.hpp"
#include "workload/item.hpp"
#include "workload/limits.hpp"
#include "workload/trace_part.hpp"
#include "workload/traces/format.hpp"
#include "workload/wrapped_stream.hpp"

namespace ridgeline::verbs {
namespace {

/// A law as an option takes it; nothing where it has no such form.
std::optional<std::string> law_text(const workload::Law& law) {
  using Kind = workload::Law::Kind;
  if (law.kind == Kind::kConstant) {
    return fmt::format("{}", law.a);
  }
  if (law.kind != Kind::kNormal && law.kind != Kind::kLognormal) {
    return std::nullopt;
  }
  return fmt::format("{{distribution: {}, mean: {}, std: {}, min: {}, max: {}}}",
                     law.kind == Kind::kNormal ? "normal" : "lognormal",
                     law.a,
                     law.b,
                     law.lowest,
                     law.highest);
}

/// A time: seconds, or with a unit.
std::optional<core::Duration> take_time(Request& request, std::string_view key) {
  const std::string text = request.take_word(key).value_or("");
  if (text.empty()) {
    return std::nullopt;
  }
  auto seconds = core::parse_whole<double>(text);
  if (!seconds) {
    const auto parsed = document::parse_quantity(text, "seconds");
    if (!parsed) {
      const core::Error& error = parsed.error().front();
      request.add(request.problem(key, error.message, error.hint));
      return std::nullopt;
    }
    seconds = *parsed;
  }
  const auto time = core::Duration::from_seconds(*seconds);
  if (!time || *time < core::Duration() || *time > workload::kLatestArrival) {
    request.add(request.problem(key,
                                fmt::format("{} is out of range, expected 0s to {}s",
                                            core::quote(text),
                                            workload::kLatestArrival.to_seconds())));
    return std::nullopt;
  }
  return time;
}

/// Tells a host how many requests have passed.
class WatchedStream final : public workload::WrappedStream {
 public:
  WatchedStream(std::unique_ptr<workload::ItemStream> stream, Host& host)
      : WrappedStream(std::move(stream)), host_(host) {}

  bool next(workload::Item& item) override {
    if (!inner().next(item)) {
      return false;
    }
    // A look at the clock costs as much as reading a row.
    constexpr std::int64_t kLookEvery = 256;
    if (++requests_ % kLookEvery == 0) {
      host_.progress(requests_, share_read());
    }
    return true;
  }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return inner().size(); }

 private:
  Host& host_;
  std::int64_t requests_ = 0;
};

}  // namespace

bool is_trace(const std::string& path) {
  if (path.ends_with(".sh")) {
    return false;  // A launch script, whatever its first line looks like.
  }
  std::error_code failure;
  const std::string file = document::path_to_open(path);
  const auto status = std::filesystem::status(file, failure);
  if (std::filesystem::is_directory(status)) {
    return true;  // A scenario is never one.
  }
  if (!std::filesystem::is_regular_file(status) || !workload::format_of(path)) {
    return false;
  }
  if (std::filesystem::file_size(file, failure) > document::kMaxDocumentBytes) {
    return true;
  }
  const auto document = document::read_document(path);
  if (!document) {
    const bool named_so =
        path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".json");
    return !named_so;
  }
  const auto has = [&](std::string_view key) {
    return document->is_map() && document->find(key) != nullptr;
  };
  const bool is_scenario =
      has("gpu") || has("engine") || has("workload") || (has("model") && !has("input_tokens"));
  return !is_scenario;
}

bool is_workload_preset(std::string_view name) {
  return workload::find_workload_preset(name).has_value();
}

std::vector<PresetLengths> preset_lengths() {
  std::vector<PresetLengths> found;
  for (const workload::WorkloadPreset& preset : workload::workload_presets()) {
    const workload::ClientSpec spec = preset.make();
    const auto input = law_text(spec.input);
    const auto output = law_text(spec.output);
    if (!spec.session && !spec.prefix && !spec.reasoning && input && output) {
      found.push_back({.preset = std::string(preset.name), .input = *input, .output = *output});
    }
  }
  return found;
}

std::vector<Parameter> trace_parameters() {
  return {{.key = "skip_bad_rows",
           .kind = Parameter::Kind::kSwitch,
           .help = "Drop rows that cannot be read; they are counted and listed"},
          {.key = "trace_sessions",
           .value = "recorded|answered",
           .help = "When turns of recorded sessions come: as recorded, or after the answer before"},
          {.key = "trace_start",
           .value = "s",
           .help = "Where in the trace to begin; time counts from there"},
          {.key = "trace_end",
           .value = "s",
           .help = "Where in the trace to end: what begins then or later is left out"},
          {.key = "trace_tenant",
           .value = "NAME",
           .help = "The requests of this tenant alone, or of several: a,b"},
          {.key = "trace_model",
           .value = "NAME",
           .help = "The requests that the trace sends to this model alone, or to several: a,b"},
          {.key = "seed", .value = "N", .help = "For what is generated from a description"}};
}

workload::ReadOptions take_read_options(Request& request) {
  constexpr std::int64_t kMostSeed = std::int64_t{1} << 53;
  static const std::vector<std::string> kTimes = {"recorded", "answered"};
  workload::ReadOptions options;
  options.skip_bad_rows = request.take_bool("skip_bad_rows", false);
  const std::string times = request.take_text("trace_sessions", kTimes[0]);
  if (times != kTimes[0] && times != kTimes[1]) {
    request.add(bad_choice(request.field("trace_sessions"), times, kTimes));
  }
  options.session_times =
      times == kTimes[1] ? workload::SessionTimes::kAnswered : workload::SessionTimes::kRecorded;
  options.part.tenants = workload::split_names(request.take_text("trace_tenant"));
  options.part.models = workload::split_names(request.take_text("trace_model"));
  if (const auto start = take_time(request, "trace_start")) {
    options.part.start = *start;
  }
  if (const auto end = take_time(request, "trace_end")) {
    options.part.end = *end;
  }
  options.seed = static_cast<std::uint64_t>(
      request.take_integer("seed", static_cast<std::int64_t>(options.seed), 0, kMostSeed));
  return options;
}

std::unique_ptr<workload::ItemStream> watched(std::unique_ptr<workload::ItemStream> stream,
                                              Host& host) {
  return std::make_unique<WatchedStream>(std::move(stream), host);
}

}  // namespace ridgeline::verbs
