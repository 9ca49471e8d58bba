// The adaptive replacement cache: blocks used once and blocks used more often are kept apart, and
// the share of either follows what was missed of late.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "cluster/store/eviction.hpp"
#include "cluster/store/key_list.hpp"
#include "cluster/store/policies/policies.hpp"
#include "core/check.hpp"

namespace ridgeline::store {
namespace {

/// N. Megiddo and D. S. Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache", FAST 2003,
/// figure 4. Blocks in use may not go: then the other list is asked.
class Arc final : public Eviction {
 public:
  explicit Arc(std::int64_t capacity) : capacity_(capacity) {}

  /// What was given up of late is missed: the list that it was in gets more room.
  void expect(BlockKey key) override {
    if (gone_once_.contains(key)) {
      const std::int64_t step = std::max<std::int64_t>(gone_often_.size() / gone_once_.size(), 1);
      room_for_once_ = std::min(room_for_once_ + step, capacity_);
    } else if (gone_often_.contains(key)) {
      const std::int64_t step = std::max<std::int64_t>(gone_once_.size() / gone_often_.size(), 1);
      room_for_once_ = std::max<std::int64_t>(room_for_once_ - step, 0);
    }
    expects_often_ = gone_often_.contains(key);
  }

  void insert(BlockKey key) override {
    const bool was_here = gone_once_.remove(key) || gone_often_.remove(key);
    (was_here ? often_ : once_).add(key);
    while (once_.size() + gone_once_.size() > capacity_ && gone_once_.size() > 0) {
      gone_once_.remove_oldest();
    }
    while (once_.size() + often_.size() + gone_once_.size() + gone_often_.size() > 2 * capacity_ &&
           gone_often_.size() > 0) {
      gone_often_.remove_oldest();
    }
  }

  void touch(BlockKey key) override {
    if (once_.remove(key)) {
      often_.add(key);
    } else {
      often_.touch(key);
    }
  }

  void forget(BlockKey key) override {
    RIDGELINE_CHECK(once_.remove(key) || often_.remove(key),
                    "a block that is forgotten is in the tier");
  }

  std::optional<BlockKey> evict(const MayGo& may_go) override {
    const bool once_first =
        once_.size() > room_for_once_ || (expects_often_ && once_.size() == room_for_once_);
    const auto from = [&](KeyList& held, KeyList& gone) {
      const auto oldest = held.oldest(may_go);
      if (oldest) {
        held.remove(*oldest);
        gone.add(*oldest);
      }
      return oldest;
    };
    const auto once = [&] { return from(once_, gone_once_); };
    const auto often = [&] { return from(often_, gone_often_); };
    const auto first = once_first ? once() : often();
    return first ? first : (once_first ? often() : once());
  }

 private:
  std::int64_t capacity_;
  std::int64_t room_for_once_ = 0;
  bool expects_often_ = false;  ///< What comes next was used more than once.
  KeyList once_;
  KeyList often_;
  KeyList gone_once_;  ///< Keys alone, of blocks given up.
  KeyList gone_often_;
};

}  // namespace

std::unique_ptr<Eviction> make_arc(std::int64_t capacity) {
  return std::make_unique<Arc>(capacity);
}

}  // namespace ridgeline::store
