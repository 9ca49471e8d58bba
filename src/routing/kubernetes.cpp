#include "routing/kubernetes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ridgeline::routing {
namespace {

/// (max - x) / (max - min) as a percentage; 100 where all are equal. Requires one at least.
std::vector<double> time_scores(const std::vector<double>& times) {
  constexpr double kBest = 100.0;
  const auto [least, most] = std::ranges::minmax(times);
  std::vector<double> scores;
  for (const double time : times) {
    scores.push_back(most > least ? (most - time) / (most - least) * kBest : kBest);
  }
  return scores;
}

/// The number of leading chunks that two prompts share.
std::size_t common(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

std::vector<std::size_t> places_of_least(const std::vector<std::int64_t>& numbers) {
  std::vector<std::size_t> places;
  const auto least = std::ranges::min_element(numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == *least) {
      places.push_back(i);
    }
  }
  return places;
}

AibrixChoice aibrix_prefix_cache(const std::vector<std::int64_t>& match_percent,
                                 const std::vector<std::int64_t>& running,
                                 std::int64_t imbalance,
                                 double deviations) {
  const auto [least, most] = std::ranges::minmax(running);
  AibrixChoice choice{.imbalanced = most - least > imbalance};
  std::vector<std::size_t> pods(running.size());
  std::iota(pods.begin(), pods.end(), std::size_t{0});
  if (choice.imbalanced) {
    pods = places_of_least(running);
  }
  double sum = 0.0;
  double squares = 0.0;
  for (const std::size_t pod : pods) {
    const auto count = static_cast<double>(running[pod]);
    sum += count;
    squares += count * count;
  }
  const auto number = static_cast<double>(pods.size());
  const double mean = sum / number;
  const double deviation = std::sqrt(std::max(squares / number - mean * mean, 0.0));
  std::vector<std::size_t> matches = pods;
  std::erase_if(matches, [&](std::size_t pod) { return match_percent[pod] <= 0; });
  std::ranges::stable_sort(matches, [&](std::size_t a, std::size_t b) {
    return match_percent[a] != match_percent[b] ? match_percent[a] > match_percent[b]
                                                : running[a] < running[b];
  });
  for (const std::size_t pod : matches) {
    if (static_cast<double>(running[pod]) <= mean + deviations * deviation) {
      // Equal to the best in both: any of them.
      for (const std::size_t other : matches) {
        if (match_percent[other] == match_percent[pod] && running[other] == running[pod]) {
          choice.picks.push_back(other);
        }
      }
      choice.matched = true;
      return choice;
    }
  }
  choice.skipped = !matches.empty();
  for (const std::size_t pod : places_of_least(running)) {
    if (std::ranges::find(pods, pod) != pods.end()) {
      choice.picks.push_back(pod);
    }
  }
  return choice;
}

WholeScores kthena_least_request(const std::vector<std::int64_t>& in_flight,
                                 const std::vector<std::int64_t>& running) {
  constexpr std::int64_t kWaitingWeight = 100;
  std::vector<double> loads;
  loads.reserve(in_flight.size());
  for (std::size_t i = 0; i < in_flight.size(); ++i) {
    const std::int64_t waiting = std::max(in_flight[i] - running[i], std::int64_t{0});
    loads.push_back(static_cast<double>(in_flight[i] + kWaitingWeight * waiting));
  }
  WholeScores scores;
  scores.reserve(loads.size());
  const double most = loads.empty() ? 0.0 : *std::ranges::max_element(loads);
  for (const double load : loads) {
    scores.push_back(most > 0.0 ? static_cast<std::int64_t>((most - load) / most * 100.0) : 100);
  }
  return scores;
}

WholeScores kthena_gpu_usage(const std::vector<double>& kv_usage) {
  WholeScores scores;
  scores.reserve(kv_usage.size());
  for (const double usage : kv_usage) {
    scores.push_back(static_cast<std::int64_t>((1.0 - usage) * 100.0));
  }
  return scores;
}

WholeScores kthena_least_latency(const std::vector<double>& ttft_s,
                                 const std::vector<double>& tpot_s,
                                 double ttft_weight) {
  constexpr std::int64_t kUnknown = 50;
  std::vector<std::size_t> measured;
  std::vector<double> ttft;
  std::vector<double> tpot;
  for (std::size_t i = 0; i < ttft_s.size(); ++i) {
    if (ttft_s[i] > 0.0 && tpot_s[i] > 0.0) {
      measured.push_back(i);
      ttft.push_back(ttft_s[i]);
      tpot.push_back(tpot_s[i]);
    }
  }
  WholeScores scores(ttft_s.size(), kUnknown);
  if (measured.empty()) {
    return scores;
  }
  ttft = time_scores(ttft);
  tpot = time_scores(tpot);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    scores[measured[i]] =
        static_cast<std::int64_t>(ttft_weight * ttft[i] + (1.0 - ttft_weight) * tpot[i]);
  }
  return scores;
}

std::size_t lowest_rate(const std::vector<std::optional<double>>& rates) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (!rates[i]) {
      return i;
    }
    best = *rates[i] < *rates[best] ? i : best;
  }
  return best;
}

std::string RoundRobinBySet::next(std::vector<std::string> endpoints) {
  std::ranges::sort(endpoints);
  return endpoints[turns_[endpoints]++ % endpoints.size()];
}

ChunkTrie::Match ChunkTrie::longest(const std::vector<std::uint64_t>& chunks) const {
  const Node* node = &root_;
  Match match;
  for (std::span<const std::uint64_t> rest = chunks; !rest.empty();) {
    const auto child = node->children.find(rest.front());
    if (child == node->children.end()) {
      break;
    }
    node = child->second.get();
    const std::size_t shared = common(node->chunks, rest);
    match.chunks += static_cast<std::int64_t>(shared);
    if (shared < node->chunks.size()) {
      break;
    }
    rest = rest.subspan(shared);
  }
  match.endpoints = node->endpoints;
  return match;
}

void ChunkTrie::insert(const std::vector<std::uint64_t>& chunks, std::size_t endpoint) {
  Node* node = &root_;
  for (std::span<const std::uint64_t> rest = chunks; !rest.empty();) {
    auto& child = node->children[rest.front()];
    if (child == nullptr) {
      child = std::make_unique<Node>();
      child->chunks.assign(rest.begin(), rest.end());
    }
    const std::size_t shared = common(child->chunks, rest);
    if (shared < child->chunks.size()) {
      const auto middle = child->chunks.begin() + static_cast<std::ptrdiff_t>(shared);
      auto first = std::make_unique<Node>();
      first->chunks.assign(child->chunks.begin(), middle);
      first->endpoints = child->endpoints;
      child->chunks.erase(child->chunks.begin(), middle);
      const std::uint64_t key = child->chunks.front();
      first->children.emplace(key, std::move(child));
      child = std::move(first);
    }
    node = child.get();
    rest = rest.subspan(shared);
    if (std::ranges::find(node->endpoints, endpoint) == node->endpoints.end()) {
      node->endpoints.push_back(endpoint);
    }
  }
}

}  // namespace ridgeline::routing
