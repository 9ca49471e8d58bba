// As agentx-harness 1.0.12 does (aiperf/dataset/loader/weka_agent_chains.py and
// weka_trace._detect_and_split_flat_chains; Apache-2.0), whose rules and constants these are.
#include "workload/agents/chains.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/time.hpp"
#include "workload/agents/recorded_time.hpp"
#include "workload/agents/trace.hpp"

namespace ridgeline::workload::agents {
namespace {

constexpr std::int64_t kTitleOutput = 64;  ///< A title is no longer.
constexpr core::Duration kLongGap = core::Duration::seconds(3600);
constexpr double kLeastOverlap = 0.5;  ///< Share of the tail in what goes on after a long gap.
constexpr std::int64_t kSmallPrompt = 16384;
constexpr double kSmallShare = 0.10;  ///< Share of the main chain's largest prompt.
constexpr std::int64_t kReductionOutput = 4000;
constexpr std::int64_t kReductionRatio = 20;
constexpr std::size_t kLeastGroup = 3;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

struct Link {
  std::vector<Placed> requests;
  const TraceRequest* tail = nullptr;  ///< Its last request with blocks.
  std::int64_t tail_place = -1;
  std::size_t parent = kNone;  ///< The chain that it forked from.
  std::int64_t fork_place = -1;
  std::size_t depth = 0;  ///< Blocks in common with the request at fork_place.
  core::Duration fork_time;
  std::size_t spliced_into = kNone;
};

class Detection {
 public:
  explicit Detection(const std::vector<Placed>& requests) {
    for (const Placed& one : requests) {
      place(one);
    }
    splice();
    first_ = requests.front().place;
  }

  [[nodiscard]] std::size_t main() const { return live(chain_of_.at(first_)); }
  [[nodiscard]] const Link& operator[](std::size_t i) const { return links_[i]; }
  /// Chains but the main one, by their start.
  [[nodiscard]] std::vector<std::size_t> workers() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (links_[i].spliced_into == kNone && i != main()) {
        all.push_back(i);
      }
    }
    std::ranges::sort(all, {}, [this](std::size_t i) {
      const Placed& first = links_[i].requests.front();
      return std::pair(first.request->start, first.place);
    });
    return all;
  }
  [[nodiscard]] std::size_t live(std::size_t i) const {
    while (links_[i].spliced_into != kNone) {
      i = links_[i].spliced_into;
    }
    return i;
  }

 private:
  void append(std::size_t index, const Placed& one) {
    Link& link = links_[index];
    link.requests.push_back(one);
    chain_of_[one.place] = index;
    if (!one.request->blocks.empty()) {
      link.tail = one.request;
      link.tail_place = one.place;
      by_place_[one.place] = one.request;
    }
  }

