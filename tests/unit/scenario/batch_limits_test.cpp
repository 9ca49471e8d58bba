#include "scenario/batch_limits.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Codes of what a step of these decodes and this chunk exceeds, on an engine of 4 seats, 100
/// tokens a step, sequences of 64 and ten blocks of 16 beside the null block.
std::vector<std::string> exceeded(const std::vector<core::Tokens>& decodes,
                                  std::int64_t past,
                                  std::int64_t fresh) {
  auto loaded = load_scenario(std::nullopt,
                              {{.path = "model", .text = "llama-3.1-8b"},
                               {.path = "gpu", .text = "h100"},
                               {.path = "engine.max_num_seqs", .text = "4"},
                               {.path = "engine.max_num_batched_tokens", .text = "100"},
                               {.path = "engine.max_model_len", .text = "64"},
                               {.path = "engine.num_gpu_blocks", .text = "11"}},
                              Purpose::kLook);
  const auto resolved = resolve(std::move(*loaded));
  EXPECT_TRUE(resolved) << core::to_string(resolved.error().front());
  const domain::PrefillChunk chunk{.past = core::Tokens(past), .new_tokens = core::Tokens(fresh)};
  domain::StepBatch batch;
  batch.num_decodes = static_cast<std::int64_t>(decodes.size());
  batch.decode_lengths = decodes;
  batch.prefills = {&chunk, 1};
  std::vector<std::string> codes;
  for (const core::Warning& warning : beyond_limits(*resolved->deployment, batch)) {
    codes.push_back(warning.code);
  }
  return codes;
}

std::vector<core::Tokens> equal(std::size_t count, std::int64_t context) {
  return std::vector<core::Tokens>(count, core::Tokens(context));
}

TEST(BatchLimits, NameEachLimitThatAStepExceeds) {
  EXPECT_THAT(exceeded(equal(3, 31), 32, 32), IsEmpty());  // 3 * 2 + 4 blocks
  EXPECT_THAT(exceeded(equal(3, 32), 32, 32), ElementsAre("W-beyond-kv-cache"));
  EXPECT_THAT(exceeded(equal(4, 1), 0, 16), ElementsAre("W-beyond-max-num-seqs"));
  EXPECT_THAT(exceeded({}, 63, 2), ElementsAre("W-beyond-max-model-len"));
  EXPECT_THAT(exceeded(equal(1, 64), 0, 1), ElementsAre("W-beyond-max-model-len"));
  EXPECT_THAT(exceeded({}, 0, 101), ElementsAre("W-beyond-token-budget", "W-beyond-max-model-len"));
}

}  // namespace
}  // namespace ridgeline::scenario
