#include "plan/bands.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "document/reader.hpp"
#include "plan/data_files.hpp"
#include "plan/linear_doubt.hpp"

namespace ridgeline::plan {
namespace {

/// Fewer runs say too little of a spread.
constexpr std::int64_t kLeastRuns = 8;
/// A question outside a slice on one axis is this much less certain.
constexpr double kWider = 2.0;
constexpr document::Range<double> kBandErrors{.lowest = 0.0, .highest = 1e6};
constexpr std::string_view kAny = "any";

std::vector<std::string> read_gpus(document::ObjectReader& reader) {
  std::vector<std::string> gpus;
  const document::Node* list = reader.node("gpu");
  if (list == nullptr || !list->is_list()) {
    reader.problem("gpu", "expected a list of GPUs");
    return gpus;
  }
  for (const document::Node& item : list->items()) {
    if (item.is_string()) {
      gpus.push_back(item.as_string());
    } else {
      reader.problem("gpu", fmt::format("found {}, expected the name of a GPU", item.describe()));
    }
  }
  return gpus;
}

Band read_band(const document::Node& node, std::size_t index, core::Errors& errors) {
  constexpr auto kNetworks = std::to_array<const char*>({"dense", "experts", "any"});
  constexpr auto kLoops = std::to_array<const char*>({"open", "closed", "any"});
  constexpr auto kMetrics = std::to_array<const char*>({"ttft", "tpot", "e2e"});
  const auto one_of = [](document::ObjectReader& reader, const char* key, const auto& words) {
    const std::vector<std::string> choices(words.begin(), words.end());
    const auto found = reader.choice(key, choices);
    if (!found) {
      reader.problem(key, fmt::format("expected {}", fmt::join(choices, ", ")));
    }
    return found.value_or("");
  };
  document::ObjectReader reader(node, fmt::format("[{}]", index), errors);
  Band band;
  band.slice = reader.required_string("slice");
  band.gpus = read_gpus(reader);
  band.network = one_of(reader, "network", kNetworks);
  band.precision = reader.required_string("precision");
  band.loop = one_of(reader, "loop", kLoops);
  band.engine = reader.required_string("engine");
  band.metric = one_of(reader, "metric", kMetrics);
  band.n = reader.required_integer("n", {.lowest = 1});
  band.median = reader.required_real("median", kBandErrors);
  band.mean = reader.required_real("mean", kBandErrors);
  band.p90 = reader.required_real("p90", kBandErrors);
  band.in_sample = reader.boolean("in_sample").value_or(false);
  reader.finish();
  return band;
}

std::vector<std::string> axes_outside(const Band& band, const BandQuestion& question) {
  std::vector<std::string> outside;
  const auto compare = [&](const char* axis, std::string_view has, std::string_view asked) {
    if (has != kAny && has != asked) {
      outside.emplace_back(axis);
    }
  };
  if (std::ranges::find(band.gpus, question.gpu) == band.gpus.end()) {
    outside.emplace_back("gpu");
  }
  compare("network", band.network, question.has_experts ? "experts" : "dense");
  compare("precision", band.precision, question.precision);
  compare("loop", band.loop, question.closed_loop ? "closed" : "open");
  compare("engine", band.engine, question.engine);
  return outside;
}

}  // namespace

core::Result<std::vector<Band>> read_bands(std::string_view text, const std::string& file) {
  const auto document = document::parse_yaml(text, file);
  if (!document) {
    return core::fail(document.error());
  }
  if (!document->is_list()) {
    return core::fail(core::Error{.message = "expected a list of slices", .where = {.file = file}});
  }
  core::Errors errors;
  std::vector<Band> all;
  for (std::size_t i = 0; i < document->items().size(); ++i) {
    all.push_back(read_band(document->items()[i], i, errors));
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return all;
}

const std::vector<Band>& bands() {
  static const std::vector<Band> kBands = [] {
    const auto files = accuracy_files();
    const auto file = std::ranges::find(files, "bands.yaml", &document::EmbeddedFile::name);
    RIDGELINE_CHECK(file != files.end(), "data/accuracy/bands.yaml is there");
    auto read = read_bands(file->text, std::string(file->name));
    RIDGELINE_CHECK(read.has_value(), "the compiled-in bands are sound");
    return std::move(*read);
  }();
  return kBands;
}

std::optional<FoundBand> find_band(const std::vector<Band>& bands, const BandQuestion& question) {
  std::optional<FoundBand> best;
  for (const Band& band : bands) {
    if (band.metric != question.metric || band.n < kLeastRuns) {
      continue;
    }
    std::vector<std::string> outside = axes_outside(band, question);
    if (!best || outside.size() < best->outside.size() ||
        (outside.size() == best->outside.size() && band.n > best->band->n)) {
      best = FoundBand{.band = &band, .outside = std::move(outside)};
    }
  }
  if (best) {
    best->sd = std::max(sd_of_median(best->band->median), sd_of_p90(best->band->p90));
    for (std::size_t i = 0; i < best->outside.size(); ++i) {
      best->sd *= kWider;
    }
  }
  return best;
}

}  // namespace ridgeline::plan
