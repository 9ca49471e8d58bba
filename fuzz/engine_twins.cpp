// Any bytes as a small workload on a small engine: the fast twin, stepping and jumping, and the
// step loop's jumps against the reference twin, record by record and gap by gap.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "choices.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/step.hpp"
#include "engine/engine.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "engine/schedulers.hpp"
#include "latency/step_time_model.hpp"

namespace {

using namespace ridgeline;  // NOLINT(google-build-using-namespace): a program of its own

/// A millisecond per step, ten microseconds per token, and something per token of context.
class StraightModel final : public latency::StepTimeModel {
 public:
  explicit StraightModel(core::Duration per_context) : per_context_(per_context) {}

  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override {
    std::int64_t context = batch.decode_context.value();
    for (const auto& chunk : batch.prefills) {
      context += chunk.past.value();
    }
    domain::StepTime time;
    time.add(domain::Bottleneck::kCompute,
             core::Duration::microseconds(1000 + 10 * batch.num_tokens().value()));
    time.add(domain::Bottleneck::kMemory, per_context_ * context);
    return time;
  }
  [[nodiscard]] std::optional<domain::AffineStep> affine(std::int64_t num_decodes,
                                                         core::Tokens /*at*/) const override {
    domain::StepBatch batch;
    batch.num_decodes = num_decodes;
    domain::AffineStep step;
    step.base = predict(batch);
    step.slope = per_context_;
    step.lowest = core::Tokens(0);
    step.highest = core::Tokens(std::numeric_limits<std::int64_t>::max() / 4);
    return step;
  }
  [[nodiscard]] latency::Explanation explain(const domain::StepBatch& batch) const override {
    latency::Explanation explanation;
    explanation.total = predict(batch);
    return explanation;
  }

 private:
  core::Duration per_context_;
};

struct Outcome final : domain::RecordSink {
  std::vector<domain::RequestRecord> requests;
  std::map<std::int64_t, std::int64_t> gaps;

