#include "deploy/save.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "deploy/targets.hpp"
#include "document/input_files.hpp"

namespace ridgeline::deploy {
namespace {

namespace fs = std::filesystem;

constexpr auto kAllMayRun = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;

core::Result<void> no_write(std::string_view flag, const fs::path& path, std::string_view why) {
  return core::fail(
      {.field = std::string(flag),
       .message = fmt::format("cannot write '{}': {}", core::shown_path(path.string()), why),
       .where = {.file = "command line"}});
}

/// A folder that is removed with all that is in it, unless it has been renamed.
class Staging {
 public:
  explicit Staging(fs::path path) : path_(std::move(path)) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  Staging(Staging&&) = delete;
  Staging& operator=(Staging&&) = delete;
  ~Staging() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

 private:
  fs::path path_;
};

/// "out/" is "out".
fs::path folder_of(const std::string& folder) {
  fs::path target(folder);
  return target.has_filename() ? target : target.parent_path();
}

}  // namespace

core::Result<void> can_save(std::string_view flag, const std::string& folder) {
  const fs::path target = folder_of(folder);
  std::error_code error;
  fs::path place = target;  // What exists of it.
  while (!place.empty() && !fs::exists(place, error) && place.has_relative_path()) {
    place = place.parent_path();
  }
  if (place.empty()) {
    place = ".";
  }
  if (!fs::is_directory(place, error)) {
    return place == target
               ? no_write(flag, target, "it is no folder")
               : no_write(flag, target, fmt::format("'{}' is no folder", place.string()));
  }
  if (::access(place.c_str(), W_OK | X_OK) != 0) {
    return no_write(flag, target, std::generic_category().message(errno));
  }
  return {};
}

core::Result<void> save_files(std::string_view flag,
                              const std::string& folder,
                              std::span<const File> files) {
  const fs::path target = folder_of(folder);
  std::error_code error;
  const bool exists = fs::exists(target, error);
  if (exists && !fs::is_directory(target, error)) {
    return no_write(flag, target, "it is no folder");
  }
  for (const File& file : files) {
    if (document::is_input((target / file.name).string())) {
      return no_write(flag, target / file.name, "this command reads it");
    }
  }
  if (target.has_parent_path()) {
    fs::create_directories(target.parent_path(), error);
    if (error) {
      return no_write(flag, target, error.message());
    }
  }
  // Inside the folder where there is one: its neighbours may belong to others.
  const fs::path staging =
      exists ? target / ".ridgeline-part" : fs::path(target.string() + ".part");
  fs::remove_all(staging, error);
  fs::create_directory(staging, error);
  if (error) {
    return no_write(flag, target, error.message());
  }
  const Staging guard(staging);
  for (const File& file : files) {
    const fs::path path = staging / file.name;
    std::ofstream stream(path, std::ios::binary);
    stream << file.text;
    stream.close();
    if (!stream) {
      return no_write(flag, target / file.name, "the disk may be full");
    }
    if (file.is_script) {
      fs::permissions(path, kAllMayRun, fs::perm_options::add, error);
    }
  }
  if (!exists) {
    fs::rename(staging, target, error);
    return error ? no_write(flag, target, error.message()) : core::Result<void>();
  }
  for (const File& file : files) {
    fs::rename(staging / file.name, target / file.name, error);
    if (error) {
      return no_write(flag, target / file.name, error.message());
    }
  }
  return {};
}

}  // namespace ridgeline::deploy
