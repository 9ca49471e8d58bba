#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/int128.hpp"
#include "core/statistics/moments.hpp"
#include "domain/record.hpp"

namespace ridgeline::metrics {

/// A fingerprint of a run. The records count as a set: each names its id and its instants, which
/// give the order, so that the order of reporting within one instant, and the threads that report,
/// do not matter.
class RecordDigest {
 public:
  void add(const domain::RequestRecord& record) {
    constexpr unsigned kHalfWord = 32;
    const std::uint64_t fate =
        (static_cast<std::uint64_t>(record.outcome) << kHalfWord) | bits(record.preemptions);
    const std::array<std::uint64_t, 10> words = {record.id.value(),
                                                 fate,
                                                 bits(record.prompt_tokens.value()),
                                                 bits(record.output_tokens.value()),
                                                 bits(record.cached_tokens.value()),
                                                 bits(record.arrival.count()),
                                                 bits(record.queued.count()),
                                                 bits(record.first_scheduled.count()),
                                                 bits(record.first_token.count()),
                                                 bits(record.last_token.count())};
    std::uint64_t hash = kSqrt2;
    for (std::size_t i = 0; i < words.size(); i += 2) {
      hash = fold(words[i] ^ hash, words[i + 1] ^ kSqrt3);
    }
    count_ += 1;
    sum_ += fold(hash ^ kSqrt3, kSqrt5);
    second_sum_ += fold(hash ^ kSqrt5, kSqrt7);
  }

  /// 32 hexadecimal digits over the records, the gaps between tokens and the given totals.
  [[nodiscard]] std::string hex(const statistics::Fingerprint& gaps,
                                std::span<const std::int64_t> totals) const;

 private:
  // The first 64 bits of the fractions of sqrt(2), sqrt(3), sqrt(5) and sqrt(7): nothing up the
  // sleeve.
  static constexpr std::uint64_t kSqrt2 = 0x6A09E667F3BCC908;
  static constexpr std::uint64_t kSqrt3 = 0xBB67AE8584CAA73B;
  static constexpr std::uint64_t kSqrt5 = 0x3C6EF372FE94F82B;
  static constexpr std::uint64_t kSqrt7 = 0xA54FF53A5F1D36F1;

  /// The halves of a 128-bit product, combined: the mixing step of wyhash (Wang Yi), two words at a
  /// time.
  static constexpr std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    const core::Uint128 product = static_cast<core::Uint128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
  }
  static constexpr std::uint64_t bits(std::int64_t value) {
    return static_cast<std::uint64_t>(value);
  }

  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;  ///< Sum of the records' hashes, mod 2^64; in two independent lanes.
  std::uint64_t second_sum_ = 0;
};

}  // namespace ridgeline::metrics
