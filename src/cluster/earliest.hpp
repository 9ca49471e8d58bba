#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include "core/time.hpp"

namespace ridgeline::cluster {

/// One instant per place, and the earliest of them at once: a tournament tree. A change costs the
/// height of the tree.
class Earliest {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Adds a place whose instant is never().
  void add() {
    if (size_ == leaves_) {
      const std::vector<core::SimTime> old(tree_.begin() + static_cast<std::ptrdiff_t>(leaves_),
                                           tree_.end());
      leaves_ = std::bit_ceil(size_ + 1);
      tree_.assign(2 * leaves_, core::SimTime::never());
      for (std::size_t place = 0; place < old.size(); ++place) {
        set(place, old[place]);
      }
    }
    ++size_;
  }

  /// Goes to the root always: where the least stays as it was would be a guess for the processor.
  void set(std::size_t place, core::SimTime at) {
    std::size_t node = leaves_ + place;
    tree_[node] = at;
    for (; node > 1; node /= 2) {
      const core::SimTime other = tree_[node ^ 1];
      at = std::min(at, other);  // A minimum of registers, not of places in memory: no branch.
      tree_[node / 2] = at;
    }
  }

  /// Adds the places that are not later than `instant`, which is not never(), to `due`, in
  /// ascending order.
  void list_due(core::SimTime instant, std::vector<std::size_t>& due) const {
    // Down to the first one below `node`; then up to where there is one on the right. Mostly one is
    // due: on the way down no branch depends on where.
    for (std::size_t node = least() <= instant ? 1 : 0; node > 0;) {
      while (node < leaves_) {
        node = 2 * node + (tree_[2 * node] > instant ? 1 : 0);
      }
      due.push_back(node - leaves_);
      while ((node % 2 | (tree_[node ^ 1] > instant ? 1U : 0U)) != 0) {
        node /= 2;
        if (node <= 1) {
          return;
        }
      }
      ++node;
    }
  }

  [[nodiscard]] core::SimTime at(std::size_t place) const { return tree_[leaves_ + place]; }
  /// The earliest instant of all; never() where there is none.
  [[nodiscard]] core::SimTime least() const {
    return size_ == 0 ? core::SimTime::never() : tree_[1];
  }

 private:
  std::size_t size_ = 0;
  std::size_t leaves_ = 0;           ///< A power of two, at least size_.
  std::vector<core::SimTime> tree_;  ///< Node 1 is the root; the leaves begin at leaves_.
};

}  // namespace ridgeline::cluster
