#include "report/engine_metrics.hpp"

#include <cstddef>
#include <optional>
#include <string_view>

#include "document/document.hpp"
#include "engine/engine_plan.hpp"
#include "engine/schedulers.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using document::Node;

/// The value at "kv_cache.mean"; nullptr where there is none.
const Node* value_at(const Node& root, std::string_view path) {
  const Node* node = &root;
  while (node != nullptr && !path.empty()) {
    const std::size_t end = path.find('.');
    node = node->find(path.substr(0, end));
    path = end == std::string_view::npos ? "" : path.substr(end + 1);
  }
  return node;
}

}  // namespace

std::optional<Node> engine_metrics_tree(const Node& config, const Node& summary) {
  const Node* const version = value_at(config, "engine.version");
  const Node* const pools = value_at(config, "cluster.pools");
  if (version == nullptr || !version->is_string() || (pools != nullptr && !pools->is_null())) {
    return std::nullopt;
  }
  const auto choice = engine::find_engine(version->as_string());
  if (!choice || choice->engine->own == nullptr) {
    return std::nullopt;
  }
  MapBuilder map;
  for (const engine::MetricName& metric : choice->engine->own->metrics) {
    const Node* const value = value_at(summary, metric.ours);
    const bool is_number = value != nullptr && value->is_number();
    map.add(metric.own,
            is_number && value->kind() == Node::Kind::kInteger ? *value
            : is_number ? number_node(value->as_real() * metric.factor)
                        : number_node(std::nullopt));
  }
  return map.build();
}

}  // namespace ridgeline::report
