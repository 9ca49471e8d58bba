#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "document/temporary.hpp"

namespace ridgeline::cli {

/// A file that appears under its name only when it is complete: it is written beside it and renamed
/// by commit(). One that is dropped before leaves nothing behind. Devices, pipes and open
/// descriptors (/dev/stdout, /dev/fd/3) are written directly, from where the shell's own output
/// stands.
class OutputFile {
 public:
  /// "-" is standard output, which one output can have; nothing else is then written there
  /// (put_out()). Fails now, not after the run, when the place cannot be written, when it is a file
  /// that this process has read, and when another output is the same file. `flag` names it in
  /// errors ("--output").
  [[nodiscard]] static core::Result<OutputFile> open(std::string_view flag,
                                                     const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// Whether a path is written directly: "-", a device, a pipe or an open descriptor. Its name says
  /// no format.
  [[nodiscard]] static bool is_direct(const std::string& path);

  /// The error of an output that takes the format of --format, where that is the one that prints
  /// nothing.
  [[nodiscard]] static core::Error writes_nothing(std::string_view flag, const std::string& path);

  /// Whether an output has standard output.
  [[nodiscard]] static bool has_standard_output();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// What fails on it is reported by commit().
  [[nodiscard]] std::ostream& stream();
  /// Fails, too, when the file was read since it was opened.
  [[nodiscard]] core::Result<void> commit();

 private:
  /// A stream that writes to a descriptor, which it owns.
  struct Stream;

  OutputFile(std::string flag, std::string path, std::string target, int descriptor);

  std::string flag_;
  std::string path_;    ///< As the user gave it.
  std::string target_;  ///< Where it points, links followed.
  /// None when written directly, and once renamed.
  std::optional<document::Temporary> temporary_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace ridgeline::cli
