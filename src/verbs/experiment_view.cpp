#include "verbs/experiment_view.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

using document::MapBuilder;
using document::Node;

report::Column side(std::string title,
                    std::string path,
                    report::Format format = report::Format::kText) {
  return {.title = std::move(title), .path = std::move(path), .format = format};
}

const report::TableView kSides{
    .title = "The client's side and the server's",
    .about = "In milliseconds.",
    .missing = "-",
    .columns = {{.title = "record", .path = "record", .terminal = "by client and server, ms"},
                side("mean", "metric"),
                side("client", "client", report::Format::kSignificant),
                side("predicted", "client_predicted", report::Format::kSignificant),
                side("error, %", "client_error", report::Format::kSigned1),
                side("server", "server", report::Format::kSignificant),
                side("predicted ", "server_predicted", report::Format::kSignificant),
                side("error, % ", "server_error", report::Format::kSigned1)}};

/// Each mean of the records whose servers' own times are known, beside the client's.
std::vector<Node> both_sides(const Node& tree) {
  struct Sides {
    const char* metric;
    const char* client;
    const char* server;
  };
  constexpr auto kBoth = std::to_array<Sides>({{"e2e", "e2e", "server_e2e"},
                                               {"ttft", "ttft", "server_ttft"},
                                               {"tpot", "tpot", ""},
                                               {"itl", "", "server_itl"},
                                               {"queue", "", "queue"},
                                               {"prefill", "", "prefill"},
                                               {"decode", "", "decode"}});
  std::vector<Node> rows;
  for (const Node* record : report::rows_at(tree, "records")) {
    if (!node_at(*record, "measured.server_e2e.mean").is_number()) {
      continue;
    }
    for (const auto& [metric, client, server] : kBoth) {
      MapBuilder row;
      row.add("record", report::text_at(*record, "id")).add("metric", metric);
      for (const auto& [side, figure] : {std::pair("client", client), {"server", server}}) {
        const auto mean = [&, name = figure](std::string_view key) {
          return node_at(*record, fmt::format("{}.{}.mean", key, name));
        };
        row.add(side, mean("measured"))
            .add(fmt::format("{}_predicted", side), mean("predicted"))
            .add(fmt::format("{}_error", side), mean("error_pct"));
      }
      Node node = row;
      if (node_at(node, "client").is_number() || node_at(node, "server").is_number()) {
        rows.push_back(std::move(node));
      }
    }
  }
  return rows;
}

}  // namespace

std::string sides_text(const Node& validation, report::Face face, const report::TextStyle& style) {
  const std::vector<Node> sides = both_sides(validation);
  return report::section(kSides, report::rows_of(sides), face, style);
}

std::string read_text(const Node& tree, const report::TextStyle& style) {
  std::size_t all = 0;
  std::vector<std::pair<std::string, std::size_t>> read;
  std::vector<std::pair<std::string, std::size_t>> assumed;
  const auto count = [](auto& lines, const std::vector<const Node*>& list) {
    for (const Node* item : list) {
      const std::string line = item->is_string() ? item->as_string() : "";
      auto known = std::ranges::find(lines, line, [](const auto& it) { return it.first; });
      if (known == lines.end()) {
        known = lines.emplace(known, line, 0);
      }
      ++known->second;
    }
  };
  for (const Node* record : report::rows_at(tree, "records")) {
    if (const auto sources = report::rows_at(*record, "sources"); !sources.empty()) {
      ++all;
      count(read, sources);
      count(assumed, report::rows_at(*record, "assumed"));
    }
  }
  std::string text;
  for (const auto& [title, lines] : {std::pair("read", &read), {"assumed", &assumed}}) {
    text += lines->empty() ? "" : fmt::format("\n{}\n", title);
    for (const auto& [line, records] : *lines) {
      text += fmt::format("  {}{}\n",
                          report::printable(line, style.ascii),
                          records == all ? "" : fmt::format(" ({} of {} records)", records, all));
    }
  }
  return text;
}

}  // namespace ridgeline::verbs
