#include "plan/plan_bands.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "accuracy/bands.hpp"
#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "document/reader.hpp"

namespace ridgeline::plan {
namespace {

/// A word, a list of words, or "any".
std::vector<std::string> read_values(document::ObjectReader& reader, const char* key) {
  const document::Node* const node = reader.node(key);
  std::vector<std::string> values;
  if (node != nullptr && node->is_string() && node->as_string() != "any") {
    values.push_back(node->as_string());
  } else if (node != nullptr && node->is_list()) {
    for (const document::Node& item : node->items()) {
      values.push_back(item.is_string() ? item.as_string() : std::string());
    }
  }
  return values;
}

PlanBand read_band(const document::Node& node, const std::string& path, core::Errors& errors) {
  document::ObjectReader reader(node, path, errors);
  PlanBand band;
  reader.node("slice");
  reader.node("mean");
  reader.node("in_sample");
  for (std::size_t axis = 0; axis < accuracy::kNumAxes; ++axis) {
    band.values[axis] = read_values(reader, accuracy::kAxisNames[axis]);
  }
  const std::string metric = reader.required_string("metric");
  const auto known = std::ranges::find(accuracy::kMetricNames, metric);
  if (known == accuracy::kMetricNames.end()) {
    reader.problem("metric", fmt::format("found {}, expected a metric", metric));
  } else {
    band.metric = static_cast<accuracy::Metric>(known - accuracy::kMetricNames.begin());
  }
  band.n = reader.required_integer("n", {.lowest = 1});
  band.median = reader.required_real("median", {.lowest = 0.0});
  band.p90 = reader.required_real("p90", {.lowest = 0.0});
  reader.finish();
  return band;
}

std::size_t outside_of(const PlanBand& band, const accuracy::Question& question) {
  std::size_t outside = 0;
  for (std::size_t axis = 0; axis < accuracy::kNumAxes; ++axis) {
    const auto& values = band.values[axis];
    outside +=
        !values.empty() && std::ranges::find(values, question[axis]) == values.end() ? 1U : 0U;
  }
  return outside;
}

}  // namespace

double PlanError::widening() const {
  double factor = 1.0;
  for (std::size_t i = 0; i < outside; ++i) {
    factor *= kWidening;
  }
  return factor;
}

std::optional<PlanError> plan_error(const std::vector<PlanBand>& bands,
                                    const accuracy::Question& question,
                                    accuracy::Metric metric) {
  std::optional<PlanError> best;
  const auto rank = [](const PlanError& candidate) {
    const std::int64_t n = candidate.band->n;
    return std::tuple(candidate.outside, candidate.outside == 0 ? n : -n);
  };
  for (const PlanBand& band : bands) {
    if (band.metric != metric || band.n < kFewestRecords) {
      continue;
    }
    const PlanError candidate{.band = &band, .outside = outside_of(band, question)};
    if (!best || rank(candidate) < rank(*best)) {
      best = candidate;
    }
  }
  return best;
}

core::Result<std::vector<PlanBand>> read_plan_bands(std::string_view text,
                                                    const std::string& file) {
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
  std::vector<PlanBand> bands;
  for (std::size_t i = 0; i < document->items().size(); ++i) {
    bands.push_back(read_band(document->items()[i], fmt::format("[{}]", i), errors));
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return bands;
}

const std::vector<PlanBand>& plan_bands() {
  static const std::vector<PlanBand> kBands = [] {
    const auto files = accuracy::accuracy_files();
    const auto file = std::ranges::find(files, "plan_bands.yaml", &document::EmbeddedFile::name);
    RIDGELINE_CHECK(file != files.end(), "data/accuracy/plan_bands.yaml is there");
    auto read = read_plan_bands(file->text, "data/accuracy/plan_bands.yaml");
    RIDGELINE_CHECK(read.has_value(), "the compiled-in bands are sound");
    return std::move(*read);
  }();
  return kBands;
}

}  // namespace ridgeline::plan
