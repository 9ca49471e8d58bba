#include "latency/roofline/table_mfu.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "document/document.hpp"
#include "latency/lookup_log.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/roofline/mfu_source.hpp"
#include "latency/roofline/roofline_model.hpp"
#include "latency/roofline/step_cost.hpp"
#include "latency/step_time_model.hpp"
#include "unit/latency/measured/table_files.hpp"
#include "unit/latency/roofline/roofline_fixtures.hpp"

namespace ridgeline::latency::roofline {
namespace {

using fixtures::BuiltModel;
using fixtures::llama_31_8b;
using fixtures::request_step;
using fixtures::setting;

/// Tables of an "h100" whose every MFU is the same, apart from what a test writes.
void write_flat_tables(const measured::TableFolder& folder, double mfu) {
  std::string gemm = "m,k,n,latency_us,mfu\n";
  for (const int m : {8, 64, 4096}) {
    gemm += fmt::format("{},4096,6144,10,{}\n{},16384,16384,10,{}\n", m, mfu, m, mfu);
  }
  folder.write("gemm/h100/data.csv", gemm);
  folder.write(
      "mha/prefill/h100/32-8-128.csv",
      fmt::format("dtype,seq_len,latency_us,mfu\nbf16,1024,9,{}\nbf16,32768,9,{}\n", mfu, mfu));
  std::string decode = "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\n";
  for (const int batch : {1, 16, 64}) {
    for (const int context : {1024, 8192}) {
      decode += fmt::format("bf16,bf16,{},{},9,{}\n", batch, context, mfu);
    }
  }
  folder.write("mha/decode/h100/32-8-128-tp1.csv", decode);
}

ModelOptions with_tables(const measured::TableFolder& folder, std::vector<ModelSetting> more = {}) {
  return {.bench_data = folder.path(), .settings = std::move(more)};
}

ModelOptions constant_mfu(std::vector<ModelSetting> more = {}) {
  more.push_back(setting("lookup", "constant"));
  more.push_back(setting("mfuPrefill", 0.5));
  more.push_back(setting("mfuDecode", 0.5));
  return {.settings = std::move(more)};
}

/// Multiplications and additions of one token in a layer's matrices of Llama-3.1-8B, times two.
constexpr double kGemmFlops =
    2.0 * (4096.0 * 4096 * 2 + 2 * 4096.0 * 1024 + 3 * 4096.0 * 14336) * 32;
constexpr double kPeak = 989.5e12;

TEST(TableMfu, ADecodeIsItsFlopsOverPeakAndMfu) {
  const BuiltModel model("v2-h33",
                         llama_31_8b(),
                         1,
                         constant_mfu({setting("overhead", "none"),
                                       setting("BwPeakTBs", 1000.0)}));  // memory out of the way
  const StepCost cost = model->cost(request_step({1000, 500}, {}).batch());
  // GEMM: 2 tokens. Attention: 4 FLOPs x 32 heads x 128 x 32 layers per token of context.
  EXPECT_NEAR(cost.decode.gemm, 2 * kGemmFlops / (kPeak * 0.5), 1e-15);
  EXPECT_NEAR(cost.decode.attention, 4.0 * 32 * 128 * 32 * 1500 / (kPeak * 0.5), 1e-15);
  EXPECT_EQ(cost.rounded_us, std::lround((cost.decode.gemm + cost.decode.attention) * 1e6));
}

TEST(TableMfu, FlatTablesGiveWhatTheConstantGives) {
  const measured::TableFolder folder;
  write_flat_tables(folder, 0.5);
  const auto steps = {request_step({100, 9000, 3}, {}),
                      request_step({}, {{0, 700}, {3000, 1}, {100, 5000}}),
                      request_step({5, 6, 7000}, {{0, 90}})};
  for (const Preset& preset : presets()) {
    if (preset.version != Version::kV2) {
      continue;
    }
    const std::string name(preset.name);
    const BuiltModel table(name, llama_31_8b(), 1, with_tables(folder));
    const BuiltModel constant(name, llama_31_8b(), 1, constant_mfu());
    for (const auto& step : steps) {
      EXPECT_EQ(table->predict(step.batch()).gpu(), constant->predict(step.batch()).gpu()) << name;
    }
  }
}

TEST(TableMfu, TheQuickSumOfTheWeightingEqualsTheLookups) {
  const measured::TableFolder folder;
  write_flat_tables(folder, 0.5);
  // A ragged grid with a zero: (1, 1024) reads 0, (64, 8192) is missing.
  folder.write("mha/decode/h100/32-8-128-tp1.csv",
               "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\n"
               "bf16,bf16,1,1024,9,0.0\nbf16,bf16,1,4096,9,0.003\nbf16,bf16,1,8192,9,0.005\n"
               "bf16,bf16,16,1024,9,0.008\nbf16,bf16,16,4096,9,0.011\nbf16,bf16,16,8192,9,0.012\n"
               "bf16,bf16,64,1024,9,0.012\nbf16,bf16,64,4096,9,0.013\n");
  const BuiltModel model("v2-final", llama_31_8b(), 1, with_tables(folder));
  const MfuSource& source = model->table_formulas()->source();
  for (const std::int64_t batch : {1, 2, 15, 16, 17, 63, 64, 65, 3000}) {
    double sum = 0.0;
    std::vector<core::Tokens> contexts;
    for (const std::int64_t context : {0, 1, 1023, 1024, 1025, 4096, 5000, 8191, 8192, 99999}) {
      contexts.emplace_back(context);
      sum += static_cast<double>(context) * source.decode(batch, context).mfu;
    }
    EXPECT_EQ(source.weighted_context(batch, contexts), sum) << batch;
    EXPECT_EQ(source.weighted_context(batch, contexts), sum) << batch << ", remembered";
  }
}

TEST(TableMfu, CountsWhatLeavesTheTables) {
  const measured::TableFolder folder;
  write_flat_tables(folder, 0.5);
  const BuiltModel model("v2-final", llama_31_8b(), 1, with_tables(folder));
  LookupLog log;
  const auto missed = [&log](Miss miss) { return log.at(static_cast<std::size_t>(miss)); };
  const auto step = request_step({1024, 8192}, {});
  EXPECT_TRUE(model->findings(log).empty());
  EXPECT_EQ(model->predict_logged(step.batch(), log), model->predict(step.batch()));
  EXPECT_EQ(missed(Miss::kContext).count, 0);
  static_cast<void>(model->predict_logged(request_step({10192, 100}, {}).batch(), log));
  EXPECT_EQ(missed(Miss::kContext).count, 2);
  EXPECT_EQ(missed(Miss::kContext).most, 2000.0);  // 10192 - 8192
  static_cast<void>(model->predict_logged(request_step({}, {{0, 512}}).batch(), log));
  EXPECT_EQ(missed(Miss::kSequence).count, 1);
  EXPECT_EQ(missed(Miss::kSequence).most, 512.0);  // bucket 512 below 1024
  const auto findings = model->findings(log);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().code, "W-table-context");
  EXPECT_THAT(findings.front().message, testing::HasSubstr("2 contexts outside"));
}

/// Two runs share a model: what the first met is not the second's, and what the model remembers of
/// the first is counted for the second as well.
TEST(TableMfu, EveryRunHasItsOwnLog) {
  const measured::TableFolder folder;
  write_flat_tables(folder, 0.5);
  const BuiltModel model("v2-final", llama_31_8b(), 1, with_tables(folder));
  const auto rows = [](const LookupLog& log) {
    return log.at(static_cast<std::size_t>(Miss::kRows)).count;
  };
  const auto large = request_step({}, {{0, 1'000'000}});
  LookupLog first;
  static_cast<void>(model->predict_logged(large.batch(), first));
  LookupLog second;
  const auto inside = request_step(std::vector<std::int64_t>(16, 2048), {});
  static_cast<void>(model->predict_logged(inside.batch(), second));
  EXPECT_FALSE(model->findings(first).empty());
  EXPECT_TRUE(model->findings(second).empty());
  const auto small = request_step(std::vector<std::int64_t>(5000, 1024), {});
  static_cast<void>(model->predict_logged(small.batch(), first));
  static_cast<void>(model->predict_logged(small.batch(), second));
  EXPECT_GT(rows(second), 0);
  LookupLog third;
  static_cast<void>(model->predict_logged(small.batch(), third));
  EXPECT_EQ(rows(third), rows(second));
}

TEST(TableMfu, FallsBackToTheNearestHeadsAndRanksAndSaysSo) {
  const measured::TableFolder folder;
  write_flat_tables(folder, 0.5);
  auto network = llama_31_8b();
  network.layers.front().attention.kv_heads = 4;
  const BuiltModel model("v2-final", network, 2, with_tables(folder));
  auto notes = model->notes();
  // One MFU for all is a table that cannot be true, which is another test's.
  std::erase_if(notes, [](const auto& note) { return note.code == "W-table-contradiction"; });
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_THAT(notes[0].message, testing::HasSubstr("32-8-128 is the nearest, 4 away"));
  EXPECT_THAT(notes[0].message, testing::HasSubstr("/mha/prefill/h100/32-4-128.csv is missing"));
  EXPECT_EQ(notes[1].code, "W-table-tp");
  EXPECT_THAT(notes[1].message, testing::HasSubstr("/mha/decode/h100/32-8-128-tp2.csv is missing"));
}

TEST(TableMfu, SwitchesChangeWhatTheyNameAlone) {
  const auto step = request_step({64, 64, 4096}, {{0, 100}, {1000, 200}});
  const auto cost = [&](std::vector<ModelSetting> settings) {
    return BuiltModel("v2-h33", llama_31_8b(), 1, constant_mfu(std::move(settings)))
        ->cost(step.batch());
  };
  const StepCost base = cost({});
  // 64 + 64 + 4096 = 4224 pairs, against three of 4096.
  EXPECT_NEAR(cost({setting("decode_attention", "max")}).decode.attention / base.decode.attention,
              3 * 4096.0 / 4224.0,
              1e-12);
  // One MFU for all: however they are grouped.
  for (const char* kind : {"per-request", "weighted", "range", "range-count"}) {
    EXPECT_NEAR(
        cost({setting("decode_attention", kind)}).decode.attention, base.decode.attention, 1e-15);
  }
  // 100 * 100 + 200 * 1200 pairs; buckets 512 and 2048; hybrid with 512: 100 * 512 + 200 * 1200.
  const double actual = 100.0 * 100 + 200.0 * 1200;
  EXPECT_NEAR(
      cost({setting("attention_length", "bucket")}).prefill.attention / base.prefill.attention,
      (100.0 * 512 + 200.0 * 2048) / actual,
      1e-12);
  EXPECT_NEAR(
      cost({setting("attention_length", "hybrid")}).prefill.attention / base.prefill.attention,
      (100.0 * 512 + 200.0 * 1200) / actual,
      1e-12);
  // A bucket of 64 does not hold 100 tokens, 128 does.
  EXPECT_NEAR(cost({setting("attention_length", "bucket"),
                    {.key = "min_bucket", .value = document::Node::integer(64, {})}})
                      .prefill.attention /
                  base.prefill.attention,
              (100.0 * 128 + 200.0 * 2048) / actual,
              1e-12);
  EXPECT_NEAR(
      cost({setting("prefill_attention_divisor", 2.0)}).prefill.attention / base.prefill.attention,
      1.8 / 2.0,
      1e-12);
  // 1 + 1 / head_dim.
  EXPECT_NEAR(
      cost({{.key = "softmax", .value = document::Node::boolean(true, {})}}).decode.attention /
          base.decode.attention,
      1.0 + 1.0 / 128.0,
      1e-12);
  EXPECT_EQ(cost({setting("weight_loads", "once")}).prefill.weights, 0.0);
  EXPECT_EQ(cost({setting("overhead", "none")}).overhead_us, 0.0);
}

TEST(TableMfu, BandwidthIsOneFactorOrPerPhaseOrPerKindOfByte) {
  const auto step = request_step({2000}, {{500, 100}});
  const auto cost = [&](std::vector<ModelSetting> settings) {
    return BuiltModel("v2-h33", llama_31_8b(), 1, constant_mfu(std::move(settings)))
        ->cost(step.batch());
  };
  const StepCost one = cost({setting("bwEfficiencyFactor", 1.0)});
  const StepCost phases = cost({setting("bandwidth", "per-phase"),
                                setting("prefillBwFactor", 0.5),
                                setting("decodeBwFactor", 0.8)});
  EXPECT_NEAR(phases.prefill.memory() / one.prefill.memory(), 2.0, 1e-12);
  EXPECT_NEAR(phases.decode.memory() / one.decode.memory(), 1.25, 1e-12);
  const StepCost kinds = cost(
      {setting("bandwidth", "split"), setting("weightBwFactor", 0.5), setting("kvBwFactor", 0.8)});
  EXPECT_NEAR(kinds.decode.weights / one.decode.weights, 2.0, 1e-12);
  EXPECT_NEAR(kinds.decode.dynamic / one.decode.dynamic, 1.25, 1e-12);
  // A factor that is not given is the one factor.
  const StepCost weights = cost({setting("bandwidth", "split"),
                                 setting("bwEfficiencyFactor", 0.8),
                                 setting("weightBwFactor", 0.5)});
  EXPECT_NEAR(weights.decode.weights / one.decode.weights, 2.0, 1e-12);
  EXPECT_NEAR(weights.decode.dynamic / one.decode.dynamic, 1.25, 1e-12);
}

// The review's proposal: KV at 0.4 + 0.3 * min(requests / 64, 1) of the peak, weights at 0.9.
TEST(TableMfu, HybridBandwidthGrowsWithTheRequests) {
  const auto cost = [&](std::size_t decodes, std::vector<ModelSetting> settings) {
    return BuiltModel("v2-h33", llama_31_8b(), 1, constant_mfu(std::move(settings)))
        ->cost(request_step(std::vector<std::int64_t>(decodes, 2000), {}).batch());
  };
  for (const auto& [decodes, share] :
       {std::pair(std::size_t{16}, 0.475), {std::size_t{64}, 0.7}, {std::size_t{100}, 0.7}}) {
    const StepCost peak = cost(decodes, {setting("bwEfficiencyFactor", 1.0)});
    const StepCost hybrid = cost(decodes, {setting("bandwidth", "hybrid")});
    EXPECT_NEAR(peak.decode.dynamic / hybrid.decode.dynamic, share, 1e-12) << decodes;
    EXPECT_NEAR(peak.decode.weights / hybrid.decode.weights, 0.9, 1e-12) << decodes;
  }
}

TEST(TableMfu, RangesAreLookedUpAtTheirOwnCount) {
  const measured::TableFolder folder;
  write_flat_tables(folder, 0.5);
  folder.write("mha/decode/h100/32-8-128-tp1.csv",
               "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\n"
               "bf16,bf16,1,1024,9,0.1\nbf16,bf16,3,1024,9,0.3\nbf16,bf16,4,1024,9,0.4\n");
  const auto step = request_step({2048, 100, 2000, 2049}, {});
  const auto attention = [&](const char* kind) {
    return BuiltModel(
               "v2-h33", llama_31_8b(), 1, with_tables(folder, {setting("decode_attention", kind)}))
        ->cost(step.batch())
        .decode.attention;
  };
  // Flat in the context. Three sequences of up to 2,048 tokens at 0.3, one of 2,049 at 0.1.
  const double kept = 4148.0 / 0.3 + 2049.0 / 0.1;
  EXPECT_NEAR(attention("range-count") / attention("sum"), kept / (6197.0 / 0.4), 1e-12);
}

TEST(TableMfu, TheLogarithmicLookupWeighsLikeTheOthers) {
  const measured::TableFolder folder;
  write_flat_tables(folder, 0.5);
  folder.write("mha/decode/h100/32-8-128-tp1.csv",
               "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\n"
               "bf16,bf16,1,1024,9,0.1\nbf16,bf16,1,4096,9,0.3\n");
  const BuiltModel model(
      "v2-final", llama_31_8b(), 1, with_tables(folder, {setting("lookup", "log")}));
  // 2,048 is half of the way in logarithms: 0.2.
  const double flops = 4.0 * 32 * 2048.0 * 128 * 32;
  EXPECT_NEAR(
      model->cost(request_step({2048}, {}).batch()).decode.attention, flops / (kPeak * 0.2), 1e-12);
}

TEST(TableMfu, LmHeadIsOneMoreGemmOverTheSampled) {
  const auto step = request_step({10, 10}, {});
  const ModelSetting on{.key = "lm_head", .value = document::Node::boolean(true, {})};
  const BuiltModel without("v2-final", llama_31_8b(), 2, constant_mfu());
  const BuiltModel with("v2-final", llama_31_8b(), 2, constant_mfu({on}));
  const double more =
      with->cost(step.batch()).decode.gemm - without->cost(step.batch()).decode.gemm;
  // Two rows are memory-bound: 4096 * 128256 * 2 bytes over 0.82 * 3.35 TB/s, on two ranks.
  EXPECT_NEAR(more, 4096.0 * 128256 * 2 / (0.82 * 3.35e12) / 2, 1e-12);
}

}  // namespace
}  // namespace ridgeline::latency::roofline
