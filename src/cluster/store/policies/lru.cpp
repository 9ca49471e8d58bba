// Least recently used: what was not used for longest gives way.
#include <cstdint>
#include <memory>
#include <optional>

#include "cluster/store/eviction.hpp"
#include "cluster/store/key_list.hpp"
#include "cluster/store/policies/policies.hpp"
#include "core/check.hpp"

namespace ridgeline::store {
namespace {

class Lru final : public Eviction {
 public:
  void insert(BlockKey key) override { keys_.add(key); }
  void touch(BlockKey key) override { keys_.touch(key); }
  void forget(BlockKey key) override {
    RIDGELINE_CHECK(keys_.remove(key), "a block that is forgotten is in the tier");
  }
  std::optional<BlockKey> evict(const MayGo& may_go) override {
    const auto oldest = keys_.oldest(may_go);
    if (oldest) {
      keys_.remove(*oldest);
    }
    return oldest;
  }

 private:
  KeyList keys_;
};

}  // namespace

std::unique_ptr<Eviction> make_lru(std::int64_t capacity) {
  static_cast<void>(capacity);
  return std::make_unique<Lru>();
}

}  // namespace ridgeline::store
