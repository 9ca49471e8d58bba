#include "report/saved_result.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/schema.hpp"
#include "report/html_page.hpp"
#include "report/schemas.hpp"

namespace ridgeline::report {
namespace {

using document::MapBuilder;

using document::Node;

constexpr std::string_view kSeries = "series";

core::Result<void> refuse(std::string field, std::string message, const std::string& file) {
  return core::fail(core::Error{
      .field = std::move(field), .message = std::move(message), .where = {.file = file}});
}

/// Every list of `map`, and of the maps in it, has so many items.
core::Result<void> check_sizes(const Node& map,
                               std::size_t items,
                               const std::string& field,
                               const std::string& file) {
  for (const Node::Member& member : map.members()) {
    const std::string path = fmt::format("{}.{}", field, member.key);
    if (member.value.is_map()) {
      if (auto fits = check_sizes(member.value, items, path, file); !fits) {
        return fits;
      }
    } else if (member.value.is_list() && member.value.items().size() != items) {
      return refuse(path,
                    fmt::format("found {} items, expected {}", member.value.items().size(), items),
                    file);
    }
  }
  return {};
}

core::Result<void> check_rising(const Node& list,
                                const std::string& field,
                                const std::string& file) {
  for (std::size_t i = 1; i < list.items().size(); ++i) {
    if (list.items()[i].as_real() < list.items()[i - 1].as_real()) {
      return refuse(fmt::format("{}[{}]", field, i), "is less than the item before it", file);
    }
  }
  return {};
}

/// An item per window: empty, or the number of the first bin and the counts from it on.
core::Result<void> check_bins(const Node& windows,
                              std::size_t bins,
                              const std::string& field,
                              const std::string& file) {
  for (std::size_t i = 0; i < windows.items().size(); ++i) {
    const std::vector<Node>& counts = windows.items()[i].items();
    if (counts.empty()) {
      continue;
    }
    const std::int64_t first = counts.front().as_integer();
    if (first > static_cast<std::int64_t>(bins) ||
        static_cast<std::size_t>(first) + counts.size() - 1 > bins) {
      return refuse(fmt::format("{}[{}]", field, i),
                    fmt::format("names a bin beyond the {} of bin_bounds_ms", bins),
                    file);
    }
  }
  return {};
}

/// What the schema, which knows no other lists, does not say of a series that follows it.
core::Result<void> check_series(const Node& series, const std::string& file) {
  const auto windows = static_cast<std::size_t>(series.find("windows")->as_integer());
  for (const std::string_view part : {"gauges", "rates", "busy_ps", "slo"}) {
    const Node* const lists = series.find(part);
    if (lists == nullptr) {
      continue;
    }
    if (auto fits = check_sizes(*lists, windows, fmt::format("series.{}", part), file); !fits) {
      return fits;
    }
  }
  const Node& counts = *series.find("latency_counts");
  const Node& bounds = *counts.find("bin_bounds_ms");
  if (bounds.items().empty()) {
    return refuse("series.latency_counts.bin_bounds_ms", "is empty", file);
  }
  if (auto fits = check_rising(bounds, "series.latency_counts.bin_bounds_ms", file); !fits) {
    return fits;
  }
  const std::size_t stretches = counts.find("ttft")->items().size();
  for (const std::string_view latency : {"ttft", "tpot", "e2e", "queue_time"}) {
    const Node& list = *counts.find(latency);
    const std::string field = fmt::format("series.latency_counts.{}", latency);
    if (list.items().size() != stretches) {
      return refuse(
          field,
          fmt::format("found {} items, expected {} as in ttft", list.items().size(), stretches),
          file);
    }
    if (auto fits = check_bins(list, bounds.items().size() - 1, field, file); !fits) {
      return fits;
    }
  }
  const Node& quantiles = *series.find("quantiles");
  const std::size_t probabilities = quantiles.find("probabilities")->items().size();
  for (const Node::Member& member : quantiles.members()) {
    if (member.value.is_list() && !member.value.items().empty()) {
      const std::string field = fmt::format("series.quantiles.{}", member.key);
      if (member.value.items().size() != probabilities) {
        return refuse(field,
                      fmt::format("found {} items, expected {} as in probabilities",
                                  member.value.items().size(),
                                  probabilities),
                      file);
      }
      if (auto fits = check_rising(member.value, field, file); !fits) {
        return fits;
      }
    }
  }
  return {};
}

const Node& result_schema() {
  static const Node kSchema = [] {
    auto schema = [] {
      constexpr std::string_view kName = "result.schema.json";
      const auto file = std::ranges::find(schema_files(), kName, &document::EmbeddedFile::name);
      RIDGELINE_CHECK(file != schema_files().end(), "the schema of results is compiled in");
      return document::parse_json(file->text, std::string(kName));
    }();
    RIDGELINE_CHECK(schema.has_value(), "the schema of results is JSON");
    return *std::move(schema);
  }();
  return kSchema;
}

}  // namespace

core::Result<Node> result_in_page(std::string_view page, const std::string& file) {
  const std::string_view text = json_of_element(page, kResultElement);
  if (text.empty()) {
    return core::fail(core::Error{.field = "report",
                                  .message = "found a page without a result, expected one that "
                                             "`ridgeline run -o FILE.html` wrote",
                                  .where = {.file = file}});
  }
  auto result = document::parse_json(text, file);
  if (!result || !result->is_map()) {
    return result;
  }
  const std::string_view info_text = json_of_element(page, kRunInfoElement);
  if (info_text.empty()) {
    return result;
  }
  auto info = document::parse_json(info_text, file);
  if (!info) {
    return info;
  }
  MapBuilder map;
  for (const auto& member : result->members()) {
    map.add(member.key, member.value);
    if (member.key == "schema_version") {
      map.add("run_info", *info);
    }
  }
  return map.build();
}

core::Result<Node> checked_result(Node tree, const std::string& file) {
  for (const std::string_view part : {"summary", "config"}) {
    const Node* const found = tree.find(part);
    if (found == nullptr || !found->is_map()) {
      return core::fail(core::Error{.message =
                                        "no result of `ridgeline run`: it has no summary and "
                                        "config",
                                    .where = {.file = file}});
    }
  }
  const Node& schema = result_schema();
  if (auto fits = document::check_schema(tree, schema, schema, document::Missing::kAllow, {}, file);
      !fits) {
    return core::fail(std::move(fits).error());
  }
  const Node* const series = tree.find(kSeries);
  if (series == nullptr) {
    return tree;
  }
  const Node& kind = *schema.find("properties")->find(kSeries);
  auto fits = document::check_schema(
      *series, kind, schema, document::Missing::kRefuse, std::string(kSeries), file);
  if (fits) {
    fits = check_series(*series, file);
  }
  return fits ? core::Result<Node>(std::move(tree)) : core::fail(std::move(fits).error());
}

core::Result<Node> read_result(const std::string& path) {
  const auto text = document::read_file(path);
  if (!text) {
    return core::fail(text.error());
  }
  auto result = text->starts_with("<!doctype html>") ? result_in_page(*text, path)
                                                     : document::parse_json(*text, path);
  return result ? checked_result(std::move(*result), path) : result;
}

}  // namespace ridgeline::report
