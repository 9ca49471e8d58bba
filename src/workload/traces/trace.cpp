#include "workload/traces/trace.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/arriving.hpp"
#include "workload/carried.hpp"
#include "workload/compose.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/limits.hpp"
#include "workload/replay.hpp"
#include "workload/source.hpp"
#include "workload/trace_part.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/wrapped_stream.hpp"

namespace ridgeline::workload {
namespace {

core::Error option_problem(std::string option, std::string message) {
  return {.code = core::ErrorCode::kUsage,
          .field = fmt::format("workload.{}", option),
          .message = std::move(message),
          .where = {},
          .hint = {}};
}

core::Errors check_options(const TraceScan& scan, const TraceOptions& options) {
  core::Errors errors;
  const bool sound_speed = std::isfinite(options.speed_up) && options.speed_up > 0.0;
  if (!sound_speed) {
    errors.push_back(option_problem(
        "trace_speed_up",
        fmt::format("{} is not a speed-up, expected a number above 0", options.speed_up)));
  }
  if (options.num_prompts && *options.num_prompts < 1) {
    errors.push_back(option_problem(
        "num_prompts",
        fmt::format("{} is out of range, expected at least 1", *options.num_prompts)));
  }
  if (sound_speed && !scaled_time(scan.last_arrival, options.speed_up)) {
    errors.push_back(option_problem(
        "trace_speed_up",
        fmt::format("{} moves the last arrival past the range of simulated time, {} s",
                    options.speed_up,
                    seconds_text(kLatestArrival))));
  }
  return errors;
}

/// A stream that was scanned before: what it holds now must be what it held then.
class ScannedStream final : public WrappedStream {
 public:
  ScannedStream(std::unique_ptr<ItemStream> stream, const TraceScan& scan, std::string path)
      : WrappedStream(std::move(stream)), scan_(scan), path_(std::move(path)) {}

  bool next(Item& item) override {
    if (!changed_.empty()) {
      return false;
    }
    const bool more = inner().next(item);
    if (more ? item.arrival > scan_.last_arrival
             : items_ != scan_.requests && inner().errors().empty()) {
      changed_ = {{.message = "the file changed while it was read, expected it to stay as it is",
                   .where = {.file = path_}}};
      return false;
    }
    ++items_;
    return more;
  }
  [[nodiscard]] const core::Errors& errors() const override {
    return changed_.empty() ? inner().errors() : changed_;
  }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return scan_.requests; }

 private:
  TraceScan scan_;
  std::string path_;
  std::int64_t items_ = 0;
  core::Errors changed_;
};

ReadOptions read_options(const TraceOptions& options) {
  return {.skip_bad_rows = options.skip_bad_rows,
          .session_times = options.session_times,
          .seed = options.seed,
          .part = options.part,
          .keep_absolute_answers = true};
}

/// What would give requests other numbers than the trace, where prompts hold answers by number.
core::Result<void> check_absolute(const ItemStream& stream, const TraceOptions& options) {
  if (!stream.answers_are_absolute()) {
    return {};
  }
  const std::string_view setting = !options.part.is_whole()  ? "trace_start"
                                   : options.ranks > 1       ? "trace"
                                   : options.skip_bad_rows   ? "skip_bad_rows"
                                   : options.max_concurrency ? "max_concurrency"
                                                             : "";
  return setting.empty() ? core::Result<void>()
                         : core::fail(option_problem(
                               std::string(setting),
                               "the prompts of the trace hold answers by the number of their "
                               "request, expected the whole trace on one engine"));
}

}  // namespace

core::Result<TraceScan> scan_trace(const std::string& path, const ReadOptions& options) {
  const auto format = options.format != nullptr ? core::Result<const TraceFormat*>(options.format)
                                                : format_of(path);
  if (!format) {
    return core::fail(format.error());
  }
  auto stream = open_items(path, options);
  if (!stream) {
    return core::fail(std::move(stream.error()));
  }
  TraceScan scan;
  scan.format = (*format)->name;
  scan.is_endless = (*stream)->is_endless();
  Item item;
  while ((*stream)->next(item)) {
    if (scan.requests == 0) {
      scan.first_arrival = item.arrival;
    }
    ++scan.requests;
    scan.last_arrival = std::max(scan.last_arrival, item.arrival);
    scan.input_tokens += item.input_tokens;
    scan.output_tokens += item.output_tokens;
    scan.longest_input = std::max(scan.longest_input, item.input_tokens);
    scan.longest_output = std::max(scan.longest_output, item.output_tokens);
    scan.some_give_up = scan.some_give_up || item.patience != Item::kEndless;
    scan.carries_anything = scan.carries_anything || carries_anything(item);
    if (scan.is_endless) {
      // One client's requests: the others carry what the first carries.
      break;
    }
  }
  if (!(*stream)->errors().empty()) {
    return core::fail((*stream)->errors());
  }
  return scan;
}

core::Result<std::unique_ptr<Source>> open_trace(const std::string& path,
                                                 const TraceOptions& options) {
  const auto scanned = scan_trace(path, read_options(options));
  if (!scanned) {
    return core::fail(scanned.error());
  }
  if (auto errors = check_options(*scanned, options); !errors.empty()) {
    return core::fail(std::move(errors));
  }
  auto opened = open_items(path, read_options(options));
  if (!opened) {
    return core::fail(std::move(opened.error()));
  }
  std::unique_ptr<ItemStream> stream = std::move(*opened);
  if (const auto fits = check_absolute(*stream, options); !fits) {
    return core::fail(fits.error());
  }
  if (!scanned->is_endless) {
    stream = std::make_unique<ScannedStream>(std::move(stream), *scanned, path);
  }
  if (options.num_prompts) {
    stream = truncated(std::move(stream), *options.num_prompts);
  }
  if (options.speed_up != 1.0) {
    stream = sped_up(std::move(stream), options.speed_up);
  }
  if (options.arrivals || options.max_concurrency) {
    if (stream->stages().size() != 1 || stream->stages().front() != Stage{}) {
      return core::fail(option_problem(options.arrivals ? "request_rate" : "max_concurrency",
                                       "would be ignored: the trace has stages or a limit of its "
                                       "own"));
    }
    if (options.arrivals) {
      stream = arriving(std::move(stream), *options.arrivals, options.seed);
    }
  }
  if (options.duration) {
    stream = sent_before(part_of(std::move(stream), {.end = options.duration}), *options.duration);
  }
  if (options.ranks > 1) {
    stream = dealt_out(std::move(stream), options.ranks);
  }
  if (options.max_concurrency) {
    stream = limited(std::move(stream), *options.max_concurrency);
  }
  return make_replay(std::move(stream),
                     scanned->carries_anything ? Carries::kSomething : Carries::kNothing,
                     scanned->some_give_up ? Patience::kLimited : Patience::kEndless);
}

}  // namespace ridgeline::workload