  void place(const Placed& one) {
    if (links_.empty()) {
      links_.emplace_back();
      append(0, one);
      return;
    }
    if (one.request->blocks.empty()) {
      append(0, one);
      return;
    }
    if (const auto target = extended(*one.request); target != kNone) {
      append(target, one);
      return;
    }
    Link fork;
    std::size_t tail_blocks = 0;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const std::size_t depth = links_[i].tail == nullptr
                                    ? 0
                                    : common_blocks(links_[i].tail->blocks, one.request->blocks);
      if (depth > 0 &&
          std::pair(depth, links_[i].tail->blocks.size()) > std::pair(fork.depth, tail_blocks)) {
        fork.parent = i;
        fork.depth = depth;
        tail_blocks = links_[i].tail->blocks.size();
      }
    }
    // The first request that has blocks at all is the main agent's.
    if (fork.parent == kNone &&
        std::ranges::all_of(links_, [](const Link& link) { return link.tail == nullptr; })) {
      append(0, one);
      return;
    }
    fork.fork_time = one.request->start;
    const std::size_t index = links_.size();
    if (fork.parent != kNone) {
      fork.fork_place = links_[fork.parent].tail_place;
      forks_[fork.fork_place].push_back(index);
    }
    links_.push_back(std::move(fork));
    append(index, one);
  }

  /// The chain whose whole last prompt this one begins with.
  [[nodiscard]] std::size_t extended(const TraceRequest& request) const {
    std::size_t best = kNone;
    std::size_t most = 0;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const TraceRequest* tail = links_[i].tail;
      if (tail == nullptr || tail->blocks.size() <= most ||
          tail->blocks.size() > request.blocks.size() || tail->model != request.model ||
          tail->end() > request.start + kTouch ||
          common_blocks(tail->blocks, request.blocks) < tail->blocks.size()) {
        continue;
      }
      best = i;
      most = tail->blocks.size();
    }
    return best;
  }

  /// Puts chains that go on after a context edit behind the request that they forked from.
  void splice() {
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> todo;
    std::set<std::int64_t> done;
    for (const auto& [place, forks] : forks_) {
      todo.push(place);
    }
    while (!todo.empty()) {
      const std::int64_t place = todo.top();
      todo.pop();
      if (!done.insert(place).second) {
        continue;
      }
      const std::size_t owner = live(chain_of_.at(place));
      if (links_[owner].tail_place != place) {
        continue;
      }
      std::vector<std::size_t> forks = forks_.at(place);
      std::erase_if(forks, [this](std::size_t i) { return links_[i].spliced_into != kNone; });
      const std::size_t chosen = continuation(forks, *by_place_.at(place));
      if (chosen == kNone) {
        continue;
      }
      for (const Placed& one : links_[chosen].requests) {
        append(owner, one);
      }
      links_[chosen].spliced_into = owner;
      if (move_forks(forks, owner)) {
        done.erase(links_[owner].tail_place);
        todo.push(links_[owner].tail_place);
      }
    }
  }

  [[nodiscard]] std::size_t continuation(const std::vector<std::size_t>& forks,
                                         const TraceRequest& tail) const {
    std::size_t best = kNone;
    for (const std::size_t i : forks) {
      const Link& link = links_[i];
      const TraceRequest& first = *link.requests.front().request;
      const bool is_another_session =
          first.start > tail.end() + kLongGap &&
          static_cast<double>(link.depth) < kLeastOverlap * static_cast<double>(tail.blocks.size());
      if (tail.end() > first.start + kTouch || first.model != tail.model || is_another_session) {
        continue;
      }
      const auto rank = [this](std::size_t n) {
        return std::tuple(links_[n].depth, -links_[n].fork_time.count(), -static_cast<int>(n));
      };
      if (best == kNone || rank(i) > rank(best)) {
        best = i;
      }
    }
    return best;
  }

  /// Lets what forked from a request that was gone on from fork from the new tail.
  bool move_forks(const std::vector<std::size_t>& forks, std::size_t owner) {
    bool any = false;
    for (const std::size_t i : forks) {
      Link& link = links_[i];
      if (link.spliced_into != kNone) {
        continue;
      }
      const std::size_t depth =
          common_blocks(links_[owner].tail->blocks, link.requests.front().request->blocks);
      if (depth > 0) {
        link.parent = owner;
        link.fork_place = links_[owner].tail_place;
        link.depth = depth;
        forks_[link.fork_place].push_back(i);
        any = true;
      }
    }
    return any;
  }

  std::vector<Link> links_;
  std::map<std::int64_t, std::size_t> chain_of_;
  std::map<std::int64_t, const TraceRequest*> by_place_;
  std::map<std::int64_t, std::vector<std::size_t>> forks_;
  std::int64_t first_ = 0;
};

void sort_by_start(std::vector<Placed>& requests) {
  std::ranges::sort(
      requests, {}, [](const Placed& one) { return std::pair(one.request->start, one.place); });
}

/// Whether the first request is one that nothing goes on from: a title, or another one-shot call.
bool has_preamble(const std::vector<Placed>& requests) {
  const TraceRequest& first = *requests.front().request;
  if (requests.size() < 2 || first.blocks.empty()) {
    return false;
  }
  std::unordered_set<std::uint32_t> others;
  for (const Placed& one : requests) {
    if (one.request == &first) {
      continue;
    }
    const Blocks& blocks = one.request->blocks;
    if (!blocks.empty() && blocks.front() == first.blocks.front()) {
      return false;
    }
    if (first.output > kTitleOutput) {
      others.insert(blocks.begin(), blocks.end());
    }
  }
  return std::ranges::none_of(first.blocks, [&](std::uint32_t id) { return others.contains(id); });
}

