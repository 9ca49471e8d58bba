#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "engine/vllm/fast/scheduler_runs.hpp"
#include "engine/vllm/fast/slot.hpp"

namespace ridgeline::engine {
namespace {

using core::RequestId;
using vllm::fast::Batch;
using vllm::fast::kNoSlot;
using vllm::fast::SlotIndex;

/// Keeps the records of requests that ended or were aborted. A probe has no clock, so that gaps and
/// steps mean nothing.
struct GoneRequests final : domain::RecordSink {
  std::map<RequestId, domain::RequestRecord> records;
  std::vector<RequestId> latest;

  void on_request(const domain::RequestRecord& record) override {
    records[record.id] = record;
    latest.push_back(record.id);
  }
  void on_steps(const domain::StepRecord& /*record*/) override {}
  void on_token_gaps(const domain::TokenGaps& /*gaps*/) override {}
};

/// The scheduler of users' runs, batch by batch and with block ids.
class FastProbe final : public SchedulerProbe {
 public:
  explicit FastProbe(const EngineOptions& options) : scheduler_(options, {.block_ids = true}) {}

  void add(const domain::Request& request, core::Tokens remote_tokens) override {
    RIDGELINE_CHECK(remote_tokens.value() == 0, "KV from elsewhere without kv_transfer");
    scheduler_.add(request, now());
  }
  void abort(RequestId id) override;
  Step schedule() override;
  std::vector<RequestId> update(std::span<const std::int64_t> tokens) override;

  [[nodiscard]] std::vector<RequestId> running() const override;
  [[nodiscard]] std::vector<RequestId> waiting() const override;
  [[nodiscard]] std::int64_t num_free_blocks() const override {
    return scheduler_.cache().num_free();
  }
  [[nodiscard]] std::vector<core::BlockId> free_list() const override {
    return scheduler_.cache().free_ids();
  }
  [[nodiscard]] std::vector<std::vector<core::BlockId>> blocks(RequestId id) const override;
  [[nodiscard]] std::int64_t output_tokens(RequestId id) const override {
    const auto gone = gone_.records.find(id);
    if (gone != gone_.records.end()) {
      return gone->second.output_tokens.value();
    }
    const SlotIndex index = slot_of(id);
    return index == kNoSlot ? 0 : scheduler_.output_tokens(index);
  }
  [[nodiscard]] std::int64_t preemptions(RequestId id) const override {
    const auto gone = gone_.records.find(id);
    if (gone != gone_.records.end()) {
      return gone->second.preemptions;
    }
    const SlotIndex index = slot_of(id);
    return index == kNoSlot ? 0 : scheduler_.slot(index).record.preemptions;
  }
  [[nodiscard]] Statistics statistics() const override {
    const vllm::fast::PrefixCounts& counts = scheduler_.prefix_counts();
    const vllm::fast::PrefixCounts& apart = scheduler_.preempted_prefix_counts();
    return {.requests = counts.requests,
            .queries = counts.queries,
            .hits = counts.hits,
            .preempted_requests = apart.requests,
            .preempted_queries = apart.queries,
            .preempted_hits = apart.hits};
  }

 private:
  /// Only the order of instants matters: each call is one later.
  core::SimTime now() { return core::SimTime::at(core::Duration::microseconds(++calls_)); }
  [[nodiscard]] SlotIndex running_slot(RequestId id) const;
  [[nodiscard]] SlotIndex slot_of(RequestId id) const;
  void describe(const Batch& batch, const std::vector<RequestId>& before, Step& step) const;

