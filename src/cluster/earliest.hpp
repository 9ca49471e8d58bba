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

  void set(std::size_t place, core::SimTime at) {
    std::size_t node = leaves_ + place;
    for (tree_[node] = at; node > 1; node /= 2) {
      const core::SimTime least = std::min(tree_[node], tree_[node ^ 1]);
      if (tree_[node / 2] == least) {
        return;
      }
      tree_[node / 2] = least;
    }
  }

  /// Adds the places that are not later than `instant`, which is not never(), to `due`, in
  /// ascending order.
  void list_due(core::SimTime instant, std::vector<std::size_t>& due) const {
    if (least() <= instant) {
      list_due_below(1, instant, due);
    }
  }

  [[nodiscard]] core::SimTime at(std::size_t place) const { return tree_[leaves_ + place]; }
  /// The earliest instant of all; never() where there is none.
  [[nodiscard]] core::SimTime least() const {
    return size_ == 0 ? core::SimTime::never() : tree_[1];
  }

 private:
  void list_due_below(std::size_t node,
                      core::SimTime instant,
                      std::vector<std::size_t>& due) const {
    while (node < leaves_) {
      node *= 2;
      if (tree_[node] > instant) {
        ++node;
      } else if (tree_[node + 1] <= instant) {
        list_due_below(node, instant, due);
        ++node;
      }
    }
    due.push_back(node - leaves_);
  }

  std::size_t size_ = 0;
  std::size_t leaves_ = 0;           ///< A power of two, at least size_.
  std::vector<core::SimTime> tree_;  ///< Node 1 is the root; the leaves begin at leaves_.
};

}  // namespace ridgeline::cluster
