#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace ridgeline::workload {

/// Reuse distances of named blocks: how many other blocks were used since a block was used last,
/// and so how large a cache that evicts the least recently used must be to hold it still (R. L.
/// Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2),
/// 1970). Counted by a Fenwick tree over the times of last use. Memory follows the distinct blocks.
class ReuseDistances {
 public:
  /// Blocks used since this one was; nothing when it never was.
  [[nodiscard]] std::optional<std::int64_t> distance(std::uint64_t name) const;
  /// Uses a block.
  void use(std::uint64_t name);
  /// Uses `count` blocks that will never be asked for.
  void use_nameless(std::int64_t count);
  /// Blocks ever used.
  [[nodiscard]] std::int64_t distinct() const { return live_; }

 private:
  static constexpr std::uint64_t kNameless = 0;

  void append(std::uint64_t name);
  void compact();
  void add(std::size_t time, std::int32_t value);
  [[nodiscard]] std::int64_t sum_to(std::size_t time) const;

  std::unordered_map<std::uint64_t, std::size_t> last_use_;
  std::vector<std::uint64_t> name_at_;
  std::vector<bool> live_at_;
  std::vector<std::int32_t> tree_;  ///< From 1.
  std::int64_t live_ = 0;
};

}  // namespace ridgeline::workload
