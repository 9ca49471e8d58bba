#include "verbs/run/engine_metrics.hpp"

#include <optional>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "engine/engine_plan.hpp"
#include "engine/schedulers.hpp"

namespace ridgeline::verbs {

using document::MapBuilder;
using document::Node;
using document::number_node;

std::optional<Node> engine_metrics_tree(const Node& config, const Node& summary) {
  const Node* const version = at_path(config, "engine.version");
  const Node* const pools = at_path(config, "cluster.pools");
  if (version == nullptr || !version->is_string() || (pools != nullptr && !pools->is_null())) {
    return std::nullopt;
  }
  const auto choice = engine::find_engine(version->as_string());
  if (!choice || choice->engine->own == nullptr) {
    return std::nullopt;
  }
  MapBuilder map;
  for (const engine::MetricName& metric : choice->engine->own->metrics) {
    const Node* const value = at_path(summary, metric.ours);
    const bool is_number = value != nullptr && value->is_number();
    map.add(metric.own,
            is_number && value->kind() == Node::Kind::kInteger ? *value
            : is_number ? number_node(value->as_real() * metric.factor)
                        : number_node(std::nullopt));
  }
  return map.build();
}

}  // namespace ridgeline::verbs
