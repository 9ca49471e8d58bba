#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency {
namespace {

using core::Duration;
using fixtures::chunk;
using fixtures::Step;
using fixtures::Subject;

/// Networks of every kind, on every GPU that constants were fitted on.
const std::deque<Subject>& subjects() {
  static std::deque<Subject> all;
  if (all.empty()) {
    for (const char* name : {"h100", "h200", "a100-80gb", "l40s"}) {
      all.emplace_back(fixtures::llama_2_7b(), fixtures::gpu(name), 1);
      all.emplace_back(fixtures::mistral_nemo_12b(), fixtures::gpu(name), 2);
      all.emplace_back(fixtures::llama_31_70b(), fixtures::gpu(name), 4);
      all.emplace_back(fixtures::qwen25_7b(), fixtures::gpu(name), 1);
      all.emplace_back(fixtures::llama_4_scout_fp8(), fixtures::gpu(name), 2);
    }
    // Latent, windowed, recurrent, compressed and sparse layers, from the catalogue.
    for (const char* network :
         {"deepseek-v3", "gpt-oss-20b", "qwen3-next-80b-a3b", "deepseek-v4-flash", "glm-5-fp8"}) {
      all.emplace_back(model::find_model(network).value(), fixtures::gpu("h200"), 8);
    }
  }
  return all;
}

/// On a GPU whose decode kernel spreads every context over all multiprocessors: Hopper. On Ampere
/// and Ada the time of a sum depends on how many sequences, taken to be equally long, share it.
const kernel::KernelModel& any_model_of_sums() {
  constexpr std::size_t kHopper = 10;  // the first two GPUs, five networks each
  constexpr std::size_t kOther = 10;
  const std::size_t drawn = *rc::gen::inRange<std::size_t>(0, subjects().size() - kOther);
  return subjects()[drawn < kHopper ? drawn : drawn + kOther].model();
}

const kernel::KernelModel& any_model() {
  return subjects()[*rc::gen::inRange<std::size_t>(0, subjects().size())].model();
}

std::int64_t between(std::int64_t lowest, std::int64_t highest) {
  return *rc::gen::inRange<std::int64_t>(lowest, highest + 1);
}

Step any_step() {
  Step step;
  step.num_decodes = between(0, 600);
  step.context = step.num_decodes * between(0, 5000);
  const std::int64_t chunks = between(step.num_decodes == 0 ? 1 : 0, 6);
  for (std::int64_t i = 0; i < chunks; ++i) {
    step.chunks.push_back(chunk(between(0, 20'000), between(1, 3000), *rc::gen::arbitrary<bool>()));
  }
  return step;
}

Duration gpu_time(const kernel::KernelModel& model, const Step& step) {
  return model.predict(step.batch()).gpu();
}

/// A step at a captured graph size is never slower than one with more sequences of the same context
/// sum; between sizes, padding makes them equal but for attention and sampling, which grow.
RC_GTEST_PROP(Kernel, MoreDecodesAreNeverFaster, ()) {
  const auto& model = any_model_of_sums();
  const std::int64_t count = between(1, 2000);
  const std::int64_t context = between(0, 3'000'000);
  RC_ASSERT(
      gpu_time(model, {.num_decodes = count, .context = context, .chunks = {}}) <=
      gpu_time(model, {.num_decodes = count + between(1, 600), .context = context, .chunks = {}}));
}

/// On any GPU, each sequence having the same context.
RC_GTEST_PROP(Kernel, MoreEqualDecodesAreNeverFaster, ()) {
  const auto& model = any_model();
  const std::int64_t count = between(1, 2000);
  const std::int64_t more = count + between(1, 600);
  const std::int64_t each = between(0, 20'000);
  RC_ASSERT(gpu_time(model, {.num_decodes = count, .context = count * each, .chunks = {}}) <=
            gpu_time(model, {.num_decodes = more, .context = more * each, .chunks = {}}));
}

RC_GTEST_PROP(Kernel, MoreContextIsNeverFaster, ()) {
  const auto& model = any_model();
  Step step = any_step();
  const Duration before = gpu_time(model, step);
  if (!step.chunks.empty()) {
    auto& grown = step.chunks.front();
    grown.past += core::Tokens(between(0, 10'000));
    RC_ASSERT(before <= gpu_time(model, step));
  }
  if (step.num_decodes > 0) {
    step.context += between(0, 100'000);
    RC_ASSERT(before <= gpu_time(model, step));
  }
}

/// Chunks that run in the decode kernel and chunks that run in the prefill kernel are priced by
/// different formulas: each side is monotone, the step between them is not (docs/models/kernel.md).
RC_GTEST_PROP(Kernel, LongerChunksAreNeverFaster, ()) {
  const auto& model = any_model();
  const bool is_short = *rc::gen::arbitrary<bool>();
  const std::int64_t past = between(0, 20'000);
  const std::int64_t shorter = is_short ? between(1, 15) : between(17, 8000);
  const std::int64_t longer = is_short ? between(shorter, 16) : between(shorter, 16'000);
  const std::int64_t decodes = between(0, 100);
  RC_ASSERT(
      gpu_time(
          model,
          {.num_decodes = decodes, .context = decodes * 500, .chunks = {chunk(past, shorter)}}) <=
      gpu_time(
          model,
          {.num_decodes = decodes, .context = decodes * 500, .chunks = {chunk(past, longer)}}));
}

RC_GTEST_PROP(Kernel, OneMoreChunkIsNeverFaster, ()) {
  const auto& model = any_model_of_sums();
  Step step = any_step();
  const Duration before = gpu_time(model, step);
  step.chunks.push_back(chunk(between(0, 20'000), between(1, 3000), *rc::gen::arbitrary<bool>()));
  RC_ASSERT(before <= gpu_time(model, step));
}

RC_GTEST_PROP(Kernel, AFasterGpuIsNeverSlower, ()) {
  const std::string name =
      *rc::gen::element<std::string>("h100", "h200", "a100-80gb", "l40s", "new");
  const hardware::GpuSpec slower = fixtures::gpu(name);
  hardware::GpuSpec faster = slower;
  const double factor = 1.0 + 0.01 * static_cast<double>(between(0, 300));
  switch (between(0, 3)) {
    case 0:
      faster.mem_bandwidth = slower.mem_bandwidth * factor;
      break;
    case 1:
      faster.peak_bf16 = slower.peak_bf16 * factor;
      break;
    case 2:
      faster.peak_fp8 = slower.peak_fp8 * factor;
      break;
    default:
      faster.link_bandwidth = slower.link_bandwidth * factor;
  }
  const auto network =
      *rc::gen::arbitrary<bool>() ? fixtures::llama_4_scout_fp8() : fixtures::mistral_nemo_12b();
  const Step step = any_step();
  RC_ASSERT(gpu_time(Subject(network, faster, 2).model(), step) <=
            gpu_time(Subject(network, slower, 2).model(), step));
}

/// Weights that are stored smaller and multiplied alike, and a cache that is: fewer bytes, the same
/// work.
RC_GTEST_PROP(Kernel, FewerBytesAreNeverSlower, ()) {
  auto large = *rc::gen::arbitrary<bool>() ? fixtures::mistral_nemo_12b() : fixtures::qwen25_7b();
  auto small = large;
  if (*rc::gen::arbitrary<bool>()) {
    small.precision.kv = model::DType::kFp8;
  }
  if (*rc::gen::arbitrary<bool>()) {
    model::set_weight_format(
        small,
        *rc::gen::element(
            model::DType::kFp8WeightOnly, model::DType::kInt8WeightOnly, model::DType::kInt4));
  }
  const hardware::GpuSpec gpu =
      fixtures::gpu(*rc::gen::element<std::string>("h100", "h200", "a100-80gb", "l40s", "new"));
  const std::int64_t ranks = *rc::gen::element<std::int64_t>(1, 2, 4);
  const Step step = any_step();
  RC_ASSERT(gpu_time(Subject(small, gpu, ranks).model(), step) <=
            gpu_time(Subject(large, gpu, ranks).model(), step));
}

RC_GTEST_PROP(Kernel, EveryStepTakesTime, ()) {
  const auto& model = any_model();
  // Uniform in the order of magnitude, up to a million tokens.
  const auto magnitude = [] {
    std::int64_t most = 1;
    for (std::int64_t digits = between(0, 6); digits > 0; --digits) {
      most *= 10;
    }
    return between(1, most);
  };
  const Step prefill{.num_decodes = 0, .context = 0, .chunks = {chunk(magnitude(), magnitude())}};
  const Step decode{.num_decodes = magnitude(), .context = magnitude() * 1000, .chunks = {}};
  for (const Step& step : {prefill, decode}) {
    const Duration time = gpu_time(model, step);
    RC_ASSERT(time > Duration::microseconds(100));
    RC_ASSERT(time < Duration::seconds(100'000));
  }
}

/// Same size: the batch that reads more KV cache takes longer, however it is spread; the same sum,
/// the same time.
RC_GTEST_PROP(Kernel, DecodeBatchesOrderBySumOfContext, ()) {
  const auto& model = any_model();
  const std::int64_t count = between(1, 512);
  const std::int64_t one = between(0, 2'000'000);
  const std::int64_t other = between(0, 2'000'000);
  const Duration time_one = gpu_time(model, {.num_decodes = count, .context = one, .chunks = {}});
  const Duration time_other =
      gpu_time(model, {.num_decodes = count, .context = other, .chunks = {}});
  RC_ASSERT((one < other) == (time_one < time_other));
  RC_ASSERT((one == other) == (time_one == time_other));
}

RC_GTEST_PROP(Kernel, AffineIsPredictBitForBit, ()) {
  const auto& model = any_model();
  const std::int64_t count = between(1, 3000);
  const auto step = model.affine(count, core::Tokens(between(0, 5'000'000)));
  RC_ASSERT(step.has_value());
  const core::Tokens at(between(step->lowest.value(), step->highest.value()));
  RC_ASSERT(step->at(at) ==
            model.predict(Step{.num_decodes = count, .context = at.value(), .chunks = {}}.batch()));
}

RC_GTEST_PROP(Kernel, AWholePromptBesideDecodesIsPredictBitForBit, ()) {
  const auto& model = any_model();
  const std::int64_t count = between(0, 3000);
  const std::int64_t prompt = between(1, 40'000);
  const std::int64_t near = count == 0 ? 0 : between(0, 5'000'000);
  const auto step = model.affine_with_prompt(count, core::Tokens(prompt), core::Tokens(near));
  RC_PRE(step.has_value());
  const std::int64_t at = count == 0 ? 0 : between(step->lowest.value(), step->highest.value());
  const Step same{.num_decodes = count,
                  .context = at,
                  .chunks = {{.past = core::Tokens(0), .new_tokens = core::Tokens(prompt)}}};
  RC_ASSERT(step->at(core::Tokens(at)) == model.predict(same.batch()));
}

RC_GTEST_PROP(Kernel, MemoryChangesNothing, ()) {
  const auto& model = any_model();
  const Step step = any_step();
  RC_ASSERT(model.predict(step.batch()) == model.recompute(step.batch()));
}

RC_GTEST_PROP(Kernel, PartsAndRoundingSumToTheStep, ()) {
  const auto& model = any_model();
  const Step step = any_step();
  const Explanation found = model.explain(step.batch());
  core::Seconds sum;
  for (const OperatorTime& part : found.parts) {
    RC_ASSERT(part.time.value() > 0.0);
    sum += part.time;
  }
  // The sum of parts and rounding may itself round once.
  RC_ASSERT(std::abs((sum + found.rounding).value() - found.total.gpu().to_seconds()) <=
            1e-15 * found.total.gpu().to_seconds());
  // Half a picosecond per operator, and per token of context.
  RC_ASSERT(std::abs(found.rounding.value()) <=
            0.5e-12 * static_cast<double>(step.context + 200'000));
}

/// A prompt in two chunks reads its weights twice and pays its stragglers twice, and does the same
/// attention. 512 tokens hit every expert and compute little: such a pass is what is paid again.
RC_GTEST_PROP(Kernel, TwoPassesCostOneMoreShortOneAtMost, ()) {
  const auto& model = any_model();
  const Step whole{.num_decodes = 0, .context = 0, .chunks = {chunk(0, 8192)}};
  const std::int64_t first = between(3072, 5120);
  const Duration one = gpu_time(model, whole);
  const Duration two =
      gpu_time(model, {.num_decodes = 0, .context = 0, .chunks = {chunk(0, first, false)}}) +
      gpu_time(model, {.num_decodes = 0, .context = 0, .chunks = {chunk(first, 8192 - first)}});
  const Duration again =
      gpu_time(model, {.num_decodes = 0, .context = 0, .chunks = {chunk(0, 512, false)}});
  RC_ASSERT(two <= one + again);
  RC_ASSERT(two.to_seconds() >= one.to_seconds() * 0.98);
}

/// Attention over a prompt of 8,192 tokens, whole or cut there, as every column of the data file
/// prices it on its GPU and `generic` on all of them.
struct CutPrompt {
  core::Seconds whole;
  core::Seconds cut;
  core::Seconds
      again;  ///< What a second call pays once more: its start and the last tiles of both.
};

CutPrompt cut_prompt(std::int64_t heads, std::int64_t kv_heads, std::int64_t first) {
  constexpr std::int64_t kPrompt = 8192;
  const std::string name =
      *rc::gen::element<std::string>("h100", "h200", "a100-80gb", "l40s", "new");
  const hardware::GpuSpec gpu = fixtures::gpu(name);
  const kernel::Calibration set = kernel::calibrate(kernel::builtin_constants(), gpu);
  const auto& constants = set.prefill_attention.values;
  const model::Attention shape{.heads = heads, .kv_heads = kv_heads, .head_dim = 128};
  const auto price = [&](std::int64_t past, std::int64_t tokens) {
    kernel::PrefillCall call;
    call.add(chunk(past, tokens));
    return kernel::prefill_attention(call, shape, constants, set.attention, gpu).time;
  };
  // A tile of 128 rows: 4 * 128 * 128 FLOPs per key on one SM.
  const auto last_tile = [&](std::int64_t keys) {
    const double rate =
        gpu.peak_bf16.value() * constants.compute_efficiency / static_cast<double>(gpu.num_sms);
    return core::Seconds(constants.straggler_weight * 4.0 * 128.0 * 128.0 *
                         (static_cast<double>(keys) + constants.startup_tokens) / rate);
  };
  return {.whole = price(0, kPrompt),
          .cut = price(0, first) + price(first, kPrompt - first),
          .again = constants.fixed + last_tile(first) + last_tile(kPrompt)};
}

/// Both chunks do the same products and move the same keys: what a second call costs is its start
/// and its last tiles, and a little where computing and moving overlap.
RC_GTEST_PROP(Kernel, ASecondChunkPaysItsStartAndItsLastTile, ()) {
  const std::int64_t heads = *rc::gen::element<std::int64_t>(4, 8, 16, 28, 32, 64);
  const CutPrompt prompt =
      cut_prompt(heads, *rc::gen::element<std::int64_t>(1, 2, 4), between(17, 8175));
  RC_ASSERT(prompt.cut.value() >= prompt.whole.value() * (1.0 - 1e-12));
  RC_ASSERT(prompt.cut.value() <= 1.02 * prompt.whole.value() + prompt.again.value());
}

/// 32 heads or more on a rank: at least 14 tiles of 128 queries for every multiprocessor, behind
/// which start and last tiles hide: two halves, or nearly so, cost within 2.5 %, as measured
/// kernels lose 6 % with 4 to 5 tiles (docs/models/kernel.md). With fewer heads
/// measured kernels lose more as well (attention_test.cpp), and only the law above holds.
RC_GTEST_PROP(Kernel, TwoChunksCostLittleMoreThanOne, ()) {
  const std::int64_t heads = *rc::gen::element<std::int64_t>(32, 40, 48, 64, 96, 128);
  const std::int64_t kv_heads = *rc::gen::element<std::int64_t>(4, 8, 32);
  const CutPrompt prompt = cut_prompt(heads, kv_heads, between(3840, 4352));
  RC_ASSERT(prompt.cut.value() >= prompt.whole.value() * (1.0 - 1e-12));
  RC_ASSERT(prompt.cut.value() <= 1.025 * prompt.whole.value());
}

}  // namespace
}  // namespace ridgeline::latency
