#include "metrics/request_picks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/series.hpp"

namespace ridgeline::metrics {
namespace {

/// SplitMix64's scrambler (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014), of a seed and a number.
constexpr std::uint64_t scrambled(std::uint64_t seed, std::uint64_t number) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  std::uint64_t x = seed + kOdd * (number + 1);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace

bool GreatestRequests::before(const Kept& a, const Kept& b) {
  return a.key != b.key ? a.key > b.key : a.story.record.id < b.story.record.id;
}

void GreatestRequests::take(std::uint64_t key,
                            const domain::RequestRecord& record,
                            const RequestLatency& latency) {
  kept_.push_back({.key = key, .story = {.record = record, .metrics = measure(record, latency)}});
  std::ranges::push_heap(kept_, before);
  if (kept_.size() > most_) {
    std::ranges::pop_heap(kept_, before);
    kept_.pop_back();
  }
  least_ = kept_.size() < most_ ? 0 : kept_.front().key;
}

std::vector<RequestStory> GreatestRequests::sorted() const {
  std::vector<Kept> kept = kept_;
  std::ranges::sort(kept, before);
  std::vector<RequestStory> stories;
  for (const Kept& one : kept) {
    stories.push_back(one.story);
  }
  return stories;
}

void RequestPicks::add(const domain::RequestRecord& record,
                       const RequestLatency& latency,
                       const std::optional<core::Duration>& tpot) {
  worst_[0].offer(static_cast<std::uint64_t>(latency.client_ttft.count()), record, latency);
  if (tpot) {
    worst_[1].offer(static_cast<std::uint64_t>(tpot->count()), record, latency);
  }
  worst_[2].offer(static_cast<std::uint64_t>(latency.client_e2e.count()), record, latency);
  sample_.offer(scrambled(seed_, record.id.value()), record, latency);
}

void RequestPicks::fill(Series& series) const {
  for (std::size_t i = 0; i < worst_.size(); ++i) {
    series.worst[i] = worst_[i].sorted();
  }
  series.sample = sample_.sorted();
  std::ranges::sort(series.sample, {}, [](const RequestStory& story) { return story.record.id; });
}

}  // namespace ridgeline::metrics
