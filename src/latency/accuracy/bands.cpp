#include "latency/accuracy/bands.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.hpp"
#include "core/distributions.hpp"
#include "core/math.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"

namespace ridgeline::accuracy {
namespace {

constexpr double kMostPercent = 1e9;
constexpr double kHundred = 100.0;
constexpr double kQuarter = 0.25;
/// Least side of a band, in logarithms.
constexpr double kLeastSide = 0.001;
constexpr double kRounding = 1e-9;

Question read_values(document::ObjectReader& reader, bool may_miss) {
  Question values;
  for (std::size_t axis = 0; axis < kNumAxes; ++axis) {
    const bool is_there = reader.node(kAxisNames[axis]) != nullptr;
    if (is_there || (!may_miss && static_cast<Axis>(axis) != Axis::kLoop)) {
      values[axis] = reader.required_string(kAxisNames[axis]);
    }
  }
  return values;
}

Range read_range(document::ObjectReader& reader, const char* key) {
  const document::Node* const node = reader.node(key);
  const bool is_pair = node != nullptr && node->is_list() && node->items().size() == 2 &&
                       std::ranges::all_of(node->items(), &document::Node::is_number);
  if (!is_pair) {
    reader.problem(key, "expected two numbers, the low one first");
    return {};
  }
  const Range range{.low = node->items()[0].as_real(), .high = node->items()[1].as_real()};
  if (range.low <= -kHundred || range.low > range.high || range.high > kMostPercent) {
    reader.problem(
        key,
        fmt::format("found [{}, {}], expected more than -100, ascending", range.low, range.high));
  }
  return range;
}

Band read_band(const document::Node& node, const std::string& path, core::Errors& errors) {
  document::ObjectReader reader(node, path, errors);
  Band band;
  band.slice = reader.required_string("slice");
  band.values = read_values(reader, true);
  const std::string metric = reader.required_string("metric");
  const auto known = std::ranges::find(kMetricNames, metric);
  if (known == kMetricNames.end()) {
    reader.problem(
        "metric",
        fmt::format("found {}, expected one of {}", metric, fmt::join(kMetricNames, ", ")));
  } else {
    band.metric = static_cast<Metric>(known - kMetricNames.begin());
  }
  band.fitted = reader.boolean("fitted").value_or(false);
  band.groups = reader.required_integer("groups", {.lowest = 1});
  band.records = reader.required_integer("records", {.lowest = 1});
  band.p50 = read_range(reader, "p50");
  band.p90 = read_range(reader, "p90");
  reader.finish();
  return band;
}

/// The numbers that a function makes of these, ascending.
std::vector<Weighted> mapped(std::vector<Weighted> numbers, const auto& function) {
  for (Weighted& number : numbers) {
    number.value = function(number.value);
  }
  std::ranges::stable_sort(numbers, {}, &Weighted::value);
  return numbers;
}

/// The least value below or at which that share of the weight lies. `numbers` ascend.
double weighted_quantile(const std::vector<Weighted>& numbers, double share) {
  double all = 0.0;
  for (const Weighted& number : numbers) {
    all += number.weight;
  }
  double sum = 0.0;
  for (const Weighted& number : numbers) {
    sum += number.weight;
    if (sum >= share * all - kRounding) {
      return number.value;
    }
  }
  return numbers.back().value;
}

/// log(predicted / measured) of a signed error.
double log_error(double percent) {
  return core::log(1.0 + percent / kHundred);
}

std::string values_text(const Question& values) {
  std::string text;
  for (std::size_t axis = 0; axis < kNumAxes; ++axis) {
    if (!values[axis].empty()) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", kAxisNames[axis], values[axis]);
    }
  }
  return text;
}

bool holds(const Question& values, const Question& question) {
  for (std::size_t axis = 0; axis < kNumAxes; ++axis) {
    if (!values[axis].empty() && values[axis] != question[axis]) {
      return false;
    }
  }
  return true;
}

/// In what a question differs from the nearest of these.
std::vector<Axis> unlike(const std::vector<Question>& fitted, const Question& group) {
  std::vector<Axis> differing;
  if (fitted.empty()) {
    return differing;
  }
  const auto distance = [&group](const Question& other) {
    return std::inner_product(
        group.begin(), group.end(), other.begin(), 0, std::plus<>(), std::not_equal_to<>());
  };
  const Question& nearest = *std::ranges::min_element(fitted, {}, distance);
  for (std::size_t axis = 0; axis < kNumAxes; ++axis) {
    if (group[axis] != nearest[axis]) {
      differing.push_back(static_cast<Axis>(axis));
    }
  }
  return differing;
}

/// Shares of measurements below log_ratios().
constexpr std::array<double, 5> kShares = {0.05, 0.25, 0.5, 0.75, 0.95};

/// log(measured / predicted) at kShares: the ends of a band's errors with the sign turned, and
/// between them the median, of which both ranges are so many times the distances of the quartiles.
std::array<double, 5> log_ratios(const Band& band) {
  const Range half{.low = -log_error(band.p50.high), .high = -log_error(band.p50.low)};
  const Range most{.low = -log_error(band.p90.high), .high = -log_error(band.p90.low)};
  const double times =
      half.half_width() / std::max(kRounding, most.half_width() - half.half_width());
  const double median = std::clamp(half.low + (half.low - most.low) * times, half.low, half.high);
  return {most.low, half.low, median, half.high, most.high};
}

}  // namespace

