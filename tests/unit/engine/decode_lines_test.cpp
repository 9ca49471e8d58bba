#include "engine/fast/decode_lines.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "engine/options.hpp"
#include "support/linear_model.hpp"

namespace ridgeline::engine::fast {
namespace {

core::Duration line_us(std::int64_t microseconds) {
  return core::Duration::microseconds(microseconds);
}

const HostTime kHostOfLines{.per_step = line_us(400), .per_sequence = line_us(15)};

TEST(DecodeLines, TellsWhatABatchTakes) {
  const test::LinearModel model({.per_context = line_us(2)});
  DecodeLines lines(model, kHostOfLines);
  const DecodeLines::Line* const line = lines.at(7, core::Tokens(100));
  ASSERT_NE(line, nullptr);
  // 1000 + 7 * 10 us, and 2 us for each of 100 tokens; 400 + 7 * 15 us of the host.
  EXPECT_EQ(line->gpu(core::Tokens(100)), line_us(1270));
  EXPECT_EQ(line->cpu, line_us(505));
  EXPECT_EQ(lines.at(7, core::Tokens(5000)), line) << "asked for once";
}

TEST(DecodeLines, NothingWhereTheModelHasNoLine) {
  const test::LinearModel model({.affine = false});
  DecodeLines lines(model, kHostOfLines);
  EXPECT_EQ(lines.at(3, core::Tokens(10)), nullptr);
  EXPECT_EQ(lines.total(), domain::StepTime());
}

/// Lines that hold for ten tokens of context: what was counted on one stays when another takes its
/// place.
TEST(DecodeLines, AddsUpWhatWasCountedOnAllOfThem) {
  const test::LinearModel model({.per_context = line_us(2), .bin = 10});
  DecodeLines lines(model, kHostOfLines);
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

}  // namespace
}  // namespace ridgeline::engine::fast
