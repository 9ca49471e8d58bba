#pragma once

#include <fstream>
#include <iosfwd>
#include <string>

#include "core/result.hpp"

namespace ridgeline::cli {

/// A file that appears under its name only when it is complete: it is written beside it and renamed
/// by commit(). One that is dropped before leaves nothing behind. Devices and pipes are written
/// directly.
class OutputFile {
 public:
  /// "-" is standard output, which one output can have; nothing else is then written there
  /// (put_out()). Fails now, not after the run, when the place cannot be written.
  [[nodiscard]] static core::Result<OutputFile> open(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// Whether an output has standard output.
  [[nodiscard]] static bool has_standard_output();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// What fails on it is reported by commit().
  [[nodiscard]] std::ostream& stream() { return stream_; }
  [[nodiscard]] core::Result<void> commit();

 private:
  OutputFile(std::string path, std::string target, std::string temporary);

  std::string path_;       ///< As the user gave it.
  std::string target_;     ///< Where it points, links followed.
  std::string temporary_;  ///< Empty when written directly, and once renamed.
  std::ofstream stream_;
};

}  // namespace ridgeline::cli
