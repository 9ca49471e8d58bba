#include "verbs/clients/client_files.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {

using document::text_node;

const document::Node* setting(const RunResult& result, std::string_view path) {
  const document::Node* node = &result.config;
  while (node != nullptr && !path.empty()) {
    const std::string_view key = path.substr(0, path.find('.'));
    node = node->find(key);
    path.remove_prefix(std::min(key.size() + 1, path.size()));
  }
  return node == nullptr || node->is_null() ? nullptr : node;
}

document::Node setting_or_empty(const RunResult& result, std::string_view path) {
  const document::Node* node = setting(result, path);
  return node == nullptr ? text_node("") : *node;
}

std::optional<double> number_setting(const RunResult& result, std::string_view path) {
  const document::Node* node = setting(result, path);
  return node != nullptr && node->is_number() ? std::optional(node->as_real()) : std::nullopt;
}

document::Node sampling_setting(const RunResult& result) {
  return setting_or_empty(result, "engine.generation_config");
}

Spread spread_of(const std::vector<double>& values) {
  Spread spread;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) {
    spread.sum += value;
  }
  spread.mean = values.empty() ? 0.0 : spread.sum / n;
  for (const double value : values) {
    spread.variance += (value - spread.mean) * (value - spread.mean) / n;
  }
  return spread;
}

}  // namespace ridgeline::verbs
