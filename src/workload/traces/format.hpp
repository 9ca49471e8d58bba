#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {

/// One request as a row states it. `arrival` counts from the trace's own zero and is negative
/// before the first row of a clock trace.
using TraceRow = Item;

enum class RowStatus : std::uint8_t {
  kRow,
  kBad,      ///< Its problems are noted.
  kLeftOut,  ///< Sound, but no request: a failed one. Counted by the parser (warnings()).
  kGlobal,   ///< Sound, but about the file: a line of settings.
};

/// Turns the lines of one format into rows. Each call notes every problem of its line.
class RowParser {
 public:
  virtual ~RowParser() = default;
  /// The first line of a format that has a header.
  virtual bool header(const TraceLine& line) {
    static_cast<void>(line);
    return true;
  }
  /// Fills `row`, which is new.
  virtual RowStatus row(const TraceLine& line, TraceRow& row) = 0;

  [[nodiscard]] virtual core::Warnings warnings() const { return {}; }
  [[nodiscard]] virtual core::Tokens block_tokens() const { return core::Tokens(0); }
  /// What a format says of its stages and groups before the first row.
  [[nodiscard]] virtual const std::vector<Stage>& stages() const;
  [[nodiscard]] virtual bool waits_for_answers() const { return false; }
  [[nodiscard]] virtual bool is_flat() const { return true; }
  [[nodiscard]] virtual bool answers_are_absolute() const { return false; }
  [[nodiscard]] const Labels& labels() const { return labels_; }

 protected:
  Labels labels_;
};

/// What the first bytes of a file say, for finding its format by content.
class TraceHead {
 public:
  explicit TraceHead(std::string_view text);

  [[nodiscard]] std::string_view first_line() const { return first_line_; }
  /// Cells of the first line of what is no JSON.
  [[nodiscard]] bool has_column(std::string_view name) const;
  [[nodiscard]] bool has_columns(std::initializer_list<std::string_view> names) const;
  /// Starts with `{` or with `[`.
  [[nodiscard]] bool is_object() const { return is_object_; }
  [[nodiscard]] bool is_list() const { return is_list_; }
  /// Keys of the first object, as far as the head goes: the text itself, or the first item of the
  /// list.
  [[nodiscard]] bool has_key(std::string_view name) const;
  [[nodiscard]] bool has_keys(std::initializer_list<std::string_view> names) const;
  /// has_key() for the first object and some of those on the lines behind it: what not every row of
  /// a format says.
  [[nodiscard]] bool some_row_has_key(std::string_view name) const;
  /// An object or a list of which the first line holds nothing but the bracket.
  [[nodiscard]] bool begins_document() const { return begins_document_; }
  /// All keys that has_key() knows.
  [[nodiscard]] const std::vector<std::string_view>& keys() const { return keys_; }
  /// Keys at the left margin of what looks like YAML.
  [[nodiscard]] bool has_yaml_key(std::string_view name) const;

 private:
  std::string_view first_line_;
  bool is_object_ = false;
  bool is_list_ = false;
  bool begins_document_ = false;
  std::vector<std::string_view> columns_;
  std::vector<std::string_view> keys_;
  std::vector<std::string_view> keys_of_rows_;
  std::vector<std::string_view> yaml_keys_;
};

/// How replayed sessions keep their times.
enum class SessionTimes : std::uint8_t {
  kRecorded,  ///< Each turn at its recorded time.
  kAnswered,  ///< Each turn when the one before is answered and its think time is over.
};

/// A file that is read as a whole.
struct TraceDocument {
  std::string text;
  std::string path;           ///< As in errors; other files of the same trace lie beside it.
  bool whole_folder = false;  ///< The user named the folder, not this file.
  bool skip_bad_rows = false;
  SessionTimes session_times = SessionTimes::kRecorded;
  std::uint64_t seed = 0;  ///< For what is generated from a description.
};

/// What a format has room for; what a stream holds beyond that is lost in a conversion.
enum class Field : std::uint32_t {
  kPrefix = 1U << 0U,         ///< Which prompts begin alike.
  kDependency = 1U << 1U,     ///< Items that wait for answers, any of them.
  kSessionChain = 1U << 14U,  ///< Items that wait for the answer before them in their session.
  kStages = 1U << 2U,         ///< Limits of concurrency, stages one after the other.
  kSession = 1U << 3U,
  kPriority = 1U << 4U,
  kSloClass = 1U << 5U,
  kTenant = 1U << 6U,
  kModel = 1U << 7U,
  kAdapter = 1U << 8U,
  kReasoning = 1U << 9U,
  kModalities = 1U << 10U,  ///< Images, audio, video: how many, and their tokens.
  kImages = 1U << 11U,      ///< The number of images alone.
  kArrival = 1U << 12U,     ///< When requests come.
  kFineTime = 1U << 13U,    ///< To the picosecond.
  kPatience = 1U << 15U,    ///< When clients cancel their requests.
};
using Fields = std::uint32_t;
[[nodiscard]] constexpr Fields fields(std::initializer_list<Field> list) {
  Fields all = 0;
  for (const Field field : list) {
    all |= static_cast<Fields>(field);
  }
  return all;
}
[[nodiscard]] constexpr bool has(Fields all, Field field) {
  return (all & static_cast<Fields>(field)) != 0;
}

