#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rapidcheck.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"

namespace ridgeline::test {

/// A small workload on a small engine, in corners that a real one seldom sees: few blocks, few
/// seats, budgets of a token, every engine profile.
struct Scenario {
  engine::EngineOptions options;
  engine::HostTime host;
  LinearModel::Costs costs;
  std::vector<domain::Request> requests;
};

inline engine::EngineOptions random_options() {
  using rc::gen::arbitrary;
  using rc::gen::element;
  using rc::gen::inRange;
  engine::EngineOptions options;
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
  options.profile = profiles[*inRange<std::size_t>(0, profiles.size())];
  options.profile.watermark = *element(0.0, 0.0, 0.1);
  const std::int64_t longest = core::ceil_div(options.max_model_len, options.block_size);
  options.num_gpu_blocks = core::Blocks(1 + longest + *inRange<std::int64_t>(0, 2 * longest));
  options.log_steps = true;
  return options;
}

/// One of a few documents, or what an earlier request was asked or answered (as in a dialogue),
/// whether that has ended by then or not.
inline std::uint64_t random_content(std::uint32_t requests_so_far) {
  const auto kind = *rc::gen::element(0, 0, 0, 0, 1, 2);
  if (kind == 0 || requests_so_far < 2) {
    return *rc::gen::inRange<std::uint64_t>(1, 4);
  }
  const core::RequestId earlier(*rc::gen::inRange<std::uint32_t>(0, requests_so_far - 1));
  return kind == 1 ? domain::output_content(earlier) : domain::unique_content(earlier);
}

inline std::vector<domain::Request> random_requests() {
  using rc::gen::arbitrary;
  using rc::gen::element;
  using rc::gen::inRange;
  std::vector<domain::Request> requests(*inRange<std::size_t>(1, 20));
  const auto spread = *element<std::int64_t>(0, 2000, 20000, 400000);
  const bool shares = *arbitrary<bool>();
  core::SimTime arrival;
  std::uint32_t id = 0;
  for (domain::Request& request : requests) {
    request.id = core::RequestId(id++);
    arrival += core::Duration::microseconds(*inRange<std::int64_t>(0, spread + 1));
    request.arrival = arrival;
    request.prompt_tokens = core::Tokens(*inRange<std::int64_t>(1, 100));
    request.output_tokens = core::Tokens(*inRange<std::int64_t>(1, 90));
    request.max_tokens = request.output_tokens + core::Tokens(*element<std::int64_t>(0, 0, 0, 3));
    std::int64_t left = request.prompt_tokens.value();
    while (shares && left > 0 && *element(0, 1, 1) == 1) {
      const std::int64_t length = std::min(left, *element<std::int64_t>(3, 16, 32, 48));
      request.prompt.push_back({random_content(id), core::Tokens(length)});
      left -= length;
    }
  }
  return requests;
}

inline Scenario random_scenario() {
  using rc::gen::element;
  Scenario scenario;
  scenario.options = random_options();
  scenario.host.per_step = core::Duration::microseconds(*element<std::int64_t>(0, 50, 3000));
  scenario.host.per_sequence = core::Duration::microseconds(*element<std::int64_t>(0, 15));
  scenario.costs.per_context = core::Duration::microseconds(*element<std::int64_t>(0, 1, 7));
  scenario.costs.bin = *element<std::int64_t>(0, 0, 64);
  scenario.costs.affine = *element(true, true, true, false);
  scenario.requests = random_requests();
  return scenario;
}

inline EngineRun run_scenario(const Scenario& scenario, Twin twin) {
  return run_engine(
      scenario.options, LinearModel(scenario.costs), scenario.host, scenario.requests, twin);
}

}  // namespace ridgeline::test
