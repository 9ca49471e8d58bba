#include "workload/replay.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/label_set.hpp"
#include "domain/request.hpp"
#include "workload/carried.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/schedule.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {
namespace {

/// The request that an item becomes, but for its label set; takes the prompt.
domain::Request request_of(Item& item, core::RequestId id) {
  domain::Request request;
  request.id = id;
  request.arrival = core::SimTime::at(item.arrival);
  request.prompt_tokens = item.input_tokens;
  request.output_tokens = item.output_tokens;
  request.max_tokens = std::max(item.output_tokens, item.limit_tokens);
  request.gives_up = core::SimTime::saturating_sum(request.arrival, item.patience);
  request.priority = item.priority;
  request.rank = item.rank;
  if (item.adapter >= 0) {
    request.lora = core::LoraId(static_cast<core::LoraId::Rep>(item.adapter));
  }
  if (item.session >= 0) {
    request.session = core::SessionId(static_cast<core::SessionId::Rep>(item.session));
    request.turn = item.turn;
  }
  request.images = item.images;
  request.prompt = std::move(item.prompt);
  return request;
}

/// A replay, as far as it is about what requests carry.
class Replay : public Source {
 public:
  Replay(Carries carries, Patience patience) : carries_(carries), patience_(patience) {}

  [[nodiscard]] const domain::LabelSets* label_sets() const override {
    return carries_ == Carries::kSomething ? &tally_.label_sets() : nullptr;
  }
  [[nodiscard]] Carried carried() const override { return tally_.counts(labels()); }
  [[nodiscard]] bool names_prompts() const override { return names_prompts_; }
  [[nodiscard]] bool may_give_up() const override { return patience_ == Patience::kLimited; }

 protected:
  /// The request that an item becomes; takes the prompt.
  domain::Request take(Item& item, core::RequestId id) {
    names_prompts_ = names_prompts_ || !item.prompt.empty();
    domain::Request request = request_of(item, id);
    if (carries_ == Carries::kSomething) {
      request.label_set = tally_.take(item);
    }
    return request;
  }

 private:
  Carries carries_;
  Patience patience_;
  bool names_prompts_ = false;
  CarriedTally tally_;
};

/// A flat stream that waits for nothing: one item ahead.
class FlatReplay final : public Replay {
 public:
  FlatReplay(std::unique_ptr<ItemStream> stream, Carries carries, Patience patience)
      : Replay(carries, patience), stream_(std::move(stream)) {
    has_next_ = stream_->next(next_);
  }
  std::optional<core::SimTime> next_arrival() override {
    return has_next_ ? std::optional(core::SimTime::at(next_.arrival)) : std::nullopt;
  }
  domain::Request pop() override {
    RIDGELINE_CHECK(has_next_, "pop from a trace that has ended");
    domain::Request request = take(next_, core::RequestId(count_++));
    has_next_ = stream_->next(next_);
    return request;
  }
  [[nodiscard]] const core::Errors& errors() const override { return stream_->errors(); }
  [[nodiscard]] std::int64_t of_other_ranks() const override { return stream_->of_other_ranks(); }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return stream_->size(); }
  [[nodiscard]] core::Warnings warnings() const override { return stream_->warnings(); }
  [[nodiscard]] const Labels& labels() const override { return stream_->labels(); }
  [[nodiscard]] bool prompts_hold_answers() const override {
    return stream_->answers_are_absolute();
  }

 private:
  std::unique_ptr<ItemStream> stream_;
  Item next_;
  bool has_next_ = false;
  std::uint32_t count_ = 0;
};

class GroupReplay final : public Replay {
 public:
  GroupReplay(std::unique_ptr<ItemStream> stream, Carries carries, Patience patience)
      : Replay(carries, patience),
        waits_(stream->waits_for_answers()),
        schedule_(std::move(stream)) {}

  std::optional<core::SimTime> next_arrival() override { return schedule_.next_time(); }
  domain::Request pop() override {
    core::RequestId id;
    schedule_.pop(item_, id);
    return take(item_, id);
  }
  [[nodiscard]] bool is_closed_loop() const override { return waits_; }
  void on_completion(core::RequestId id, core::SimTime time) override {
    schedule_.on_completion(id, time);
  }
  [[nodiscard]] const core::Errors& errors() const override { return schedule_.errors(); }
  [[nodiscard]] std::int64_t of_other_ranks() const override {
    return schedule_.stream().of_other_ranks();
  }
  [[nodiscard]] std::optional<std::int64_t> size() const override {
    return schedule_.stream().size();
  }
  [[nodiscard]] core::Warnings warnings() const override { return schedule_.stream().warnings(); }
  [[nodiscard]] const Labels& labels() const override { return schedule_.stream().labels(); }
  [[nodiscard]] const statistics::QueueGrowth* held_back() const override {
    return waits_ ? &schedule_.held_back() : nullptr;
  }
  [[nodiscard]] bool prompts_hold_answers() const override { return !schedule_.stream().is_flat(); }

 private:
  bool waits_;
  Schedule schedule_;
  Item item_;
};

class FlattenedStream final : public ItemStream {
 public:
  explicit FlattenedStream(std::unique_ptr<ItemStream> stream) : schedule_(std::move(stream)) {}

  bool next(Item& item) override {
    if (never_ends()) {
      endless_ = {{.field = "num_requests",
                   .message = "missing, expected it (guidellm: max_requests) beside a limit of "
                              "concurrency without think "
                              "time: how many requests come before the end depends on how long "
                              "answers take, which only a run says"}};
      return false;
    }
    const auto time = schedule_.next_time();
    if (!time) {
      return false;
    }
    core::RequestId id;
    schedule_.pop(item, id);
    item.starts_group = true;
    item.parents.clear();
    item.delay = core::Duration();
    item.stage = 0;
    schedule_.on_completion(id, *time);
    return true;
  }
  [[nodiscard]] const core::Errors& errors() const override {
    return endless_.empty() ? schedule_.errors() : endless_;
  }
  [[nodiscard]] core::Warnings warnings() const override { return schedule_.stream().warnings(); }
  [[nodiscard]] const Labels& labels() const override { return schedule_.stream().labels(); }
  [[nodiscard]] std::optional<std::int64_t> size() const override {
    return schedule_.stream().size();
  }
  [[nodiscard]] std::optional<double> share_read() const override {
    return schedule_.stream().share_read();
  }
  [[nodiscard]] core::Tokens block_tokens() const override {
    return schedule_.stream().block_tokens();
  }

 private:
  /// Answers that take no time bring an endless stream no nearer to its end where no think time
  /// lies between them.
  [[nodiscard]] bool never_ends() const {
    return schedule_.stream().is_endless() &&
           schedule_.stream().stages().front().think <= core::Duration();
  }

  Schedule schedule_;
  core::Errors endless_;
};

}  // namespace

std::unique_ptr<Source> make_replay(std::unique_ptr<ItemStream> stream,
                                    Carries carries,
                                    Patience patience) {
  if (stream->is_flat() && !stream->waits_for_answers()) {
    return std::make_unique<FlatReplay>(std::move(stream), carries, patience);
  }
  return std::make_unique<GroupReplay>(std::move(stream), carries, patience);
}

std::unique_ptr<ItemStream> flattened(std::unique_ptr<ItemStream> stream) {
  if (stream->is_flat() && !stream->waits_for_answers()) {
    return stream;
  }
  return std::make_unique<FlattenedStream>(std::move(stream));
}

}  // namespace ridgeline::workload
