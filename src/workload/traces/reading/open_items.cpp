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

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/reader.hpp"
#include "domain/prompt.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/trace_part.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/byte_input.hpp"
#include "workload/traces/reading/line_reader.hpp"
#include "workload/traces/reading/row_tally.hpp"
#include "workload/traces/reading/trace_reader.hpp"
#include "workload/traces/trace.hpp"
#include "workload/wrapped_stream.hpp"

namespace ridgeline::workload {
namespace {

/// A trace of one row a line, read lazily.
class RowStream final : public ItemStream {
 public:
  RowStream(TraceReader reader, bool skip_bad_rows, std::string name)
      : reader_(std::move(reader)), tally_(skip_bad_rows), name_(std::move(name)) {
    // What the first line says of the file must be known before the first item.
    has_first_ = read(first_);
  }

  bool next(Item& item) override {
    if (has_first_) [[unlikely]] {
      has_first_ = false;
      item = std::move(first_);
      return true;
    }
    return read(item);
  }
  [[nodiscard]] const core::Errors& errors() const override { return tally_.errors(); }
  [[nodiscard]] core::Warnings warnings() const override {
    core::Warnings warnings = reader_.parser().warnings();
    const core::Warnings dropped = tally_.warnings();
    warnings.insert(warnings.end(), dropped.begin(), dropped.end());
    return warnings;
  }
  [[nodiscard]] const Labels& labels() const override { return reader_.parser().labels(); }
  [[nodiscard]] const std::vector<Stage>& stages() const override {
    return reader_.parser().stages();
  }
  [[nodiscard]] bool waits_for_answers() const override {
    return reader_.parser().waits_for_answers();
  }
  [[nodiscard]] bool is_flat() const override { return reader_.parser().is_flat(); }
  [[nodiscard]] bool answers_are_absolute() const override {
    return reader_.parser().answers_are_absolute();
  }
  [[nodiscard]] core::Tokens block_tokens() const override {
    return reader_.parser().block_tokens();
  }

 private:
  bool read(Item& item) {
    if (ended_) {
      return false;
    }
    for (;;) {
      const auto status = reader_.next(item);
      if (status == TraceReader::Status::kRow && !refused_) [[likely]] {
        // A clock may run before the first row's: only rows out of order could say so.
        if (!torn_ || item.starts_group) [[likely]] {
          torn_ = false;
          return true;
        }
        drop_torn();
        continue;
      }
      if (status == TraceReader::Status::kEnd) {
        ended_ = true;
        return false;
      }
      if (status == TraceReader::Status::kRow) {
        continue;  // Only the problems of the rest are of interest.
      }
      tally_.errors() = reader_.errors();
      if (!tally_.skips() || reader_.broken()) {
        refused_ = true;
        continue;
      }
      tally_.bad_row();
      reader_.clear_errors();
      torn_ = true;
    }
  }

  /// A group goes with the first of its requests that is dropped, and those after it.
  void drop_torn() {
    tally_.errors() = {
        {.message = "found a request whose group lost an earlier one, expected the whole group",
         .where = {.file = name_}}};
    tally_.bad_row();
  }

  TraceReader reader_;
  RowTally tally_;
  std::string name_;
  bool torn_ = false;  ///< A row was dropped since the last one that started a group.
  Item first_;
  bool has_first_ = false;
  bool refused_ = false;
  bool ended_ = false;
};

core::Result<std::unique_ptr<ItemStream>> open_whole(LineReader lines,
                                                     const std::string& name,
                                                     const TraceFormat& format,
                                                     const ReadOptions& options) {
  if (format.make_parser != nullptr) {
    auto reader = TraceReader::open(std::move(lines), name, format);
    if (!reader) {
      return core::fail(std::move(reader.error()));
    }
    return std::make_unique<RowStream>(std::move(*reader), options.skip_bad_rows, name);
  }
  auto text = lines.rest(name);
  if (!text) {
    return core::fail(std::move(text.error()));
  }
  return format.open_document({.text = std::move(*text),
                               .path = name,
                               .whole_folder = options.whole_folder,
                               .skip_bad_rows = options.skip_bad_rows,
                               .session_times = options.session_times,
                               .seed = options.seed});
}

/// A stream with a warning more.
class Noted final : public WrappedStream {
 public:
  Noted(std::unique_ptr<ItemStream> stream, core::Warning note)
      : WrappedStream(std::move(stream)), note_(std::move(note)) {}
  [[nodiscard]] core::Warnings warnings() const override {
    core::Warnings all = inner().warnings();
    all.push_back(note_);
    return all;
  }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return inner().size(); }

