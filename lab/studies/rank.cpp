// Every variant against the measured latency of the kernels that it looks up.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"
#include "lab/studies/table_statistics.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/roofline/roofline_model.hpp"
#include "latency/roofline/switches.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::studies {
namespace {

constexpr double kSecondsToMicros = 1e6;

/// A network of the catalogue for each head shape that has one.
struct ShapeNetwork {
  latency::measured::HeadShape shape;
  const char* network;
  double layers;
};
constexpr std::array kShapeNetworks = {
    ShapeNetwork{{.heads = 32, .kv_heads = 8, .head_dim = 128}, "llama-3.1-8b", 32},
    ShapeNetwork{{.heads = 32, .kv_heads = 32, .head_dim = 128}, "llama-2-7b", 32},
    ShapeNetwork{{.heads = 64, .kv_heads = 8, .head_dim = 128}, "llama-2-70b", 80},
    ShapeNetwork{{.heads = 28, .kv_heads = 4, .head_dim = 128}, "qwen2.5-7b", 28},
};

/// Predicted over measured, less 1.
struct KernelErrors {
  std::vector<double> decode;
  std::vector<double> prefill;
};

double decode_seconds(const Subject& subject, const Requests& step) {
  if (subject.roofline() == nullptr) {
    return subject.attention(step).value();
  }
  const auto phase = subject.cost(step).decode;
  // Models of constants charge KV as bytes, beside their attention's FLOPs.
  return subject.roofline()->table_formulas() == nullptr ? std::max(phase.attention, phase.dynamic)
                                                         : phase.attention;
}

void measure_decode(const Subject& subject,
                    const ShapeNetwork& of,
                    std::int64_t ranks,
                    const latency::measured::KernelTables& tables,
                    KernelErrors& errors) {
  for (const auto& table : tables.decode) {
    if (table.key().shape != of.shape || table.key().tensor_parallel_size != ranks) {
      continue;
    }
    // Without the cold first row (study rounding).
    for (std::size_t i = 1; i < table.rows().size(); ++i) {
      const auto& one = table.rows()[i];
      const Requests step{.decodes = std::vector<std::int64_t>(
                              static_cast<std::size_t>(one.batch_size), one.kv_len)};
      const double seconds = decode_seconds(subject, step);
      const double us = seconds * kSecondsToMicros / of.layers;
      errors.decode.push_back(us / one.latency_us - 1.0);
    }
  }
}

void measure_prefill(const Subject& subject,
                     const ShapeNetwork& of,
                     const latency::measured::KernelTables& tables,
                     KernelErrors& errors) {
  for (const auto& table : tables.prefill) {
    if (table.shape() != of.shape) {
      continue;
    }
    for (const auto& one : table.rows()) {
      const Requests step{.prefills = {{0, one.seq_len}}};
      const double seconds = subject.roofline() == nullptr ? subject.attention(step).value()
                                                           : subject.cost(step).prefill.attention;
      const double us = seconds * kSecondsToMicros / of.layers;
      errors.prefill.push_back(us / one.latency_us - 1.0);
    }
  }
}

document::Node statistics_row(const std::string& model,
                              const char* kernel,
                              const std::vector<double>& errors) {
  std::vector<double> absolute;
  double sum = 0.0;
  for (const double error : errors) {
    absolute.push_back(std::abs(error));
    sum += error;
  }
  return row("model",
             model,
             "kernel",
             kernel,
             "n",
             std::ssize(errors),
             "median_abs_pct",
             100.0 * quantile(absolute, 0.5),
             "p90_abs_pct",
             100.0 * quantile(absolute, 0.9),
             "mean_signed_pct",
             100.0 * sum / static_cast<double>(errors.size()));
}

std::vector<Arm> rank_arms() {
  std::vector<Arm> arms;
  for (const auto& preset : latency::roofline::presets()) {
    arms.push_back({.name = std::string(preset.name), .preset = std::string(preset.name)});
  }
  const auto add = [&](const char* name, std::vector<latency::ModelSetting> settings) {
    arms.push_back({.name = name, .preset = "v2-final", .settings = std::move(settings)});
  };
  // What the review of V2 proposed, and asked of its divisor of prefill attention (as published
  // 1.8).
  add("v2-final, divisor 1", {setting("prefill_attention_divisor", 1.0)});
  add("v2-final, divisor 2", {setting("prefill_attention_divisor", 2.0)});
  add("v2-final, range", {setting("decode_attention", "range")});
  add("v2-final, range-count", {setting("decode_attention", "range-count")});
  add("v2-final, lookup log", {setting("lookup", "log")});
  add("v2-final, per component", {flag("per_component", true)});
  add("v2-final, per component, hybrid",
      {flag("per_component", true), setting("bandwidth", "hybrid")});
  // Ours. Neither is named in the claim, so neither decides.
  arms.push_back({.name = "kernel", .preset = "kernel"});
  arms.push_back({.name = "table", .preset = "table"});
  return arms;
}

/// A batch of the review's questions about uneven contexts.
struct UnevenBatch {
  const char* name;
  std::vector<std::int64_t> contexts;
};

std::vector<UnevenBatch> uneven_batches() {
  std::vector<std::int64_t> one_long(8, 2048);
  one_long.push_back(32768);
  return {{"1000, 2000, 3000, 32000", {1000, 2000, 3000, 32000}},
          {"8 x 2048, 32768", one_long},
          {"8 x 4096", std::vector<std::int64_t>(8, 4096)},
          {"7 x 1024, 32768", {1024, 1024, 1024, 1024, 1024, 1024, 1024, 32768}},
          {"4 x 16384, 4 x 32768", {16384, 16384, 16384, 16384, 32768, 32768, 32768, 32768}}};
}

/// Attention of uneven batches, where the variants differ: per layer beside the measured latency of
/// as many KV tokens (arm `table`).
core::Result<StudyTable> uneven_table(const Lab& lab) {
  StudyTable table{.name = "uneven_batches", .rows = {}};
  const auto reference = lab.subject("table");
  if (!reference) {
    return core::fail(reference.error());
  }
  constexpr double kLayers = 32.0;
  for (const char* arm : {"v2-h29",
                          "v2-h33",
                          "v2-final",
                          "v2-final, range",
                          "v2-final, range-count",
                          "kernel",
                          "table"}) {
    const auto subject = lab.subject(arm);
    if (!subject) {
      return core::fail(subject.error());
    }
    for (const UnevenBatch& batch : uneven_batches()) {
      const Requests step{.decodes = batch.contexts};
      const double us = decode_seconds(**subject, step) * kSecondsToMicros / kLayers;
      const double measured = (*reference)->attention(step).value() * kSecondsToMicros / kLayers;
      table.rows.push_back(row("contexts",
                               batch.name,
                               "model",
                               arm,
                               "us_per_layer",
                               us,
                               "over_measured",
                               us / measured));
    }
  }
  return table;
}

core::Result<Outcome> run_rank(const Lab& lab) {
  const auto tables = lab.tables();
  if (!tables) {
    return core::fail(tables.error());
  }
  Outcome out;
  out.tables = {{"decode_attention", {}}, {"prefill_attention", {}}};
  std::vector<std::pair<double, std::string>> order;
  for (const Arm& arm : rank_arms()) {
    KernelErrors errors;
    for (const ShapeNetwork& of : kShapeNetworks) {
      for (const std::int64_t ranks : {1, 2, 4}) {
        const auto subject = lab.subject(arm.name, of.network, ranks);
        if (!subject) {
          return core::fail(subject.error());
        }
        measure_decode(**subject, of, ranks, *tables, errors);
        if (ranks == 1) {
          measure_prefill(**subject, of, *tables, errors);
        }
      }
    }
    out.tables[0].rows.push_back(statistics_row(arm.name, "decode attention", errors.decode));
    out.tables[1].rows.push_back(statistics_row(arm.name, "prefill attention", errors.prefill));
    if (latency::roofline::find_preset(arm.name) != nullptr) {
      order.emplace_back(out.tables[0].rows.back().find("median_abs_pct")->as_real(), arm.name);
    }
  }
  for (StudyTable& table : out.tables) {
    std::ranges::stable_sort(table.rows, [](const document::Node& a, const document::Node& b) {
      return a.find("median_abs_pct")->as_real() < b.find("median_abs_pct")->as_real();
    });
  }
  auto uneven = uneven_table(lab);
  if (!uneven) {
    return core::fail(std::move(uneven).error());
  }
  out.tables.push_back(std::move(*uneven));
  const auto best = std::ranges::min_element(order);
  out.by_rule = best->second.starts_with("v2") ? Verdict::kConfirmed : Verdict::kRefuted;
  out.because = fmt::format(
      "least median error in decode attention: {} with {:.1f} %", best->second, best->first);
  out.finding =
      "Looking a kernel up in its own table gives its time back, less the digits of MFU: those "
      "medians say how the table is read, not how well it predicts. What is left to predict (other "
      "shapes, uneven batches, chunks) is where the variants differ, and where these tables have "
      "no measurement. The GEMM table is of FP8 kernels and ranks no variant in BF16 (study mfu).";
  return out;
}

}  // namespace

Study study_rank() {
  return {.id = "rank",
          .title = "Every variant against measured kernels",
          .claim = "MFU tables price attention nearer to its measured latency than constants do.",
          .arms = rank_arms(),
          .held_fixed =
              "measured attention of four networks' heads on 1, 2 and 4 ranks: equal "
              "contexts, whole prompts; each variant's attention time per layer (of a model of "
              "constants the greater of FLOPs and KV bytes)",
          .refuted_if = "a model of constants has the least median error in decode attention",
          .controls = "v0 and v1, which know no table",
          .reference = Reference::kMeasured,
          .published = Verdict::kNone,
          .scope = "attention kernels on one H100, of the shapes that were measured",
          .not_tested = "GEMMs in BF16; whole steps: `ridgeline validate`",
          .run = run_rank};
}

}  // namespace ridgeline::studies
