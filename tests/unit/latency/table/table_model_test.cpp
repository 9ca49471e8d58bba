#include "latency/table/table_model.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/lookup_log.hpp"
#include "latency/measured/make_tables.hpp"
#include "latency/step_time_model.hpp"
#include "latency/table/table_attention.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "unit/latency/measured/table_files.hpp"

namespace ridgeline::latency::table {
namespace {

using core::Tokens;
using domain::StepBatch;
using testing::HasSubstr;

/// Llama-3.1-8B on an H100, on tables made by the kernel model.
struct MadeTables {
  measured::TableFolder folder;
  hardware::GpuSpec gpu = hardware::find_gpu("h100").value();
  model::ModelSpec network = model::find_model("llama-3.1-8b").value();
  Execution execution;
  std::unique_ptr<StepTimeModel> table;
  std::unique_ptr<StepTimeModel> kernel;

  MadeTables() {
    const measured::MakeRequest request{.heads = {{32, 8, 128}}, .tensor_parallel_sizes = {1, 2}};
    const auto made = measured::make_tables(gpu, request).value();
    for (const auto& file : made) {
      folder.write(file.name, file.text);
    }
    table = make_step_time_model("table", inputs(folder.path())).value();
    kernel = make_step_time_model("kernel", inputs("")).value();
  }

