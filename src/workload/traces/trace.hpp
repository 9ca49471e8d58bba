#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/item_stream.hpp"
#include "workload/options.hpp"
#include "workload/source.hpp"
#include "workload/trace_part.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/byte_input.hpp"
#include "workload/traces/reading/line_reader.hpp"
#include "workload/traces/reading/trace_reader.hpp"

namespace ridgeline::workload {

/// How to read a file.
struct ReadOptions {
  /// Skips the detection.
  const TraceFormat* format = nullptr;
  /// Bad rows are dropped, counted and listed (ItemStream::warnings), instead of refused.
  bool skip_bad_rows = false;
  SessionTimes session_times = SessionTimes::kRecorded;
  /// For what is generated from a description.
  std::uint64_t seed = 0;
  TracePart part = {};
  LineLimits limits = {};
  /// Leave ItemStream::answers_are_absolute() as it is: for callers that read all items as they
  /// stand.
  bool keep_absolute_answers = false;
  bool whole_folder = false;  ///< Set by open_items where the path is a folder.
};

/// A file or folder of any known format as a stream. Formats of one row a line are read lazily: a
/// bad row ends the stream, with the problems of the rows after it too. Others are read now.
core::Result<std::unique_ptr<ItemStream>> open_items(const std::string& path,
                                                     const ReadOptions& options = {});
/// Reads bytes at hand; `name` stands for the path.
core::Result<std::unique_ptr<ItemStream>> open_items(std::unique_ptr<ByteInput> input,
                                                     const std::string& name,
                                                     const ReadOptions& options = {});
/// The format of a file or folder.
core::Result<const TraceFormat*> format_of(const std::string& path);

/// What one reading of a whole trace tells.
struct TraceScan {
  std::string_view format;  ///< The name in the table of formats, e.g. "azure-llm-csv".
  std::int64_t requests = 0;
  core::Duration first_arrival;
  core::Duration last_arrival;  ///< The latest stated.
  core::Tokens input_tokens;    ///< Sum.
  core::Tokens output_tokens;   ///< Sum.
  core::Tokens longest_input;
  core::Tokens longest_output;
  bool is_endless = false;    ///< ItemStream::is_endless(): the counts are of the first item alone.
  bool some_give_up = false;  ///< Some client cancels a request.
  bool carries_anything = false;  ///< Some request carries a label, a priority or media.
};

struct TraceOptions {
  TracePart part;
  /// The most requests of that part to replay; all of them by default.
  std::optional<std::int64_t> num_prompts;
  /// How many times faster than recorded: times are divided by it. Exact picoseconds at 1, rounded
  /// once otherwise.
  double speed_up = 1.0;
  /// The times of groups are drawn anew, and not the trace's own; no closed loop.
  std::optional<Arrivals> arrivals;
  /// The most groups in flight at once; the others wait at the client.
  std::optional<std::int64_t> max_concurrency;
  /// No group is sent at this time of the replay or later.
  std::optional<core::Duration> duration;
  bool skip_bad_rows = false;
  SessionTimes session_times = SessionTimes::kRecorded;
  std::uint64_t seed = 0;
  /// Copies that share the requests out (workload/compose.hpp, dealt_out); one copy's are replayed.
  std::int64_t ranks = 1;
};

/// Reads a trace once from end to end. The format is found by content. Fails with the first
/// problems (kMaxTraceProblems of them at most), each with line, column, what was found and
/// expected.
core::Result<TraceScan> scan_trace(const std::string& path, const ReadOptions& options = {});

/// A trace as a stream of requests, read lazily where the format allows; each generates exactly the
/// tokens that the trace states. The whole file is scanned first, so that a bad row refuses the run
/// instead of ending it. A problem that appears later (the file changed in between) ends the stream
/// and stands in errors().
core::Result<std::unique_ptr<Source>> open_trace(const std::string& path,
                                                 const TraceOptions& options = {});

}  // namespace ridgeline::workload
