#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace ridgeline::store {

/// What a block of a tier holds: the hash of its last tokens, chained with that of all before them.
using BlockKey = std::uint64_t;

/// Which block of a full tier gives way. Knows keys, and no time.
class Eviction {
 public:
  /// Whether a block may go: it is not being read or written.
  using MayGo = std::function<bool(BlockKey)>;

  Eviction() = default;
  Eviction(const Eviction&) = delete;
  Eviction& operator=(const Eviction&) = delete;
  virtual ~Eviction() = default;

  /// A block that is not in the tier is about to come: evict() is called where there is no room,
  /// and then insert().
  virtual void expect(BlockKey key) { static_cast<void>(key); }
  virtual void insert(BlockKey key) = 0;
  /// A block is used again; nothing happens where the tier does not have it.
  virtual void touch(BlockKey key) = 0;
  /// A block is gone from the tier and did not give way: as if it had never come.
  virtual void forget(BlockKey key) = 0;
  /// Chooses a block that may go, and forgets it; nothing where none may.
  virtual std::optional<BlockKey> evict(const MayGo& may_go) = 0;
};

/// One line of the registry (store/registry.cpp).
struct EvictionEntry {
  std::string_view name;
  std::string_view summary;
  /// Makes the policy for a tier of so many blocks, at least one.
  std::unique_ptr<Eviction> (*make)(std::int64_t capacity);
};

[[nodiscard]] std::span<const EvictionEntry> evictions();
/// The entry of that name; nullptr where there is none.
[[nodiscard]] const EvictionEntry* find_eviction(std::string_view name);

}  // namespace ridgeline::store
