#include "metrics/record_digest.hpp"

#include <cstdint>
#include <span>
#include <string>

#include "core/digest.hpp"
#include "core/statistics/moments.hpp"

namespace ridgeline::metrics {

std::string RecordDigest::hex(const statistics::Fingerprint& gaps,
                              std::span<const std::int64_t> totals) const {
  core::Digest digest;
  for (const std::uint64_t word : {count_, sum_, second_sum_, gaps.count, gaps.sum, gaps.squares}) {
    digest.add(word);
  }
  for (const std::int64_t total : totals) {
    digest.add(total);
  }
  return digest.hex();
}

}  // namespace ridgeline::metrics
