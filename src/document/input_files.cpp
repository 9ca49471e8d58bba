#include "document/input_files.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <ios>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/piped_files.hpp"

namespace ridgeline::document {
namespace {

struct Inputs {
  std::mutex mutex;
  std::set<std::string> paths;
};

Inputs& inputs() {
  static Inputs all;
  return all;
}

}  // namespace

core::Result<std::ifstream> open_file(const std::string& path) {
  if (path.empty()) {
    return core::fail(core::ErrorCode::kUsage, "the name of a file is empty");
  }
  if (path.find('\0') != std::string::npos) {
    return core::fail(core::ErrorCode::kUsage, "the name of a file holds a NUL");
  }
  const auto refuse = [&](std::string message) {
    return core::fail(core::Error{.message = std::move(message), .where = {.file = path}});
  };
  std::error_code error;
  const std::string source = path_to_open(path);
  const auto status = std::filesystem::status(source, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return refuse("no such file");
  }
  if (status.type() == std::filesystem::file_type::directory) {
    return refuse("is a folder, expected a file");
  }
  errno = 0;
  std::ifstream in(source, std::ios::binary);
  if (!in) {
    return refuse("cannot be opened: " + core::system_message(errno));
  }
  note_input(path);
  return in;
}

void note_input(const std::string& path) {
  const std::scoped_lock lock(inputs().mutex);
  inputs().paths.insert(path);
}

bool is_input(const std::string& path) {
  const std::scoped_lock lock(inputs().mutex);
  return std::ranges::any_of(inputs().paths,
                             [&](const std::string& input) { return is_same_file(input, path); });
}

bool is_same_file(const std::string& one, const std::string& other) {
  std::error_code absent;
  return std::filesystem::equivalent(one, other, absent);
}

}  // namespace ridgeline::document