  [[nodiscard]] ModelInputs inputs(const std::string& bench_data) const {
    ModelInputs inputs{.network = network, .gpu = gpu, .execution = execution};
    inputs.options.bench_data = bench_data;
    return inputs;
  }
};

StepBatch decodes(std::int64_t count, std::int64_t context) {
  return {.num_decodes = count,
          .decode_context = Tokens(context),
          .decode_lengths = {},
          .prefills = {}};
}

StepBatch prompts(std::span<const domain::PrefillChunk> chunks) {
  return {.num_decodes = 0, .decode_context = {}, .decode_lengths = {}, .prefills = chunks};
}

double attention_us(const StepTimeModel& model, const StepBatch& batch) {
  double us = 0.0;
  for (const OperatorTime& part : model.explain(batch).parts) {
    us += part.name == "attention" ? core::as_microseconds(part.time) : 0.0;
  }
  return us;
}

TEST(TableModel, OnTablesOfTheKernelModelItIsTheKernelModel) {
  const MadeTables made;
  // Grid points: batch and context per sequence powers of two, the new token included.
  for (const std::int64_t count : {1, 8, 64, 512}) {
    for (const std::int64_t kv_len : {1024, 8192}) {
      const auto batch = decodes(count, count * (kv_len - 1));
      const double ratio = made.table->predict(batch).gpu().to_seconds() /
                           made.kernel->predict(batch).gpu().to_seconds();
      EXPECT_NEAR(ratio, 1.0, 0.03) << count << " x " << kv_len;
      EXPECT_NEAR(attention_us(*made.table, batch) / attention_us(*made.kernel, batch), 1.0, 1e-4);
    }
  }
}

TEST(TableModel, IsAffineExactlyWhereItSaysSo) {
  const MadeTables made;
  for (const std::int64_t count : {1, 3, 20, 700}) {
    for (const std::int64_t context : {0, 5, 900, 40'000, 1'000'000, 300'000'000}) {
      const auto step = made.table->affine(count, Tokens(context));
      ASSERT_TRUE(step.has_value());
      EXPECT_LE(step->lowest.value(), context);
      EXPECT_GE(step->highest.value(), context);
      for (const Tokens at : {step->lowest, Tokens(context), step->highest}) {
        EXPECT_EQ(step->at(at), made.table->predict(decodes(count, at.value())));
      }
    }
  }
}

TEST(TableModel, AWholePromptBesideDecodesIsALineAsWell) {
  const MadeTables made;
  for (const std::int64_t count : {0, 1, 20, 700}) {
    for (const std::int64_t each : {5, 900, 40'000}) {
      for (const std::int64_t prompt : {100, 777, 9000}) {
        const auto step =
            made.table->affine_with_prompt(count, Tokens(prompt), Tokens(count * each));
        ASSERT_TRUE(step.has_value());
        const std::vector<domain::PrefillChunk> chunks = {
            {.past = {}, .new_tokens = Tokens(prompt)}};
        for (const Tokens at : {step->lowest, Tokens(count * each), step->highest}) {
          domain::StepBatch batch = decodes(count, count == 0 ? 0 : at.value());
          batch.prefills = chunks;
          EXPECT_EQ(step->at(at), made.table->predict(batch));
        }
      }
    }
  }
}

TEST(TableModel, MoreContextOrMoreSequencesNeverCostLess) {
  const MadeTables made;
  core::Duration last;
  for (std::int64_t context = 1; context < 200'000'000; context = context * 5 / 4 + 1) {
    const auto now = made.table->predict(decodes(7, context)).gpu();
    EXPECT_GE(now, last) << context;
    last = now;
  }
  last = {};
  for (std::int64_t count = 1; count < 3000; count += 1 + count / 10) {
    const auto now = made.table->predict(decodes(count, count * 3000)).gpu();
    EXPECT_GE(now, last) << count;
    last = now;
  }
}

TEST(TableModel, PromptsArePricedFromOneTokenToAMillion) {
  const MadeTables made;
  core::Duration last;
  for (std::int64_t tokens = 1; tokens <= 1'000'000; tokens = tokens * 4 / 3 + 1) {
    const std::vector<domain::PrefillChunk> chunks = {{.past = {}, .new_tokens = Tokens(tokens)}};
    const auto now = made.table->predict(prompts(chunks)).gpu();
    EXPECT_GT(now, core::Duration());
    EXPECT_LT(now, core::Duration::seconds(10'000));
    if (tokens > 16) {
      EXPECT_GE(now, last) << tokens;
    }
    last = now;
  }
}

/// 32, 16 and 8 heads on a rank: parts of a prompt are differences of whole ones.
TEST(TableModel, APromptInTwoChunksCostsTheSameAttention) {
  MadeTables made;
  for (const std::int64_t ranks : {1, 2, 4}) {
    made.execution.sharding.tensor_parallel_size = ranks;
    const auto table = make_step_time_model("table", made.inputs(made.folder.path())).value();
    const auto us = [&](std::int64_t past, std::int64_t tokens) {
      const std::vector<domain::PrefillChunk> chunks = {
          {.past = Tokens(past), .new_tokens = Tokens(tokens)}};
      return attention_us(*table, prompts(chunks));
    };
    EXPECT_NEAR((us(0, 4096) + us(4096, 4096)) / us(0, 8192), 1.0, 0.02) << ranks << " ranks";
  }
}

TEST(TableModel, OnlyTheSumOfContextsCounts) {
  const MadeTables made;
  // 8 x 4096, 7 x 1024 + 32768, 4 x 16384 + 4 x 32768.
  const auto us = [&](std::int64_t context) {
    return made.table->predict(decodes(8, context)).gpu();
  };
  EXPECT_LT(us(8 * 4096), us(7 * 1024 + 32768));
  EXPECT_LT(us(7 * 1024 + 32768), us(4 * 16384 + 4 * 32768));
}

TEST(TableModel, SaysWhereItLeftTheTable) {
  const MadeTables made;
  LookupLog log;
  static_cast<void>(made.table->predict_logged(decodes(8, 8 * 4096), log));
  EXPECT_TRUE(made.table->findings(log).empty());
  const domain::PrefillChunk large{
      .past = {}, .new_tokens = Tokens(1'000'000), .samples = true, .drafts = 0};
  LookupLog outside;
  static_cast<void>(made.table->predict_logged(decodes(600, 600 * 200'000), outside));
  static_cast<void>(made.table->predict_logged(prompts({&large, 1}), outside));
  EXPECT_TRUE(made.table->findings(log).empty()) << "each run has its own log";
  std::string text;
  for (const auto& warning : made.table->findings(outside)) {
    text += warning.message + "\n";
  }
  EXPECT_THAT(text, HasSubstr("asked for m 1000000, above the measured"));
  EXPECT_THAT(text, HasSubstr("asked for a prompt of 1000000, above the measured"));
  EXPECT_THAT(text, HasSubstr("asked for a batch of 600, above the measured 512"));
  EXPECT_THAT(text, HasSubstr("asked for a mean context of 200000, above the measured 131072"));
}

TEST(TableModel, NeedsATable) {
  const MadeTables made;
  const auto without = make_step_time_model("table", made.inputs(""));
  ASSERT_FALSE(without.has_value());
  EXPECT_THAT(measured::all_errors(without.error()),
              HasSubstr("latency.bench_data: the model 'table' needs a folder"));
  const auto nowhere = make_step_time_model("table", made.inputs(made.folder.path("x")));
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_THAT(measured::all_errors(nowhere.error()), HasSubstr("no such folder"));
}

TEST(TableModel, ScalesTheFormatThatWasNotMeasured) {
  // These tables, called FP8: their MFU is half, so 16-bit weights take the kernel model's ratio.
  const MadeTables made;
  std::string text = "m,k,n,latency_us,mfu\n";
  for (const std::int64_t m : {8, 1024}) {
    text += fmt::format("{},4096,4096,{},{}\n",
                        m,
                        20.0,
                        2.0 * static_cast<double>(m) * 4096 * 4096 / 20e-6 / 1979e12);
  }
  made.folder.write("gemm/h100/data.csv", text);
  const auto model = make_step_time_model("table", made.inputs(made.folder.path())).value();
  std::string notes;
  for (const auto& warning : model->notes()) {
    notes += warning.message + "\n";
  }
  EXPECT_THAT(notes, HasSubstr("measured fp8 kernels; bf16 weights are priced with"));
  bool found = false;
  for (const OperatorTime& part : model->explain(decodes(8, 100)).parts) {
    found = found || part.source.find("scaled to bf16") != std::string::npos;
  }
  EXPECT_TRUE(found);
}

TEST(TableAttention, TakesTheTableOfTheNearestBytes) {
  measured::MeasuredKernels measured;
  const auto add = [&](std::int64_t heads, std::int64_t kv_heads, bool kv_8bit) {
    auto& decode = measured.decodes.emplace_back();
    decode.shape = {heads, kv_heads, 128};
    decode.kv_8bit = kv_8bit;
    decode.points = {{.batch_size = 1, .kv_len = 1000, .us = 10.0},
                     {.batch_size = 1, .kv_len = 2000, .us = 20.0}};
    auto& prefill_table = measured.prefills.emplace_back();
    prefill_table.shape = {heads, kv_heads, 128};
    prefill_table.points = {{.seq_len = 1000, .us = 10.0}};
  };
  add(32, 8, false);
  add(32, 32, false);
  add(32, 8, true);
  const auto chosen = choose_tables(
      measured, {.heads = 40, .kv_heads = 8, .head_dim = 128, .kv = model::DType::kBf16});
  EXPECT_EQ(chosen.decode, &measured.decodes[0]);
  ASSERT_EQ(chosen.prefill.size(), 1U);
  EXPECT_EQ(chosen.prefill[0], &measured.prefills[0]);
  const auto fp8 = choose_tables(
      measured, {.heads = 40, .kv_heads = 8, .head_dim = 128, .kv = model::DType::kFp8});
  EXPECT_EQ(fp8.decode, &measured.decodes[2]);
}

}  // namespace
}  // namespace ridgeline::latency::table
