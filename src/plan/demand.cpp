#include "plan/demand.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/chain.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "scenario/requests.hpp"
#include "scenario/resolve.hpp"
#include "workload/reuse.hpp"
#include "workload/source.hpp"

namespace ridgeline::plan {
namespace {

/// Cost of a block in a tier: a quarter of a plain request, as measured with prompts of 8,000
/// tokens, and as much again because little is gained by more of them.
constexpr double kCostOfBlock = 0.25;

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

/// What a prefix cache without end would find of each prompt.
class Reuse {
 public:
  explicit Reuse(core::Tokens block) : block_(block.value()), distances_(block) {}

  /// Tokens of the next request's prompt, without the last one, which is always computed.
  std::int64_t found(const domain::Request& request, bool answers_return) {
    const std::int64_t input = request.prompt_tokens.value();
    chain_.assign(request);
    std::int64_t blocks = 0;
    distances_.for_each_repeat(
        chain_, input, [&](std::int64_t /*distance*/, std::int64_t count) { blocks += count; });
    distances_.use(chain_, input + (answers_return ? request.output_tokens.value() : 0));
    return std::clamp<std::int64_t>(blocks * block_, 0, std::max<std::int64_t>(0, input - 1));
  }

 private:
  std::int64_t block_;
  workload::ReuseDistances distances_;
  domain::Chain chain_;
};

/// Sums over the requests of a workload.
class Requests {
 public:
  Requests(Demand& demand, bool is_trace, std::optional<core::Tokens> cached_block)
      : demand_(demand), is_trace_(is_trace) {
    if (cached_block) {
      reuse_.emplace(*cached_block);
    }
  }

  /// Reads all of a trace, else the first ones. False where it never ends.
  bool read(workload::Source& source) {
    waits_ = source.is_closed_loop();
    domain::Request request;
    while (source.next_arrival() && (is_trace_ || seen_ < kSampledRequests)) {
      source.pop_into(request);
      if (waits_) {  // As if answers took no time.
        source.on_completion(request.id, request.arrival);
      }
      add(request, source.prompts_hold_answers());
      if (waits_ && in_no_time_ > kMostInNoTime) {
        return false;
      }
    }
    return true;
  }

  void fill() {
    const auto count = core::real(seen_);
    demand_.mean_input = sum_in_ / count;
    demand_.mean_output = sum_out_ / count;
    demand_.input_scv = scv_of(sum_in_, sum_in2_, count);
    if (!waits_) {  // Else the times are not known.
      demand_.interval_scv = scv_of(seconds(), sum_between2_, std::max(1.0, count - 1.0));
    }
    if (reuse_) {
      demand_.spared = std::llround(sum_found_ / count);
    }
    if (is_trace_) {
      demand_.trace_requests = seen_;
      demand_.trace_seconds = seconds();
      demand_.rate = seconds() > 0.0 ? count / seconds() : 0.0;
      const double starting = last_start_s_ - first_s_;
      if (has_turns_ && starting > 0.0) {
        demand_.session_rate = core::real(sessions_) / starting;
      }
    }
    sort_sample(demand_);
  }

  [[nodiscard]] std::int64_t seen() const { return seen_; }
  [[nodiscard]] double seconds() const { return last_s_ - first_s_; }

 private:
  /// Requests at one time that no workload has which ends.
  static constexpr std::int64_t kMostInNoTime = 1'000'000;

  void add(const domain::Request& request, bool answers_return) {
    const double at = request.arrival.to_seconds();
    first_s_ = seen_ == 0 ? at : first_s_;
    sum_between2_ += seen_ == 0 ? 0.0 : (at - last_s_) * (at - last_s_);
    in_no_time_ = at > last_s_ ? 0 : in_no_time_ + 1;
    last_s_ = at;
    if (request.session.valid() && request.turn == 0) {
      ++sessions_;
      last_start_s_ = at;
    }
    has_turns_ = has_turns_ || request.turn > 0;
    ++seen_;
    const std::int64_t input = request.prompt_tokens.value();
    std::int64_t found = demand_.spared;
    if (reuse_ && (answers_return || !request.prompt.empty())) {
      found = reuse_->found(request, answers_return);
    }
    const auto computed = core::real(input - found);
    sum_found_ += core::real(found);
    sum_in_ += computed;
    sum_in2_ += computed * computed;
    sum_out_ += core::real(request.output_tokens.value());
    if (seen_ <= kSampledRequests) {
      demand_.by_input.push_back({.input = input, .output = request.output_tokens.value()});
    }
  }

