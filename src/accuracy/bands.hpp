#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/embedded_file.hpp"

/// How far predictions were off on measured servers, by what was predicted (data/accuracy): error
/// bands that a new prediction is shown with.
namespace ridgeline::accuracy {

/// data/accuracy/*, compiled in.
std::span<const document::EmbeddedFile> accuracy_files();

/// What a prediction is of, in the words of the slices.
enum class Axis : std::uint8_t { kGpu, kNetwork, kPrecision, kLoop, kEngine };
inline constexpr std::size_t kNumAxes = 5;
inline constexpr std::array<const char*, kNumAxes> kAxisNames = {
    "gpu", "network", "precision", "loop", "engine"};
/// One word per axis: the catalogue's GPU; "dense" or "experts"; the format of most weights
/// ("bf16", "fp8 in blocks"); "open" or "closed"; the engine ("vllm").
using Question = std::array<std::string, kNumAxes>;

enum class Metric : std::uint8_t { kTtft, kTpot, kE2e, kOutputThroughput, kPower };
inline constexpr std::size_t kNumMetrics = 5;
inline constexpr std::array<const char*, kNumMetrics> kMetricNames = {
    "ttft", "tpot", "e2e", "output_throughput", "watts_per_gpu"};

/// Errors of a mean over measured records that share traits, absolute, in percent of the
/// measurement.
struct Band {
  std::string slice;
  std::array<std::vector<std::string>, kNumAxes> values;  ///< Of the records; empty: any.
  Metric metric = Metric::kTpot;
  std::int64_t n = 0;
  double median = 0.0;
  double mean = 0.0;
  double p90 = 0.0;
  bool in_sample = true;  ///< Some of its records taught the model's constants.

  friend bool operator==(const Band&, const Band&) = default;
};

/// Slices of fewer records say too little.
inline constexpr std::int64_t kFewestRecords = 8;
/// A band is so many times as wide for each axis on which the question lies outside of it. A
/// convention, not a measurement.
inline constexpr double kWidening = 2.0;

/// The band that applies to a question.
struct ExpectedError {
  const Band* band = nullptr;
  std::vector<Axis> outside;  ///< Where the question is unlike the slice's records.

  /// kWidening to the power of the axes outside.
  [[nodiscard]] double widening() const;
  [[nodiscard]] double median() const { return band->median * widening(); }
  [[nodiscard]] double mean() const { return band->mean * widening(); }
  [[nodiscard]] double p90() const { return band->p90 * widening(); }
};

/// Of the bands of kFewestRecords and more that with the fewest axes outside; of several that hold
/// the question the one of the fewest records, else the one of the most. Nothing where the metric
/// has no band.
[[nodiscard]] std::optional<ExpectedError> expected_error(const std::vector<Band>& bands,
                                                          const Question& question,
                                                          Metric metric);

/// Reads such a file: a list of bands. `file` names it in errors.
[[nodiscard]] core::Result<std::vector<Band>> read_bands(std::string_view text,
                                                         const std::string& file);
/// The file of these bands, in YAML; figures with two decimals.
[[nodiscard]] std::string bands_text(const std::vector<Band>& bands);
/// Those compiled in.
[[nodiscard]] const std::vector<Band>& bands();

}  // namespace ridgeline::accuracy
