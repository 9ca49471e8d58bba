#include "evidence/validate/error_bands.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "accuracy/bands.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "statistics/quantiles.hpp"

namespace ridgeline::evidence::validate {
namespace {

using accuracy::Axis;
using accuracy::Band;
using accuracy::kNumAxes;
using accuracy::Metric;

constexpr std::array<Figure, accuracy::kNumMetrics> kFigures = {
    Figure::kTtft, Figure::kTpot, Figure::kE2e, Figure::kOutputThroughput, Figure::kPower};

/// Which axes the slices of a level keep apart; the other axes hold what their records have.
using AxesApart = std::array<bool, kNumAxes>;
constexpr std::array<AxesApart, 5> kLevels = {{{true, true, true, true, true},
                                               {false, true, true, true, true},
                                               {false, true, false, true, true},
                                               {false, true, false, false, true},
                                               {false, false, false, false, false}}};

/// The families of records on which the law of power was fitted (docs/models/power.md). Constants
/// of times were fitted on some records of every family, or looked at beside them.
constexpr auto kPowerSeen = std::to_array<std::string_view>(
    {"ml-energy", "inferencex-july", "gptoss-h200-sweep", "nebius-h200"});

bool taught(const Evidence& evidence, Metric metric) {
  return metric != Metric::kPower ||
         std::ranges::find(kPowerSeen, evidence.family) != kPowerSeen.end();
}

/// Whether the rate of tokens and the power are, or on a usual host would be, the API server's and
/// not the engine's. Times stay in their bands: such records are few, and the slices of new GPUs
/// would fall below kFewestRecords without them and borrow smaller errors from older ones.
bool is_of_front_end(const ScoredRecord& record, Metric metric) {
  return (metric == Metric::kOutputThroughput || metric == Metric::kPower) && record.prediction &&
         (record.prediction->front_end_bound || record.prediction->front_end_near);
}

bool counts(const ScoredRecord& record, Metric metric) {
  const Evidence& evidence = record.evidence;
  return record.standing == Standing::kScored && !evidence.fleet &&
         (metric == Metric::kPower || !(evidence.old_engine || evidence.guessed_load)) &&
         !is_of_front_end(record, metric);
}

struct Slice {
  accuracy::Question key;  ///< Empty where the level does not keep the axis apart.
  std::vector<std::size_t> records;
};

/// The name of a slice: what its records share.
std::string name_of(const Band& band) {
  std::vector<std::string> words;
  for (const auto& values : band.values) {
    if (values.size() == 1) {
      words.push_back(values.front());
    }
  }
  return words.empty() ? "all records" : fmt::format("{}", fmt::join(words, ", "));
}

class Builder {
 public:
  explicit Builder(const std::vector<ScoredRecord>& records) : records_(records) {}

  std::vector<Band> build() {
    for (std::size_t metric = 0; metric < accuracy::kNumMetrics; ++metric) {
      known_.clear();
      for (const AxesApart& level : kLevels) {
        for (const Slice& slice : slices(level, static_cast<Metric>(metric))) {
          add(slice, static_cast<Metric>(metric));
        }
      }
    }
    return std::move(bands_);
  }

 private:
  [[nodiscard]] std::optional<double> error(const ScoredRecord& record, Metric metric) const {
    return counts(record, metric)
               ? record.error_pct(kFigures[static_cast<std::size_t>(metric)], Level::kMean)
               : std::nullopt;
  }

  [[nodiscard]] std::vector<Slice> slices(const AxesApart& level, Metric metric) const {
    std::vector<Slice> all;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (!error(records_[i], metric)) {
        continue;
      }
      accuracy::Question key;
      for (std::size_t axis = 0; axis < kNumAxes; ++axis) {
        key[axis] = level[axis] ? records_[i].prediction->likeness[axis] : std::string();
      }
      auto known = std::ranges::find(all, key, &Slice::key);
      if (known == all.end()) {
        known = all.insert(all.end(), Slice{.key = std::move(key), .records = {}});
      }
      known->records.push_back(i);
    }
    return all;
  }

  void add(const Slice& slice, Metric metric) {
    if (static_cast<std::int64_t>(slice.records.size()) < accuracy::kFewestRecords ||
        std::ranges::find(known_, slice.records) != known_.end()) {
      return;
    }
    known_.push_back(slice.records);
    Band band;
    band.metric = metric;
    band.in_sample = false;
    std::vector<double> errors;
    for (const std::size_t i : slice.records) {
      errors.push_back(std::abs(*error(records_[i], metric)));
      band.mean += errors.back() / static_cast<double>(slice.records.size());
      band.in_sample = band.in_sample || taught(records_[i].evidence, metric);
      for (std::size_t axis = 0; axis < kNumAxes; ++axis) {
        const std::string& value = records_[i].prediction->likeness[axis];
        if (std::ranges::find(band.values[axis], value) == band.values[axis].end()) {
          band.values[axis].push_back(value);
        }
      }
    }
    std::ranges::for_each(band.values, [](auto& values) { std::ranges::sort(values); });
    std::ranges::sort(errors);
    constexpr double kHalf = 0.5;
    constexpr double kNineTenths = 0.9;
    band.n = static_cast<std::int64_t>(errors.size());
    band.median = statistics::sorted_quantile(errors, kHalf);
    band.p90 = statistics::sorted_quantile(errors, kNineTenths);
    band.slice = name_of(band);
    bands_.push_back(std::move(band));
  }

  const std::vector<ScoredRecord>& records_;
  std::vector<std::vector<std::size_t>> known_;  ///< Records of the metric's bands so far.
  std::vector<Band> bands_;
};

}  // namespace

std::vector<Band> error_bands(const std::vector<ScoredRecord>& records) {
  return Builder(records).build();
}

}  // namespace ridgeline::evidence::validate
