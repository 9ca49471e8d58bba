#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "document/input_files.hpp"

namespace ridgeline::document {
namespace {

tl::unexpected<core::Errors> file_problem(const std::string& path, std::string message) {
  return core::fail(core::Error{.message = std::move(message), .where = {.file = path}});
}

}  // namespace

core::Result<std::string> read_file(const std::string& path, std::size_t limit) {
  auto in = open_file(path);
  if (!in) {
    return core::fail(std::move(in).error());
  }
  // The size is what was read, not what the file system says: pipes and devices have none to say.
  std::string text;
  std::array<char, 65536> chunk;
  while (*in && text.size() <= limit) {
    const std::size_t wanted = std::min(chunk.size() - 1, limit - text.size()) + 1;
    in->read(chunk.data(), static_cast<std::streamsize>(wanted));
    text.append(chunk.data(), static_cast<std::size_t>(in->gcount()));
  }
  if (in->bad()) {
    return file_problem(path, "cannot be read: " + core::system_message(errno));
  }
  if (text.size() > limit) {
    return file_problem(path, fmt::format("is larger than the limit of {} bytes", limit));
  }
  return text;
}

core::Result<Node> read_document(const std::string& path, NonFinite non_finite) {
  const auto text = read_file(path);
  if (!text) {
    return core::fail(text.error());
  }
  return path.ends_with(".json") ? parse_json(*text, path, non_finite) : parse_yaml(*text, path);
}

}  // namespace ridgeline::document
