#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/output_file.hpp"
#include "core/result.hpp"
#include "report/palette.hpp"

namespace ridgeline::cli {

/// The files of -o, open, each with the format that its extension names.
class VerbOutputs {
 public:
  /// What a verb shows, in one of its formats.
  using Render =
      std::function<std::string(std::string_view format, const report::TextStyle& style)>;

  /// Opens every file that -o names. `formats` are those of the verb; "-" takes that of --format.
  /// Extensions of other formats are refused; a file without an extension gets the first format.
  [[nodiscard]] static core::Result<VerbOutputs> open(const Arguments& arguments,
                                                      const Manners& manners,
                                                      const std::vector<std::string>& formats);

  /// Whether a file gets that format.
  [[nodiscard]] bool has(std::string_view format) const;
  /// Writes the files, then standard output in the format of --format.
  [[nodiscard]] ExitCode put_out(const Render& render, const Manners& manners);

 private:
  struct Target {
    OutputFile file;
    std::string format;
  };
  std::vector<Target> targets_;
};

}  // namespace ridgeline::cli