  Demand& demand_;
  bool is_trace_;
  bool waits_ = false;  ///< Requests wait for answers.
  std::optional<Reuse> reuse_;
  std::int64_t seen_ = 0;
  std::int64_t sessions_ = 0;
  bool has_turns_ = false;
  std::int64_t in_no_time_ = 0;
  double first_s_ = 0.0;
  double last_s_ = 0.0;
  double last_start_s_ = 0.0;
  double sum_in_ = 0.0;
  double sum_in2_ = 0.0;
  double sum_out_ = 0.0;
  double sum_found_ = 0.0;
  double sum_between2_ = 0.0;
};

/// Fills lengths, how arrivals are spaced and, of a trace, its number and duration.
core::Result<void> read_requests(workload::Source& source,
                                 bool is_trace,
                                 std::optional<core::Tokens> cached_block,
                                 Demand& demand) {
  Requests requests(demand, is_trace, is_trace ? cached_block : std::nullopt);
  const bool ends = requests.read(source);
  if (!source.errors().empty()) {
    return core::fail(source.errors());
  }
  if (!ends) {
    return core::fail(core::Error{
        .field = "workload.trace",
        .message = "has clients that send again at once: how much they ask for depends on how "
                   "long answers take, which no rate says",
        .hint = "--max-concurrency N with --input-len and --output-len"});
  }
  if (requests.seen() == 0) {
    return core::fail(core::Error{.field = "workload",
                                  .message = "has no requests",
                                  .hint = "--request-rate 5 --input-len 1000 --output-len 250"});
  }
  if (is_trace && (requests.seen() < kLeastOfATrace || !(requests.seconds() > 0.0))) {
    return core::fail(core::Error{
        .field = "workload.trace",
        .message = fmt::format("has {} {} within {:.3g} s, expected at least {} over some time: "
                               "fewer have no 99th percentile",
                               requests.seen(),
                               core::plural("request", requests.seen()),
                               requests.seconds(),
                               kLeastOfATrace)});
  }
  requests.fill();
  demand.names_prompts = is_trace && source.names_prompts();
  return {};
}

/// Clients that send again when they have their answer.
bool is_closed(const scenario::WorkloadSection& section) {
  return section.max_concurrency && !section.request_rate && !section.trace;
}

/// All of a trace; of what is made up the first requests.
scenario::Workload sampled(const scenario::Workload& whole) {
  scenario::Workload workload = whole;
  workload.ranks = 1;
  if (workload.section.trace) {
    return workload;
  }
  workload.section.num_prompts = kSampledRequests;
  workload.section.duration.reset();
  if (is_closed(whole.section)) {  // Its lengths are the same with times of their own.
    workload.section.max_concurrency.reset();
    workload.section.think_time.reset();
    workload.section.think_time_distribution.reset();
    workload.section.request_rate = 1.0;
    workload.section.arrivals = "poisson";
    workload.section.burstiness = 1.0;
  }
  return workload;
}

/// What is stated of the load.
void take_load(const scenario::WorkloadSection& section, Demand& demand) {
  if (is_closed(section)) {
    demand.clients = section.max_concurrency;
  } else if (section.request_rate && demand.session_rate) {  // It is that of sessions.
    demand.rate *= *section.request_rate / *demand.session_rate;
    demand.session_rate = section.request_rate;
  } else if (section.request_rate) {
    demand.rate = *section.request_rate;
  }
}

}  // namespace

std::string Demand::text() const {
  if (clients) {
    return fmt::format("{} {}", *clients, core::plural("client", *clients));
  }
  return session_rate ? fmt::format("{:.4g} req/s in {:.4g} sessions/s", rate, *session_rate)
                      : fmt::format("{:.4g} req/s", rate);
}

core::Result<Demand> demand_of(const scenario::Resolved& resolved) {
  const scenario::WorkloadSection& section = resolved.workload.section;
  Demand demand;
  const bool is_trace = section.trace.has_value();
  if (section.max_concurrency && section.request_rate && !is_trace) {
    return core::fail(core::Error{
        .field = "workload.max_concurrency",
        .message = "beside a request rate makes clients wait before they send, which no target of "
                   "a plan sees: expected one of the two"});
  }
  if (is_trace) {
    demand.trace = section.trace->substr(section.trace->rfind('/') + 1);
  }
  auto source = sampled(resolved.workload).open();
  if (!source) {
    return core::fail(std::move(source).error());
  }
  const engine::EngineOptions& options = resolved.deployment->engine;
  const bool caches = options.enable_prefix_caching;
  demand.spared = caches && !is_trace ? section.prefix_len.value_or(0) : 0;
  if (demand.spared > 0) {  // With n prefixes, each as likely, n (ln n + 3) requests miss 1 in 20.
    const auto prefixes = core::real(section.num_prefixes.value_or(1));
    demand.warm_up = std::llround(prefixes * (core::log(prefixes) + 3.0));
  }
  const auto block = caches ? std::optional(options.block_size) : std::nullopt;
  if (auto read = read_requests(**source, is_trace, block, demand); !read) {
    return core::fail(std::move(read).error());
  }
  if (resolved.run.cluster.kv_offload.has_tier()) {
    const double blocks = (demand.mean_input + core::real(demand.spared)) /
                          core::real(std::max<std::int64_t>(1, options.block_size.value()));
    demand.request_cost += kCostOfBlock * blocks;
  }
  take_load(section, demand);
  if (!(demand.load() > 0.0)) {
    return core::fail(
        core::Error{.field = "workload.request_rate",
                    .message = "is missing: a plan needs the load of the whole system",
                    .hint = "--request-rate 5"});
  }
  return demand;
}

}  // namespace ridgeline::plan
