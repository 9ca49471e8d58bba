#include "accuracy/bands.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"

namespace ridgeline::accuracy {
namespace {

constexpr std::string_view kAny = "any";
constexpr double kMostPercent = 1e9;

/// A word, a list of words, or "any".
std::vector<std::string> read_values(document::ObjectReader& reader, const char* key) {
  const document::Node* node = reader.node(key);
  std::vector<std::string> values;
  if (node != nullptr && node->is_string()) {
    values.push_back(node->as_string());
  } else if (node != nullptr && node->is_list()) {
    for (const document::Node& item : node->items()) {
      if (!item.is_string()) {
        reader.problem(key, fmt::format("found {}, expected words", item.describe()));
        return {};
      }
      values.push_back(item.as_string());
    }
  }
  if (values.empty()) {
    reader.problem(key, "expected a word, a list of words or any");
  }
  return values == std::vector{std::string(kAny)} ? std::vector<std::string>() : values;
}

Band read_band(const document::Node& node, const std::string& path, core::Errors& errors) {
  document::ObjectReader reader(node, path, errors);
  Band band;
  band.slice = reader.required_string("slice");
  for (std::size_t axis = 0; axis < kNumAxes; ++axis) {
    band.values[axis] = read_values(reader, kAxisNames[axis]);
  }
  const std::string metric = reader.required_string("metric");
  const auto known = std::ranges::find(kMetricNames, metric);
  if (known == kMetricNames.end()) {
    reader.problem(
        "metric",
        fmt::format("found {}, expected one of {}", metric, fmt::join(kMetricNames, ", ")));
  } else {
    band.metric = static_cast<Metric>(known - kMetricNames.begin());
  }
  constexpr document::Range<double> kPercent{.lowest = 0.0, .highest = kMostPercent};
  band.n = reader.required_integer("n", {.lowest = 1});
  band.median = reader.required_real("median", kPercent);
  band.mean = reader.required_real("mean", kPercent);
  band.p90 = reader.required_real("p90", kPercent);
  const auto in_sample = reader.boolean("in_sample");
  if (!in_sample) {
    reader.problem("in_sample", "missing, expected true or false");
  }
  band.in_sample = in_sample.value_or(true);
  reader.finish();
  return band;
}

std::string values_text(const std::vector<std::string>& values) {
  if (values.empty()) {
    return std::string(kAny);
  }
  return values.size() == 1 ? values.front() : fmt::format("[{}]", fmt::join(values, ", "));
}

std::vector<Axis> outside_of(const Band& band, const Question& question) {
  std::vector<Axis> outside;
  for (std::size_t axis = 0; axis < kNumAxes; ++axis) {
    const auto& values = band.values[axis];
    if (!values.empty() && std::ranges::find(values, question[axis]) == values.end()) {
      outside.push_back(static_cast<Axis>(axis));
    }
  }
  return outside;
}

}  // namespace

double ExpectedError::widening() const {
  double factor = 1.0;
  for (std::size_t i = 0; i < outside.size(); ++i) {
    factor *= kWidening;
  }
  return factor;
}

std::optional<ExpectedError> expected_error(const std::vector<Band>& bands,
                                            const Question& question,
                                            Metric metric) {
  std::optional<ExpectedError> best;
  const auto rank = [](const ExpectedError& candidate) {
    const std::int64_t n = candidate.band->n;
    return std::tuple(candidate.outside.size(), candidate.outside.empty() ? n : -n);
  };
  for (const Band& band : bands) {
    if (band.metric != metric || band.n < kFewestRecords) {
      continue;
    }
    ExpectedError candidate{.band = &band, .outside = outside_of(band, question)};
    if (!best || rank(candidate) < rank(*best)) {
      best = std::move(candidate);
    }
  }
  return best;
}

core::Result<std::vector<Band>> read_bands(std::string_view text, const std::string& file) {
  const auto document = document::parse_yaml(text, file);
  if (!document) {
    return core::fail(document.error());
  }
  if (!document->is_list()) {
    return core::fail(core::Error{
        .message = fmt::format("found {}, expected a list of bands", document->describe()),
        .where = {.file = file}});
  }
  core::Errors errors;
  std::vector<Band> bands;
  for (std::size_t i = 0; i < document->items().size(); ++i) {
    bands.push_back(read_band(document->items()[i], fmt::format("[{}]", i), errors));
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return bands;
}

std::string bands_text(const std::vector<Band>& bands) {
  std::string text =
      "# Absolute errors of predictions against measured servers, in percent, by what was "
      "predicted:\n# written by 'ridgeline validate FILE... --bands-out FILE' "
      "(docs/accuracy.md).\n";
  for (const Band& band : bands) {
    text += fmt::format("- {{slice: \"{}\"", band.slice);
    for (std::size_t axis = 0; axis < kNumAxes; ++axis) {
      text += fmt::format(", {}: {}", kAxisNames[axis], values_text(band.values[axis]));
    }
    text += fmt::format(
        ", metric: {}, n: {}, median: {:.2f}, mean: {:.2f}, p90: {:.2f}, in_sample: {}}}\n",
        kMetricNames[static_cast<std::size_t>(band.metric)],
        band.n,
        band.median,
        band.mean,
        band.p90,
        band.in_sample);
  }
  return text;
}

const std::vector<Band>& bands() {
  static const std::vector<Band> kBands = [] {
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
