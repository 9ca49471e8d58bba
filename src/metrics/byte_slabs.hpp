#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

namespace ridgeline::metrics {

/// Memory for many small pieces that are freed together. It comes in slabs, each twice as large as
/// the one before up to a huge page: the system then maps it in a few pages, and what a run spends
/// on its samples is not page faults.
class ByteSlabs {
 public:
  /// That many bytes, not initialised and not aligned; valid as long as this is.
  [[nodiscard]] std::byte* take(std::size_t bytes) {
    if (slabs_.empty() || slabs_.back().size - slabs_.back().used < bytes) {
      add_slab(bytes);
    }
    Slab& slab = slabs_.back();
    std::byte* const piece = slab.memory.get() + slab.used;
    slab.used += bytes;
    return piece;
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  struct Slab {
    std::unique_ptr<std::byte[], Free> memory;
    std::size_t size = 0;
    std::size_t used = 0;
  };
  void add_slab(std::size_t least);

  std::vector<Slab> slabs_;
};

}  // namespace ridgeline::metrics
