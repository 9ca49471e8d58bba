#include "sim/logs/step_log.hpp"

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "sim/step_watch.hpp"
#include "workload/traces/reading/byte_input.hpp"
#include "workload/traces/reading/line_reader.hpp"

namespace ridgeline::sim {
namespace {

using ::testing::HasSubstr;

sim::StepSegment example_segment() {
  sim::StepSegment segment;
  segment.record.first_step = 7;
  segment.record.steps = 2;
  segment.record.num_decodes = 3;
  segment.record.decode_context = core::Tokens(30);
  segment.busy = core::Duration::microseconds(10);
  segment.parts.push_back({.name = "attention",
                           .phase = "decode",
                           .shape = {},
                           .calls = 2,
                           .flops = core::Flops(5.0),
                           .bytes = core::Bytes(6.0),
                           .time = core::microseconds(9.5),
                           .bottleneck = domain::Bottleneck::kMemory,
                           .source = {},
                           .distance = 4.0,
                           .compute = core::microseconds(2.0),
                           .memory = core::microseconds(9.5),
                           .weights = {},
                           .kv = core::Bytes(6.0),
                           .mfu = 0.25,
                           .row = 12});
  segment.rounding = core::microseconds(0.5);
  return segment;
}

TEST(StepLog, APartHasBothSidesAndItsRow) {
  std::ostringstream out;
  make_step_log(out)->on_segment(example_segment());
  EXPECT_THAT(out.str(), HasSubstr(R"("kv_bytes":6,"lookups":1)"));
  EXPECT_THAT(out.str(), HasSubstr(R"("compute_us":2,"memory_us":9.49)"));
  EXPECT_THAT(out.str(), HasSubstr(R"("weight_bytes":0,"kv_bytes":6,"mfu":0.25,"row":12)"));
}

TEST(StepLog, ALineForEachLookUp) {
  std::ostringstream out;
  std::string lines;
  make_lookup_log([&](const std::string& line) { lines += line; }, make_step_log(out))
      ->on_segment(example_segment());
  EXPECT_EQ(lines, "step 7: decode attention : , MFU 0.25, line 12, 4 away\n");
  EXPECT_THAT(out.str(), HasSubstr(R"("step":7)"));
}

core::Result<StepSummary> summary_of(const std::string& text) {
  return summarise_step_log(
      workload::LineReader(workload::make_plain_input(std::make_unique<std::istringstream>(text))),
      "f");
}

TEST(StepLog, WritesALineThatIsReadBack) {
  std::ostringstream out;
  const auto log = make_step_log(out);
  log->on_segment(example_segment());
  log->on_segment(example_segment());
  EXPECT_THAT(out.str(), HasSubstr(R"("step":7,"steps":2)"));
  EXPECT_THAT(out.str(), HasSubstr(R"("bottleneck":"memory")"));
  const auto summary = summary_of(out.str());
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->lines, 2);
  EXPECT_EQ(summary->all.steps, 4);
  EXPECT_DOUBLE_EQ(summary->all.us, 20.0);
  EXPECT_NEAR(summary->by_operator.at("attention (decode)").us, 19.0, 1e-9);
  EXPECT_EQ(summary->by_phase.at("decode").steps, 4);
  EXPECT_EQ(summary->misses, 2);
  EXPECT_DOUBLE_EQ(summary->farthest, 4.0);
  EXPECT_EQ(summary_tree(*summary).find("steps")->as_integer(), 4);
}

/// Segments one after the other, by what holds them up.
std::string log_of(const std::vector<domain::Bottleneck>& kinds) {
  std::ostringstream out;
  const auto log = make_step_log(out);
  for (const domain::Bottleneck kind : kinds) {
    sim::StepSegment segment = example_segment();
    segment.parts.front().bottleneck = kind;
    log->on_segment(segment);
  }
  return out.str();
}

TEST(StepLog, CountsCrossingsOfTheRidge) {
  using enum domain::Bottleneck;
  const auto summary =
      summary_of(log_of({kMemory, kMemory, kCompute, kNetwork, kCompute, kMemory, kOverhead}));
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->memory_to_compute, 1);
  EXPECT_EQ(summary->compute_to_memory, 1);
  const auto tree = summary_tree(*summary);
  EXPECT_EQ(tree.find("ridge_crossings")->find("memory_to_compute")->as_integer(), 1);
  // Three of seven segments of 9.5 us in parts each.
  const auto& kinds = summary->bottleneck_by_phase.at("decode");
  EXPECT_NEAR(kinds.at("memory").us, 3 * 9.5, 1e-9);
  EXPECT_EQ(kinds.at("compute").steps, 4);
}

TEST(StepLog, LookUpsAreHitsOrMisses) {
  std::ostringstream out;
  sim::StepSegment segment = example_segment();
  segment.parts.push_back(segment.parts.front());
  segment.parts.back().distance = 0.0;
  segment.parts.push_back(segment.parts.front());
  segment.parts.back().distance.reset();
  make_step_log(out)->on_segment(segment);
  EXPECT_THAT(out.str(), HasSubstr(R"("lookups":2,"misses":1)"));
  const auto tree = summary_tree(*summary_of(out.str()));
  EXPECT_EQ(tree.find("table_lookups")->as_integer(), 2);
  EXPECT_EQ(tree.find("hit_rate")->as_real(), 0.5);
  EXPECT_EQ(tree.find("miss_rate")->as_real(), 0.5);
}

TEST(StepLog, AVerificationOfDraftsIsADecode) {
  const domain::PrefillChunk prompt{.past = core::Tokens(0), .new_tokens = core::Tokens(9)};
  const domain::PrefillChunk verified{
      .past = core::Tokens(9), .new_tokens = core::Tokens(4), .samples = true, .drafts = 3};
  const auto phase = [](std::vector<domain::PrefillChunk> chunks) {
    sim::StepSegment segment = example_segment();
    segment.record.num_decodes = 0;
    segment.record.num_prefills = std::ssize(chunks);
    segment.prefills = std::move(chunks);
    std::ostringstream out;
    make_step_log(out)->on_segment(segment);
    return summary_of(out.str())->by_phase.begin()->first;
  };
  EXPECT_EQ(phase({verified, verified}), "decode");
  EXPECT_EQ(phase({verified, prompt}), "mixed");
  EXPECT_EQ(phase({prompt}), "prefill");
}

TEST(StepLog, RefusesALineWithoutAnEnd) {
  auto endless = std::make_unique<std::istringstream>("\n" + std::string(4096, '0'));
  const auto summary =
      summarise_step_log(workload::LineReader(workload::make_plain_input(std::move(endless)),
                                              {.block_bytes = 512, .line_bytes = 1024}),
                         "f");
  ASSERT_FALSE(summary);
  EXPECT_THAT(summary.error().front().message, HasSubstr("longer than 1024 bytes"));
  EXPECT_EQ(summary.error().front().where.line, 2);
}

TEST(StepLog, NamesTheLineThatItCannotRead) {
  const auto bad = summary_of("\n{\"steps\": 1}\n");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().front().where.line, 2);
  EXPECT_FALSE(summary_of(""));
  EXPECT_FALSE(summary_of("[1]"));
}

}  // namespace
}  // namespace ridgeline::sim
