#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace ridgeline::sweep {

/// Seconds on a clock that only goes forward.
using Clock = std::function<double()>;

/// What a row of a store ends with, so that a changed one is seen: 32 hexadecimal digits of its
/// bytes before it.
[[nodiscard]] std::string checksum_of(std::string_view row);

/// A file that one process appends whole lines to, from any thread. What is written outlives the
/// process at once, and a loss of power but for about a second.
class ShardFile {
 public:
  /// Makes a new file in `folder`, named after `stem`, this process and, where that name is taken,
  /// a number; no other process's file is ever touched. Its first line is `header`.
  [[nodiscard]] static core::Result<std::unique_ptr<ShardFile>> create(const std::string& folder,
                                                                       const std::string& stem,
                                                                       std::string_view header,
                                                                       Clock clock);
  ShardFile(const ShardFile&) = delete;
  ShardFile(ShardFile&&) = delete;
  ShardFile& operator=(const ShardFile&) = delete;
  ShardFile& operator=(ShardFile&&) = delete;
  ~ShardFile();

  /// Appends lines with their breaks. Fails where the disk is full or the like.
  [[nodiscard]] core::Result<void> append(std::string_view lines);
  /// Everything is on the disk when it returns.
  [[nodiscard]] core::Result<void> sync();

 private:
  ShardFile(std::string path, int descriptor, Clock clock);
  [[nodiscard]] core::Error failure(std::string_view what) const;

  std::string path_;
  int descriptor_;
  Clock clock_;
  std::mutex mutex_;
  std::int64_t size_ = 0;  ///< Bytes of the whole lines.
  std::atomic<bool> is_syncing_ = false;
  double synced_s_;
};

}  // namespace ridgeline::sweep
