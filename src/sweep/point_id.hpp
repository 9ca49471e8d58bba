#pragma once

#include <string>

#include "document/document.hpp"

namespace ridgeline::sweep {

/// The name of a point: 32 hexadecimal digits, XXH3 over 128 bits of the canonical scenario and of
/// what is estimated of it. The same point has the same id in any sweep, in any order, on any
/// machine. `scenario` is the resolved scenario as to_node() writes it, every default filled; for
/// one that cannot be resolved, the scenario as it is stated. `estimator`: what is measured and
/// with which settings, `{measure: run}`.
[[nodiscard]] std::string point_id(const document::Node& scenario, const document::Node& estimator);

/// A document on one line of JSON, in its own order of keys.
[[nodiscard]] std::string one_line(const document::Node& node);

}  // namespace ridgeline::sweep