Question group_of(Question question) {
  question[static_cast<std::size_t>(Axis::kLoop)].clear();
  return question;
}

Range conformal_range(const std::vector<Weighted>& errors, std::int64_t groups, double share) {
  RIDGELINE_CHECK(!errors.empty() && groups > 0, "a band has deployments");
  const std::vector<Weighted> logs = mapped(errors, log_error);
  const double middle = weighted_quantile(logs, 0.5);
  const double below = std::max(kLeastSide, middle - weighted_quantile(logs, kQuarter));
  const double above = std::max(kLeastSide, weighted_quantile(logs, 1.0 - kQuarter) - middle);
  const std::vector<Weighted> sizes = mapped(logs, [&](double value) {
    return value < middle ? (middle - value) / below : (value - middle) / above;
  });
  const double wanted = std::ceil(share * core::real(groups + 1) - kRounding) / core::real(groups);
  const double size = weighted_quantile(sizes, std::min(1.0, wanted));
  return {.low = kHundred * (core::exp(middle - size * below) - 1.0),
          .high = kHundred * (core::exp(middle + size * above) - 1.0)};
}

double probability_below(const Band& band, double log_ratio) {
  const auto ends = log_ratios(band);
  std::size_t next = 1;
  while (next + 1 < ends.size() && log_ratio > ends[next]) {
    ++next;
  }
  const double from = core::normal_quantile(kShares[next - 1]);
  const double to = core::normal_quantile(kShares[next]);
  const double along =
      (log_ratio - ends[next - 1]) / std::max(kRounding, ends[next] - ends[next - 1]);
  return std::clamp(core::normal_cdf(from + along * (to - from)), 1.0 - kMostSure, kMostSure);
}

double log_ratio_at(const Band& band, double probability) {
  const auto ends = log_ratios(band);
  const double share = std::clamp(probability, 1.0 - kMostSure, kMostSure);
  std::size_t next = 1;
  while (next + 1 < ends.size() && share > kShares[next]) {
    ++next;
  }
  const double from = core::normal_quantile(kShares[next - 1]);
  const double to = core::normal_quantile(kShares[next]);
  const double along = (core::normal_quantile(share) - from) / (to - from);
  return ends[next - 1] + along * (ends[next] - ends[next - 1]);
}

std::optional<ExpectedError> expected_error(const Bands& bands,
                                            const Question& question,
                                            Metric metric) {
  const Question group = group_of(question);
  const bool is_fitted = std::ranges::find(bands.fitted, group) != bands.fitted.end();
  const Band* best = nullptr;
  const auto rank = [&](const Band& band) {
    return std::tuple(band.fitted != is_fitted, band.p90.half_width());
  };
  for (const Band& band : bands.bands) {
    // A deployment that was not measured is never as well known as one that was.
    if (band.metric == metric && (is_fitted || !band.fitted) && holds(band.values, question) &&
        (best == nullptr || rank(band) < rank(*best))) {
      best = &band;
    }
  }
  if (best == nullptr) {
    return std::nullopt;
  }
  return ExpectedError{.band = *best, .unknown = unlike(bands.fitted, group)};
}

bool OwnBands::hold(const Question& question, double run_in_flight, double run_input) const {
  const auto is_near = [](const Range& measured, double value) {
    return value >= measured.low / kBeyondLoads && value <= measured.high * kBeyondLoads;
  };
  return holds(server, question) && is_near(in_flight, run_in_flight) &&
         is_near(input_tokens, run_input);
}