 private:
  core::Warning note_;
};

/// Answers by contents of their own: prompts that hold the same answer share it still, and no
/// request finds what another has generated.
class AnswersAsContents final : public WrappedStream {
 public:
  using WrappedStream::WrappedStream;
  bool next(Item& item) override {
    if (!inner().next(item)) {
      return false;
    }
    for (domain::Segment& segment : item.prompt.own()) {
      if (is_output(segment.content)) {
        segment.content = content_of(kAnswers, segment.content);
      }
    }
    return true;
  }
  [[nodiscard]] bool answers_are_absolute() const override { return false; }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return inner().size(); }

 private:
  static constexpr std::uint64_t kAnswers = 0x616E7377657273;  ///< A space of contents of its own.
};

/// The file of a folder with which its format begins.
core::Result<std::string> file_of_folder(const std::string& path, const TraceFormat*& format) {
  for (const TraceFormat* candidate : trace_formats()) {
    if (candidate->file_of_folder == nullptr) {
      continue;
    }
    if (auto file = candidate->file_of_folder(path); !file.empty()) {
      format = candidate;
      return file;
    }
  }
  return core::fail(core::Error{
      .message = "is a folder of no known format, expected ServeGen's chunk-*-trace.csv and "
                 "chunk-*-dataset.json, or the two files of a TraceV2",
      .where = {.file = path}});
}

}  // namespace

core::Warning no_turns_to_wait(std::string_view why) {
  return {.code = "W-ignored-sessions",
          .message = fmt::format("trace_sessions answered changes nothing: {}", why)};
}

core::Result<std::unique_ptr<ItemStream>> open_items(std::unique_ptr<ByteInput> input,
                                                     const std::string& name,
                                                     const ReadOptions& options) {
  LineReader lines(std::move(input), options.limits);
  const TraceFormat* format = options.format;
  const std::string_view head = lines.head();
  if (head.empty() && !lines.input_problem().empty()) {
    return core::fail(
        core::Error{.message = std::string(lines.input_problem()), .where = {.file = name}});
  }
  if (format == nullptr || head.empty()) {
    const auto detected = detect_format(head, name);
    if (!detected) {
      return core::fail(detected.error());
    }
    format = *detected;
  }
  auto stream = open_whole(std::move(lines), name, *format, options);
  if (stream && options.session_times == SessionTimes::kAnswered && !format->heeds_session_times) {
    stream = std::make_unique<Noted>(
        std::move(*stream),
        no_turns_to_wait(fmt::format("{} does not say when a turn was answered", format->name)));
  }
  if (stream && (*stream)->is_endless() && !options.part.is_whole()) {
    return core::fail(core::Error{
        .field = "num_requests",
        .message = "missing, expected it where a part of the workload is taken: the horizon alone "
                   "does not say how many requests there are",
        .where = {.file = name}});
  }
  if (stream && (*stream)->answers_are_absolute() && !options.keep_absolute_answers) {
    stream = std::make_unique<AnswersAsContents>(std::move(*stream));
  }
  return stream ? part_of(std::move(*stream), options.part) : std::move(stream);
}

core::Result<std::unique_ptr<ItemStream>> open_items(const std::string& path,
                                                     const ReadOptions& options) {
  std::error_code failure;
  ReadOptions chosen = options;
  std::string file = path;
  if (std::filesystem::is_directory(path, failure)) {
    auto found = file_of_folder(path, chosen.format);
    if (!found) {
      return core::fail(std::move(found.error()));
    }
    file = std::move(*found);
    chosen.whole_folder = true;
  }
  auto input = open_input(file);
  if (!input) {
    return core::fail(std::move(input.error()));
  }
  return open_items(std::move(*input), file, chosen);
}

core::Result<const TraceFormat*> format_of(const std::string& path) {
  std::error_code failure;
  if (std::filesystem::is_directory(path, failure)) {
    const TraceFormat* format = nullptr;
    const auto file = file_of_folder(path, format);
    return file ? core::Result<const TraceFormat*>(format) : core::fail(file.error());
  }
  auto input = open_input(path);
  if (!input) {
    return core::fail(std::move(input.error()));
  }
  LineReader lines(std::move(*input));
  const std::string_view head = lines.head();
  if (head.empty() && !lines.input_problem().empty()) {
    return core::fail(
        core::Error{.message = std::string(lines.input_problem()), .where = {.file = path}});
  }
  return detect_format(head, path);
}

core::Result<const TraceFormat*> find_trace_format(std::string_view name) {
  std::vector<std::string> names;
  for (const TraceFormat* format : trace_formats()) {
    if (format->name == name) {
      return format;
    }
    names.emplace_back(format->name);
  }
  const auto near = document::nearest(name, names);
  return core::fail(core::Error{
      .field = "format",
      .message = fmt::format(
          "unknown trace format '{}', expected one of {}", name, fmt::join(names, ", ")),
      .hint = near ? fmt::format("did you mean '{}'?", *near) : std::string()});
}

}  // namespace ridgeline::workload
