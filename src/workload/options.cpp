#include "workload/options.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/distributions.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/limits.hpp"

namespace ridgeline::workload {
namespace {

/// Looks at options one by one and collects every problem.
class Checker {
 public:
  void problem(std::string_view option, std::string message, std::string hint = {}) {
    errors_.push_back({.code = core::ErrorCode::kUsage,
                       .field = fmt::format("workload.{}", option),
                       .message = std::move(message),
                       .where = {},
                       .hint = std::move(hint)});
  }

  bool within(std::string_view option,
              std::int64_t value,
              std::int64_t lowest,
              std::int64_t highest) {
    if (value >= lowest && value <= highest) {
      return true;
    }
    problem(option, fmt::format("{} is out of range, expected {} to {}", value, lowest, highest));
    return false;
  }

  bool within(std::string_view option, double value, double lowest, double highest) {
    if (value >= lowest && value <= highest) {
      return true;
    }
    problem(option,
            fmt::format("{} is out of range, expected {} to {}",
                        core::shortest(value),
                        core::shortest(lowest),
                        core::shortest(highest)));
    return false;
  }

  bool within(std::string_view option, core::Duration value, core::Duration lowest) {
    if (value >= lowest && value <= kLatestArrival) {
      return true;
    }
    problem(option,
            fmt::format("{} s is out of range, expected {} to {} s",
                        core::shortest(value.to_seconds()),
                        core::shortest(lowest.to_seconds()),
                        core::shortest(kLatestArrival.to_seconds())));
    return false;
  }

  bool tokens(std::string_view option, core::Tokens value) {
    return within(option, value.value(), std::int64_t{1}, kMaxTokensPerRequest);
  }

  core::Errors take() { return std::move(errors_); }