  void on_request(const domain::RequestRecord& record) override { requests.push_back(record); }
  void on_steps(const domain::StepRecord& /*record*/) override {}
  void on_token_gaps(const domain::TokenGaps& run) override {
    for (std::int64_t i = 0; i < run.count; ++i) {
      gaps[(run.gap + run.growth * i).count()] += run.requests;
    }
  }
};

struct Event {
  core::SimTime at;
  std::optional<domain::Request> arrival;  ///< Else an abort.
  core::RequestId id;
};

engine::EngineOptions options_from(fuzz::Choices& choices) {
  engine::EngineOptions options;
  options.block_size = core::Tokens(
      std::array<std::int64_t, 3>{1, 4, 16}[static_cast<std::size_t>(choices.below(3))]);
  options.max_num_seqs = 1 + choices.below(8);
  options.max_num_batched_tokens = core::Tokens(1 + choices.below(80));
  if (choices.coin()) {
    options.max_num_scheduled_tokens =
        core::Tokens(1 + choices.below(options.max_num_batched_tokens.value()));
  }
  options.max_model_len = core::Tokens(8 + choices.below(150));
  options.long_prefill_token_threshold = core::Tokens(choices.coin() ? choices.below(20) : 0);
  options.enable_prefix_caching = choices.coin();
  options.async_scheduling = choices.coin();
  const auto profiles = engine::profiles();
  options.profile =
      profiles[static_cast<std::size_t>(choices.below(static_cast<std::int64_t>(profiles.size())))];
  const std::int64_t longest = core::ceil_div(options.max_model_len, options.block_size);
  options.num_gpu_blocks = core::Blocks(1 + longest + choices.below(1 + longest));
  return options;
}

std::vector<Event> events_from(fuzz::Choices& choices) {
  std::vector<Event> events;
  core::SimTime now;
  const std::int64_t count = 1 + choices.below(16);
  for (std::int64_t i = 0; i < count; ++i) {
    now += core::Duration::microseconds(choices.below(256) * (choices.coin() ? 100 : 1));
    domain::Request request;
    request.id = core::RequestId(static_cast<std::uint32_t>(i));
    request.arrival = now;
    request.prompt_tokens = core::Tokens(1 + choices.below(100));
    request.output_tokens = core::Tokens(1 + choices.below(90));
    request.max_tokens = request.output_tokens + core::Tokens(choices.below(4));
    if (choices.coin()) {
      const auto earlier = core::RequestId(static_cast<std::uint32_t>(choices.below(i + 1)));
      const std::array<std::uint64_t, 4> contents = {
          1, 2, domain::unique_content(earlier), domain::output_content(earlier)};
      const std::int64_t kind = choices.below(earlier == request.id ? 2 : 4);
      const std::int64_t length = 1 + choices.below(request.prompt_tokens.value());
      request.prompt = {{contents[static_cast<std::size_t>(kind)], core::Tokens(length)}};
    }
    if (choices.coin()) {
      const auto patience = core::Duration::microseconds(choices.below(256) * 500);
      events.push_back({.at = now + patience, .arrival = {}, .id = request.id});
    }
    events.push_back({.at = now, .arrival = request, .id = request.id});
  }
  std::stable_sort(
      events.begin(), events.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
  return events;
}

void run_twin(engine::Engine& twin, const std::vector<Event>& events) {
  constexpr std::int64_t kNoBudget = std::numeric_limits<std::int64_t>::max();
  for (const Event& event : events) {
    twin.advance(event.at, false, kNoBudget);
    if (event.arrival) {
      twin.submit(*event.arrival, event.at);
    } else {
      twin.abort(event.id, std::max(event.at, twin.now()));
    }
  }
  twin.advance(core::SimTime::never(), false, kNoBudget);
}

/// Options that the fast twin leaves to the step loop.
engine::EngineOptions handed_over(fuzz::Choices& choices, engine::EngineOptions options) {
  if (choices.coin()) {
    options.num_speculative_tokens = 1 + choices.below(3);
    options.draft_method =
        choices.coin() ? engine::DraftMethod::kEagle : engine::DraftMethod::kNgram;
    options.draft_acceptance = {static_cast<double>(choices.below(11)) / 10};
  }
  if (choices.coin()) {
    options.cache_groups.push_back({.sliding_window = core::Tokens(2 + choices.below(40))});
    options.num_gpu_blocks = options.num_gpu_blocks * 2;
  }
  if (choices.coin()) {
    options.policy = engine::SchedulingPolicy::kPriority;
  }
  options.pipeline_depth = choices.one_in(3) ? 3 : 0;
  return options;
}

using MakeTwin = std::function<std::unique_ptr<engine::Engine>(const engine::EngineInputs&)>;

void compare(const engine::EngineInputs& inputs,
             const std::vector<Event>& events,
             const std::vector<MakeTwin>& makers) {
  std::vector<Outcome> outcomes(makers.size());
  engine::EngineTotals first;
  for (std::size_t i = 0; i < makers.size(); ++i) {
    const auto twin = makers[i]({.options = inputs.options,
                                 .model = inputs.model,
                                 .host = inputs.host,
                                 .sink = outcomes[i]});
    run_twin(*twin, events);
    const engine::EngineTotals totals = twin->totals();
    if (i == 0) {
      first = totals;
    }
    RIDGELINE_CHECK(outcomes[i].requests == outcomes[0].requests, "records differ");
    RIDGELINE_CHECK(outcomes[i].gaps == outcomes[0].gaps, "gaps differ");
    RIDGELINE_CHECK(totals.steps == first.steps && totals.preemptions == first.preemptions &&
                        totals.busy == first.busy && totals.prefix_hits == first.prefix_hits &&
                        totals.peak_used_blocks == first.peak_used_blocks &&
                        totals.used_block_seconds == first.used_block_seconds,
                    "totals differ");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Choices choices(data, size);
  const engine::EngineOptions options = options_from(choices);
  const StraightModel model(core::Duration::microseconds(choices.below(4)));
  engine::HostTime host;
  host.per_step = core::Duration::microseconds(choices.below(3) * 900);
  const std::vector<Event> events = events_from(choices);
  const engine::EngineOptions others = handed_over(choices, options);
  Outcome unused;
  const MakeTwin jump_loop = [](const engine::EngineInputs& inputs) {
    return engine::make_step_engine(engine::schedulers().front(), inputs, true);
  };
  compare({.options = options, .model = model, .host = host, .sink = unused},
          events,
          {engine::make_reference_engine,
           [](const auto& inputs) { return engine::make_fast_engine(inputs, false); },
           [](const auto& inputs) { return engine::make_fast_engine(inputs, true); },
           jump_loop});
  compare({.options = others, .model = model, .host = host, .sink = unused},
          events,
          {engine::make_reference_engine, jump_loop});
  return 0;
}
