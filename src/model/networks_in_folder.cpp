#include "model/networks_in_folder.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {
namespace {

constexpr std::string_view kNetworkFile = "config.json";
constexpr std::string_view kConfigSuffix = "_config.json";
constexpr std::string_view kQuantConfigSuffix = "hf_quant_config.json";
constexpr std::string_view kGenerationConfigSuffix = "generation_config.json";

/// The name of the network that a file describes; nothing where it describes none.
std::optional<std::string> name_of_file(const std::filesystem::path& path) {
  const std::string file = path.filename().string();
  if (file == kNetworkFile) {
    return path.parent_path().filename().string();
  }
  if (!file.ends_with(kConfigSuffix) || file.ends_with(kQuantConfigSuffix) ||
      file.ends_with(kGenerationConfigSuffix)) {
    return std::nullopt;
  }
  return file.substr(0, file.size() - kConfigSuffix.size());
}

core::Error unreadable(const std::string& folder, std::string message) {
  return {.code = core::ErrorCode::kUsage,
          .field = "--path",
          .message = fmt::format("{}: {}", folder, message),
          .where = {.file = "command line"},
          .hint = "a folder of config.json files"};
}

}  // namespace

core::Result<std::vector<FoundNetwork>> networks_in_folder(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  std::filesystem::directory_iterator entries(folder, error);
  if (error) {
    return core::fail(unreadable(folder, error.message()));
  }
  for (const std::filesystem::directory_entry& entry : entries) {
    const std::filesystem::path inner = entry.path() / kNetworkFile;
    if (entry.is_directory(error) && std::filesystem::exists(inner, error)) {
      files.push_back(inner);
    } else if (entry.is_regular_file(error) && name_of_file(entry.path())) {
      files.push_back(entry.path());
    }
  }
  if (files.empty()) {
    return core::fail(unreadable(folder, "holds no config.json and no *_config.json"));
  }
  std::vector<FoundNetwork> networks;
  for (const std::filesystem::path& file : files) {
    networks.push_back({.name = *name_of_file(file), .network = read_hf_config(file.string())});
  }
  std::sort(networks.begin(), networks.end(), [](const FoundNetwork& a, const FoundNetwork& b) {
    return a.name < b.name;
  });
  return networks;
}

}  // namespace ridgeline::model
