#include "sim/live/arrival_log.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <memory>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/json_writer.hpp"
#include "domain/request.hpp"
#include "workload/item.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::live {
namespace {

constexpr std::string_view kHeader =
    R"({"ridgeline_workload":1,"groups":false,"waits":false,"answers":"absolute","block_tokens":0,)"
    R"("stages":[{}]})"
    "\n";

/// As long as the longest time: "9200000." and 12 decimals.
constexpr std::size_t kTimeWidth = 20;

class DiskFile final : public LogFile {
 public:
  explicit DiskFile(int descriptor) : descriptor_(descriptor) {}
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;
  ~DiskFile() override { ::close(descriptor_); }

  bool append(std::string_view text) override {
    const std::size_t written = write_at(end_, text);
    const bool is_whole = written == text.size();
    // What did not fit ends inside a row.
    end_ += static_cast<std::int64_t>(is_whole ? written : text.substr(0, written).rfind('\n') + 1);
    if (!is_whole) {
      static_cast<void>(::ftruncate(descriptor_, end_));
    }
    return is_whole;
  }
  bool overwrite(std::int64_t at, std::string_view text) override {
    return write_at(at, text) == text.size();
  }
  [[nodiscard]] std::string problem() const override { return core::system_message(why_); }

 private:
  /// How many of the bytes are written.
  [[nodiscard]] std::size_t write_at(std::int64_t at, std::string_view text) {
    std::size_t written = 0;
    while (written < text.size()) {
      const ssize_t more = ::pwrite(descriptor_,
                                    text.data() + written,
                                    text.size() - written,
                                    at + static_cast<std::int64_t>(written));
      if (more < 0 && errno == EINTR) {
        continue;
      }
      if (more <= 0) {
        why_ = more < 0 ? errno : ENOSPC;
        break;
      }
      written += static_cast<std::size_t>(more);
    }
    return written;
  }

  int descriptor_;
  std::int64_t end_ = 0;
  int why_ = 0;
};

core::Error cannot_write(const std::string& path, std::string why, std::string hint = {}) {
  return {.field = "--arrival-log",
          .message = std::move(why),
          .where = {.file = path},
          .hint = std::move(hint)};
}

}  // namespace

core::Result<std::unique_ptr<LogFile>> open_log_file(const std::string& path) {
  constexpr mode_t kMode = 0644;
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, kMode);
  if (descriptor < 0) {
    return core::fail(
        cannot_write(path, fmt::format("cannot be written: {}", core::system_message(errno))));
  }
  auto file = std::make_unique<DiskFile>(descriptor);
  struct stat facts{};
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return core::fail(cannot_write(path, "is not a regular file, which rows are written over in"));
  }
  // Before the size is asked for: another server may just have begun it. Gone with the process.
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return core::fail(cannot_write(
        path, "is written by another server", "a name of its own for each server's log"));
  }
  if (::fstat(descriptor, &facts) != 0 || facts.st_size > 0) {
    return core::fail(
        cannot_write(path,
                     fmt::format("holds {} bytes already, which it would replace", facts.st_size),
                     "name a new file: a log is the requests of one run"));
  }
  return file;
}

ArrivalLog::ArrivalLog(std::unique_ptr<LogFile> file)
    : file_(std::move(file)), rows_text_(kHeader) {}

void ArrivalLog::arrive(const domain::Request& request, std::string_view adapter) {
  if (is_broken_) {
    return;
  }
  rows_text_ += fmt::format(R"({{"arrival_s":{},"input_tokens":{},"output_tokens":{})",
                            workload::seconds_text(request.arrival.since_start()),
                            request.prompt_tokens.value(),
                            request.output_tokens.value());
  if (request.max_tokens > request.output_tokens) {
    rows_text_ += fmt::format(R"(,"limit_tokens":{})", request.max_tokens.value());
  }
  rows_text_ += R"(,"abort_s":)";
  rows_[request.id.value()] = in_file_ + static_cast<std::int64_t>(rows_text_.size());
  rows_text_ += fmt::format("{:>{}}", "null", kTimeWidth);
  if (request.priority != 0) {
    rows_text_ += fmt::format(R"(,"priority":{})", request.priority);
  }
  if (request.session.valid()) {
    rows_text_ += fmt::format(R"(,"session":{})", request.session.value());
  }
  if (request.rank >= 0) {
    rows_text_ += fmt::format(R"(,"data_parallel_rank":{})", request.rank);
  }
  if (request.images > 0) {
    rows_text_ += fmt::format(R"(,"images":{})", request.images);
  }
  if (!adapter.empty()) {
    document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
    json.value(adapter);
    rows_text_ += fmt::format(R"(,"adapter":{})", json.text());
  }
  if (!request.prompt.empty()) {
    rows_text_ += R"(,"prompt":[)";
    const char* separator = "";
    for (const domain::Segment& segment : request.prompt) {
      const bool is_answer = workload::is_output(segment.content);
      const auto name = static_cast<std::int64_t>(
          is_answer ? segment.content ^ workload::output_of(0) : segment.content);
      rows_text_ +=
          fmt::format("{}[{},{}]", separator, is_answer ? -1 - name : name, segment.length.value());
      separator = ",";
    }
    rows_text_ += ']';
  }
  rows_text_ += "}\n";
}

void ArrivalLog::cancel(core::RequestId id, core::SimTime at) {
  const auto row = rows_.find(id.value());
  if (is_broken_ || row == rows_.end()) {
    return;
  }
  const std::string time =
      fmt::format("{:>{}}", workload::seconds_text(at.since_start()), kTimeWidth);
  if (row->second >= in_file_) {
    rows_text_.replace(static_cast<std::size_t>(row->second - in_file_), kTimeWidth, time);
  } else if (!file_->overwrite(row->second, time)) {
    is_broken_ = true;
  }
  rows_.erase(row);
}

bool ArrivalLog::flush() {
  if (!is_broken_ && !rows_text_.empty()) {
    is_broken_ = !file_->append(rows_text_);
    in_file_ += static_cast<std::int64_t>(rows_text_.size());
    rows_text_.clear();
  }
  return !is_broken_;
}

}  // namespace ridgeline::live
