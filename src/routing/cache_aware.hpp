#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "routing/character_tree.hpp"

namespace ridgeline::routing {

/// SGLang gateway's policy of that name (e8d57e7): where the prompt was before, unless loads are
/// far apart.
class CacheAware {
 public:
  struct Options {
    double cache_threshold = 0.3;   ///< Matched share above which the prompt goes there.
    std::int64_t balance_abs = 64;  ///< Loads are far apart when they differ by more ...
    double balance_rel = 1.5;       ///< ... and the most is more than so many times the least.
    std::int64_t most_characters = 1 << 26;  ///< Kept per worker by evict().
  };

  CacheAware(std::size_t workers, const Options& options) : options_(options), tree_(workers) {}

  /// The worker for a text, by the requests in flight at each; `healthy` has one that is. The
  /// choice is remembered.
  std::size_t pick(const Text& text,
                   const std::vector<std::int64_t>& loads,
                   const std::vector<bool>& healthy);
  /// Whether the last pick was of where the prompt was.
  [[nodiscard]] bool followed_prompt() const { return followed_prompt_; }
  /// What the gateway does once a minute.
  void evict() { tree_.evict(options_.most_characters); }

 private:
  Options options_;
  CharacterTree tree_;
  bool followed_prompt_ = false;
};

}  // namespace ridgeline::routing
