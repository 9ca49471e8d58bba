#include "plan/demand.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "scenario/requests.hpp"
#include "scenario/resolve.hpp"
#include "workload/source.hpp"

namespace ridgeline::plan {
namespace {

void sort_sample(Demand& demand) {
  demand.by_output = demand.by_input;
  std::ranges::sort(demand.by_output, {}, &SampledRequest::output);
  std::ranges::sort(demand.by_input, {}, &SampledRequest::input);
  demand.by_context = demand.by_input;
  std::ranges::stable_partition(demand.by_context,
                                [](const SampledRequest& one) { return one.output < 2; });
}

/// Squared coefficient of variation of so many values.
double scv_of(double sum, double sum_of_squares, double count) {
  const double mean = sum / count;
  return mean > 0.0 ? sum_of_squares / count / (mean * mean) - 1.0 : 0.0;
}

/// Fills lengths, how arrivals are spaced and, of a trace, its number and duration.
core::Result<void> read_requests(workload::Source& source, bool is_trace, Demand& demand) {
  domain::Request request;
  std::int64_t seen = 0;
  double first_s = 0.0;
  double last_s = 0.0;
  double sum_in = 0.0;
  double sum_in2 = 0.0;
  double sum_out = 0.0;
  double sum_between2 = 0.0;
  while (source.next_arrival() && (is_trace || seen < kSampledRequests)) {
    source.pop_into(request);
    const double at = request.arrival.to_seconds();
    first_s = seen == 0 ? at : first_s;
    sum_between2 += seen == 0 ? 0.0 : (at - last_s) * (at - last_s);
    last_s = at;
    ++seen;
    const std::int64_t input = request.prompt_tokens.value();
    const auto computed = core::real(input - demand.spared);
    sum_in += computed;
    sum_in2 += computed * computed;
    sum_out += core::real(request.output_tokens.value());
    if (seen <= kSampledRequests) {
      demand.by_input.push_back({.input = input, .output = request.output_tokens.value()});
    }
  }
  if (!source.errors().empty()) {
    return core::fail(source.errors());
  }
  if (seen == 0) {
    return core::fail(core::Error{.field = "workload",
                                  .message = "has no requests",
                                  .hint = "--request-rate 5 --input-len 1000 --output-len 250"});
  }
  const auto count = core::real(seen);
  demand.mean_input = sum_in / count;
  demand.mean_output = sum_out / count;
  demand.input_scv = scv_of(sum_in, sum_in2, count);
  demand.interval_scv = scv_of(last_s - first_s, sum_between2, std::max(1.0, count - 1.0));
  demand.names_prompts = is_trace && source.names_prompts();
  if (is_trace && (seen < kLeastOfATrace || !(last_s > first_s))) {
    return core::fail(core::Error{
        .field = "workload.trace",
        .message = fmt::format("has {} {} within {:.3g} s, expected at least {} over some time: "
                               "fewer have no 99th percentile",
                               seen,
                               core::plural("request", seen),
                               last_s - first_s,
                               kLeastOfATrace)});
  }
  if (is_trace) {
    demand.trace_requests = seen;
    demand.trace_seconds = last_s - first_s;
    demand.rate = demand.trace_seconds > 0.0 ? count / demand.trace_seconds : 0.0;
  }
  sort_sample(demand);
  return {};
}

}  // namespace

core::Result<Demand> demand_of(const scenario::Resolved& resolved) {
  const scenario::WorkloadSection& section = resolved.workload.section;
  Demand demand;
  const bool is_trace = section.trace.has_value();
  const bool is_closed = section.max_concurrency && !section.request_rate && !is_trace;
  if (section.max_concurrency && section.request_rate && !is_trace) {
    return core::fail(core::Error{
        .field = "workload.max_concurrency",
        .message = "beside a request rate makes clients wait before they send, which no target of "
                   "a plan sees: expected one of the two"});
  }
  if (is_trace) {
    demand.trace = section.trace->substr(section.trace->rfind('/') + 1);
  }
  scenario::Workload workload = resolved.workload;
  workload.ranks = 1;
  if (!is_trace) {
    workload.section.num_prompts = kSampledRequests;
    workload.section.duration.reset();
    if (is_closed) {  // Its lengths are the same with times of their own.
      workload.section.max_concurrency.reset();
      workload.section.think_time.reset();
      workload.section.think_time_distribution.reset();
      workload.section.request_rate = 1.0;
      workload.section.arrivals = "poisson";
      workload.section.burstiness = 1.0;
    }
  }
  const bool caches = resolved.deployment->engine.enable_prefix_caching;
  demand.spared = caches && !is_trace ? section.prefix_len.value_or(0) : 0;
  auto source = workload.open();
  if (!source) {
    return core::fail(std::move(source).error());
  }
  if (auto read = read_requests(**source, is_trace, demand); !read) {
    return core::fail(std::move(read).error());
  }
  if (is_closed) {
    demand.clients = section.max_concurrency;
  } else if (section.request_rate) {
    demand.rate = *section.request_rate;
  }
  if (!(demand.load() > 0.0)) {
    return core::fail(
        core::Error{.field = "workload.request_rate",
                    .message = "is missing: a plan needs the load of the whole system",
                    .hint = "--request-rate 5"});
  }
  return demand;
}

}  // namespace ridgeline::plan
