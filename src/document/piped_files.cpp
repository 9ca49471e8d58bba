#include "document/piped_files.hpp"

#include <map>
#include <string>
#include <utility>

namespace ridgeline::document {
namespace {

std::map<std::string, std::string>& copies() {
  static std::map<std::string, std::string> by_path;
  return by_path;
}

}  // namespace

void read_instead(const std::string& path, std::string copy) {
  copies().insert_or_assign(path, std::move(copy));
}

std::string path_to_open(const std::string& path) {
  const auto found = copies().find(path);
  if (found != copies().end()) {
    return found->second;
  }
  return path == "-" ? "/dev/stdin" : path;
}

}  // namespace ridgeline::document
