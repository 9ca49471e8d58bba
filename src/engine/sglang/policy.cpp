#include "engine/sglang/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/rng.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/radix_cache.hpp"
#include "engine/sglang/request.hpp"

namespace ridgeline::engine::sglang {
namespace {

/// Above so many waiting requests `lpm` keeps the order of the list (schedule_policy.py).
constexpr std::size_t kMostMatched = 128;

/// Matches every waiting request, as SGLang does before it sorts by the cache.
struct Matched {
  std::int64_t length = 0;
  TreeNode* node = nullptr;
  bool last = false;  ///< A request before it will bring its prefix into the cache.
};
std::vector<Matched> match_all(const WaitingQueue& waiting,
                               const Options& options,
                               RadixCache& tree) {
  std::vector<Matched> all;
  RadixCache in_batch(1, EvictionPolicy::kLru);
  for (const RequestPtr& request : waiting) {
    const std::int64_t end = request->num_keys(request->num_tokens());
    const RadixCache::Match match = tree.match(request->keys, end, request->salt);
    request->prefix_len = match.length;
    Matched matched{.length = match.length, .node = match.node};
    if (match.length <= options.in_batch_check_threshold) {
      matched.last = in_batch.match(request->keys, end, request->salt).length >=
                     options.in_batch_deprioritize_threshold;
      if (!matched.last) {
        static_cast<void>(in_batch.insert(request->keys, end, {.salt = request->salt}));
      }
    }
    all.push_back(matched);
  }
  return all;
}

/// Reorders the queue: place i gets the request that stood at order[i].
void take_order(WaitingQueue& waiting, const std::vector<std::size_t>& order) {
  WaitingQueue sorted;
  for (const std::size_t place : order) {
    sorted.push_back(std::move(waiting[place]));
  }
  waiting = std::move(sorted);
}

void sort_by_prefix(WaitingQueue& waiting, const std::vector<Matched>& matched) {
  std::vector<std::size_t> order(waiting.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return matched[i].last ? std::numeric_limits<std::int64_t>::max() : -matched[i].length;
  });
  take_order(waiting, order);
}

/// By how long a request has waited, in tokens that others prefilled meanwhile, over what it has to
/// compute itself.
void sort_by_response_ratio(WaitingQueue& waiting,
                            const std::vector<Matched>& matched,
                            std::int64_t prefilled) {
  std::vector<std::size_t> order(waiting.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const Sequence& request = *waiting[i];
    const auto uncached = std::max<std::int64_t>(request.num_tokens() - matched[i].length, 1);
    const auto waited = static_cast<double>(prefilled - request.prefilled_before);
    return std::tuple(
        matched[i].last, -(1.0 + waited / static_cast<double>(uncached)), request.record.id);
  });
  take_order(waiting, order);
}

/// Whether this pass keeps what waiting requests find in the tree from being evicted
/// (SGLANG_ENABLE_WAITING_PREFIX_REFRESH).
bool refreshes(const Options& options, std::int64_t passes_before) {
  constexpr std::int64_t kEvery = 32;
  return options.rules.refreshes_waiting && passes_before % kEvery == 0 &&
         options.radix_eviction_policy == EvictionPolicy::kLru;
}

/// The first of the queue are touched last.
void touch_prefixes(const WaitingQueue& waiting, RadixCache& tree) {
  for (std::size_t i = std::min(waiting.size(), kMostMatched); i > 0; --i) {
    const Sequence& request = *waiting[i - 1];
    static_cast<void>(
        tree.match(request.keys, request.num_keys(request.num_tokens()), request.salt));
  }
}

