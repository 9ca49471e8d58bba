#include "workload/traces/reading/grouping.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "workload/item.hpp"
#include "workload/prompt_mapper.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/row_tally.hpp"

namespace ridgeline::workload {
namespace {

class Grouping {
 public:
  Grouping(std::vector<LooseItem> loose, const std::string& file, RowTally& tally)
      : loose_(std::move(loose)),
        file_(file),
        tally_(tally),
        parents_(loose_.size()),
        before_(loose_.size()),
        root_(loose_.size()),
        sound_(loose_.size(), true) {
    std::iota(root_.begin(), root_.end(), std::size_t{0});
  }

  std::vector<Item> run() {
    name_all();
    for (std::size_t i = 0; i < loose_.size(); ++i) {
      link(i);
    }
    std::map<std::size_t, std::vector<std::size_t>> members;
    for (std::size_t i = 0; i < loose_.size(); ++i) {
      members[find(i)].push_back(i);
    }
    struct Ordered {
      core::Duration start;
      std::vector<std::size_t> items;
    };
    std::vector<Ordered> groups;
    for (auto& [root, items] : members) {
      auto order = in_order(items);
      if (!order.empty()) {
        groups.push_back({.start = loose_[order.front()].item.arrival, .items = std::move(order)});
      }
    }
    std::ranges::stable_sort(groups, {}, [](const Ordered& group) { return group.start; });
    std::vector<Item> items;
    items.reserve(loose_.size());
    for (const Ordered& group : groups) {
      emit(group.items, items);
    }
    return items;
  }

 private:
  void name_all() {
    for (std::size_t i = 0; i < loose_.size(); ++i) {
      if (loose_[i].name >= 0 && !by_name_.emplace(loose_[i].name, i).second) {
        refuse(i, "a name that another request has", "a name of its own");
      }
    }
  }

  std::size_t find(std::size_t i) {
    while (root_[i] != i) {
      root_[i] = root_[root_[i]];
      i = root_[i];
    }
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    const std::size_t first = find(a);
    const std::size_t second = find(b);
    root_[std::max(first, second)] = std::min(first, second);
  }

  void link(std::size_t i) {
    const LooseItem& item = loose_[i];
    for (const std::int64_t name : item.waits_for) {
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) {
        refuse(i, "a wait for a request that does not exist", "the name of another request");
        return;
      }
      parents_[i].push_back(found->second);
      before_[i].push_back(found->second);
      join(i, found->second);
    }
    if (item.follows >= 0) {
      const auto previous = static_cast<std::size_t>(item.follows);
      before_[i].push_back(previous);
      join(i, previous);
      if (item.waits_for_previous) {
        parents_[i].push_back(previous);
      }
    }
    std::ranges::sort(parents_[i]);
    const auto twins = std::ranges::unique(parents_[i]);
    parents_[i].erase(twins.begin(), twins.end());
    if (parents_[i].empty() && !item.is_timed) {
      refuse(i, "neither a time nor anything to wait for", "one of them");
    }
  }

  /// The members, those before others first, earlier ones first among equals; empty when they wait
  /// in a circle, or for one that was dropped.
  std::vector<std::size_t> in_order(const std::vector<std::size_t>& members) {
    std::map<std::size_t, std::size_t> waits;
    std::map<std::size_t, std::vector<std::size_t>> after;
    using Key = std::pair<core::Duration, std::size_t>;
    std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
    for (const std::size_t i : members) {
      waits[i] = before_[i].size();
      for (const std::size_t other : before_[i]) {
        after[other].push_back(i);
      }
      if (before_[i].empty() && sound_[i]) {
        ready.push({loose_[i].item.arrival, i});
      }
    }
    std::vector<std::size_t> order;
    while (!ready.empty()) {
      const auto [time, i] = ready.top();
      ready.pop();
      order.push_back(i);
      for (const std::size_t next : after[i]) {
        if (--waits[next] == 0 && sound_[next]) {
          ready.push({std::max(time, loose_[next].item.arrival), next});
        }
      }
    }
    if (order.size() == members.size()) {
      return order;
    }
    for (const std::size_t i : members) {
      if (sound_[i] && std::ranges::find(order, i) == order.end()) {
        refuse(i, "a wait for itself, or for what is missing", "a request that comes before it");
      }
    }
    return order;
  }

  void emit(const std::vector<std::size_t>& order, std::vector<Item>& items) {
    std::map<std::size_t, std::uint32_t> place;
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = static_cast<std::uint32_t>(i);
    }
    const core::Duration start = loose_[order.front()].item.arrival;
    PromptMapper mapper;
    for (const std::size_t index : order) {
      LooseItem& loose = loose_[index];
      Item& item = loose.item;
      item.starts_group = index == order.front();
      // An item that only waits has no time of its own.
      item.arrival = loose.is_timed ? std::max(item.arrival, start) : start;
      item.parents.clear();
      for (const std::size_t parent : parents_[index]) {
        item.parents.push_back(place[parent]);
      }
      mapper.apply(item.prompt, [&](std::uint64_t content) -> PromptMapper::Name {
        if (!is_output(content)) {
          return {.content = content};
        }
        const auto from = place.find(static_cast<std::size_t>(content & ~output_of(0)));
        return from != place.end() && from->second < place[index]
                   ? PromptMapper::Name{.content = output_of(from->second)}
                   : PromptMapper::Name{.content = content_of(content, index), .is_lasting = false};
      });
      items.push_back(std::move(item));
    }
  }

  void refuse(std::size_t i, std::string_view found, std::string_view expected) {
    if (!sound_[i]) {
      return;
    }
    sound_[i] = false;
    if (tally_.errors().size() < kMaxTraceProblems) {
      tally_.errors().push_back(
          {.message = fmt::format("found {}, expected {}", found, expected),
           .where = {.file = file_, .line = static_cast<int>(loose_[i].row), .column = 1}});
    }
    tally_.bad_row();
  }

  std::vector<LooseItem> loose_;
  const std::string& file_;
  RowTally& tally_;
  std::map<std::int64_t, std::size_t> by_name_;
  std::vector<std::vector<std::size_t>> parents_;
  std::vector<std::vector<std::size_t>> before_;
  std::vector<std::size_t> root_;
  std::vector<bool> sound_;
};

}  // namespace

core::Warnings sorting_warnings(const std::vector<LooseItem>& loose) {
  core::Duration latest;
  std::int64_t late = 0;
  const LooseItem* first = nullptr;
  core::Duration before;
  for (const LooseItem& item : loose) {
    if (!item.is_timed || item.item.session >= 0) {
      continue;
    }
    if (item.item.arrival < latest && late++ == 0) {
      first = &item;
      before = latest;
    }
    latest = std::max(latest, item.item.arrival);
  }
  if (first == nullptr) {
    return {};
  }
  return {{.code = "W-rows-sorted",
           .message = fmt::format("{} {} {} sorted: the first, in line {}, has an arrival at {} s "
                                  "after one at {} s, expected rows in the order of arrival",
                                  late,
                                  core::plural("row", late),
                                  late == 1 ? "was" : "were",
                                  first->row,
                                  seconds_text(first->item.arrival),
                                  seconds_text(before))}};
}

std::vector<Item> grouped(std::vector<LooseItem> loose, const std::string& file, RowTally& tally) {
  return Grouping(std::move(loose), file, tally).run();
}

}  // namespace ridgeline::workload
