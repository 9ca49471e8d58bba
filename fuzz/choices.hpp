#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::fuzz {

/// A fuzzer's bytes to choose from; zeros when they have run out.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  [[nodiscard]] bool empty() const { return left_ == 0; }
  /// 0 .. n - 1, for n up to 256.
  std::int64_t below(std::int64_t n) {
    if (left_ == 0) {
      return 0;
    }
    --left_;
    return *data_++ % n;
  }
  bool coin() { return below(2) == 1; }
  bool one_in(std::int64_t n) { return below(n) == n - 1; }
  /// One of up to 256 words.
  const std::string& of(const std::vector<std::string>& words) {
    return words[static_cast<std::size_t>(below(static_cast<std::int64_t>(words.size())))];
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

}  // namespace ridgeline::fuzz
