#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/kv_connector.hpp"
#include "engine/leg.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "engine/probe_extras.hpp"
#include "engine/vllm/plain/scheduler.hpp"

namespace ridgeline::engine {
namespace {

using vllm::plain::SequencePtr;

template <class Pointer>
std::vector<core::RequestId> ids(const std::vector<Pointer>& sequences) {
  std::vector<core::RequestId> result;
  result.reserve(sequences.size());
  for (const auto& sequence : sequences) {
    result.push_back(sequence->record.id);
  }
  return result;
}

class ReferenceProbe final : public SchedulerProbe, public ProbeExtras {
 public:
  explicit ReferenceProbe(const EngineOptions& options) : scheduler_(options) {}

  void add(const domain::Request& request, core::Tokens remote_tokens) override {
    sequences_[request.id] = scheduler_.take(request, {.remote_tokens = remote_tokens});
  }
  void abort(core::RequestId id) override { scheduler_.drop(sequences_.at(id)); }

  void add_leg(const domain::Request& request, const Leg& leg) override {
    sequences_[request.id] = scheduler_.take(request, leg);
  }
  void note_images(core::RequestId id, const std::vector<Image>& images) override {
    scheduler_.note_images(*sequences_.at(id), images);
  }
  [[nodiscard]] std::vector<core::RequestId> loading() const override {
    std::vector<core::RequestId> result;
    for (const auto& [id, sequence] : scheduler_.loading()) {
      result.push_back(id.request);
    }
    return result;
  }
  [[nodiscard]] std::vector<core::RequestId> parked() const override {
    return waiting_in(vllm::plain::Status::kLoading);
  }
  [[nodiscard]] std::vector<core::RequestId> asleep() const override {
    return waiting_in(vllm::plain::Status::kAsleep);
  }
  void connect(KvConnector& connector) override { scheduler_.connect(connector); }
  [[nodiscard]] std::vector<std::uint64_t> hashes(core::RequestId id) override {
    return scheduler_.hashes(*sequences_.at(id));
  }
  void send(core::RequestId id, const domain::Request& input) override {
    scheduler_.send(sequences_.at(id), input);
  }
  bool close(core::RequestId id) override { return scheduler_.close(sequences_.at(id)); }
  [[nodiscard]] Encoded encoded() const override { return scheduler_.encoder().encoded(); }
  [[nodiscard]] std::int64_t num_passed_over() const override {
    return scheduler_.num_passed_over();
  }
  void finish_load(core::RequestId id) override { scheduler_.finish_load(id, true); }
  void fail_load(core::RequestId id) override { scheduler_.finish_load(id, false); }
  std::vector<core::RequestId> lose_blocks(const std::vector<core::BlockId>& blocks) override {
    return ids(
        scheduler_.lose_blocks(blocks, in_flight_.empty() ? ScheduledStep() : in_flight_.front()));
  }
  void release_blocks(core::RequestId id) override { scheduler_.release_blocks(id); }
  void pause_new() override { scheduler_.pause(vllm::plain::Pause::kNew); }
  void pause_all() override { scheduler_.pause(vllm::plain::Pause::kAll); }
  void resume() override { scheduler_.pause(vllm::plain::Pause::kNone); }
  bool reset_prefix_cache(bool preempts) override {
    return scheduler_.reset_prefix_cache(preempts);
  }

  Step schedule() override {
    const auto before = scheduler_.running();
    ScheduledStep scheduled;
    scheduler_.schedule(scheduled);
    Step step;
    for (const auto& item : scheduled) {
      step.scheduled.push_back({.id = item.sequence->record.id,
                                .tokens = item.num_scheduled_tokens,
                                .computed = item.num_computed_tokens,
                                .drafts = item.num_drafts,
                                .samples = item.samples});
      const bool was_running = std::any_of(before.begin(), before.end(), [&](const auto& one) {
        return one.get() == item.sequence;
      });
      if (!was_running) {
        step.admitted.push_back({.id = item.sequence->record.id,
                                 .computed_tokens = item.num_computed_tokens,
                                 .resumed = item.sequence->record.preemptions > 0});
      }
    }
    step.preempted = ids(scheduler_.preempted());
    step.next_drafts = scheduler_.next_drafts();
    step.skips_drafts = scheduler_.skips_drafts();
    if (!scheduled.empty()) {
      in_flight_.push_back(std::move(scheduled));
    }
    return step;
  }

  std::vector<core::RequestId> update(std::span<const std::int64_t> tokens) override {
    const auto ended = scheduler_.update(in_flight_.front(), tokens);
    in_flight_.pop_front();
    return ids(ended);
  }

  [[nodiscard]] std::vector<core::RequestId> running() const override {
    return ids(scheduler_.running());
  }
  [[nodiscard]] std::vector<core::RequestId> waiting() const override {
    return ids(scheduler_.waiting());
  }
  [[nodiscard]] std::int64_t num_free_blocks() const override {
    return scheduler_.kv_cache().num_free();
  }
  [[nodiscard]] std::vector<core::BlockId> free_list() const override {
    return scheduler_.kv_cache().free_list();
  }
  [[nodiscard]] std::vector<std::vector<core::BlockId>> blocks(core::RequestId id) const override {
    std::vector<std::vector<core::BlockId>> tables;
    for (const auto& table : sequences_.at(id)->blocks.groups) {
      tables.push_back(table.ids());
    }
    return tables;
  }
  [[nodiscard]] std::int64_t output_tokens(core::RequestId id) const override {
    return sequences_.at(id)->num_output_tokens;
  }
  [[nodiscard]] std::int64_t preemptions(core::RequestId id) const override {
    return sequences_.at(id)->record.preemptions;
  }
  [[nodiscard]] Statistics statistics() const override {
    const auto& counted = scheduler_.prefix_statistics();
    return {.requests = counted.requests,
            .queries = counted.queries,
            .hits = counted.hits,
            .preempted_requests = counted.preempted_requests,
            .preempted_queries = counted.preempted_queries,
            .preempted_hits = counted.preempted_hits};
  }

 private:
  [[nodiscard]] std::vector<core::RequestId> waiting_in(vllm::plain::Status status) const {
    std::vector<SequencePtr> waiting = scheduler_.waiting();
    std::erase_if(waiting, [&](const SequencePtr& one) { return one->status != status; });
    return ids(waiting);
  }

  vllm::plain::Scheduler scheduler_;
  std::map<core::RequestId, SequencePtr> sequences_;
  std::deque<ScheduledStep> in_flight_;
};

}  // namespace

std::unique_ptr<SchedulerProbe> make_reference_probe(const EngineOptions& options) {
  return std::make_unique<ReferenceProbe>(options);
}

}  // namespace ridgeline::engine
