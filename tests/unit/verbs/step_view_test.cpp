#include "verbs/step_view.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/node_json.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"
#include "report/format.hpp"

namespace ridgeline::verbs {
namespace {

report::TextStyle plain_style(int width) {
  report::TextStyle style;
  style.width = width;
  style.ascii = true;
  return style;
}

std::string step_table(const StepReport& report, const report::TextStyle& style) {
  return step_sheet(step_tree(report)).render(report::Face::kTerminal, style);
}

using core::Duration;
using domain::Bottleneck;
using ::testing::HasSubstr;
using ::testing::Not;

latency::OperatorTime part(const std::string& name,
                           const std::string& phase,
                           double microseconds,
                           Bottleneck bottleneck) {
  latency::OperatorTime time;
  time.name = name;
  time.phase = phase;
  time.shape = "64x4096x6144";
  time.calls = 32;
  time.flops = core::Flops(3.0e9);
  time.bytes = core::Bytes(1.0e9);
  time.time = core::microseconds(microseconds);
  time.bottleneck = bottleneck;
  time.source = "kernel";
  return time;
}

/// 60 us memory, 30 us compute, 9.5 us overhead, half of one in rounding: 100 us.
StepReport example() {
  StepReport report;
  report.model = "kernel";
  report.headline = {"llama-3.1-8b on h100", "64 decodes"};
  report.config = document::Node::map({}, {});
  auto& explanation = report.explanation;
  explanation.total.by_bottleneck = {Duration::microseconds(30),
                                     Duration::microseconds(60),
                                     Duration(),
                                     Duration::microseconds(10)};
  explanation.total.cpu = Duration::microseconds(250);
  explanation.parts = {part("qkv_proj", "step", 60.0, Bottleneck::kMemory),
                       part("attention", "prefill", 30.0, Bottleneck::kCompute),
                       part("gaps", "step", 9.5, Bottleneck::kOverhead)};
  explanation.parts[2].flops = core::Flops(0.0);
  explanation.parts[2].bytes = core::Bytes(0.0);
  explanation.parts[1].source = "table.csv";
  explanation.parts[1].distance = 0.25;
  explanation.rounding = core::microseconds(0.5);
  return report;
}

report::TextStyle step_style(int width) {
  report::TextStyle style;
  style.width = width;
  style.ascii = true;
  return style;
}

TEST(BottleneckOf, IsTheKindThatHoldsMostTime) {
  domain::StepTime time;
  time.by_bottleneck = {
      Duration::ticks(3), Duration::ticks(4), Duration::ticks(9), Duration::ticks(5)};
  EXPECT_EQ(bottleneck_of(time), Bottleneck::kNetwork);
  time.by_bottleneck = {Duration::ticks(3), Duration::ticks(4), Duration::ticks(4), Duration()};
  EXPECT_EQ(bottleneck_of(time), Bottleneck::kMemory);
  EXPECT_EQ(bottleneck_of({}), Bottleneck::kCompute);
}

TEST(StepTree, HasPartsThatSumToTheStep) {
  const document::Node tree = step_tree(example());
  EXPECT_DOUBLE_EQ(tree.find("step_us")->as_real(), 100.0);
  EXPECT_EQ(tree.find("bottleneck")->as_string(), "memory");
  EXPECT_DOUBLE_EQ(tree.find("cpu_us")->as_real(), 250.0);
  EXPECT_DOUBLE_EQ(tree.find("time_by_bottleneck")->find("memory")->as_real(), 60.5);
  double sum = tree.find("rounding_us")->as_real();
  for (const auto& item : tree.find("parts")->items()) {
    sum += item.find("us")->as_real();
  }
  EXPECT_DOUBLE_EQ(sum, 100.0);
}

TEST(StepTree, NamesEverythingAboutAPart) {
  const document::Node tree = step_tree(example());
  const auto& parts = tree.find("parts")->items();
  ASSERT_EQ(parts.size(), 3U);
  std::vector<std::string> keys;
  for (const auto& member : parts[1].members()) {
    keys.push_back(member.key);
  }
  EXPECT_THAT(keys,
              ::testing::ElementsAre("operator",
                                     "phase",
                                     "shape",
                                     "calls",
                                     "flops",
                                     "bytes",
                                     "us",
                                     "bottleneck",
                                     "source",
                                     "distance"));
  EXPECT_EQ(parts[1].find("operator")->as_string(), "attention");
  EXPECT_EQ(parts[1].find("calls")->as_integer(), 32);
  EXPECT_DOUBLE_EQ(parts[1].find("distance")->as_real(), 0.25);
  EXPECT_EQ(parts[1].find("bottleneck")->as_string(), "compute");
  EXPECT_TRUE(parts[0].find("distance")->is_null());
  EXPECT_TRUE(tree.find("hidden")->items().empty());
}

TEST(StepTree, IsJson) {
  const auto parsed = document::parse_json(document::json_text(step_tree(example())), "step");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->find("model")->as_string(), "kernel");
}

// Shares of 100 us; 3e9 / 1e9 = 3 FLOP per byte.
TEST(StepTable, ShowsEachPart) {
  EXPECT_EQ(step_table(example(), step_style(100)),
            "llama-3.1-8b on h100   64 decodes\n"
            "step 100 us   memory 60.5 %   host 250 us   model kernel\n"
            "\n"
            "operator   phase    shape         calls    us   share  FLOP/B  bottleneck\n"
            "qkv_proj   step     64x4096x6144     32  60.0  60.0 %    3.00  memory\n"
            "attention  prefill  64x4096x6144     32  30.0  30.0 %    3.00  compute\n"
            "gaps       step     64x4096x6144     32  9.50   9.5 %       -  overhead\n"
            "source: kernel\n"
            "source of attention: table.csv (0.250 away)\n"
            "rounding 0.500 us\n");
}

TEST(StepTable, SetsTheLosingSidesApart) {
  StepReport report = example();
  report.explanation.hidden = {part("qkv_proj", "step", 12.0, Bottleneck::kCompute)};
  const std::string text = step_table(report, step_style(100));
  EXPECT_THAT(text, HasSubstr("\nhidden: the losing side of each maximum, not in the sum\n"));
  EXPECT_THAT(text, HasSubstr("qkv_proj  step   64x4096x6144     32  12.0  12.0 %"));
  EXPECT_THAT(text, Not(HasSubstr("bottleneck: by FLOP/B")));
  report.explanation.hidden = {part("weights", "decode", 12.0, Bottleneck::kMemory)};
  EXPECT_THAT(step_table(report, step_style(100)),
              HasSubstr("\nbottleneck: by FLOP/B of the work; the side that took longer: compute "
                        "(decode)\n"));
  EXPECT_THAT(step_table(example(), step_style(100)), Not(HasSubstr("hidden")));
}

TEST(StepTable, ShortensLongTextsToTheWidth) {
  StepReport report = example();
  report.explanation.parts[0].shape = std::string(80, 's');
  report.explanation.parts[0].source = std::string(200, 'f');
  for (const int width : {80, 100}) {
    const std::string text = step_table(report, step_style(width));
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = text.find('\n', begin);
      EXPECT_LE(end - begin, static_cast<std::size_t>(width)) << text.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

TEST(StepTable, CutsNothingWhereThereIsRoom) {
  StepReport report = example();
  report.explanation.parts[0].shape = std::string(80, 's');
  report.explanation.parts[0].source = std::string(200, 'f');
  const std::string text = step_table(report, plain_style(1000));
  EXPECT_THAT(text, HasSubstr(std::string(80, 's')));
  EXPECT_THAT(text, HasSubstr(std::string(200, 'f')));
}

TEST(StepTable, SaysASourceOfAllPartsOnce) {
  StepReport report = example();
  for (auto& part : report.explanation.parts) {
    part.source = "kernel model of h100 (constants of 2026-11-20)";
    part.distance.reset();
  }
  const std::string text = step_table(report, plain_style(80));
  EXPECT_THAT(text, HasSubstr("FLOP/B  bottleneck\n"));
  EXPECT_THAT(text, HasSubstr("\nsource: kernel model of h100 (constants of 2026-11-20)\n"));
}

TEST(StepTree, HasTheDecimalsOfATime) {
  StepReport report = example();
  // 123 us: times 1e6 as a double gives 122.99999999999999.
  report.explanation.parts[0].time = core::Seconds(0.000123);
  EXPECT_EQ(step_tree(report).find("parts")->items()[0].find("us")->as_real(), 123.0);
}

TEST(StepTable, OfNothingHasNoShares) {
  StepReport report;
  report.explanation.parts = {part("noop", "step", 0.0, Bottleneck::kOverhead)};
  const std::string text = step_table(report, step_style(100));
  EXPECT_THAT(text, HasSubstr("step 0 us   compute 0 %"));
  EXPECT_THAT(text, HasSubstr("  0      -"));
}

TEST(Comparison, PutsModelsSideBySide) {
  std::vector<StepReport> reports = {example(), example()};
  reports[1].model = "v1";
  reports[1].explanation.total.by_bottleneck = {
      Duration::microseconds(150), Duration(), Duration(), Duration()};
  reports[1].explanation.parts = {part("qkv_proj", "step", 50.0, Bottleneck::kCompute),
                                  part("qkv_proj", "step", 50.0, Bottleneck::kCompute),
                                  part("lm_head", "step", 50.0, Bottleneck::kCompute)};
  EXPECT_EQ(step_sheet(comparison_tree(reports)).render(report::Face::kTerminal, step_style(100)),
            "llama-3.1-8b on h100   64 decodes\n"
            "\n"
            "us          phase    kernel       v1\n"
            "qkv_proj    step       60.0      100\n"
            "attention   prefill    30.0        -\n"
            "gaps        step       9.50        -\n"
            "lm_head     step          -     50.0\n"
            "step                    100      150\n"
            "ratio                  1.00     1.50\n"
            "bottleneck           memory  compute\n");
  const document::Node tree = comparison_tree(reports);
  ASSERT_EQ(tree.find("models")->items().size(), 2U);
  EXPECT_EQ(tree.find("models")->items()[1].find("model")->as_string(), "v1");
}

TEST(Comparison, OfNothingIsNothing) {
  EXPECT_TRUE(comparison_tree({}).find("models")->items().empty());
}

}  // namespace
}  // namespace ridgeline::verbs