 private:
  core::Errors errors_;
};

bool check_rate(Checker& check, core::Rate rate) {
  return check.within("request_rate", rate.value(), kLowestRequestRate, kHighestRequestRate);
}

/// Whether a stream of this rate ends within the range of simulated time and of request ids.
void check_end(Checker& check, core::Rate rate, const SyntheticOptions& options) {
  const double latest = kLatestArrival.to_seconds();
  if (options.num_prompts && !options.duration) {
    const double seconds = static_cast<double>(*options.num_prompts) / rate.value();
    if (seconds > latest) {
      check.problem("num_prompts",
                    fmt::format("{} requests at {} per second take {} s, expected at most {} s",
                                *options.num_prompts,
                                core::shortest(rate.value()),
                                core::shortest(seconds),
                                core::shortest(latest)));
    }
  } else if (options.duration && !options.num_prompts) {
    const double requests = options.duration->to_seconds() * rate.value();
    if (requests > static_cast<double>(kMaxRequests)) {
      check.problem("duration",
                    fmt::format("{} s at {} per second are {} requests, expected at most {}",
                                core::shortest(options.duration->to_seconds()),
                                core::shortest(rate.value()),
                                core::shortest(requests),
                                kMaxRequests));
    }
  }
}

void check_arrivals(Checker& check,
                    const PoissonArrivals& arrivals,
                    const SyntheticOptions& options) {
  if (check_rate(check, arrivals.request_rate)) {
    check_end(check, arrivals.request_rate, options);
  }
}

void check_arrivals(Checker& check,
                    const ConstantArrivals& arrivals,
                    const SyntheticOptions& options) {
  if (check_rate(check, arrivals.request_rate)) {
    check_end(check, arrivals.request_rate, options);
  }
}

void check_arrivals(Checker& check,
                    const GammaArrivals& arrivals,
                    const SyntheticOptions& options) {
  if (check_rate(check, arrivals.request_rate)) {
    check_end(check, arrivals.request_rate, options);
  }
  check.within("burstiness", arrivals.burstiness, kLowestBurstiness, kHighestBurstiness);
}

void check_arrivals(Checker& check, const AllAtOnce& arrivals, const SyntheticOptions& options) {
  static_cast<void>(arrivals);
  if (!options.num_prompts && options.duration) {
    check.problem("num_prompts", "not given, expected a number of requests to send all at once");
  }
}

void check_arrivals(Checker& check, const ClosedLoop& arrivals, const SyntheticOptions& options) {
  static_cast<void>(options);
  check.within("max_concurrency", arrivals.max_concurrency, std::int64_t{1}, kMaxConcurrency);
  check.within("think_time", arrivals.think.mean, core::Duration());
}

void check_bounds(Checker& check,
                  std::string_view option,
                  core::Tokens lowest,
                  core::Tokens highest) {
  const bool sound = check.tokens(fmt::format("{}.min", option), lowest) &&
                     check.tokens(fmt::format("{}.max", option), highest);
  if (sound && lowest > highest) {
    check.problem(
        fmt::format("{}.min", option),
        fmt::format("{} is above max, expected at most {}", lowest.value(), highest.value()));
  }
}

void check_moments(Checker& check, std::string_view option, double mean, double std_dev) {
  constexpr auto kHighest = static_cast<double>(kMaxTokensPerRequest);
  check.within(fmt::format("{}.mean", option), mean, 1.0, kHighest);
  check.within(fmt::format("{}.std", option), std_dev, 0.0, kHighest);
}

void check_length(Checker& check, std::string_view option, const FixedLength& length) {
  check.tokens(option, length.value);
}

void check_length(Checker& check, std::string_view option, const UniformLength& length) {
  check_bounds(check, option, length.lowest, length.highest);
}

void check_length(Checker& check, std::string_view option, const NormalLength& length) {
  check_moments(check, option, length.mean, length.std);
  check_bounds(check, option, length.lowest, length.highest);
}

void check_length(Checker& check, std::string_view option, const LognormalLength& length) {
  check_moments(check, option, length.mean, length.std);
  check_bounds(check, option, length.lowest, length.highest);
}

void check_length(Checker& check, std::string_view option, const EmpiricalLength& length) {
  std::vector<double> weights;
  for (std::size_t i = 0; i < length.bins.size(); ++i) {
    check.tokens(fmt::format("{}.bins[{}]", option, i), length.bins[i].value);
    weights.push_back(length.bins[i].weight);
  }
  if (const auto table = core::AliasTable::make(weights); !table) {
    for (const core::Error& error : table.error()) {
      check.problem(fmt::format("{}.bins", option), error.message);
    }
  }
}

void check_prefix(Checker& check, const SharedPrefix& prefix) {
  check.tokens("prefix_len", prefix.prefix_len);
  check.within("num_prefixes", prefix.num_prefixes, std::int64_t{1}, kMaxPrefixes);
  check.within("zipf_exponent", prefix.zipf_exponent, 0.0, kHighestZipfExponent);
}

}  // namespace

core::Errors check_options(const SyntheticOptions& options) {
  Checker check;
  if (!options.num_prompts && !options.duration) {
    check.problem("num_prompts", "neither num_prompts nor duration is given, expected an end");
  }
  if (options.num_prompts) {
    check.within("num_prompts", *options.num_prompts, std::int64_t{1}, kMaxRequests);
  }
  if (options.duration) {
    check.within("duration", *options.duration, core::Duration::ticks(1));
  }
  std::visit([&](const auto& kind) { check_arrivals(check, kind, options); }, options.arrivals);
  if (options.max_concurrency) {
    check.within("max_concurrency", *options.max_concurrency, std::int64_t{1}, kMaxConcurrency);
  }
  std::visit([&](const auto& kind) { check_length(check, "input_len", kind); }, options.input_len);
  std::visit([&](const auto& kind) { check_length(check, "output_len", kind); },
             options.output_len);
  if (options.prefix) {
    check_prefix(check, *options.prefix);
  }
  return check.take();
}

}  // namespace ridgeline::workload