/// Writes items in one format.
class TraceWriter {
 public:
  virtual ~TraceWriter() = default;
  /// Before the first item. `stream` outlives the writer; its labels grow.
  virtual void begin(std::ostream& out, const ItemStream& stream) = 0;
  virtual void write(std::ostream& out, const Item& item) = 0;
  virtual void end(std::ostream& out) { static_cast<void>(out); }
  /// What the file says that the items do not, when all have been written.
  [[nodiscard]] virtual core::Warnings warnings() const { return {}; }
};

/// That trace_sessions answered changes nothing, and why.
[[nodiscard]] core::Warning no_turns_to_wait(std::string_view why);

/// An entry of the table of formats (registry.cpp). It has exactly one of make_parser and
/// open_document, and a writer where it can be written.
struct TraceFormat {
  std::string_view name;     ///< Stable, e.g. "azure-llm-csv".
  std::string_view summary;  ///< One line for a list.
  std::string_view arrival_column = {};
  bool has_header = false;
  /// Whether a file that starts like this is meant to be of this format.
  bool (*detect)(const TraceHead& head) = nullptr;
  /// Formats of one row a line, streamed.
  std::unique_ptr<RowParser> (*make_parser)() = nullptr;
  /// Formats that are read as a whole, and descriptions that are generated from.
  core::Result<std::unique_ptr<ItemStream>> (*open_document)(TraceDocument document) = nullptr;
  bool heeds_session_times = false;  ///< Its turns can wait for answers (SessionTimes).
  /// Formats that are folders: the file in it to begin with, or empty. open_document gets its path.
  std::string (*file_of_folder)(const std::string& path) = nullptr;
  std::unique_ptr<TraceWriter> (*make_writer)() = nullptr;
  Fields carries = 0;
};

/// Every format that can be read, in the order in which detection asks them.
std::span<const TraceFormat* const> trace_formats();
/// The format of that name; unknown names list the nearest.
core::Result<const TraceFormat*> find_trace_format(std::string_view name);

/// Azure's LLM inference traces 2023 and 2024: TIMESTAMP,ContextTokens,GeneratedTokens. The first
/// row is time zero.
extern const TraceFormat kAzureLlmCsv;
/// Azure's multimodal traces 2025: the same with NumImages.
extern const TraceFormat kAzureLmmCsv;
/// BurstGPT: Timestamp, Model, Request tokens, Response tokens, ...
extern const TraceFormat kBurstGpt;
/// Alibaba's Qwen-Bailian: Mooncake's rows with chats, in seconds and blocks of 16.
extern const TraceFormat kBailian;
/// Mooncake: timestamp, input_length, output_length, hash_ids.
extern const TraceFormat kMooncake;
/// Mooncake with sessions, delays and deltas (Dynamo, AIPerf).
extern const TraceFormat kMooncakeSessions;
/// Mooncake with request_id and wait_for.
extern const TraceFormat kMooncakeAgentic;
/// ServeGen's folder of clients.
extern const TraceFormat kServeGen;
/// ShareGPT conversations with token counts.
extern const TraceFormat kShareGpt;
/// Vidur: arrived_at,num_prefill_tokens,num_decode_tokens.
extern const TraceFormat kVidurCsv;
/// splitwise-sim: request_id,request_type,application_id,arrival_timestamp,...
extern const TraceFormat kSplitwiseCsv;
/// APEX+: StartTimeOffset, ContextTokens, GeneratedTokens.
extern const TraceFormat kApexJsonl;
/// LLMServingSim: input_toks, output_toks, arrival_time_ns, token ids; also its agentic sessions.
extern const TraceFormat kLlmServingSim;
/// Applied Compute's agentic sessions, one a row.
extern const TraceFormat kAppliedCompute;
/// inference-sim's TraceV2: header and data.
extern const TraceFormat kTraceV2;
/// inference-sim's workload description v2.
extern const TraceFormat kBlisWorkload;
/// inference-perf's configuration.
extern const TraceFormat kInferencePerfConfig;
/// inference-perf's per-request lifecycle metrics.
extern const TraceFormat kInferencePerfLifecycle;
/// guidellm's report.
extern const TraceFormat kGuidellm;
/// AIPerf's profile_export.jsonl.
extern const TraceFormat kAiperf;
/// The record of `ridgeline observe`.
extern const TraceFormat kObserved;
/// The detailed result of `vllm bench serve`.
extern const TraceFormat kVllmBench;
/// The detailed result of SGLang's bench_serving.
extern const TraceFormat kSglangBench;
/// OpenTelemetry spans with GenAI attributes.
extern const TraceFormat kOtelSpans;
/// Our own composition of the others.
extern const TraceFormat kWorkloadSpec;
/// A header with the columns arrival_s, input_tokens and output_tokens, in any order.
extern const TraceFormat kRequestCsv;
/// One JSON object a line with the keys arrival_s, input_tokens and output_tokens, and everything
/// else that an item holds.
extern const TraceFormat kRequestJsonl;

}  // namespace ridgeline::workload
