#include "lab/scoring/first_use_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/result.hpp"
#include "evidence/calibrate/observations.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/prediction.hpp"
#include "evidence/validate/scores.hpp"
#include "lab/scoring/evidence_words.hpp"
#include "lab/scoring/traits.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scoring {
namespace {

using evidence::calibrate::Observations;

/// What stalls show in; the time per token is what the first two leave.
constexpr std::array<Figure, 2> kFitted = {Figure::kE2e, Figure::kTtft};
constexpr std::array<Figure, 3> kShown = {Figure::kE2e, Figure::kTtft, Figure::kTpot};

/// Values that are tried: Triton compiles a kernel in a tenth of a second to some seconds. Errors
/// of measured runs tell the time to about a fifth.
constexpr double kLeastStall = 0.125;
constexpr int kStalls = 21;
constexpr double kStallsADoubling = 4.0;
constexpr auto kRanges = std::to_array<std::int64_t>({4, 8, 16, 32, 64});

struct Candidate {
  double stall_s = 0.0;
  std::int64_t ranges = 1;

  [[nodiscard]] std::vector<scenario::Override> settings() const {
    return {{.path = "serving.first_use_stalls", .text = "true"},
            {.path = "serving.first_use_time", .text = fmt::format("{:.3f}s", stall_s)},
            {.path = "serving.first_use_ranges", .text = fmt::format("{}", ranges)}};
  }
  [[nodiscard]] std::string text() const {
    return stall_s > 0.0
               ? fmt::format("first_use_time={:.3f}s, first_use_ranges={}", stall_s, ranges)
               : "no stall";
  }
};

/// No stall first, which stands where nothing tells of any.
std::vector<Candidate> candidates() {
  std::vector<Candidate> all = {{}};
  for (const std::int64_t ranges : kRanges) {
    for (int i = 0; i < kStalls; ++i) {
      all.push_back(
          {.stall_s = kLeastStall * core::pow(2.0, i / kStallsADoubling), .ranges = ranges});
    }
  }
  return all;
}

class FirstUseFit {
 public:
  FirstUseFit(std::vector<Evidence> evidence, const PredictOptions& options)
      : evidence_(std::move(evidence)), observations_(evidence_, options) {}

  core::Result<std::vector<LeftOutRow>> run() {
    if (auto reason = observations_.find({}); !reason.empty()) {
      return core::fail(
          core::Error{.message = fmt::format("no first requests to fit stalls on: {}", reason)});
    }
    seen_ = observations_.residuals({});
    for (const Candidate& candidate : candidates_) {
      residuals_.push_back(observations_.residuals(candidate.settings()));
    }
    std::vector<std::string> networks;
    for (const auto& compared : observations_.all()) {
      std::string network = network_of(evidence_[compared.record]);
      if (std::ranges::find(networks, network) == networks.end()) {
        networks.push_back(std::move(network));
      }
    }
    std::vector<LeftOutRow> rows = {row({})};
    for (const std::string& network : networks) {
      rows.push_back(row(network));
    }
    return rows;
  }

 private:
  [[nodiscard]] bool is_of(std::size_t observation, std::string_view network) const {
    return network_of(evidence_[observations_.all()[observation].record]) == network;
  }

  /// Which of the candidates is best without a network; empty: on all.
  [[nodiscard]] std::size_t best_without(std::string_view network) const {
    std::vector<double> errors;
    for (const auto& residuals : residuals_) {
      double sum = 0.0;
      for (std::size_t i = 0; i < residuals.size(); ++i) {
        const bool counts =
            std::ranges::find(kFitted, observations_.all()[i].figure) != kFitted.end();
        sum += counts && !is_of(i, network) ? std::abs(residuals[i]) : 0.0;
      }
      errors.push_back(sum);
    }
    return static_cast<std::size_t>(
        std::distance(errors.begin(), std::ranges::min_element(errors)));
  }

  [[nodiscard]] LeftOutRow row(const std::string& network) const {
    const std::size_t best = best_without(network);
    LeftOutRow row;
    row.value = network.empty() ? kNothingLeftOut : network;
    row.fitted = candidates_[best].text();
    std::vector<bool> counted(evidence_.size(), false);
    for (std::size_t f = 0; f < kShown.size(); ++f) {
      std::vector<double> before;
      std::vector<double> after;
      for (std::size_t i = 0; i < observations_.size(); ++i) {
        const auto& compared = observations_.all()[i];
        if (compared.figure != kShown[f] || !(network.empty() || is_of(i, network))) {
          continue;
        }
        counted[compared.record] = true;
        before.push_back(100.0 * seen_[i]);
        after.push_back(100.0 * residuals_[best][i]);
      }
      if (!before.empty()) {
        row.seen[f] = summarise_errors(std::move(before));
        row.unseen[f] = summarise_errors(std::move(after));
        row.seen[f]->figure = kShown[f];
        row.unseen[f]->figure = kShown[f];
      }
    }
    row.records = std::ranges::count(counted, true);
    return row;
  }

  std::vector<Evidence> evidence_;
  Observations observations_;
  std::vector<Candidate> candidates_ = candidates();
  std::vector<double> seen_;                    ///< Errors with the constants as they are.
  std::vector<std::vector<double>> residuals_;  ///< By candidate.
};

}  // namespace

core::Result<std::vector<LeftOutRow>> leave_out_first_uses(const std::vector<Evidence>& evidence,
                                                           const PredictOptions& options) {
  std::vector<Evidence> first;
  std::ranges::copy_if(evidence, std::back_inserter(first), [](const Evidence& record) {
    return record.stage.starts_with(kFirstRequests);
  });
  return FirstUseFit(std::move(first), options).run();
}

}  // namespace ridgeline::scoring
