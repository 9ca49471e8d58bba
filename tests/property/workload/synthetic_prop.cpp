#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "workload/limits.hpp"
#include "workload/options.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {
namespace {

double real(double low, double high) {
  constexpr int kSteps = 1'000'000;
  return low + (high - low) * static_cast<double>(*rc::gen::inRange(0, kSteps + 1)) / kSteps;
}

core::Tokens tokens() {
  return core::Tokens(*rc::gen::inRange<std::int64_t>(1, 100'000));
}

Length any_length() {
  const core::Tokens low = tokens();
  const core::Tokens high = low + tokens();
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      return FixedLength{low};
    case 1:
      return UniformLength{low, high};
    case 2:
      return NormalLength{real(1.0, 1e5), real(0.0, 1e5), low, high};
    case 3:
      return LognormalLength{real(1.0, 1e5), real(0.0, 1e5), low, high};
    default:
      return EmpiricalLength{{{low, real(0.0, 1.0)}, {high, real(0.1, 1.0)}}};
  }
}

/// The shortest and longest length that a distribution may give.
std::pair<core::Tokens, core::Tokens> limits(const Length& length) {
  if (const auto* fixed = std::get_if<FixedLength>(&length)) {
    return {fixed->value, fixed->value};
  }
  if (const auto* uniform = std::get_if<UniformLength>(&length)) {
    return {uniform->lowest, uniform->highest};
  }
  if (const auto* normal = std::get_if<NormalLength>(&length)) {
    return {normal->lowest, normal->highest};
  }
  if (const auto* lognormal = std::get_if<LognormalLength>(&length)) {
    return {lognormal->lowest, lognormal->highest};
  }
  const auto& bins = std::get<EmpiricalLength>(length).bins;
  return {bins.front().value, bins.back().value};
}

Arrivals any_open_loop() {
  const core::Rate rate(real(0.01, 1e4));
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return PoissonArrivals{rate};
    case 1:
      return ConstantArrivals{rate};
    case 2:
      return GammaArrivals{rate, real(0.05, 10.0)};
    default:
      return AllAtOnce{};
  }
}

SyntheticOptions any_options() {
  SyntheticOptions options;
  options.arrivals = any_open_loop();
  options.input_len = any_length();
  options.output_len = any_length();
  if (*rc::gen::arbitrary<bool>()) {
    options.prefix = SharedPrefix{
        tokens(),
        *rc::gen::inRange<std::int64_t>(1, 100),
        *rc::gen::arbitrary<bool>() ? SharedPrefix::Choice::kUniform : SharedPrefix::Choice::kZipf,
        real(0.0, 3.0)};
  }
  options.num_prompts = *rc::gen::inRange<std::int64_t>(1, 300);
  options.seed = *rc::gen::arbitrary<std::uint64_t>();
  return options;
}

void check_request(const domain::Request& request, const SyntheticOptions& options) {
  const auto [shortest_input, longest_input] = limits(options.input_len);
  const auto [shortest_output, longest_output] = limits(options.output_len);
  core::Tokens own_input = request.prompt_tokens;
  RC_ASSERT(request.prompt.size() == (options.prefix ? 1U : 0U));
  for (const domain::Segment& segment : request.prompt) {
    RC_ASSERT(segment.length == options.prefix->prefix_len);
    RC_ASSERT(segment.content >= 1U);
    RC_ASSERT(segment.content <= static_cast<std::uint64_t>(options.prefix->num_prefixes));
    own_input -= segment.length;
  }
  RC_ASSERT(own_input >= shortest_input);
  RC_ASSERT(own_input <= longest_input);
  RC_ASSERT(request.output_tokens >= shortest_output);
  RC_ASSERT(request.output_tokens <= longest_output);
  RC_ASSERT(request.max_tokens == request.output_tokens);
}

RC_GTEST_PROP(Synthetic, OpenLoopsKeepOrderAndLimits, ()) {
  const SyntheticOptions options = any_options();
  auto source = make_synthetic(options);
  auto twin = make_synthetic(options);
  RC_ASSERT(source.has_value());
  core::SimTime last;
  std::int64_t count = 0;
  while ((*source)->next_arrival()) {
    const domain::Request request = (*source)->pop();
    const domain::Request same = (*twin)->pop();
    RC_ASSERT(request.id.value() == count);
    RC_ASSERT(request.arrival >= last);
    RC_ASSERT(request.arrival == same.arrival);
    RC_ASSERT(request.prompt_tokens == same.prompt_tokens);
    RC_ASSERT(request.output_tokens == same.output_tokens);
    RC_ASSERT(request.prompt == same.prompt);
    check_request(request, options);
    last = request.arrival;
    ++count;
  }
  RC_ASSERT(count == *options.num_prompts);
  RC_ASSERT((*source)->errors().empty());
}

RC_GTEST_PROP(Synthetic, ClosedLoopsNeverExceedTheirUsers, ()) {
  SyntheticOptions options = any_options();
  const auto users = *rc::gen::inRange<std::int64_t>(1, 20);
  const auto kind =
      *rc::gen::arbitrary<bool>() ? ThinkTime::Kind::kConstant : ThinkTime::Kind::kExponential;
  options.arrivals = ClosedLoop{users, {kind, core::Duration::ticks(*rc::gen::inRange(0, 50))}};
  auto source = make_synthetic(options);
  RC_ASSERT(source.has_value());
  std::vector<core::RequestId> in_flight;
  core::SimTime now;
  std::int64_t popped = 0;
  for (;;) {
    const auto arrival = (*source)->next_arrival();
    const bool send = arrival && (in_flight.empty() || *rc::gen::arbitrary<bool>());
    if (send) {
      const domain::Request request = (*source)->pop();
      RC_ASSERT(request.id.value() == popped);
      ++popped;
      check_request(request, options);
      in_flight.push_back(request.id);
      RC_ASSERT(static_cast<std::int64_t>(in_flight.size()) <= users);
      now = std::max(now, request.arrival);
      continue;
    }
    if (in_flight.empty()) {
      break;
    }
    const auto chosen = *rc::gen::inRange<std::size_t>(0, in_flight.size());
    now += core::Duration::ticks(*rc::gen::inRange(0, 100));
    (*source)->on_completion(in_flight[chosen], now);
    in_flight.erase(in_flight.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  RC_ASSERT(popped == *options.num_prompts);
}

}  // namespace
}  // namespace ridgeline::workload
