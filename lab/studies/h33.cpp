// H33: does one MFU for a batch of uneven decodes underestimate it?
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/result.hpp"
#include "lab/studies/h33_answers.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/roofline/mfu_source.hpp"
#include "latency/roofline/table_mfu.hpp"

namespace ridgeline::studies {
namespace {

using h33::attention_seconds;
using h33::decode_scenarios;
using h33::mean;

constexpr int kPrintedDecimals = 6;
/// Overhead of a step under the fixture: 32 layers of 100 us.
constexpr std::int64_t kOverheadUs = 3200;
/// Range of contexts (longest over shortest) from which the published text speaks of "high".
constexpr std::int64_t kHighRange = 10;
constexpr double kTolerance = 0.05;
/// A row that the published table of step times lacks, though it averages over it.
constexpr const char* kUnprinted = "extreme_64x_4req";

struct Ratios {
  std::vector<double> all;
  std::vector<double> even;  ///< Contexts all alike.
  std::vector<double> high;
};

Ratios ratio_table(const h33::Subjects& with, StudyTable& table) {
  Ratios ratios;
  for (const auto& [name, contexts] : decode_scenarios()) {
    const double batch = attention_seconds(*with.at("batch"), contexts);
    const double single = attention_seconds(*with.at("single"), contexts);
    const double ratio = rounded(batch / single, kPrintedDecimals);
    const std::int64_t longest = *std::ranges::max_element(contexts);
    const std::int64_t range = longest / *std::ranges::min_element(contexts);
    ratios.all.push_back(ratio);
    if (range == 1) {
      ratios.even.push_back(ratio);
    }
    if (range >= kHighRange) {
      ratios.high.push_back(ratio);
    }
    table.rows.push_back(row("scenario",
                             name,
                             "kv_lens",
                             contexts,
                             "bs",
                             std::ssize(contexts),
                             "max_kv",
                             longest,
                             "range",
                             range,
                             "ratio",
                             ratio,
                             "status",
                             std::abs(ratio - 1.0) > kTolerance ? "OUTSIDE_5%" : "WITHIN_5%",
                             "current_attn_s",
                             batch,
                             "per_request_attn_s",
                             single));
  }
  return ratios;
}

/// MFU over batch sizes at each context; how often a larger batch has a smaller one.
std::int64_t batch_table(const Subject& subject, StudyTable& table) {
  const auto& source = subject.roofline()->table_formulas()->source();
  constexpr std::array<std::int64_t, 5> kBatches = {1, 4, 8, 16, 32};
  std::int64_t all_violations = 0;
  for (const std::int64_t context : {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}) {
    std::vector<double> mfu;
    bool replaced = false;
    std::int64_t violations = 0;
    for (const std::int64_t batch : kBatches) {
      const auto found = source.decode(batch, context);
      replaced =
          replaced || (batch == 1 && found.outcome != latency::measured::LookupOutcome::kFound);
      violations += !mfu.empty() && found.mfu < mfu.back() ? 1 : 0;
      mfu.push_back(rounded(found.mfu, kPrintedDecimals));
    }
    all_violations += violations;
    table.rows.push_back(row("kv",
                             context,
                             "batch_sizes",
                             std::vector<std::int64_t>(kBatches.begin(), kBatches.end()),
                             "computed",
                             mfu,
                             "fallback_bs1",
                             replaced,
                             "violations",
                             violations));
  }
  return all_violations;
}

void range_table(const h33::Subjects& with, StudyTable& table) {
  constexpr std::int64_t kLong = 8192;
  for (const std::int64_t shorter : {8192, 4096, 2048, 1024, 512, 256, 128}) {
    const std::vector<std::int64_t> contexts = {kLong, shorter, shorter, shorter};
    table.rows.push_back(row("short_kv",
                             shorter,
                             "kv_lens",
                             contexts,
                             "max_kv",
                             kLong,
                             "range",
                             kLong / shorter,
                             "ratio",
                             rounded(attention_seconds(*with.at("batch"), contexts) /
                                         attention_seconds(*with.at("single"), contexts),
                                     kPrintedDecimals)));
  }
}

/// Ratios of the two step times, over all scenarios and over those that were printed.
std::pair<std::vector<double>, std::vector<double>> step_table(const h33::Subjects& with,
                                                               Outcome& out) {
  constexpr double kMicros = 1e6;
  std::vector<double> all;
  std::vector<double> printed;
  for (const auto& [name, contexts] : decode_scenarios()) {
    const Requests step{.decodes = contexts};
    const std::int64_t baseline = with.at("batch")->step_us(step);
    const std::int64_t adjusted = with.at("single")->step_us(step);
    const double ratio = static_cast<double>(baseline) / static_cast<double>(adjusted);
    all.push_back(ratio);
    out.effects.front().values.emplace_back(static_cast<double>(baseline),
                                            static_cast<double>(adjusted));
    if (std::string(name) == kUnprinted) {
      continue;
    }
    printed.push_back(rounded(ratio, kPrintedDecimals));
    const double attention = attention_seconds(*with.at("batch"), contexts);
    out.tables[3].rows.push_back(
        row("scenario",
            name,
            "kv_lens",
            contexts,
            "baseline",
            baseline,
            "adjusted",
            adjusted,
            "ratio",
            printed.back(),
            "attn_frac",
            rounded(100.0 * attention * kMicros / static_cast<double>(baseline - kOverheadUs), 2),
            "v2_final_us",
            with.at("shipped")->step_us(step),
            "weighted_attn_s",
            attention_seconds(*with.at("shipped"), contexts)));
  }
  return {all, printed};
}

core::Result<Outcome> run_h33(const Lab& lab) {
  auto loaded = h33::subjects_of(lab);
  if (!loaded) {
    return core::fail(std::move(loaded).error());
  }
  const h33::Subjects& with = *loaded;
  Outcome out;
  out.tables = {{"core_ratio", {}},
                {"mfu_monotonicity", {}},
                {"range_sweep", {}},
                {"step_impact", {}},
                {"summary_stats", {}},
                {"step_ratio_15rows", {}},
                {"step_ratio_14_printed_rows", {}},
                {"profile", {}},
                {"falls_along_context", {}},
                {"per_layer", {}},
                {"causes", {}}};
  out.effects.push_back({.name = "an MFU per request", .values = {}});
  const Ratios ratios = ratio_table(with, out.tables[0]);
  const std::int64_t violations = batch_table(*with.at("batch"), out.tables[1]);
  range_table(with, out.tables[2]);
  const auto [all, printed] = step_table(with, out);
  out.tables[4].rows.push_back(row("min",
                                   *std::ranges::min_element(ratios.all),
                                   "max",
                                   *std::ranges::max_element(ratios.all),
                                   "mean",
                                   mean(ratios.all),
                                   "mean_homogeneous",
                                   mean(ratios.even),
                                   "mean_high",
                                   mean(ratios.high),
                                   "n_high",
                                   std::ssize(ratios.high),
                                   "violations",
                                   violations));
  out.tables[5].rows.push_back(row("min",
                                   *std::ranges::min_element(all),
                                   "max",
                                   *std::ranges::max_element(all),
                                   "mean",
                                   mean(all)));
  out.tables[6].rows.push_back(
      row("min", *std::ranges::min_element(printed), "mean", mean(printed)));
  h33::profile_table(*with.at("batch"), out.tables[7]);
  h33::context_falls_table(*with.at("batch"), out.tables[8]);
  h33::per_layer_table(with, out.tables[9]);
  h33::causes_table(with, out.tables[10]);
  h33::judge(with, out);
  auto made = h33::made_tables_table();
  if (!made) {
    return core::fail(std::move(made).error());
  }
  out.tables.push_back(std::move(*made));
  return out;
}

}  // namespace

Study study_h33() {
  return {.id = "h33",
          .title = "One MFU for uneven decodes",
          .claim =
              "The MFU at the batch's size and longest context, for all its decodes, "
              "underestimates uneven batches.",
          .arms = h33::arms(),
          .held_fixed =
              "Llama-3.1-8B, one GPU, 15 batches of 4 to 16 decodes with contexts of 128 "
              "to 8,192.",
          .refuted_if =
              "every batch whose contexts differ 10 times or more has a ratio of attention times "
              "within "
              "5 % of 1",
          .controls = "batches of equal contexts, where the claim predicts a ratio of 1",
          .reference = Reference::kModel,
          .published = Verdict::kConfirmed,
          .scope = "attention and step times of the model",
          .not_tested = "a measured batch of uneven contexts",
          .run = run_h33};
}

}  // namespace ridgeline::studies
