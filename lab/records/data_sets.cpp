#include "lab/records/data_sets.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"

namespace ridgeline::records {
namespace {

/// Lengths of a set's prompts: lognormal.
struct DataSet {
  std::string_view name;
  double median;
  double log_std;
  double longest;
  std::string_view source;
};

/// Facts about sets of requests, not about runs.
constexpr auto kDataSets = std::to_array<DataSet>({
    // A step that takes in prompts lengthens the gaps of all sequences that decode in it, so that
    // the upper quantiles of the gaps between tokens show the prompts' lengths, whatever the rate
    // of tokens is. 53 such quantiles (ML.ENERGY benchmark v3; 95th and 99th percentiles of gaps,
    // 8 to 128 sequences, four dense networks of 8 to 70 B parameters and one of experts on H100)
    // agree: 3 % of the prompts are longer than 1,500 tokens, 10 % than 780, 20 % than 390, 30 %
    // than 220, half than about 100.
    {"lm-arena-chat", 110.0, 1.5, 8192.0, "the gaps between tokens that its prompts cause"},
});

/// Mean prompts of MLPerf Inference's data sets, by the benchmark's name. Sources: MLCommons'
/// descriptions of the benchmarks (mlcommons.org, 2024 and 2025) as remembered; those marked are
/// guesses from the lengths of the sets that the benchmark mixes.
struct MlperfSet {
  std::string_view benchmark;
  double prompt_tokens;
  std::string_view source;
};
constexpr auto kMlperfSets = std::to_array<MlperfSet>({
    {"llama3.1-8b", 778, "CNN/DailyMail, by MLCommons' description"},
    {"llama3.1-405b", 9'400, "by MLCommons' description"},
    {"deepseek-r1", 800, "by MLCommons' description"},
    {"llama2-70b", 300, "OpenOrca, a guess"},
    {"mixtral-8x7b", 400, "OpenOrca, GSM8K and MBXP, a guess"},
});

/// Most bins of a histogram.
constexpr std::size_t kMostBins = 10'000;

}  // namespace

std::optional<TokenCounts> data_set_prompts(std::string_view name,
                                            std::string_view kind,
                                            std::vector<std::string>& assumed) {
  const auto* const set = std::ranges::find(kDataSets, name, &DataSet::name);
  if (set == kDataSets.end() || !mentions(kind, "not published")) {
    return std::nullopt;
  }
  const double mean = set->median * core::exp(0.5 * set->log_std * set->log_std);
  assumed.push_back(fmt::format(
      "prompts of {}: lognormal, {:.0f} tokens in the median and {:.0f} in the mean, by {}",
      set->name,
      set->median,
      mean,
      set->source));
  return TokenCounts{.law = TokenCounts::Law::kLogNormal,
                     .mean = mean,
                     .std = set->log_std,
                     .lowest = 1.0,
                     .highest = set->longest};
}

std::optional<TokenCounts> mlperf_prompts(std::string_view workload,
                                          std::vector<std::string>& assumed) {
  const auto* const known = std::ranges::find_if(
      kMlperfSets, [&](const MlperfSet& set) { return workload.starts_with(set.benchmark); });
  if (known == kMlperfSets.end()) {
    return std::nullopt;
  }
  const double tokens = known->prompt_tokens;
  assumed.push_back(fmt::format("prompts of {:.0f} tokens: {}", tokens, known->source));
  return TokenCounts{
      .law = TokenCounts::Law::kFixed, .mean = tokens, .lowest = tokens, .highest = tokens};
}

std::optional<TokenCounts> histogram_counts(const document::Node& node) {
  const document::Node* histogram = member_at(node, "output_histogram");
  if (histogram == nullptr) {
    return std::nullopt;
  }
  std::vector<double> edges;
  for (const document::Node& edge : items_at(*histogram, "edges")) {
    edges.push_back(edge.is_number() ? edge.as_real() : -1.0);
  }
  TokenCounts counts{.law = TokenCounts::Law::kHistogram};
  double sum = 0.0;
  for (const document::Node& count : items_at(*histogram, "counts")) {
    sum += count.is_number() ? std::max(0.0, count.as_real()) : 0.0;
    counts.up_to.push_back(sum);
  }
  const bool sound = edges.size() >= 2 && edges.front() >= 0.0 && edges.back() > edges.front() &&
                     sum > 0.0 && std::isfinite(sum) && counts.up_to.size() <= kMostBins;
  if (!sound) {
    return std::nullopt;
  }
  counts.lowest = edges.front();
  counts.highest = edges.back();
  const double width = (counts.highest - counts.lowest) / core::real(std::ssize(counts.up_to));
  double before = 0.0;
  for (std::size_t i = 0; i < counts.up_to.size(); ++i) {
    const double share = (counts.up_to[i] - before) / sum;
    before = counts.up_to[i];
    counts.up_to[i] /= sum;
    counts.mean += share * (counts.lowest + (static_cast<double>(i) + 0.5) * width);
  }
  return counts;
}

}  // namespace ridgeline::records
