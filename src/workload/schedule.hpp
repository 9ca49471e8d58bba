#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/statistics/queue_growth.hpp"
#include "core/time.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/prompt_mapper.hpp"

namespace ridgeline::workload {

/// Decides when the items of a stream are sent: at their time, after the answers that they wait
/// for, and as the stages allow. Memory follows the groups that are open.
class Schedule {
 public:
  explicit Schedule(std::unique_ptr<ItemStream> stream);

  /// When the next item is sent; nothing when all have been, or until a completion is reported.
  [[nodiscard]] std::optional<core::SimTime> next_time();
  /// The next item, with `arrival` the time of sending and contents output_of() turned into
  /// domain::output_content of the request that generates it. Requires next_time(). `id` is the
  /// number of items sent before it.
  void pop(Item& item, core::RequestId& id);
  /// The answer to `id` is there. Called in order of time.
  void on_completion(core::RequestId id, core::SimTime time);

  [[nodiscard]] const ItemStream& stream() const { return *stream_; }
  /// The queue of groups with times of their own that a stage's limit holds back.
  [[nodiscard]] const statistics::QueueGrowth& held_back() const { return held_back_; }
  /// Problems of the stream, or that its items pass the range of simulated time.
  [[nodiscard]] const core::Errors& errors() const {
    return own_errors_.empty() ? stream_->errors() : own_errors_;
  }

 private:
  struct Node {
    Item item;
    std::uint32_t waits_for = 0;         ///< Parents that have no answer.
    std::vector<std::uint32_t> waiting;  ///< Places of items that wait for this, ascending.
    core::Duration delay;                ///< Item::delay, which the item itself may be gone by.
    core::SimTime earliest;
    core::RequestId id;
  };
  struct Group {
    std::vector<Node> nodes;
    PromptMapper mapper;
    std::uint32_t to_send = 0;
    std::uint32_t unanswered = 0;
  };
  struct Ready {
    core::SimTime time;
    std::uint64_t order;  ///< Among equals: as they stand in the stream.
    std::uint32_t group;
    std::uint32_t place;
    friend bool operator>(const Ready& a, const Ready& b) {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };
  using Place = std::pair<std::uint32_t, std::uint32_t>;

  void peek();
  void open_due_groups();
  [[nodiscard]] std::optional<core::SimTime> start_of_next_group();
  void open_group(core::SimTime start);
  void add_node(std::uint32_t group, core::SimTime base);
  void make_ready(std::uint32_t group, std::uint32_t place);
  void retire(std::uint32_t group);
  [[nodiscard]] std::optional<core::SimTime> sum(core::SimTime time, core::Duration duration);

  std::unique_ptr<ItemStream> stream_;
  bool answers_matter_;
  core::Duration last_;  ///< Nothing is sent at or after it.
  bool has_next_ = false;
  bool ended_ = false;
  Item next_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> free_groups_;
  std::size_t open_groups_ = 0;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
  std::unordered_map<std::uint32_t, Place> in_flight_;
  std::int32_t stage_ = 0;
  core::SimTime stage_start_;
  core::SimTime last_end_;
  std::priority_queue<core::SimTime, std::vector<core::SimTime>, std::greater<>> slots_;
  bool limited_ = false;
  statistics::QueueGrowth held_back_;
  core::Duration think_;
  std::optional<core::Duration> end_;
  std::uint64_t order_ = 0;
  std::uint32_t sent_ = 0;
  core::Errors own_errors_;
};

}  // namespace ridgeline::workload
