#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"

namespace ridgeline::live {

/// A file that grows, and of which pieces can be written over.
class LogFile {
 public:
  LogFile() = default;
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  virtual ~LogFile() = default;
  /// Each false where the file could not be written; it then ends with a whole line.
  virtual bool append(std::string_view text) = 0;
  virtual bool overwrite(std::int64_t at, std::string_view text) = 0;
  /// Why the last write failed, for people.
  [[nodiscard]] virtual std::string problem() const { return "cannot be written"; }
};

/// A new file, or an empty one, that this process alone writes. Fails where it cannot be made,
/// where it cannot be written over (a pipe), where it holds something (the log of another run, an
/// input of this one), and where another process has it open as its log.
[[nodiscard]] core::Result<std::unique_ptr<LogFile>> open_log_file(const std::string& path);

/// The requests of a session as a trace (request-jsonl), in the order of their arrival, so that
/// `replay` of the file makes the same run. A request's row has room for the time at which its
/// client cancels it, which is written over `null` when that happens: the file is whole after every
/// write, however the process ends.
class ArrivalLog {
 public:
  explicit ArrivalLog(std::unique_ptr<LogFile> file);

  /// In order of arrival; `adapter` is the name of request.lora.
  void arrive(const domain::Request& request, std::string_view adapter);
  /// Cancels a request that arrived and has not ended.
  void cancel(core::RequestId id, core::SimTime at);
  /// The request can no longer be cancelled.
  void end(core::RequestId id) { rows_.erase(id.value()); }
  /// Writes what is not in the file yet. False where it cannot be written; nothing is written any
  /// more then.
  bool flush();
  /// Why it is no longer written.
  [[nodiscard]] std::string problem() const { return file_->problem(); }

 private:
  std::unique_ptr<LogFile> file_;
  std::string rows_text_;     ///< Not in the file yet.
  std::int64_t in_file_ = 0;  ///< Bytes.
  bool is_broken_ = false;
  std::unordered_map<std::uint32_t, std::int64_t> rows_;  ///< Where each open one's `null` begins.
};

}  // namespace ridgeline::live
