#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/moments.hpp"
#include "domain/record.hpp"

namespace ridgeline::metrics {

/// A fingerprint of a run. The records count as a set: each names its id and its instants, which
/// give the order, so that the order of reporting within one instant, and the threads that report,
/// do not matter.
class RecordDigest {
 public:
  void add(const domain::RequestRecord& record);

  /// 32 hexadecimal digits over the records, the gaps between tokens and the given totals.
  [[nodiscard]] std::string hex(const core::Fingerprint& gaps,
                                std::span<const std::int64_t> totals) const;

 private:
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;  ///< Of the records' hashes, mod 2^64; in two independent lanes.
  std::uint64_t second_sum_ = 0;
};

}  // namespace ridgeline::metrics
