#include "lab/records/campaign.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::records {
namespace {

using document::Node;
using document::ObjectReader;

constexpr document::Range<std::int64_t> kCount{.lowest = 1, .highest = 1'000'000};

/// Figures of a row, in the order of its columns behind the strategy.
constexpr auto kStageFigures = std::to_array<std::pair<std::string_view, double MeasuredStage::*>>({
    {"rate", &MeasuredStage::rate},
    {"requests_per_s", &MeasuredStage::arrivals_per_s},
    {"output_tokens_per_s", &MeasuredStage::output_tokens_per_s},
    {"ttft_mean_s", &MeasuredStage::ttft_mean_s},
    {"ttft_p90_s", &MeasuredStage::ttft_p90_s},
    {"itl_mean_s", &MeasuredStage::itl_mean_s},
});

bool are_positive(std::span<const Node> nodes) {
  return std::ranges::all_of(
      nodes, [](const Node& node) { return node.is_number() && node.as_real() > 0.0; });
}

std::vector<Node> items_of(ObjectReader& reader, std::string_view key) {
  const Node* node = reader.node(key);
  if (node == nullptr || !node->is_list() || node->items().empty()) {
    reader.problem(key, "expected a list that is not empty");
    return {};
  }
  return {node->items().begin(), node->items().end()};
}

std::vector<CampaignStage> read_stages(ObjectReader& reader) {
  std::vector<CampaignStage> stages;
  for (const Node& node : items_of(reader, "stages")) {
    if (!node.is_list() || node.items().size() != 2 || !are_positive(node.items())) {
      reader.problem("stages", fmt::format("found {}, expected [rate, seconds]", node.describe()));
      continue;
    }
    stages.push_back({.rate = node.items()[0].as_real(), .seconds = node.items()[1].as_real()});
  }
  return stages;
}

std::vector<Strategy> read_strategies(ObjectReader& reader, core::Errors& errors) {
  std::vector<Strategy> strategies;
  for (const Node& node : items_of(reader, "strategies")) {
    ObjectReader inner(node, reader.path_of("strategies"), errors);
    Strategy strategy{.name = inner.required_string("name"), .settings = {}};
    if (const Node* settings = inner.node("settings"); settings != nullptr && settings->is_map()) {
      for (const Node::Member& member : settings->members()) {
        strategy.settings.push_back(
            {.path = member.key, .text = member.value.is_string() ? member.value.as_string() : ""});
      }
    }
    inner.finish();
    strategies.push_back(std::move(strategy));
  }
  return strategies;
}

std::vector<MeasuredStage> read_rows(ObjectReader& reader) {
  const auto columns = items_of(reader, "columns");
  const bool known = columns.size() == kStageFigures.size() + 1 &&
                     std::ranges::equal(
                         columns.begin() + 1,
                         columns.end(),
                         kStageFigures.begin(),
                         kStageFigures.end(),
                         {},
                         [](const Node& node) { return node.is_string() ? node.as_string() : ""; },
                         [](const auto& figure) { return std::string(figure.first); });
  if (!known) {
    reader.problem("columns", "expected strategy, rate and the five figures");
  }
  std::vector<MeasuredStage> rows;
  for (const Node& node : items_of(reader, "rows")) {
    if (!node.is_list() || node.items().size() != kStageFigures.size() + 1 ||
        !node.items()[0].is_string() || !are_positive(std::span(node.items()).subspan(1))) {
      reader.problem("rows", fmt::format("found {}, expected an item per column", node.describe()));
      continue;
    }
    MeasuredStage row{.strategy = node.items()[0].as_string()};
    for (std::size_t i = 0; i < kStageFigures.size(); ++i) {
      row.*kStageFigures[i].second = node.items()[i + 1].as_real();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Campaign read_campaign(const Node& node, std::size_t place, core::Errors& errors) {
  ObjectReader reader(node, fmt::format("campaigns[{}]", place), errors);
  Campaign campaign{.id = reader.required_string("id"),
                    .model = reader.required_string("model"),
                    .tensor_parallel_size = reader.required_integer("tensor_parallel_size", kCount),
                    .instances = reader.required_integer("instances", kCount),
                    .kv_tokens = reader.required_integer("kv_tokens", {.lowest = 1}),
                    .gateway_requests = reader.required_integer("gateway_requests", kCount),
                    .poisson = reader.boolean("poisson").value_or(false),
                    .groups = reader.required_integer("groups", kCount),
                    .prompts_per_group = reader.required_integer("prompts_per_group", kCount),
                    .system_tokens = reader.required_integer("system_tokens", kCount),
                    .question_tokens = reader.required_integer("question_tokens", kCount),
                    .output_tokens = reader.required_integer("output_tokens", kCount),
                    .stages = read_stages(reader),
                    .strategies = read_strategies(reader, errors),
                    .measured = read_rows(reader)};
  reader.finish();
  return campaign;
}

}  // namespace

const MeasuredStage* Campaign::find(const std::string& strategy, double rate) const {
  const auto found = std::ranges::find_if(measured, [&](const MeasuredStage& row) {
    return row.strategy == strategy && row.rate == rate;
  });
  return found == measured.end() ? nullptr : &*found;
}

void Campaign::set_arrivals(const std::string& strategy, double rate, double arrivals_per_s) {
  std::erase_if(measured, [&](const MeasuredStage& row) {
    return row.strategy == strategy && row.rate == rate;
  });
  measured.push_back({.strategy = strategy, .rate = rate, .arrivals_per_s = arrivals_per_s});
}

core::Result<std::vector<Campaign>> read_campaigns(const Node& document) {
  core::Errors errors;
  ObjectReader reader(document, "", errors);
  std::vector<Campaign> campaigns;
  for (const Node& node : items_of(reader, "campaigns")) {
    campaigns.push_back(read_campaign(node, campaigns.size(), errors));
  }
  reader.finish();
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return campaigns;
}

std::vector<Campaign> published_campaigns() {
  const auto files = campaign_files();
  RIDGELINE_CHECK(files.size() == 1, "one file of campaigns");
  const auto document = document::parse_json(files.front().text, std::string(files.front().name));
  RIDGELINE_CHECK(document.has_value(), "a file of our own");
  auto campaigns = read_campaigns(*document);
  RIDGELINE_CHECK(campaigns.has_value(), "a file of our own");
  return std::move(*campaigns);
}

Campaign published_campaign(const std::string& id) {
  const auto campaigns = published_campaigns();
  const auto found = std::ranges::find(campaigns, id, &Campaign::id);
  RIDGELINE_CHECK(found != campaigns.end(), id);
  return *found;
}

}  // namespace ridgeline::records
