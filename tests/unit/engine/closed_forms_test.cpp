// The engine against results that can be written down: an unloaded server, a queue with one seat,
// the area under the batch-size curve, and the throughput of a full batch.
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"

namespace ridgeline {
namespace {

using test::Twin;

/// Step time: 1000 us + 10 us a token (LinearModel's defaults).
const test::LinearModel kModel;
const engine::HostTime kNoHostTime{.per_step = {}, .per_sequence = {}};

engine::EngineOptions options_with(std::int64_t seats, bool async) {
  engine::EngineOptions options;
  options.max_num_seqs = seats;
  options.max_num_batched_tokens = core::Tokens(8192);
  options.max_model_len = core::Tokens(4096);
  options.num_gpu_blocks = core::Blocks(100'000);
  options.async_scheduling = async;
  options.log_steps = true;
  return options;
}

domain::Request request(std::uint32_t id,
                        core::SimTime arrival,
                        std::int64_t input,
                        std::int64_t output) {
  domain::Request request;
  request.id = core::RequestId(id);
  request.arrival = arrival;
  request.prompt_tokens = core::Tokens(input);
  request.output_tokens = core::Tokens(output);
  request.max_tokens = request.output_tokens;
  return request;
}

class ClosedForms : public testing::TestWithParam<Twin> {};

TEST_P(ClosedForms, UnloadedLatencyIsTheModelsOwnSum) {
  for (const bool async : {false, true}) {
    const auto run =
        test::run_engine(options_with(16, async),
                         kModel,
                         kNoHostTime,
                         {request(0, core::SimTime::at(core::Duration::seconds(3)), 100, 10)},
                         GetParam());
    const auto& record = run.sink.requests.at(0);
    // 1000 + 100 * 10 = 2000 us to the first token, 1000 + 10 = 1010 us for each of nine more.
    EXPECT_EQ(record.first_token - record.queued, core::Duration::microseconds(2000));
    EXPECT_EQ(record.last_token - record.first_token, core::Duration::microseconds(9 * 1010));
  }
}

TEST_P(ClosedForms, HostTimeIsAddedWhenSynchronousAndHiddenWhenNot) {
  const engine::HostTime host{.per_step = core::Duration::microseconds(400),
                              .per_sequence = core::Duration::microseconds(15)};
  const std::vector<domain::Request> one = {request(0, core::SimTime(), 100, 2)};
  const auto sync = test::run_engine(options_with(16, false), kModel, host, one, GetParam());
  EXPECT_EQ(sync.sink.requests.at(0).first_token.since_start(),
            core::Duration::microseconds(2000 + 415));
  const auto async = test::run_engine(options_with(16, true), kModel, host, one, GetParam());
  EXPECT_EQ(async.sink.requests.at(0).first_token.since_start(),
            core::Duration::microseconds(2000));
  const engine::HostTime slow{.per_step = core::Duration::microseconds(1500), .per_sequence = {}};
  const auto bound = test::run_engine(options_with(16, true), kModel, slow, one, GetParam());
  // The decode step's 1010 us hide behind 1500 us of host work; the prefill's 2000 us hide the
  // host's.
  EXPECT_EQ(bound.sink.requests.at(0).last_token.since_start(),
            core::Duration::microseconds(2000 + 1500));
}

/// As early asynchronous engines: the next step is formed ahead, and waits for the host.
TEST_P(ClosedForms, HostTimeIsAddedWhereAnAsynchronousEngineWaitsForIt) {
  const engine::HostTime host{.per_step = core::Duration::microseconds(400),
                              .per_sequence = core::Duration::microseconds(15)};
  engine::EngineOptions options = options_with(16, true);
  options.waits_for_host = true;
  const auto run =
      test::run_engine(options, kModel, host, {request(0, core::SimTime(), 100, 10)}, GetParam());
  const auto& record = run.sink.requests.at(0);
  // Each token takes 1000 + 10 us of the model and 400 + 15 of the host.
  EXPECT_EQ(record.last_token - record.first_token, core::Duration::microseconds(9 * 1425));
}

/// Three decodes of 1030 us each, at 500 us apiece for the front end.
TEST_P(ClosedForms, NoStepIsShorterThanItsStreaming) {
  const std::vector<domain::Request> three = {request(0, core::SimTime(), 100, 40),
                                              request(1, core::SimTime(), 100, 40),
                                              request(2, core::SimTime(), 100, 40)};
  const auto last_token = [&](const engine::HostTime& host, bool async) {
    const auto run = test::run_engine(options_with(16, async), kModel, host, three, GetParam());
    return run.sink.requests.at(0).last_token.since_start();
  };
  engine::HostTime host{.per_step = core::Duration::microseconds(400), .per_sequence = {}};
  host.per_answer = core::Duration::microseconds(500);
  // The step of prompts: 1000 + 300 * 10 us, longer than 1500 us.
  EXPECT_EQ(last_token(host, true), core::Duration::microseconds(4000 + 39 * 1500));
  // Beside the GPU's and the host's together.
  EXPECT_EQ(last_token(host, false), core::Duration::microseconds(4400 + 39 * 1500));
  host.per_answer = core::Duration::microseconds(470);
  EXPECT_EQ(last_token(host, false), core::Duration::microseconds(4400 + 39 * 1430));
}

/// One seat and one token each: an M/D/1 queue with service D = 1000 + 100 * 10 us. Its mean wait
/// is rho * D / (2 (1 - rho)) (Pollaczek and Khinchine).
TEST_P(ClosedForms, OneSeatIsAnMD1Queue) {
  constexpr double kService = 2000e-6;
  constexpr double kLoad = 0.7;
  constexpr int kRequests = 200'000;
  constexpr int kBatches = 50;
  std::mt19937_64 engine(7);
  std::vector<domain::Request> requests;
  double at = 0.0;
  for (std::uint32_t i = 0; i < kRequests; ++i) {
    const double uniform = (static_cast<double>(engine() >> 11) + 0.5) * 0x1p-53;
    at -= std::log(uniform) * kService / kLoad;
    requests.push_back(request(i, core::SimTime::at(*core::Duration::from_seconds(at)), 100, 1));
  }
  auto options = options_with(1, false);
  options.log_steps = false;
  options.enable_prefix_caching = false;
  const auto run = test::run_engine(options, kModel, kNoHostTime, requests, GetParam());

  // Batch means: nearly independent, so their spread gives the interval.
  std::vector<double> means(kBatches);
  for (std::size_t i = 0; i < run.sink.requests.size(); ++i) {
    const auto& record = run.sink.requests[i];
    means[i * kBatches / kRequests] +=
        (record.first_scheduled - record.queued).to_seconds() * kBatches / kRequests;
  }
  double mean = 0.0;
  for (const double batch : means) {
    mean += batch / kBatches;
  }
  double variance = 0.0;
  for (const double batch : means) {
    variance += (batch - mean) * (batch - mean) / (kBatches - 1);
  }
  const double half_width = 3.3 * std::sqrt(variance / kBatches);  // 99.9 %
  const double expected = kLoad * kService / (2 * (1 - kLoad));
  EXPECT_NEAR(mean, expected, half_width);
  EXPECT_LT(half_width, 0.1 * expected);
}

/// Little's law over a finite span, where it is exact: the area under the number of decoding
/// requests (from the steps) is the sum of their decode times (from the requests).
TEST_P(ClosedForms, LittlesLaw) {
  std::vector<domain::Request> requests;
  std::mt19937_64 engine(11);
  core::SimTime at;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    at += core::Duration::microseconds(static_cast<std::int64_t>(engine() % 6000));
    requests.push_back(request(i, at, 50 + static_cast<std::int64_t>(engine() % 100), 20));
  }
  const auto run =
      test::run_engine(options_with(256, false), kModel, kNoHostTime, requests, GetParam());
  double area = 0.0;
  for (const auto& step : run.sink.steps) {
    area += static_cast<double>(step.num_decodes) * step.period.to_seconds();
  }
  double decode_time = 0.0;
  for (const auto& record : run.sink.requests) {
    decode_time += (record.last_token - record.first_token).to_seconds();
  }
  EXPECT_NEAR(area, decode_time, 1e-9 * area);
}

/// A full batch of 64 seats, 100 tokens in and 50 out: a request holds its seat for 50 steps, so N
/// requests take N * 50 / 64 steps of 1000 us, and 10 us for each of their 149 tokens.
TEST_P(ClosedForms, ThroughputPlateauIsTheCapacity) {
  constexpr std::int64_t kRequests = 6400;
  std::vector<domain::Request> requests;
  for (std::uint32_t i = 0; i < kRequests; ++i) {
    requests.push_back(request(i, core::SimTime(), 100, 50));
  }
  auto options = options_with(64, false);
  options.max_num_batched_tokens = core::Tokens(64 * 100);
  const auto run = test::run_engine(options, kModel, kNoHostTime, requests, GetParam());
  const double expected = kRequests * 50.0 / 64.0 * 1000e-6 + kRequests * 149.0 * 10e-6;
  EXPECT_NEAR(run.end.to_seconds(), expected, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Twins,
                         ClosedForms,
                         testing::Values(Twin::kReference, Twin::kStepping, Twin::kJumping));

}  // namespace
}  // namespace ridgeline
