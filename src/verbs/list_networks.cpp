#include "verbs/list_networks.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "model/model_spec.hpp"
#include "model/networks_in_folder.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

using document::list_node;
using document::MapBuilder;
using document::number_node;
using document::text_node;

std::string reason(const model::FoundNetwork& found) {
  const core::Error& error = found.network.error().front();
  return error.field.empty() ? error.message : fmt::format("{}: {}", error.field, error.message);
}

/// A number of so many significant digits.
report::Column digits(std::string title, std::string path, double scale, int most) {
  const auto cell = [path = std::move(path), scale, most](const document::Node& row) {
    const document::Node& value = node_at(row, path);
    return value.is_number() ? fmt::format("{:.{}g}", value.as_real() / scale, most) : "\u2013";
  };
  return {.title = std::move(title), .cell = cell, .right = true};
}

report::TableView networks_view(bool has_refused) {
  constexpr double kKibi = 1024.0;
  using enum report::Format;
  report::TableView view{
      .columns = {
          {.title = "network", .path = "name"},
          {.title = "family", .path = "family"},
          {.title = "parameters, B", .path = "parameters_total", .format = kFixed2, .scale = 1e-9},
          {.title = "active, B", .path = "parameters_active", .format = kFixed2, .scale = 1e-9},
          {.title = "weights, GiB",
           .path = "weight_bytes",
           .format = kFixed2,
           .scale = 1.0 / (kKibi * kKibi * kKibi)},
          digits("cache per token, KiB", "kv_bytes_per_token", kKibi, 6),
          digits("state per sequence, MiB", "state_bytes_per_sequence", kKibi * kKibi, 4)}};
  if (has_refused) {
    view.columns.push_back({.title = "refused", .path = "refused"});
  }
  return view;
}

}  // namespace

std::string networks_text(const document::Node& networks,
                          report::Face face,
                          const report::TextStyle& style) {
  const report::Rows rows = report::rows_of(networks.items());
  const auto refused = std::ranges::count_if(
      rows, [](const document::Node* row) { return node_at(*row, "refused").is_string(); });
  return report::render(networks_view(refused > 0), rows, face, style) +
         (face == report::Face::kMarkdown ? "\n" : "") +
         fmt::format("{} read, {} refused\n", std::ssize(rows) - refused, refused);
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
    item.add("name", found.name)
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
