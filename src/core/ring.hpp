#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/fault.hpp"

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
  /// One more at the back, to be assigned: it holds whatever stood in its place before.
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
  void pop_back() { --size_; }
  void clear() {
    head_ = 0;
    size_ = 0;
  }
  /// Removes the first item equal to `item`, if any.
  void erase(const T& item) {
    std::size_t i = 0;
    while (i < size_ && !((*this)[i] == item)) {
      ++i;
    }
    if (i == size_) {
      return;
    }
    erase_at(i);
  }
  /// Removes item `i`, counted from the front.
  void erase_at(std::size_t i) {
    for (; i + 1 < size_; ++i) {
      (*this)[i] = std::move((*this)[i + 1]);
    }
    --size_;
  }

 private:
  void grow_if_full() {
    if (size_ == mask_ + 1) [[unlikely]] {
      grow();
    }
  }
  [[gnu::noinline]] void grow() {
    constexpr std::size_t kFirst = 16;
    const std::size_t held = mask_ + 1;
    const std::size_t size = std::max(2 * held, kFirst);
    if constexpr (kIsPlain) {
      // Large blocks grow where they are, or by other page tables: nothing is copied.
      T* const items = static_cast<T*>(std::realloc(items_.release(), size * sizeof(T)));
      if (items == nullptr) {
        out_of_memory("a queue of requests");
      }
      items_.reset(items);
      std::copy(items, items + head_, items + held);  // Those that had wrapped around.
    } else {
      std::vector<T> larger(size);
      for (std::size_t i = 0; i < size_; ++i) {
        larger[i] = std::move((*this)[i]);
      }
      items_ = std::move(larger);
      head_ = 0;
    }
    mask_ = size - 1;
  }

  static constexpr bool kIsPlain =
      std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t);
  struct Free {
    void operator()(T* items) const { std::free(items); }
  };
  std::conditional_t<kIsPlain, std::unique_ptr<T[], Free>, std::vector<T>> items_;
  /// How many there is room for, a power of two or nothing, less one.
  std::size_t mask_ = std::numeric_limits<std::size_t>::max();
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace ridgeline::core
