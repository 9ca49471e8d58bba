#pragma once

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace ridgeline::core {

/// A double-ended queue in one block of memory that grows by doubling and never shrinks: no
/// allocation once it is as long as it gets.
template <class T>
class Ring {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T& front() { return items_[head_]; }
  [[nodiscard]] const T& front() const { return items_[head_]; }
  [[nodiscard]] T& back() { return (*this)[size_ - 1]; }
  [[nodiscard]] T& operator[](std::size_t i) { return items_[(head_ + i) & mask_]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return items_[(head_ + i) & mask_]; }

  void push_back(T item) { extend() = std::move(item); }
  /// One more at the back, to be assigned: it still holds what stood in its place before.
  T& extend() {
    grow_if_full();
    ++size_;
    return back();
  }
  void push_front(T item) {
    grow_if_full();
    head_ = (head_ - 1) & mask_;
    items_[head_] = std::move(item);
    ++size_;
  }
  void pop_front() {
    head_ = (head_ + 1) & mask_;
    --size_;
  }
  void clear() {
    head_ = 0;
    size_ = 0;
  }
  /// Removes the first item equal to `item`, if any.
  void erase(const T& item) {
    std::size_t kept = 0;
    bool removed = false;
    for (std::size_t i = 0; i < size_; ++i) {
      if (!removed && (*this)[i] == item) {
        removed = true;
      } else {
        (*this)[kept++] = std::move((*this)[i]);
      }
    }
    size_ = kept;
  }

 private:
  void grow_if_full() {
    if (size_ == mask_ + 1) [[unlikely]] {
      grow();
    }
  }
  [[gnu::noinline]] void grow() {
    constexpr std::size_t kFirst = 16;
    std::vector<T> larger(items_.empty() ? kFirst : items_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) {
      larger[i] = std::move((*this)[i]);
    }
    items_ = std::move(larger);
    head_ = 0;
    mask_ = items_.size() - 1;
  }

  std::vector<T> items_;
  /// items_.size(), a power of two or nothing, less one: a vector divides it out each time.
  std::size_t mask_ = std::numeric_limits<std::size_t>::max();
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace ridgeline::core
