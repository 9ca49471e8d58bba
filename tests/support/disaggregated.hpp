#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "cluster/disaggregation.hpp"
#include "cluster/disaggregation/decider.hpp"
#include "cluster/disaggregation/deciders/deciders.hpp"
#include "cluster/disaggregation/registry.hpp"
#include "cluster/gateway.hpp"
#include "cluster/part.hpp"
#include "routing/parameters.hpp"
#include "routing/router.hpp"

namespace ridgeline::test {

/// Inputs of prefill and decode apart, with makers instead of what they make.
struct DisaggregationSetup {
  std::int64_t prefill_instances = 1;
  std::unique_ptr<routing::Router> (*prefill_router)(const routing::RouterSetup&) = nullptr;
  cluster::GatewayTimes times = {};
  std::unique_ptr<disaggregation::Decider> (*decider)(const disaggregation::DeciderParameters&) =
      nullptr;
  disaggregation::DeciderParameters parameters = {};
  disaggregation::LegOrder order = disaggregation::LegOrder::kDecodeFirst;
  disaggregation::FirstToken first_token = disaggregation::FirstToken::kDecode;
  cluster::TransferOptions transfer = {};
  bool may_change = false;  ///< Instances may come, fail or go.
};

/// The part, which `made` then points to.
inline cluster::PartMaker disaggregation_part(
    const DisaggregationSetup& setup, const std::shared_ptr<cluster::Disaggregation*>& made) {
  return {.kind = cluster::PartKind::kLinks, .make = [setup, made](cluster::Fleet& fleet) {
            const auto new_router = [make = setup.prefill_router] { return make({}); };
            std::function<std::unique_ptr<routing::Router>()> anew;
            if (setup.may_change) {
              anew = new_router;
            }
            auto part = std::make_unique<cluster::Disaggregation>(
                cluster::DisaggregationInputs{.prefill_instances = setup.prefill_instances,
                                              .prefill_router = new_router(),
                                              .new_prefill_router = std::move(anew),
                                              .times = setup.times,
                                              .decider = setup.decider(setup.parameters),
                                              .order = setup.order,
                                              .first_token = setup.first_token,
                                              .transfer = setup.transfer},
                fleet);
            *made = part.get();
            return part;
          }};
}

}  // namespace ridgeline::test
