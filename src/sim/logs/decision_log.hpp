#pragma once

#include <memory>
#include <ostream>

#include "cluster/decision.hpp"

namespace ridgeline::sim {

/// A sink that writes one JSON object per routing decision and line (`run --routing-out`):
/// request, at and as_of in seconds, gateway, pick (null: refused by a filter), equals (how many
/// were as good), reason; and by instance that could be chosen: instances (ids), scores (higher is
/// better; null where a filter left it out; empty of a policy that does not score), as_of (when the
/// oldest of what the policy reads was true).
[[nodiscard]] std::unique_ptr<cluster::DecisionSink> make_decision_log(std::ostream& out);

}  // namespace ridgeline::sim
