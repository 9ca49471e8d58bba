#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/series.hpp"

namespace ridgeline::metrics {

/// Keeps the requests with the greatest keys: which, does not depend on the order in which they
/// come. Of equal keys the smaller id is kept.
class GreatestRequests {
 public:
  explicit GreatestRequests(std::size_t most) : most_(most) {}

  void offer(std::uint64_t key,
             const domain::RequestRecord& record,
             const RequestLatency& latency) {
    if (key >= least_) [[unlikely]] {
      take(key, record, latency);
    }
  }
  /// Greatest key first.
  [[nodiscard]] std::vector<RequestStory> sorted() const;

 private:
  struct Kept {
    std::uint64_t key;
    RequestStory story;
  };
  /// Whether `a` is to be kept rather than `b`.
  static bool before(const Kept& a, const Kept& b);
  void take(std::uint64_t key, const domain::RequestRecord& record, const RequestLatency& latency);

  std::size_t most_;
  std::uint64_t least_ = 0;  ///< Less is not kept.
  std::vector<Kept> kept_;   ///< A heap, the first to give way in front.
};

/// The worst requests by TTFT, TPOT and E2E, and a sample of all.
class RequestPicks {
 public:
  static constexpr std::size_t kWorst = 20;
  static constexpr std::size_t kSample = 200;

  explicit RequestPicks(std::uint64_t seed) : seed_(seed) {}

  /// A completed request, and its tpot_of().
  void add(const domain::RequestRecord& record,
           const RequestLatency& latency,
           const std::optional<core::Duration>& tpot);
  void fill(Series& series) const;

 private:
  std::uint64_t seed_;
  std::array<GreatestRequests, 3> worst_{
      GreatestRequests(kWorst), GreatestRequests(kWorst), GreatestRequests(kWorst)};
  GreatestRequests sample_{kSample};
};

}  // namespace ridgeline::metrics
