#include "engine/vllm/fast/step_lines.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "engine/options.hpp"
#include "support/linear_model.hpp"

namespace ridgeline::engine::vllm::fast {
namespace {

core::Duration line_us(std::int64_t microseconds) {
  return core::Duration::microseconds(microseconds);
}

const HostTime kHostOfLines{.per_step = line_us(400), .per_sequence = line_us(15)};

TEST(StepLines, TellsWhatABatchTakes) {
  const test::LinearModel model({.per_context = line_us(2)});
  StepLines lines(model, kHostOfLines);
  const StepLines::Line* const line = lines.at(7, core::Tokens(100));
  ASSERT_NE(line, nullptr);
  // 1000 + 7 * 10 us, and 2 us for each of 100 tokens; 400 + 7 * 15 us of the host.
  EXPECT_EQ(line->gpu(core::Tokens(100)), line_us(1270));
  EXPECT_EQ(line->cpu, line_us(505));
  EXPECT_EQ(lines.at(7, core::Tokens(5000)), line) << "asked for once";
}

TEST(StepLines, NothingWhereTheModelHasNoLine) {
  const test::LinearModel model({.affine = false});
  StepLines lines(model, kHostOfLines);
  EXPECT_EQ(lines.at(3, core::Tokens(10)), nullptr);
  EXPECT_EQ(lines.total(), domain::StepTime());
}

/// Lines that hold for ten tokens of context: what was counted on one stays when another takes its
/// place.
TEST(StepLines, AddsUpWhatWasCountedOnAllOfThem) {
  const test::LinearModel model({.per_context = line_us(2), .bin = 10});
  StepLines lines(model, kHostOfLines);
  lines.at(2, core::Tokens(4))->count(3, core::Tokens(4 + 6 + 8));
  lines.at(2, core::Tokens(10))->count(1, core::Tokens(10));
  lines.at(5, core::Tokens(12))->count(2, core::Tokens(12 + 17));
  const domain::StepTime total = lines.total();
  // Six steps of 1000 us; 4 * 2 + 2 * 5 tokens of 10 us; 18 + 10 + 29 tokens of context of 2 us.
  EXPECT_EQ(total.of(domain::Bottleneck::kOverhead), line_us(6000));
  EXPECT_EQ(total.of(domain::Bottleneck::kCompute), line_us(180));
  EXPECT_EQ(total.of(domain::Bottleneck::kMemory), line_us(114));
  // Four times 400 + 2 * 15, twice 400 + 5 * 15.
  EXPECT_EQ(total.cpu, line_us(4 * 430 + 2 * 475));
}

/// With a prompt of 30 tokens beside them: one sequence and 30 tokens more.
TEST(StepLines, AWholePromptIsRememberedTheSecondTime) {
  const test::LinearModel model({.per_context = line_us(2)});
  StepLines lines(model, kHostOfLines);
  EXPECT_EQ(lines.at(7, 30, core::Tokens(100)), nullptr) << "perhaps it is not asked for again";
  StepLines::Line* const line = lines.at(7, 30, core::Tokens(100));
  ASSERT_NE(line, nullptr);
  // 1000 + 37 * 10 us, and 2 us for each of 100 tokens; 400 + 8 * 15 us of the host.
  EXPECT_EQ(line->gpu(core::Tokens(100)), line_us(1570));
  EXPECT_EQ(line->cpu, line_us(520));
  EXPECT_EQ(lines.at(7, 30, core::Tokens(5000)), line) << "asked for once";
  // Alone, as many decodes have a line of their own; so has the prompt with none.
  EXPECT_EQ(lines.at(7, core::Tokens(100))->gpu(core::Tokens(100)), line_us(1270));
  EXPECT_EQ(lines.at(0, 30, core::Tokens(0)), nullptr);
  EXPECT_EQ(lines.at(0, 30, core::Tokens(0))->gpu(core::Tokens(0)), line_us(1300));
  line->count(2, core::Tokens(100 + 130));
  const domain::StepTime total = lines.total();
  EXPECT_EQ(total.of(domain::Bottleneck::kCompute), line_us(2 * 370));
  EXPECT_EQ(total.of(domain::Bottleneck::kMemory), line_us(2 * 230));
  EXPECT_EQ(total.cpu, line_us(2 * 520));
  EXPECT_EQ(lines.step_of(*line).base.of(domain::Bottleneck::kCompute), line_us(370));
}

/// More pairs of decodes and prompt than are remembered at once: what was counted on those that
/// went is still there.
TEST(StepLines, ForgetsPromptsButNotWhatTheyTook) {
  const test::LinearModel model({.per_context = line_us(2)});
  StepLines lines(model, kHostOfLines);
  std::int64_t counted = 0;
  std::int64_t tokens = 0;
  for (const std::int64_t prompt : {17, 500, 33, 17}) {
    for (std::int64_t decodes = 0; decodes < 200; ++decodes) {
      for (int time = 0; time < 3; ++time) {
        if (auto* const line = lines.at(decodes, prompt, core::Tokens(0)); line != nullptr) {
          line->count(1, core::Tokens(0));
          ++counted;
          tokens += decodes + prompt;
        }
      }
    }
  }
  EXPECT_EQ(counted, 4 * 200 * 2);
  EXPECT_EQ(lines.total().of(domain::Bottleneck::kOverhead), line_us(1000 * counted));
  EXPECT_EQ(lines.total().of(domain::Bottleneck::kCompute), line_us(10 * tokens));
}

TEST(StepLines, NoPromptsWhereTheModelHasNoLine) {
  const test::LinearModel model({.affine = false});
  StepLines lines(model, kHostOfLines);
  for (int time = 0; time < 4; ++time) {
    EXPECT_EQ(lines.at(3, 50, core::Tokens(10)), nullptr);
  }
  // A prompt too long for the key of a line.
  const test::LinearModel straight;
  StepLines others(straight, kHostOfLines);
  for (int time = 0; time < 4; ++time) {
    EXPECT_EQ(others.at(3, std::int64_t{1} << 32, core::Tokens(10)), nullptr);
  }
}

}  // namespace
}  // namespace ridgeline::engine::vllm::fast
