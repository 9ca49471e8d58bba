// The fast twin, with and without jumps, against the reference twin: equal request by request, gap by gap, and
// in every total, over random workloads, limits and step-time models.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline {
namespace {

struct Scenario {
  engine::EngineOptions options;
  engine::HostTime host;
  test::LinearModel::Costs costs;
  std::vector<domain::Request> requests;
};

struct Outcome {
  test::RecordingSink sink;
  engine::EngineTotals totals;
};

void drive(engine::Engine& engine, const std::vector<domain::Request>& requests) {
  constexpr std::int64_t kNoBudget = std::numeric_limits<std::int64_t>::max();
  for (const auto& request : requests) {
    engine.advance(request.arrival, false, kNoBudget);
    engine.submit(request, request.arrival);
  }
  while (engine.advance(core::SimTime::never(), false, kNoBudget) != engine::Engine::Pause::kIdle) {
  }
}

enum class Twin : std::uint8_t { kReference, kStepping, kJumping };

Outcome run(const Scenario& scenario, Twin twin) {
  Outcome outcome;
  const test::LinearModel model(scenario.costs);
  const engine::EngineInputs inputs{
      .options = scenario.options, .model = model, .host = scenario.host, .sink = outcome.sink};
  const auto engine = twin == Twin::kReference ? engine::make_reference_engine(inputs)
                                               : engine::make_fast_engine(inputs, twin == Twin::kJumping);
  drive(*engine, scenario.requests);
  outcome.totals = engine->totals();
  return outcome;
}

Scenario random_scenario() {
  using rc::gen::arbitrary;
  using rc::gen::element;
  using rc::gen::inRange;
  Scenario scenario;
  auto& options = scenario.options;
  options.block_size = core::Tokens(*element<std::int64_t>(1, 4, 16));
  options.max_num_seqs = *inRange<std::int64_t>(1, 9);
  options.max_num_batched_tokens = core::Tokens(*inRange<std::int64_t>(1, 80));
  options.max_model_len = core::Tokens(*inRange<std::int64_t>(8, 160));
  options.long_prefill_token_threshold = core::Tokens(*element<std::int64_t>(0, 0, 0, 5, 20));
  options.enable_prefix_caching = *arbitrary<bool>();
  options.async_scheduling = *arbitrary<bool>();
  options.enable_chunked_prefill = *element(true, true, true, false);
  if (!options.enable_chunked_prefill) {
    options.max_num_batched_tokens = options.max_model_len;
  }
  const auto profiles = engine::profiles();
  options.profile = profiles[static_cast<std::size_t>(*inRange<int>(0, static_cast<int>(profiles.size())))];
  options.profile.watermark = *element(0.0, 0.0, 0.1);
  const std::int64_t longest =
      (options.max_model_len.value() + options.block_size.value() - 1) / options.block_size.value();
  options.num_gpu_blocks = core::Blocks(1 + longest + *inRange<std::int64_t>(0, 2 * longest));
  options.log_steps = true;
  scenario.host.per_step = core::Duration::microseconds(*element<std::int64_t>(0, 50, 3000));
  scenario.host.per_sequence = core::Duration::microseconds(*element<std::int64_t>(0, 15));
  scenario.costs.per_context = core::Duration::microseconds(*element<std::int64_t>(0, 1, 7));
  scenario.costs.bin = *element<std::int64_t>(0, 0, 64);
  scenario.costs.affine = *element(true, true, true, false);

  const auto count = *inRange<std::size_t>(1, 20);
  const auto spread = *element<std::int64_t>(0, 2000, 20000, 400000);
  const bool shares = *arbitrary<bool>();
  core::SimTime arrival;
  for (std::size_t i = 0; i < count; ++i) {
    domain::Request request;
    request.id = core::RequestId(static_cast<std::uint32_t>(i));
    arrival += core::Duration::microseconds(*inRange<std::int64_t>(0, spread + 1));
    request.arrival = arrival;
    request.prompt_tokens = core::Tokens(*inRange<std::int64_t>(1, 100));
    request.output_tokens = core::Tokens(*inRange<std::int64_t>(1, 90));
    request.max_tokens = request.output_tokens + core::Tokens(*element<std::int64_t>(0, 0, 0, 3));
    std::int64_t left = request.prompt_tokens.value();
    while (shares && left > 0 && *element(0, 1, 1) == 1) {
      const std::int64_t length = std::min(left, *element<std::int64_t>(3, 16, 32, 48));
      request.prompt.push_back({*inRange<std::uint64_t>(1, 4), core::Tokens(length)});
      left -= length;
    }
    scenario.requests.push_back(request);
  }
  return scenario;
}

void expect_equal(const Outcome& reference, const Outcome& other) {
  RC_ASSERT(reference.sink.requests.size() == other.sink.requests.size());
  for (std::size_t i = 0; i < reference.sink.requests.size(); ++i) {
    RC_ASSERT(reference.sink.requests[i] == other.sink.requests[i]);
  }
  RC_ASSERT(reference.sink.gaps == other.sink.gaps);
  RC_ASSERT(reference.sink.steps.size() == other.sink.steps.size());
  for (std::size_t i = 0; i < reference.sink.steps.size(); ++i) {
    const auto& a = reference.sink.steps[i];
    const auto& b = other.sink.steps[i];
    RC_ASSERT(a.first_step == b.first_step);
    RC_ASSERT(a.start == b.start);
    RC_ASSERT(a.period == b.period);
    RC_ASSERT(a.num_decodes == b.num_decodes);
    RC_ASSERT(a.decode_context == b.decode_context);
    RC_ASSERT(a.prefill_tokens == b.prefill_tokens);
    RC_ASSERT(a.time == b.time);
  }
  RC_ASSERT(reference.totals.steps == other.totals.steps);
  RC_ASSERT(reference.totals.preemptions == other.totals.preemptions);
  RC_ASSERT(reference.totals.step_time == other.totals.step_time);
  RC_ASSERT(reference.totals.busy == other.totals.busy);
  RC_ASSERT(reference.totals.prefix_queries == other.totals.prefix_queries);
  RC_ASSERT(reference.totals.prefix_hits == other.totals.prefix_hits);
  RC_ASSERT(reference.totals.peak_used_blocks == other.totals.peak_used_blocks);
  RC_ASSERT(reference.totals.used_block_seconds == other.totals.used_block_seconds);
}

RC_GTEST_PROP(Twins, EqualOverRandomScenarios, ()) {
  const Scenario scenario = random_scenario();
  const Outcome reference = run(scenario, Twin::kReference);
  const Outcome stepping = run(scenario, Twin::kStepping);
  const Outcome jumping = run(scenario, Twin::kJumping);
  RC_CLASSIFY(jumping.totals.jumped_steps > 0, "jumped");
  RC_CLASSIFY(reference.totals.preemptions > 0, "preempted");
  RC_CLASSIFY(reference.totals.prefix_hits.value() > 0, "prefix hits");
  RC_ASSERT(stepping.totals.jumped_steps == 0);
  expect_equal(reference, stepping);
  expect_equal(reference, jumping);
}

}  // namespace
}  // namespace ridgeline