  vllm::fast::Scheduler scheduler_;
  std::deque<std::unique_ptr<Batch>> in_flight_;
  GoneRequests gone_;
  std::int64_t calls_ = 0;
};

SlotIndex FastProbe::running_slot(RequestId id) const {
  SlotIndex i = scheduler_.first_running();
  while (i != kNoSlot && scheduler_.slot(i).record.id != id) {
    i = scheduler_.slot(i).next;
  }
  return i;
}

/// The slot of a request that runs, or was preempted and waits.
SlotIndex FastProbe::slot_of(RequestId id) const {
  for (std::int64_t i = 0; i < scheduler_.num_waiting(); ++i) {
    const SlotIndex index = scheduler_.waiting(i).slot;
    if (index != kNoSlot && scheduler_.slot(index).record.id == id) {
      return index;
    }
  }
  return running_slot(id);
}

std::vector<RequestId> FastProbe::running() const {
  std::vector<RequestId> ids;
  for (SlotIndex i = scheduler_.first_running(); i != kNoSlot; i = scheduler_.slot(i).next) {
    ids.push_back(scheduler_.slot(i).record.id);
  }
  return ids;
}

std::vector<RequestId> FastProbe::waiting() const {
  std::vector<RequestId> ids;
  for (std::int64_t i = 0; i < scheduler_.num_waiting(); ++i) {
    const vllm::fast::Waiting& entry = scheduler_.waiting(i);
    ids.push_back(entry.slot == kNoSlot ? entry.id : scheduler_.slot(entry.slot).record.id);
  }
  return ids;
}

std::vector<std::vector<core::BlockId>> FastProbe::blocks(RequestId id) const {
  const SlotIndex index = running_slot(id);
  if (index == kNoSlot) {
    return {};
  }
  return {scheduler_.block_ids(index)};
}

void FastProbe::abort(RequestId id) {
  std::vector<Batch*> batches;
  for (const auto& batch : in_flight_) {
    batches.push_back(batch.get());
  }
  scheduler_.abort(id, batches, gone_);
}

/// Lists the requests of a batch, whose decodes the scheduler only counts.
void FastProbe::describe(const Batch& batch,
                         const std::vector<RequestId>& before,
                         Step& step) const {
  for (SlotIndex i = scheduler_.first_running(); i != kNoSlot; i = scheduler_.slot(i).next) {
    const vllm::fast::Slot& slot = scheduler_.slot(i);
    const RequestId id = slot.record.id;
    const auto item = std::find_if(
        batch.items.begin(), batch.items.end(), [&](const vllm::fast::BatchItem& other) {
          return other.slot == i;
        });
    if (item != batch.items.end()) {
      const auto place = static_cast<std::size_t>(item - batch.items.begin());
      const domain::PrefillChunk& chunk = batch.prefills[place];
      step.scheduled.push_back(
          {.id = id, .tokens = chunk.new_tokens.value(), .samples = item->samples});
      if (std::find(before.begin(), before.end(), id) == before.end()) {
        step.admitted.push_back({.id = id,
                                 .computed_tokens = chunk.past.value(),
                                 .resumed = slot.record.preemptions > 0});
      }
    } else if (slot.status == vllm::fast::Status::kDecoding && !slot.skipped_in(batch.number)) {
      step.scheduled.push_back({.id = id, .tokens = 1, .samples = true});
    }
  }
}

SchedulerProbe::Step FastProbe::schedule() {
  const std::vector<RequestId> before = running();
  auto batch = std::make_unique<Batch>();
  const core::SimTime instant = now();
  const bool formed = scheduler_.schedule(*batch, instant, instant);
  Step step;
  if (formed) {
    describe(*batch, before, step);
    in_flight_.push_back(std::move(batch));
  }
  const std::vector<RequestId> after = running();
  // The request admitted last is preempted first.
  for (auto id = before.rbegin(); id != before.rend(); ++id) {
    if (std::find(after.begin(), after.end(), *id) == after.end()) {
      step.preempted.push_back(*id);
    }
  }
  return step;
}

std::vector<RequestId> FastProbe::update(std::span<const std::int64_t> tokens) {
  RIDGELINE_CHECK(std::all_of(tokens.begin(), tokens.end(), [](auto n) { return n <= 1; }),
                  "more than one token without drafts");
  RIDGELINE_CHECK(!in_flight_.empty(), "probe: a batch ends that is in flight");
  const auto batch = std::move(in_flight_.front());
  in_flight_.pop_front();
  gone_.latest.clear();
  scheduler_.update(*batch, now(), gone_);
  return gone_.latest;
}

}  // namespace

std::unique_ptr<SchedulerProbe> make_fast_probe(const EngineOptions& options) {
  // As make_fast_engine() does.
  // Its batches are asked for one by one, where legs load over simulated time.
  if (vllm::fast::Scheduler::covers(options) && !options.kv_transfer) {
    return std::make_unique<FastProbe>(options);
  }
  return make_reference_probe(options);
}

}  // namespace ridgeline::engine
