#pragma once

#include <cstddef>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "workload/source.hpp"

namespace ridgeline::evidence::validate {

/// Between two stages of which the second waits for the answers of the first: inference-perf starts
/// one a second after it has been set up, other load generators rest about so long.
inline constexpr core::Duration kRest = core::Duration::seconds(1);

/// Requests that come in stages, one after the other.
class StagedSource : public workload::Source {
 public:
  /// The place of a request's stage.
  [[nodiscard]] virtual std::size_t stage_of(core::RequestId id) const = 0;
};

}  // namespace ridgeline::evidence::validate