/// The waiting requests by the node at which their cached prefix ends.
class DepthFirst {
 public:
  explicit DepthFirst(const std::vector<Matched>& matched) {
    for (std::size_t i = 0; i < matched.size(); ++i) {
      requests_[matched[i].node->id].push_back(i);
    }
  }
  /// Requests at a node and below it.
  std::int64_t weigh(const TreeNode& node) {
    const auto own = requests_.find(node.id);
    std::int64_t weight =
        own == requests_.end() ? 0 : static_cast<std::int64_t>(own->second.size());
    for (const TreeNode* child = node.first_child; child != nullptr; child = child->next) {
      weight += weigh(*child);
    }
    weights_[node.id] = weight;
    return weight;
  }
  /// Children by falling weight, then the node's own requests.
  void visit(const TreeNode& node, std::vector<std::size_t>& order) const {
    std::vector<const TreeNode*> children;
    for (const TreeNode* child = node.first_child; child != nullptr; child = child->next) {
      if (weights_.at(child->id) > 0) {
        children.push_back(child);
      }
    }
    std::ranges::stable_sort(
        children, {}, [&](const TreeNode* child) { return -weights_.at(child->id); });
    for (const TreeNode* child : children) {
      visit(*child, order);
    }
    if (const auto own = requests_.find(node.id); own != requests_.end()) {
      order.insert(order.end(), own->second.begin(), own->second.end());
    }
  }

 private:
  std::map<std::uint64_t, std::vector<std::size_t>> requests_;
  std::map<std::uint64_t, std::int64_t> weights_;
};

/// The signed priority: least first.
std::int64_t rank(const Sequence& request, const Options& options) {
  return options.schedule_low_priority_values_first ? request.priority
                                                    : -std::int64_t{request.priority};
}

void sort_by_priority(WaitingQueue& waiting, const Options& options) {
  std::ranges::stable_sort(waiting, {}, [&](const RequestPtr& request) {
    return std::pair(rank(*request, options), request->entered);
  });
}

void sort_by_output(WaitingQueue& waiting, const Options& options) {
  std::ranges::stable_sort(waiting, {}, [&](const RequestPtr& request) {
    return std::pair(options.enable_priority_scheduling ? rank(*request, options) : 0,
                     -request->max_output_tokens);
  });
}

void shuffle(WaitingQueue& waiting, core::RngStream& draws) {
  for (std::size_t i = waiting.size(); i > 1; --i) {
    const auto other = static_cast<std::size_t>(draws.next_u64() % i);
    std::swap(waiting[i - 1], waiting[other]);
  }
}

}  // namespace

void sort_waiting(WaitingQueue& waiting, const SortInputs& in, core::RngStream& draws) {
  const Options& options = in.options;
  const bool matches = in.tree != nullptr && waiting.size() <= kMostMatched;
  switch (options.schedule_policy) {
    case SchedulePolicy::kLpm:
      if (matches) {
        sort_by_prefix(waiting, match_all(waiting, options, *in.tree));
      }
      return;
    case SchedulePolicy::kHrrn:
      if (matches) {
        sort_by_response_ratio(waiting, match_all(waiting, options, *in.tree), in.prefilled);
      }
      return;
    case SchedulePolicy::kDfsWeight:
      if (in.tree != nullptr) {
        DepthFirst walk(match_all(waiting, options, *in.tree));
        static_cast<void>(walk.weigh(*in.tree->root()));
        std::vector<std::size_t> order;
        walk.visit(*in.tree->root(), order);
        take_order(waiting, order);
      }
      return;
    case SchedulePolicy::kFcfs:
    case SchedulePolicy::kLof:
    case SchedulePolicy::kRandom:
      break;
  }
  if (in.tree != nullptr && refreshes(options, in.passes_before)) {
    touch_prefixes(waiting, *in.tree);
  }
  if (options.schedule_policy == SchedulePolicy::kLof) {
    sort_by_output(waiting, options);
  } else if (options.schedule_policy == SchedulePolicy::kRandom) {
    shuffle(waiting, draws);
  } else if (options.enable_priority_scheduling) {
    sort_by_priority(waiting, options);
  }
}

std::int64_t priority_lead(const Sequence& a, const Sequence& b, const Options& options) {
  return rank(b, options) - rank(a, options);
}

}  // namespace ridgeline::engine::sglang
