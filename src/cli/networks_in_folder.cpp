#include "cli/networks_in_folder.hpp"

#include <algorithm>
#include <array>
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
#include "core/units.hpp"
#include "document/document.hpp"
#include "model/model_spec.hpp"
#include "report/tree.hpp"

namespace ridgeline::cli {
namespace {

constexpr std::string_view kConfigFile = "config.json";
constexpr std::string_view kConfigSuffix = "_config.json";
constexpr std::string_view kQuantConfigSuffix = "hf_quant_config.json";
constexpr std::string_view kGenerationConfigSuffix = "generation_config.json";

/// The name of the network that a file describes; nothing where it describes none.
std::optional<std::string> name_of_file(const std::filesystem::path& path) {
  const std::string file = path.filename().string();
  if (file == kConfigFile) {
    return path.parent_path().filename().string();
  }
  if (!file.ends_with(kConfigSuffix) || file.ends_with(kQuantConfigSuffix) ||
      file.ends_with(kGenerationConfigSuffix)) {
    return std::nullopt;
  }
  return file.substr(0, file.size() - kConfigSuffix.size());
}

/// What a table says of a network, column by column.
constexpr std::size_t kColumns = 7;
using Cells = std::array<std::string, kColumns>;
constexpr std::array<std::string_view, kColumns> kTitles = {"network",
                                                            "family",
                                                            "parameters, B",
                                                            "active, B",
                                                            "weights, GiB",
                                                            "cache per token, KiB",
                                                            "state per sequence, MiB"};

Cells cells_of(const FoundNetwork& found) {
  const model::ModelSpec& network = *found.network;
  constexpr double kGiga = 1e9;
  constexpr double kKibi = 1024.0;
  return {
      found.name,
      network.family,
      fmt::format("{:.2f}", model::total_parameters(network) / kGiga),
      fmt::format("{:.2f}", model::active_parameters(network) / kGiga),
      fmt::format("{:.2f}", core::as_gibibytes(model::weight_bytes_per_rank(network, {}))),
      fmt::format("{:.6g}", model::kv_bytes_per_token_per_rank(network, {}).value() / kKibi),
      fmt::format("{:.4g}", model::state_bytes_per_rank(network, {}).value() / (kKibi * kKibi))};
}

std::string reason(const FoundNetwork& found) {
  const core::Error& error = found.network.error().front();
  return error.field.empty() ? error.message : fmt::format("{}: {}", error.field, error.message);
}

std::string counts(const std::vector<FoundNetwork>& networks) {
  const auto read = std::count_if(networks.begin(), networks.end(), [](const FoundNetwork& found) {
    return found.network.has_value();
  });
  return fmt::format("{} read, {} refused", read, std::ssize(networks) - read);
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
    const std::filesystem::path inner = entry.path() / kConfigFile;
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
    networks.push_back(
        {.name = *name_of_file(file), .network = model::read_hf_config(file.string())});
  }
  std::sort(networks.begin(), networks.end(), [](const FoundNetwork& a, const FoundNetwork& b) {
    return a.name < b.name;
  });
  return networks;
}

std::string networks_table(const std::vector<FoundNetwork>& networks) {
  std::array<std::size_t, kColumns> widths{};
  std::vector<Cells> rows;
  for (std::size_t i = 0; i < kColumns; ++i) {
    widths[i] = kTitles[i].size();
  }
  for (const FoundNetwork& found : networks) {
    rows.push_back(found.network ? cells_of(found) : Cells{found.name});
    for (std::size_t i = 0; i < kColumns; ++i) {
      widths[i] = std::max(widths[i], rows.back()[i].size());
    }
  }
  std::string text;
  const auto line = [&](const auto& cells) {
    text += fmt::format("{:<{}}  {:<{}}", cells[0], widths[0], cells[1], widths[1]);
    for (std::size_t i = 2; i < kColumns; ++i) {
      text += fmt::format("  {:>{}}", cells[i], widths[i]);
    }
    text += '\n';
  };
  line(kTitles);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (networks[i].network) {
      line(rows[i]);
    } else {
      text += fmt::format("{:<{}}  refused: {}\n", rows[i][0], widths[0], reason(networks[i]));
    }
  }
  return text + counts(networks) + '\n';
}

std::string networks_markdown(const std::vector<FoundNetwork>& networks) {
  std::string text =
      fmt::format("| {} |\n|---|---|---|---|---|---|---|\n", fmt::join(kTitles, " | "));
  for (const FoundNetwork& found : networks) {
    text += found.network
                ? fmt::format("| {} |\n", fmt::join(cells_of(found), " | "))
                : fmt::format("| {} | refused: {} | | | | | |\n", found.name, reason(found));
  }
  return text + '\n' + counts(networks) + '\n';
}

document::Node networks_tree(const std::vector<FoundNetwork>& networks) {
  const auto number = [](bool known, double value) {
    return report::number_node(known ? std::optional(value) : std::nullopt);
  };
  std::vector<document::Node> items;
  for (const FoundNetwork& found : networks) {
    const bool read = found.network.has_value();
    const model::ModelSpec none;
    const model::ModelSpec& network = read ? *found.network : none;
    report::MapBuilder item;
    item.add("name", report::text_node(found.name))
        .add("refused", read ? document::Node() : report::text_node(reason(found)))
        .add("family", read ? report::text_node(network.family) : document::Node());
    item.add("parameters_total", number(read, read ? model::total_parameters(network) : 0.0))
        .add("parameters_active", number(read, read ? model::active_parameters(network) : 0.0))
        .add("weight_bytes",
             number(read, read ? model::weight_bytes_per_rank(network, {}).value() : 0.0))
        .add("kv_bytes_per_token",
             number(read, read ? model::kv_bytes_per_token_per_rank(network, {}).value() : 0.0))
        .add("state_bytes_per_sequence",
             number(read, read ? model::state_bytes_per_rank(network, {}).value() : 0.0));
    items.push_back(item.build());
  }
  return report::list_node(std::move(items));
}

}  // namespace ridgeline::cli
