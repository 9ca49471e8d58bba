#include "sim/logs/decision_log.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/decision.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_builder.hpp"
#include "document/node_json.hpp"
#include "routing/router.hpp"

namespace ridgeline::sim {
namespace {

using document::integer_node;
using document::list_node;
using document::MapBuilder;
using document::number_node;

class DecisionLog final : public cluster::DecisionSink {
 public:
  explicit DecisionLog(std::ostream& out) : out_(out) {}

  void on_decision(const cluster::Decision& decision) override {
    std::vector<document::Node> ids;
    std::vector<document::Node> as_of;
    for (const routing::InstanceView& view : decision.instances) {
      ids.push_back(integer_node(view.id.value()));
      as_of.push_back(number_node(decision.known_as_of(view).to_seconds()));
    }
    std::vector<document::Node> scores;
    for (const double score : decision.scores) {
      scores.push_back(std::isnan(score) ? document::Node() : number_node(score));
    }
    const document::Node record =
        MapBuilder()
            .add("request", decision.request.value())
            .add("at", decision.at.to_seconds())
            .add("gateway", decision.gateway)
            .add("pick",
                 decision.pick.is_refusal() ? document::Node()
                                            : integer_node(decision.pick.instance.value()))
            .add("equals", decision.pick.equals)
            .add("reason", name(decision.pick.reason))
            .add("instances", list_node(std::move(ids)))
            .add("scores", list_node(std::move(scores)))
            .add("as_of", list_node(std::move(as_of)));
    document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
    document::write(record, json);
    out_ << json.text() << '\n';
  }

 private:
  std::ostream& out_;
};

}  // namespace

std::unique_ptr<cluster::DecisionSink> make_decision_log(std::ostream& out) {
  return std::make_unique<DecisionLog>(out);
}

}  // namespace ridgeline::sim
