#include "lab/studies/h33_answers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"
#include "latency/roofline/mfu_source.hpp"
#include "latency/roofline/table_mfu.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::studies::h33 {
namespace {

/// Batches that the published rule looks at: their contexts differ by so many times.
constexpr std::int64_t kRuleRange = 10;
constexpr double kRuleTolerance = 0.05;
constexpr double kMicros = 1e6;
/// Layers of the study's network.
constexpr double kLayers = 32.0;
constexpr std::size_t kSixteen = 12;  ///< Index of a scenario.

const latency::roofline::MfuSource& source_of(const Subject& subject) {
  return subject.roofline()->table_formulas()->source();
}

double ratio_of(const Subject& batch, const Subject& single, const DecodeScenario& scenario) {
  return attention_seconds(batch, scenario.contexts) / attention_seconds(single, scenario.contexts);
}

}  // namespace

std::int64_t DecodeScenario::range() const {
  return *std::ranges::max_element(contexts) / *std::ranges::min_element(contexts);
}

const std::vector<DecodeScenario>& decode_scenarios() {
  static const std::vector<DecodeScenario> kScenarios = {
      {"homo_4x128", {128, 128, 128, 128}},
      {"homo_4x1024", {1024, 1024, 1024, 1024}},
      {"homo_4x4096", {4096, 4096, 4096, 4096}},
      {"mild_2x_range", {512, 512, 1024, 1024}},
      {"mild_4x_range", {256, 512, 512, 1024}},
      {"mod_8x_range", {128, 256, 512, 1024}},
      {"mod_10x_short_heavy", {128, 128, 128, 1024}},
      {"mod_10x_long_heavy", {128, 1024, 1024, 1024}},
      {"high_32x_4req", {128, 128, 128, 4096}},
      {"high_32x_5req", {256, 512, 1024, 4096, 8192}},
      {"extreme_64x_4req", {128, 128, 128, 8192}},
      {"extreme_64x_8req", {128, 128, 256, 256, 512, 1024, 4096, 8192}},
      {"extreme_64x_16req",
       {128, 128, 128, 128, 256, 256, 256, 512, 512, 1024, 1024, 2048, 2048, 4096, 4096, 8192}},
      {"pathological_1long_7short", {8192, 128, 128, 128, 128, 128, 128, 128}},
      {"pathological_1long_15short",
       {8192, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128}}};
  return kScenarios;
}

std::vector<Arm> arms() {
  std::vector<Arm> all = {
      {.name = "batch", .preset = "v2-h33", .settings = {constants("h100-test")}},
      {.name = "single", .preset = "v2-h33-perreq", .settings = {constants("h100-test")}},
      {.name = "shipped", .preset = "v2-final", .settings = {constants("h100-test")}},
      {.name = "table", .preset = "table"}};
  for (const char* rule : {"nearest", "first", "v1"}) {
    std::vector<latency::ModelSetting> settings = {constants("h100-test"),
                                                   setting("zero_rows", rule)};
    if (rule == std::string("v1")) {
      // V1's own constants.
      settings.push_back(setting("mfuPrefill", 0.65));
      settings.push_back(setting("mfuDecode", 0.12));
    }
    all.push_back(
        {.name = fmt::format("batch, {}", rule), .preset = "v2-h33", .settings = settings});
    all.push_back(
        {.name = fmt::format("single, {}", rule), .preset = "v2-h33-perreq", .settings = settings});
  }
  return all;
}

core::Result<Subjects> subjects_of(const Lab& lab) {
  Subjects with;
  for (const Arm& arm : arms()) {
    auto subject = lab.subject(arm.name);
    if (!subject) {
      return core::fail(std::move(subject).error());
    }
    with[arm.name] = std::move(*subject);
  }
  return with;
}

double attention_seconds(const Subject& subject, const std::vector<std::int64_t>& contexts) {
  return subject.cost({.decodes = contexts}).decode.attention;
}

double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

void profile_table(const Subject& batch, StudyTable& table) {
  constexpr std::int64_t kShort = 128;
  constexpr std::int64_t kLong = 8192;
  constexpr int kDecimals = 6;
  for (const auto& [size, context] : {std::pair(std::int64_t{1}, kShort),
                                      std::pair(std::int64_t{1}, kLong),
                                      std::pair(std::int64_t{8}, kLong)}) {
    table.rows.push_back(row("batch_size",
                             size,
                             "kv",
                             context,
                             "mfu",
                             rounded(source_of(batch).decode(size, context).mfu, kDecimals)));
  }
}

