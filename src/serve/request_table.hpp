#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ridgeline::serve {

/// Values by the number of a request, for one look-up a token: the places lie in one row of eight
/// bytes each (open addressing, linear probing), and memory follows what is in it, not what was.
template <class Value>
class RequestTable {
 public:
  /// Null where there is none. Valid until the next insert().
  [[nodiscard]] Value* find(std::uint32_t request) {
    const std::size_t place = place_of(request);
    return cells_[place].value == kFree ? nullptr : &values_[cells_[place].value].second;
  }

  /// There must be none of this number.
  void insert(std::uint32_t request, Value value) {
    if (2 * (values_.size() + 1) > cells_.size()) {
      grow();
    }
    cells_[place_of(request)] = {.request = request,
                                 .value = static_cast<std::uint32_t>(values_.size())};
    values_.emplace_back(request, std::move(value));
  }

  /// Takes out the value of a number that is there.
  Value take(std::uint32_t request) {
    std::size_t place = place_of(request);
    const std::uint32_t at = cells_[place].value;
    Value value = std::move(values_[at].second);
    if (at + 1 < values_.size()) {
      values_[at] = std::move(values_.back());
      cells_[place_of(values_[at].first)].value = at;
    }
    values_.pop_back();
    // Those behind it move up, so that no look-up ends before them.
    cells_[place].value = kFree;
    for (std::size_t next = after(place); cells_[next].value != kFree; next = after(next)) {
      const std::size_t wanted = first_place(cells_[next].request);
      if (((next - wanted) & mask()) >= ((next - place) & mask())) {
        cells_[place] = std::exchange(cells_[next], Cell{});
        place = next;
      }
    }
    return value;
  }

  /// In no particular order.
  [[nodiscard]] const std::vector<std::pair<std::uint32_t, Value>>& entries() const {
    return values_;
  }

 private:
  static constexpr std::uint32_t kFree = 0xFFFF'FFFF;
  struct Cell {
    std::uint32_t request = 0;
    std::uint32_t value = kFree;
  };

  [[nodiscard]] std::size_t mask() const { return cells_.size() - 1; }
  [[nodiscard]] std::size_t after(std::size_t place) const { return (place + 1) & mask(); }
  /// Requests have numbers in a row, which lie side by side then.
  [[nodiscard]] std::size_t first_place(std::uint32_t request) const { return request & mask(); }
  /// Where it is, or would be.
  [[nodiscard]] std::size_t place_of(std::uint32_t request) const {
    std::size_t place = first_place(request);
    while (cells_[place].value != kFree && cells_[place].request != request) {
      place = after(place);
    }
    return place;
  }

  void grow() {
    cells_.assign(2 * cells_.size(), Cell{});
    for (std::size_t i = 0; i < values_.size(); ++i) {
      cells_[place_of(values_[i].first)] = {.request = values_[i].first,
                                            .value = static_cast<std::uint32_t>(i)};
    }
  }

  static constexpr std::size_t kFewest = 16;  ///< A power of two, like all sizes.
  std::vector<Cell> cells_ = std::vector<Cell>(kFewest);
  std::vector<std::pair<std::uint32_t, Value>> values_;
};

}  // namespace ridgeline::serve
