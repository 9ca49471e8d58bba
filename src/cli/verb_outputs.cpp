#include "cli/verb_outputs.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/output_file.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {
namespace {

struct FormatOfFile {
  std::string_view extension;
  std::string_view format;
};
constexpr auto kFormats = std::to_array<FormatOfFile>({{".txt", "table"},
                                                       {".json", "json"},
                                                       {".csv", "csv"},
                                                       {".md", "markdown"},
                                                       {".html", "html"},
                                                       {".folded", "folded"},
                                                       {".svg", "svg"}});

/// The format that the extension of a path names, one of `formats`.
core::Result<std::string> format_of(const std::string& path,
                                    const std::vector<std::string>& formats) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension.empty()) {
    return formats.front();
  }
  std::vector<std::string_view> offered;
  for (const FormatOfFile& known : kFormats) {
    if (std::ranges::find(formats, known.format) == formats.end()) {
      continue;
    }
    if (extension == known.extension) {
      return std::string(known.format);
    }
    offered.push_back(known.extension);
  }
  return core::fail(usage_error(
      "--output",
      fmt::format(
          "found '{}', expected a name that ends in one of {}", path, fmt::join(offered, ", "))));
}

}  // namespace

core::Result<VerbOutputs> VerbOutputs::open(const Arguments& arguments,
                                            const Manners& manners,
                                            const std::vector<std::string>& formats) {
  VerbOutputs outputs;
  core::Errors errors;
  for (const auto& path : arguments.values("output")) {
    if (path == "-" && manners.format == kQuiet) {
      errors.push_back(OutputFile::writes_nothing("--output", path));
      continue;
    }
    auto format =
        path == "-" ? core::Result<std::string>(manners.format) : format_of(path, formats);
    if (!format) {
      errors.insert(errors.end(), format.error().begin(), format.error().end());
      continue;
    }
    auto file = OutputFile::open("--output", path);
    if (!file) {
      errors.insert(errors.end(), file.error().begin(), file.error().end());
      continue;
    }
    outputs.targets_.push_back({.file = std::move(*file), .format = std::move(*format)});
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return outputs;
}

bool VerbOutputs::has(std::string_view format) const {
  return std::ranges::find(targets_, format, &Target::format) != targets_.end();
}

ExitCode VerbOutputs::put_out(const Render& render, const Manners& manners) {
  for (Target& target : targets_) {
    target.file.stream() << render(target.format, text_style(Terminal{}));
    if (const auto committed = target.file.commit(); !committed) {
      return give_up(committed.error(), manners);
    }
  }
  if (OutputFile::has_standard_output()) {
    return ExitCode::kOk;
  }
  return cli::put_out(render(manners.format, text_style(manners.out)), manners);
}

}  // namespace ridgeline::cli