void context_falls_table(const Subject& batch, StudyTable& table) {
  constexpr std::array<std::int64_t, 9> kContexts = {
      64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
  for (const std::int64_t size : {1, 4, 8, 16, 32}) {
    std::int64_t falls = 0;
    double before = 0.0;
    for (const std::int64_t context : kContexts) {
      const double mfu = source_of(batch).decode(size, context).mfu;
      falls += mfu < before ? 1 : 0;
      before = mfu;
    }
    table.rows.push_back(row("batch_size", size, "falls", falls, "of", std::ssize(kContexts) - 1));
  }
}

void per_layer_table(const Subjects& with, StudyTable& table) {
  const auto& contexts = decode_scenarios()[kSixteen].contexts;
  for (const auto& [arm, what] :
       {std::pair("batch", "A: one MFU, at the longest context"),
        std::pair("single", "B: each request alone, added"),
        std::pair("shipped", "weighted MFU, as shipped"),
        std::pair("table", "measured latencies, in the sum of contexts")}) {
    const Subject& subject = *with.at(arm);
    const double seconds = subject.roofline() == nullptr
                               ? subject.attention({.decodes = contexts}).value()
                               : attention_seconds(subject, contexts);
    table.rows.push_back(row("charged_by", what, "us_per_layer", kMicros * seconds / kLayers));
  }
}

void causes_table(const Subjects& with, StudyTable& table) {
  for (const char* rule : {"published", "nearest", "first", "v1"}) {
    const std::string suffix =
        rule == std::string("published") ? std::string() : fmt::format(", {}", rule);
    std::vector<double> even;
    std::vector<double> high;
    for (const DecodeScenario& scenario : decode_scenarios()) {
      const double ratio =
          ratio_of(*with.at("batch" + suffix), *with.at("single" + suffix), scenario);
      if (scenario.range() == 1) {
        even.push_back(ratio);
      }
      if (scenario.range() >= kRuleRange) {
        high.push_back(ratio);
      }
    }
    table.rows.push_back(row("zero_rows",
                             rule,
                             "largest_even",
                             *std::ranges::max_element(even),
                             "mean_even",
                             mean(even),
                             "mean_high",
                             mean(high)));
  }
}

void judge(const Subjects& with, Outcome& out) {
  std::vector<double> high;
  double least_even = 0.0;
  double most_even = 0.0;
  for (const DecodeScenario& scenario : decode_scenarios()) {
    const double ratio = ratio_of(*with.at("batch"), *with.at("single"), scenario);
    if (scenario.range() >= kRuleRange) {
      high.push_back(ratio);
    }
    if (scenario.range() == 1) {
      least_even = least_even == 0.0 ? ratio : std::min(least_even, ratio);
      most_even = std::max(most_even, ratio);
    }
  }
  const auto outside = std::ranges::count_if(
      high, [](double ratio) { return std::abs(ratio - 1.0) > kRuleTolerance; });
  out.by_rule = outside > 0 ? Verdict::kConfirmed : Verdict::kRefuted;
  out.because = fmt::format(
      "{} of the {} batches whose contexts differ {} times or more leave 5 %: ratios {:.6f} to "
      "{:.6f}, mean {:.6f}",
      outside,
      std::ssize(high),
      kRuleRange,
      *std::ranges::min_element(high),
      *std::ranges::max_element(high),
      mean(high));
  const auto per_layer = [&](const char* arm) {
    return kMicros * attention_seconds(*with.at(arm), decode_scenarios()[kSixteen].contexts) /
           kLayers;
  };
  out.finding = fmt::format(
      "Undecidable with these tables. The same ratio is {:.2f} to {:.2f} in batches of equal "
      "contexts, where the claim predicts 1: rows whose MFU was rounded to 0 are replaced by "
      "another row's, and the reference runs each request alone and adds the times, which "
      "serialises the batch. Of sixteen uneven decodes one MFU makes {:.0f} us a layer, each "
      "request alone {:.0f}, the weighted MFU {:.0f}, and measured latencies {:.0f}: decode "
      "attention streams the KV cache and is additive in the contexts (study streaming).",
      least_even,
      most_even,
      per_layer("batch"),
      per_layer("single"),
      per_layer("shipped"),
      kMicros *
          with.at("table")->attention({.decodes = decode_scenarios()[kSixteen].contexts}).value() /
          kLayers);
}

}  // namespace ridgeline::studies::h33