bool is_aux(const Link& link, const TraceRequest& main_first, std::int64_t main_peak) {
  if (link.requests.size() != 1) {
    return false;
  }
  const TraceRequest& only = *link.requests.front().request;
  const auto share = static_cast<std::int64_t>(kSmallShare * static_cast<double>(main_peak));
  if (only.model != main_first.model || only.input < std::max(kSmallPrompt, share)) {
    return true;
  }
  return only.output > 0 && only.output < kReductionOutput &&
         only.input > kReductionRatio * only.output;
}

core::Duration end_of(const Link& link) {
  core::Duration end;
  for (const Placed& one : link.requests) {
    end = std::max(end, one.request->end());
  }
  return end;
}

/// (group, member) of each chain that runs beside others from the same fork.
std::map<std::size_t, std::pair<std::size_t, std::size_t>> worker_groups(
    const Detection& detection, const std::vector<std::size_t>& workers) {
  using Start = std::pair<core::Duration, std::int64_t>;
  const auto start_of = [&](std::size_t i) {
    const Placed& first = detection[i].requests.front();
    return Start(first.request->start, first.place);
  };
  // Workers come by their start: an overlap is a run of them.
  struct Run {
    std::vector<std::size_t> members;
    core::Duration end;
  };
  std::map<std::pair<std::size_t, std::int64_t>, Run> open;
  std::vector<std::vector<std::size_t>> groups;
  const auto close = [&](const Run& run) {
    if (run.members.size() >= kLeastGroup) {
      groups.push_back(run.members);
    }
  };
  for (const std::size_t i : workers) {
    const Link& link = detection[i];
    if (link.parent == kNone || link.depth == 0) {
      continue;
    }
    Run& run = open[{detection.live(link.parent), link.fork_place}];
    if (!run.members.empty() && run.end <= start_of(i).first) {
      close(run);
      run = {};
    }
    run.members.push_back(i);
    run.end = std::max(run.end, end_of(link));
  }
  for (const auto& [fork, run] : open) {
    close(run);
  }
  std::ranges::sort(groups, {}, [&](const auto& group) { return start_of(group.front()); });
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> found;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (std::size_t member = 0; member < groups[group].size(); ++member) {
      found[groups[group][member]] = {group, member};
    }
  }
  return found;
}

}  // namespace

std::size_t common_blocks(const Blocks& a, const Blocks& b) {
  const std::size_t most = std::min(a.size(), b.size());
  const auto end = a.begin() + static_cast<std::ptrdiff_t>(most);
  return static_cast<std::size_t>(std::mismatch(a.begin(), end, b.begin()).first - a.begin());
}

std::vector<Chain> chains_of(const std::vector<Placed>& requests) {
  std::vector<Placed> ordered = requests;
  sort_by_start(ordered);
  std::vector<Chain> chains(1);
  if (ordered.size() < 2) {
    chains[0].requests = std::move(ordered);
    return chains;
  }
  std::optional<Placed> preamble;
  if (has_preamble(ordered)) {
    preamble = ordered.front();
    ordered.erase(ordered.begin());
  }
  const Detection detection(ordered);
  const Link& main = detection[detection.main()];
  chains[0].requests = main.requests;
  if (preamble) {
    chains[0].requests.push_back(*preamble);
    sort_by_start(chains[0].requests);
    chains[0].num_peeled = 1;
  }
  std::int64_t peak = 0;
  for (const Placed& one : main.requests) {
    peak = std::max(peak, one.request->input);
  }
  const std::vector<std::size_t> workers = detection.workers();
  const auto groups = worker_groups(detection, workers);
  for (std::size_t n = 0; n < workers.size(); ++n) {
    const Link& link = detection[workers[n]];
    const auto group = groups.find(workers[n]);
    const std::string suffix =
        is_aux(link, *main.requests.front().request, peak) ? fmt::format("aux:{:03}", n)
        : group != groups.end()
            ? fmt::format("wg:{:03}_{:03}", group->second.first, group->second.second)
            : fmt::format("fa:{:03}", n);
    chains.push_back({.suffix = suffix, .requests = link.requests, .num_peeled = 0});
  }
  return chains;
}

}  // namespace ridgeline::workload::agents
