#include "verbs/list_networks.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "model/model_spec.hpp"
#include "model/networks_in_folder.hpp"

namespace ridgeline::verbs {
namespace {

using document::list_node;
using document::MapBuilder;
using document::number_node;
using document::text_node;

/// What a table says of a network, column by column.
constexpr std::size_t kNetworkColumns = 7;
using Cells = std::array<std::string, kNetworkColumns>;
constexpr std::array<std::string_view, kNetworkColumns> kNetworkTitles = {
    "network",
    "family",
    "parameters, B",
    "active, B",
    "weights, GiB",
    "cache per token, KiB",
    "state per sequence, MiB"};

Cells cells_of(const model::FoundNetwork& found) {
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

std::string reason(const model::FoundNetwork& found) {
  const core::Error& error = found.network.error().front();
  return error.field.empty() ? error.message : fmt::format("{}: {}", error.field, error.message);
}

std::string counts(const std::vector<model::FoundNetwork>& networks) {
  const auto read =
      std::count_if(networks.begin(), networks.end(), [](const model::FoundNetwork& found) {
        return found.network.has_value();
      });
  return fmt::format("{} read, {} refused", read, std::ssize(networks) - read);
}

}  // namespace

std::string networks_table(const std::vector<model::FoundNetwork>& networks) {
  std::array<std::size_t, kNetworkColumns> widths{};
  std::vector<Cells> rows;
  for (std::size_t i = 0; i < kNetworkColumns; ++i) {
    widths[i] = kNetworkTitles[i].size();
  }
  for (const model::FoundNetwork& found : networks) {
    rows.push_back(found.network ? cells_of(found) : Cells{found.name});
    for (std::size_t i = 0; i < kNetworkColumns; ++i) {
      widths[i] = std::max(widths[i], rows.back()[i].size());
    }
  }
  std::string text;
  const auto line = [&](const auto& cells) {
    text += fmt::format("{:<{}}  {:<{}}", cells[0], widths[0], cells[1], widths[1]);
    for (std::size_t i = 2; i < kNetworkColumns; ++i) {
      text += fmt::format("  {:>{}}", cells[i], widths[i]);
    }
    text += '\n';
  };
  line(kNetworkTitles);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (networks[i].network) {
      line(rows[i]);
    } else {
      text += fmt::format("{:<{}}  refused: {}\n", rows[i][0], widths[0], reason(networks[i]));
    }
  }
  return text + counts(networks) + '\n';
}

std::string networks_markdown(const std::vector<model::FoundNetwork>& networks) {
  std::string text =
      fmt::format("| {} |\n|---|---|---|---|---|---|---|\n", fmt::join(kNetworkTitles, " | "));
  for (const model::FoundNetwork& found : networks) {
    text += found.network
                ? fmt::format("| {} |\n", fmt::join(cells_of(found), " | "))
                : fmt::format("| {} | refused: {} | | | | | |\n", found.name, reason(found));
  }
  return text + '\n' + counts(networks) + '\n';
}

document::Node networks_tree(const std::vector<model::FoundNetwork>& networks) {
  const auto number = [](bool known, double value) {
    return number_node(known ? std::optional(value) : std::nullopt);
  };
  std::vector<document::Node> items;
  for (const model::FoundNetwork& found : networks) {
    const bool read = found.network.has_value();
    const model::ModelSpec none;
    const model::ModelSpec& network = read ? *found.network : none;
    MapBuilder item;
    item.add("name", text_node(found.name))
        .add("refused", read ? document::Node() : text_node(reason(found)))
        .add("family", read ? text_node(network.family) : document::Node());
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
  return list_node(std::move(items));
}

}  // namespace ridgeline::verbs
