#include "evidence/validate/bench_checks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "evidence/validate/client_load.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// Numbers of one file that differ by more contradict each other: some are rounded to two decimals.
constexpr double kAgreement = 0.01;

/// Compares a number of a file with what the rest of it gives.
class BenchCheck {
 public:
  BenchCheck(const document::Node& node, Evidence& evidence) : node_(node), evidence_(evidence) {}

  [[nodiscard]] std::optional<double> number(std::string_view key) const {
    return number_at(node_, key);
  }

  /// Whether they agree within this share of what is expected; absent numbers do.
  bool expect(std::string_view key,
              std::optional<double> expected,
              std::string_view source,
              double tolerance = kAgreement) {
    const auto found = number(key);
    if (!found || !expected || !std::isfinite(*expected) ||
        std::abs(*found - *expected) <= tolerance * std::abs(*expected)) {
      return true;
    }
    evidence_.doubts.push_back(
        fmt::format("{} is {:.6g}, expected {:.6g}, as {} say", key, *found, *expected, source));
    return false;
  }

 private:
  const document::Node& node_;
  Evidence& evidence_;
};

std::optional<double> ratio(std::optional<double> a, std::optional<double> b) {
  return a && b && *b > 0.0 ? std::optional(*a / *b) : std::nullopt;
}

/// Items of `errors` that hold a text: requests that failed.
std::size_t failures_in(const document::Node& node) {
  const auto errors = items_at(node, "errors");
  return static_cast<std::size_t>(std::ranges::count_if(errors, [](const document::Node& item) {
    return item.is_string() && !item.as_string().empty();
  }));
}

/// Where a file has other statistics of a metric and lacks its mean.
void check_means(const document::Node& node, Evidence& evidence) {
  for (const std::string_view metric : {"ttft", "tpot", "itl", "e2el"}) {
    const auto has = [&](std::string_view prefix) {
      return node.find(fmt::format("{}_{}_ms", prefix, metric)) != nullptr;
    };
    if (!has("mean") && (has("median") || has("std") || has("p99"))) {
      evidence.doubts.push_back(
          fmt::format("mean_{}_ms is missing, expected beside the other statistics of {}: the mean "
                      "is not compared",
                      metric,
                      metric));
    }
  }
}

/// The rate at which the requests were sent, beside what chance leaves of a stated one.
void check_rate(const document::Node& node,
                const std::vector<ClientRequest>& requests,
                Evidence& evidence) {
  constexpr double kLeast = 0.1;
  constexpr double kDeviations = 4.0;  // of N random gaps, 1 / sqrt(N) each
  const bool varies = member_at(node, "ramp_up_strategy") != nullptr ||
                      number_at(node, "max_concurrency").has_value();
  const auto rate = number_at(node, "request_rate");
  if (varies || !rate || !(*rate > 0.0) || requests.size() < 2) {
    return;
  }
  const auto [first, last] = std::ranges::minmax(requests, {}, &ClientRequest::start_s);
  const double span = last.start_s - first.start_s;
  const auto gaps = static_cast<double>(requests.size() - 1);
  const double burstiness = std::max(number_at(node, "burstiness").value_or(1.0), 1e-3);
  const double tolerance = kLeast + kDeviations / std::sqrt(gaps * burstiness);
  if (span > 0.0) {
    static_cast<void>(
        BenchCheck(node, evidence).expect("request_rate", gaps / span, "start_times", tolerance));
  }
}

}  // namespace

void check_bench_totals(const document::Node& node, Evidence& evidence) {
  BenchCheck check(node, evidence);
  const auto duration = check.number("duration");
  const auto completed = check.number("completed");
  check.expect("request_throughput", ratio(completed, duration), "completed and duration");
  check.expect("output_throughput",
               ratio(check.number("total_output_tokens"), duration),
               "total_output_tokens and duration");
  const auto failed = check.number("failed");
  if (const auto sent = check.number("num_prompts"); sent && completed && failed) {
    check.expect("num_prompts", *completed + *failed, "completed and failed", 0.0);
  }
  if (!items_at(node, "errors").empty()) {
    check.expect("failed", static_cast<double>(failures_in(node)), "errors", 0.0);
  }
  check_means(node, evidence);
}

void check_bench_rows(const document::Node& node,
                      const std::vector<ClientRequest>& requests,
                      bool timed,
                      Evidence& evidence) {
  if (requests.empty()) {
    return;
  }
  BenchCheck check(node, evidence);
  const bool whole = evidence.left_out.empty();  // A request left out is still in the totals.
  if (whole) {
    double input = 0.0;
    double output = 0.0;
    for (const auto& request : requests) {
      input += request.input_tokens;
      output += request.output_tokens;
    }
    check.expect("completed", static_cast<double>(requests.size()), "output_lens", 0.0);
    check.expect("total_input_tokens", input, "input_lens");
    check.expect("total_output_tokens", output, "output_lens");
  }
  if (timed) {
    check_rate(node, requests, evidence);
  }
  const Figures own = figures_of_requests(requests);
  static constexpr auto kKeys = std::to_array<std::string_view>(
      {"mean_ttft_ms", "median_ttft_ms", "p90_ttft_ms", "p99_ttft_ms"});
  bool agrees = true;
  for (std::size_t level = 0; whole && level < kNumLevels; ++level) {
    const auto mean = own.at(Figure::kTtft, static_cast<Level>(level));
    agrees = check.expect(kKeys[level], mean, "ttfts") && agrees;
  }
  if (!agrees) {
    for (std::size_t level = 0; level < kNumLevels; ++level) {
      const auto at = static_cast<Level>(level);
      evidence.measured.at(Figure::kTtft, at) = own.at(Figure::kTtft, at);
    }
    evidence.doubts.emplace_back("TTFT is compared as ttfts give it");
  }
}

}  // namespace ridgeline::evidence::validate
