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
#include "document/document.hpp"
#include "document/embedded_file.hpp"

/// How far predictions were off on measured servers (data/accuracy): error bands that a new
/// prediction is shown with.
namespace ridgeline::accuracy {

/// data/accuracy/*, compiled in.
std::span<const document::EmbeddedFile> accuracy_files();

/// What a prediction is of, in the words of the bands.
enum class Axis : std::uint8_t { kGpu, kNetwork, kPrecision, kLoop, kEngine, kDeployment };
inline constexpr std::size_t kNumAxes = 6;
inline constexpr std::array<const char*, kNumAxes> kAxisNames = {
    "gpu", "network", "precision", "loop", "engine", "deployment"};
/// One word per axis: the catalogue's GPU; "dense", "experts" or "hybrid"; the format of most
/// weights ("bf16", "fp8 in blocks"); "open" or "closed"; the engine ("vllm"); the network with its
/// parallel layout ("llama-3.1-8b TP1").
using Question = std::array<std::string, kNumAxes>;

/// The question without its traffic: what one server was, whose records depend on each other.
[[nodiscard]] Question group_of(Question question);

enum class Metric : std::uint8_t { kTtft, kTpot, kE2e, kOutputThroughput, kPower };
inline constexpr std::size_t kNumMetrics = 5;
inline constexpr std::array<const char*, kNumMetrics> kMetricNames = {
    "ttft", "tpot", "e2e", "output_throughput", "watts_per_gpu"};

/// Signed errors of predictions, in percent of the measurement: above 0 where they were too high.
struct Range {
  double low = 0.0;
  double high = 0.0;

  [[nodiscard]] bool holds(double error) const { return low <= error && error <= high; }
  [[nodiscard]] double half_width() const { return (high - low) / 2.0; }

  friend bool operator==(const Range&, const Range&) = default;
};

/// Errors of a mean or a median over measured deployments that share traits.
struct Band {
  std::string slice = {};  ///< What they share; "all" where that is nothing.
  Question values = {};    ///< The shared traits by axis; empty: any.
  Metric metric = Metric::kTpot;
  bool fitted = false;       ///< They taught the model its constants: no new deployment is as near.
  std::int64_t groups = 0;   ///< Deployments; each has one vote, however many records.
  std::int64_t records = 0;  ///< Records of these deployments.
  Range p50;                 ///< Holds half of new records like these,
  Range p90;                 ///< and nine of ten.

  friend bool operator==(const Band&, const Band&) = default;
};

/// Fewer deployments say too little: a wider slice holds.
inline constexpr std::int64_t kFewestGroups = 20;

struct Bands {
  std::vector<Question> fitted;  ///< Deployments that taught the model its constants.
  std::vector<Band> bands;
};

/// A number of one record, and the record's share of its deployment's vote.
struct Weighted {
  double value = 0.0;
  double weight = 1.0;
};
/// The range that holds the error of a record of a deployment that is not among these with at least
/// that probability: split conformal over deployments (Vovk, Gammerman, Shafer, "Algorithmic
/// Learning in a Random World", 2005; one vote a group), where an error's size is its distance from
/// the median in logarithms, in units of that side's quartile. `errors` are signed, in percent, all
/// above -100, at least one; `groups` have a weight of 1 each.
[[nodiscard]] Range conformal_range(const std::vector<Weighted>& errors,
                                    std::int64_t groups,
                                    double share);

/// Nothing is said to be surer: no band has so many deployments behind it.
inline constexpr double kMostSure = 0.99;
/// Probability, from 1 - kMostSure to kMostSure, that the measurement is at most a limit:
/// `log_ratio` is log(limit / predicted). Between the band's median, quartiles and ends (of which
/// one error in twenty lies below the low one and one in twenty above the high one) errors are
/// normal in logarithms, and beyond the ends as they are before them.
[[nodiscard]] double probability_below(const Band& band, double log_ratio);
/// Its inverse: log(limit / predicted) of a limit that the measurement keeps with that probability,
/// kMostSure at most.
[[nodiscard]] double log_ratio_at(const Band& band, double probability);

/// The band that applies to a question.
struct ExpectedError {
  Band band;
  /// In what the question differs from the nearest deployment that taught the model its constants;
  /// empty where it is one of these.
  std::vector<Axis> unknown;
};

/// The narrowest of the bands of the question's kind (a fitted deployment or not) that hold it: a
/// slice whose deployments are not more alike in their errors tells nothing more. Nothing where the
/// metric has none.
[[nodiscard]] std::optional<ExpectedError> expected_error(const Bands& bands,
                                                          const Question& question,
                                                          Metric metric);

/// What kMeasuredServer's bands have as their slice.
inline constexpr const char* kOwnSlice = "this server";
/// How far predictions of one server are off whose constants were fitted to its own measurements
/// (`calibrate`): a scenario's section `calibrated`.
struct OwnBands {
  Question server;          ///< What was measured; of a loop where that is any, nothing.
  Range in_flight;          ///< Requests in flight, the means of the runs that were measured.
  Range input_tokens;       ///< Prompt tokens, the means of those runs.
  std::vector<Band> bands;  ///< With slice kOwnSlice, one per metric that was measured.

  /// Whether the measurements speak of a run: of the same question, and of loads no more than
  /// kBeyondLoads times outside of what was measured.
  [[nodiscard]] bool hold(const Question& question, double run_in_flight, double run_input) const;
};
inline constexpr double kBeyondLoads = 1.25;

[[nodiscard]] OwnBands read_own_bands(const document::Node& node,
                                      const std::string& path,
                                      core::Errors& errors);

/// Reads such a file. `file` names it in errors.
[[nodiscard]] core::Result<Bands> read_bands(std::string_view text, const std::string& file);
/// The file of these bands, in YAML; figures with one decimal.
[[nodiscard]] std::string bands_text(const Bands& bands);
/// Those compiled in.
[[nodiscard]] const Bands& bands();

}  // namespace ridgeline::accuracy
