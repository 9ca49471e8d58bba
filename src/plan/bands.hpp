#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ridgeline::plan {

/// Errors of predictions on measured runs of one kind (data/accuracy/bands.yaml): percent of the
/// measurement, absolute.
struct Band {
  std::string slice = {};
  std::vector<std::string> gpus = {};  ///< Catalogue names.
  std::string network = {};            ///< "dense", "experts" or "any", as the next two.
  std::string precision = {};          ///< "bf16", "fp8", "fp4" ...
  std::string loop = {};               ///< "open", "closed".
  std::string engine = {};
  std::string metric = {};  ///< "ttft", "tpot" or "e2e".
  std::int64_t n = 0;       ///< Runs.
  double median = 0.0;
  double mean = 0.0;
  double p90 = 0.0;
  bool in_sample = false;  ///< The model was fitted on these runs.
};

/// Reads such a file; `file` names it in errors.
[[nodiscard]] core::Result<std::vector<Band>> read_bands(std::string_view text,
                                                         const std::string& file);
/// The one compiled in.
[[nodiscard]] const std::vector<Band>& bands();

/// What a band is looked up for.
struct BandQuestion {
  std::string gpu = {};
  bool has_experts = false;
  std::string precision = {};
  bool closed_loop = false;
  std::string engine = {};  ///< "vllm"
  std::string metric = {};
};

/// The band of a question.
struct FoundBand {
  const Band* band = nullptr;
  std::vector<std::string> outside = {};  ///< Axes on which the question lies outside the slice.
  double sd = 0.0;                        ///< Of the logarithm of the metric, widened.
};

/// The nearest slice of that metric with eight runs or more: the fewest axes outside, then the most
/// runs. Its spread is the larger of what median and p90 say of a normal error, doubled for each
/// axis outside. Nothing where no slice has that metric.
[[nodiscard]] std::optional<FoundBand> find_band(const std::vector<Band>& bands,
                                                 const BandQuestion& question);

}  // namespace ridgeline::plan
