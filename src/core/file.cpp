#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "core/document.hpp"
#include "core/piped_files.hpp"
#include "core/result.hpp"

namespace ridgeline::core {
namespace {

tl::unexpected<Errors> file_problem(const std::string& path, std::string message) {
  return fail(Error{.message = std::move(message), .where = {.file = path}});
}

std::string system_message(int code) {
  return std::generic_category().message(code);
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  if (path.empty()) {
    return fail(ErrorCode::kUsage, "the name of a file is empty");
  }
  std::error_code error;
  const std::string source = path_to_open(path);
  const auto status = std::filesystem::status(source, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return file_problem(path, "no such file");
  }
  if (status.type() == std::filesystem::file_type::directory) {
    return file_problem(path, "is a folder, expected a file");
  }
  errno = 0;
  std::ifstream in(source, std::ios::binary);
  if (!in) {
    return file_problem(path, "cannot be opened: " + system_message(errno));
  }
  // The size is what was read, not what the file system says: pipes and devices have none to say.
  std::string text;
  std::array<char, 65536> chunk;
  while (in && text.size() <= limit) {
    const std::size_t wanted = std::min(chunk.size() - 1, limit - text.size()) + 1;
    in.read(chunk.data(), static_cast<std::streamsize>(wanted));
    text.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) {
    return file_problem(path, "cannot be read: " + system_message(errno));
  }
  if (text.size() > limit) {
    return file_problem(path, fmt::format("is larger than the limit of {} bytes", limit));
  }
  return text;
}

Result<Node> read_document(const std::string& path, NonFinite non_finite) {
  const auto text = read_file(path);
  if (!text) {
    return fail(text.error());
  }
  return path.ends_with(".json") ? parse_json(*text, path, non_finite) : parse_yaml(*text, path);
}

}  // namespace ridgeline::core