OwnBands read_own_bands(const document::Node& node, const std::string& path, core::Errors& errors) {
  document::ObjectReader reader(node, path, errors);
  OwnBands own;
  own.server = read_values(reader, false);
  own.in_flight = read_range(reader, "in_flight");
  own.input_tokens = read_range(reader, "input_tokens");
  for (const auto& [key, range] :
       {std::pair("in_flight", own.in_flight), std::pair("input_tokens", own.input_tokens)}) {
    if (range.low < 0.0) {
      reader.problem(key, "expected two numbers of 0 or more");
    }
  }
  const std::int64_t records = reader.required_integer("records", {.lowest = 2});
  for (std::size_t i = 0; i < kNumMetrics; ++i) {
    const document::Node* const ranges = reader.node(kMetricNames[i]);
    if (ranges == nullptr) {
      continue;
    }
    document::ObjectReader of(*ranges, reader.path_of(kMetricNames[i]), errors);
    own.bands.push_back({.slice = kOwnSlice,
                         .values = own.server,
                         .metric = static_cast<Metric>(i),
                         .fitted = true,
                         .groups = 1,
                         .records = records,
                         .p50 = read_range(of, "p50"),
                         .p90 = read_range(of, "p90")});
    const Band& band = own.bands.back();
    if (!band.p90.holds(band.p50.low) || !band.p90.holds(band.p50.high)) {
      of.problem("p90", "expected a range that holds p50");
    }
    of.finish();
  }
  reader.finish();
  if (own.bands.empty()) {
    reader.problem(kMetricNames[1], "expected a metric at least, with p50 and p90");
  }
  return own;
}

core::Result<Bands> read_bands(std::string_view text, const std::string& file) {
  const auto document = document::parse_yaml(text, file);
  if (!document) {
    return core::fail(document.error());
  }
  core::Errors errors;
  Bands found;
  document::ObjectReader reader(*document, "", errors);
  const auto each = [&](const char* key, const auto& read) {
    const document::Node* const list = reader.node(key);
    if (list == nullptr || !list->is_list()) {
      reader.problem(key, "expected a list");
      return;
    }
    for (std::size_t i = 0; i < list->items().size(); ++i) {
      read(list->items()[i], fmt::format("{}[{}]", key, i));
    }
  };
  each("fitted", [&](const document::Node& node, const std::string& path) {
    document::ObjectReader row(node, path, errors);
    found.fitted.push_back(read_values(row, false));
    row.finish();
  });
  each("bands", [&](const document::Node& node, const std::string& path) {
    found.bands.push_back(read_band(node, path, errors));
  });
  reader.finish();
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return found;
}

std::string bands_text(const Bands& bands) {
  std::string text =
      "# Signed errors of predictions against measured servers, in percent of the measurement, by\n"
      "# what was predicted: written by './dev bands' (docs/accuracy.md).\n"
      "# Deployments that taught the model its constants:\nfitted:";
  text += bands.fitted.empty() ? " []\n" : "\n";
  for (const Question& group : bands.fitted) {
    text += fmt::format("- {{{}}}\n", values_text(group));
  }
  text += bands.bands.empty() ? "bands: []\n" : "bands:\n";
  for (const Band& band : bands.bands) {
    const std::string values = values_text(band.values);
    text += fmt::format(
        "- {{slice: \"{}\"{}{}, metric: {}, fitted: {}, groups: {}, records: {}, p50: [{:.1f}, "
        "{:.1f}], p90: [{:.1f}, {:.1f}]}}\n",
        band.slice,
        values.empty() ? "" : ", ",
        values,
        kMetricNames[static_cast<std::size_t>(band.metric)],
        band.fitted,
        band.groups,
        band.records,
        band.p50.low,
        band.p50.high,
        band.p90.low,
        band.p90.high);
  }
  return text;
}

const Bands& bands() {
  static const Bands kBands = [] {
    const auto files = accuracy_files();
    const auto file = std::ranges::find(files, "bands.yaml", &document::EmbeddedFile::name);
    RIDGELINE_CHECK(file != files.end(), "data/accuracy/bands.yaml is there");
    auto read = read_bands(file->text, "data/accuracy/bands.yaml");
    RIDGELINE_CHECK(read.has_value(), "the compiled-in bands are sound");
    return std::move(*read);
  }();
  return kBands;
}

}  // namespace ridgeline::accuracy
