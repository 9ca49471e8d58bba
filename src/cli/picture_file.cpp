#include "cli/picture_file.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/output_file.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {

core::Result<void> check_picture_name(const std::string& path) {
  if (path.ends_with(".svg") || OutputFile::is_direct(path)) {
    return {};
  }
  return core::fail(
      core::Error{.field = "--svg",
                  .message = fmt::format("'{}' is no name of an SVG file, expected .svg", path),
                  .where = {.file = "command line"},
                  .hint = "--svg picture.svg"});
}

core::Result<OutputFile> open_picture(const std::string& path) {
  auto file = OutputFile::open("--svg", path);
  if (file) {
    if (auto named = check_picture_name(path); !named) {
      return core::fail(std::move(named).error());
    }
  }
  return file;
}

}  // namespace ridgeline::cli
