#pragma once

#include <cstddef>
#include <vector>

#include "routing/scorers/scorers.hpp"

namespace ridgeline::routing {

/// llm-d's scorer that spreads cold requests (ebab687): the instance that was given one least
/// recently comes first.
class NoHitLru {
 public:
  /// Remembers so many instances.
  explicit NoHitLru(std::size_t instances, std::size_t capacity = 1024)
      : count_(instances), capacity_(capacity) {}

  /// 0.5 for all where the request has a hit anywhere; else 1 - rank/(n - 1): those never given a
  /// cold request first, in their order, then the least recently given one.
  [[nodiscard]] Scores scores(bool has_hit) const;
  /// A cold request went there.
  void give(std::size_t instance);

 private:
  std::size_t count_;
  std::size_t capacity_;
  std::vector<std::size_t> given_;  ///< The least recent first.
};

}  // namespace ridgeline::routing
