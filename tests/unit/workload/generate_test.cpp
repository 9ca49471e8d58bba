// Generators against their laws: fixed seeds, five standard errors (unit/workload/sample.hpp).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/rng.hpp"
#include "support/paths.hpp"
#include "unit/workload/sample.hpp"
#include "unit/workload/traces/trace_text.hpp"
#include "workload/generate/client.hpp"
#include "workload/generate/law.hpp"
#include "workload/generate/law_reader.hpp"
#include "workload/generate/presets.hpp"
#include "workload/generate/rate_curve.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int kLawDraws = 1'000'000;

std::vector<double> draws_of(const Law& law) {
  const LawSampler sampler(law);
  core::RngStream rng(1, 0, "law");
  std::vector<double> values;
  values.reserve(kLawDraws);
  for (int i = 0; i < kLawDraws; ++i) {
    values.push_back(sampler.draw(rng));
  }
  return values;
}

/// Mean and variance within five standard errors; that of the variance by the fourth moment.
void expect_law(const Law& law, double mean, double variance, double fourth) {
  const auto moments = moments_of(draws_of(law));
  EXPECT_NEAR(moments.mean, mean, kStandardErrors * std::sqrt(variance / kLawDraws));
  EXPECT_NEAR(moments.variance,
              variance,
              kStandardErrors * std::sqrt((fourth - variance * variance) / kLawDraws) + 1e-9);
}

TEST(Law, HasTheMomentsOfItsLaw) {
  // Central fourth moments: exponential 9 m^4; gamma 3 v^2 + 6 v^2 / shape; uniform w^4 / 80.
  expect_law(Law::exponential(10), 10, 100, 90'000);
  expect_law({.kind = Law::Kind::kGamma, .a = 4, .b = 2.5}, 10, 25, 3 * 625 + 6 * 625 / 4.0);
  expect_law(Law::uniform(0, 12), 6, 12, 259.2);
  // Pareto (alpha 5, xm 4): mean 5, variance 5/3; its fourth moment does not help, so wide.
  const auto pareto = moments_of(
      draws_of({.kind = Law::Kind::kParetoLognormal, .a = 0, .b = 1, .c = 1.0, .d = 5, .e = 4}));
  EXPECT_NEAR(pareto.mean, 5.0, kStandardErrors * std::sqrt(5.0 / 3.0 / kLawDraws));
}

// P(1) / P(2) = 2^s.
TEST(Law, ZipfFallsByItsExponent) {
  double ones = 0;
  double twos = 0;
  for (const double value : draws_of({.kind = Law::Kind::kZipf, .a = 1.2, .highest = 1000})) {
    ones += value == 1.0 ? 1 : 0;
    twos += value == 2.0 ? 1 : 0;
  }
  const double error = kStandardErrors * (ones / twos) * std::sqrt(1 / ones + 1 / twos);
  EXPECT_NEAR(ones / twos, std::exp2(1.2), error);
}

TEST(GapLaws, WeibullShapeFitsTheVariation) {
  // Shape 1 is exponential; shape 2 has cv sqrt(4 / pi - 1).
  EXPECT_NEAR(weibull_shape_of(1.0), 1.0, 1e-9);
  EXPECT_NEAR(weibull_shape_of(std::sqrt(4.0 / 3.14159265358979 - 1.0)), 2.0, 1e-9);
}

std::vector<double> gaps_of(GapLaw gaps, double rate, int count) {
  CurveArrivals arrivals(RateCurve::constant(rate), std::nullopt, gaps, 1, 0, 0);
  std::vector<double> list;
  double last = 0.0;
  for (int i = 0; i < count; ++i) {
    const auto next = arrivals.next();
    if (!next) {
      ADD_FAILURE() << "the curve ended";
      return list;
    }
    list.push_back(*next - last);
    last = *next;
  }
  return list;
}

TEST(GapLaws, KeepTheirRateAtAnyRate) {
  struct Case {
    GapLaw gaps;
    double cv;
  };
  for (const Case& test : {Case{{GapLaw::Kind::kPoisson, 1.0}, 1.0},
                           Case{{GapLaw::Kind::kGamma, 4.0}, 0.5},
                           Case{{GapLaw::Kind::kWeibull, 2.0}, 0.5227232},
                           Case{{GapLaw::Kind::kLognormal, 0.8}, 0.8}}) {
    const auto moments = moments_of(gaps_of(test.gaps, 5.0, 100'000));
    EXPECT_NEAR(moments.mean, 0.2, kStandardErrors * 0.2 * test.cv / std::sqrt(100'000.0));
    EXPECT_NEAR(std::sqrt(moments.variance) / moments.mean, test.cv, 0.03 * test.cv);
  }
  for (const double gap : gaps_of({GapLaw::Kind::kConstant, 1.0}, 4.0, 100)) {
    EXPECT_NEAR(gap, 0.25, 1e-9);
  }
}

// A ramp from 0 to 100 per second in 100 s: 5000 arrivals, a quarter of them in the first half.
TEST(RateCurves, ARampHasItsArea) {
  CurveArrivals arrivals({.pieces = {{.seconds = 100, .from = 0, .to = 100}}}, {}, {}, 3, 0, 0);
  double count = 0;
  double early = 0;
  while (const auto next = arrivals.next()) {
    ++count;
    early += *next < 50 ? 1 : 0;
  }
  EXPECT_NEAR(count, 5000, kStandardErrors * std::sqrt(5000.0));
  EXPECT_NEAR(early, 1250, kStandardErrors * std::sqrt(1250.0));
}

// Mean 2 per second with depth 0.5: over a day 172 800; the hour around the peak has about 3, the
// one around the trough about 1 per second (sin(x)/x of half an hour: 0.9971).
TEST(RateCurves, ADayFollowsItsCosine) {
  CurveArrivals arrivals(RateCurve::diurnal(2.0, 0.5, 14.0), {}, {}, 5, 0, 0);
  double count = 0;
  double peak = 0;
  double trough = 0;
  for (auto next = arrivals.next(); next && *next < 86'400; next = arrivals.next()) {
    const double hour = *next / 3600;
    ++count;
    peak += hour >= 13.5 && hour < 14.5 ? 1 : 0;
    trough += hour >= 1.5 && hour < 2.5 ? 1 : 0;
  }
  EXPECT_NEAR(count, 172'800, kStandardErrors * std::sqrt(172'800.0));
  EXPECT_NEAR(peak, 3600 * (2 + 0.9971), kStandardErrors * std::sqrt(10'790.0));
  EXPECT_NEAR(trough, 3600 * (2 - 0.9971), kStandardErrors * std::sqrt(3'610.0));
}

// Two states, 10 and 0 per second, 5 s each on average: half the time busy, and bursty.
TEST(RateCurves, AMarkovProcessIsBurstyAtItsMeanRate) {
  CurveArrivals arrivals({}, MarkovRates{.rates = {10, 0}, .mean_seconds = {5, 5}}, {}, 9, 0, 0);
  std::vector<double> list;
  double last = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double next = *arrivals.next();
    list.push_back(next - last);
    last = next;
  }
  EXPECT_NEAR(200'000 / last, 5.0, 0.15);
  const auto moments = moments_of(list);
  EXPECT_GT(moments.variance / (moments.mean * moments.mean), 2.0);
}

core::Result<ItemList> first_items(const ClientSpec& spec, std::int64_t groups) {
  ClientSpec counted = spec;
  counted.num_groups = groups;
  const auto stream = make_client(counted, 11);
  return read_all(*stream);
}

TEST(Clients, LengthsCorrelate) {
  ClientSpec spec;
  spec.input = Law::normal(1000, 100, 1, 5000);
  spec.output = Law::normal(500, 50, 1, 5000);
  spec.correlation = 0.6;
  const auto list = first_items(spec, 10'000);
  ASSERT_TRUE(list.has_value());
  double xy = 0;
  for (const Item& item : list->items) {
    xy += static_cast<double>((item.input_tokens.value() - 1000) *
                              (item.output_tokens.value() - 500)) /
          5000.0;
  }
  // The standard error of a correlation: (1 - r^2) / sqrt(n).
  EXPECT_NEAR(xy / 10'000, 0.6, kStandardErrors * (1 + 0.36) / 100.0);
}

TEST(Clients, SessionsAccumulate) {
  ClientSpec spec;
  spec.input = Law::constant(10);
  spec.output = Law::constant(4);
  spec.prefix = ClientPrefix{.group = "g", .length = Law::constant(32), .count = 2};
  spec.session = ClientSession{.turns = Law::constant(3), .think = Law::constant(1.5)};
  const auto list = first_items(spec, 50);
  ASSERT_TRUE(list.has_value());
  ASSERT_THAT(list->items, SizeIs(150));
  EXPECT_TRUE(keeps_group_rules(*list));
  std::set<std::uint64_t> prefixes;
  for (std::size_t i = 0; i < 150; i += 3) {
    // 32 + 10, + 4 + 10, + 4 + 10.
    EXPECT_EQ(list->items[i].input_tokens.value(), 42);
    EXPECT_EQ(list->items[i + 1].input_tokens.value(), 56);
    EXPECT_EQ(list->items[i + 2].input_tokens.value(), 70);
    EXPECT_EQ(list->items[i + 2].delay, core::Duration::milliseconds(1500));
    prefixes.insert(list->items[i].prompt[0].content);
  }
  EXPECT_THAT(prefixes, SizeIs(2));
}

TEST(Clients, AgentsFanOutAndJoin) {
  ClientSpec spec;
  spec.session = ClientSession{.turns = Law::constant(3), .fan_out = Law::constant(2)};
  const auto list = first_items(spec, 1);
  ASSERT_TRUE(list.has_value());
  ASSERT_THAT(list->items, SizeIs(5));
  EXPECT_THAT(list->items[2].parents, ::testing::ElementsAre(0U));
  EXPECT_THAT(list->items[3].parents, ::testing::ElementsAre(1U, 2U));
  EXPECT_NE(list->items[1].prompt.back().content, list->items[2].prompt.back().content);
}

TEST(Clients, SeedsRepeat) {
  for (const WorkloadPreset& preset : workload_presets()) {
    if (preset.name == "code") {
      continue;  // Half a million turns a session.
    }
    const auto first = first_items(preset.make(), 20);
    const auto second = first_items(preset.make(), 20);
    ASSERT_TRUE(first.has_value() && second.has_value());
    EXPECT_EQ(first->items, second->items) << preset.name;
    EXPECT_FALSE(preset.source.empty());
  }
  EXPECT_THAT(core::to_string(find_workload_preset("chatbto").error()[0]),
              HasSubstr("did you mean 'chatbot'?"));
}

core::Result<ItemList> described(const std::string& text, std::uint64_t seed = 1) {
  auto stream = open_items(input_of(text), "t", {.seed = seed});
  if (!stream) {
    return core::fail(stream.error());
  }
  return read_all(**stream);
}

std::string why(const core::Result<ItemList>& list) {
  return list ? "sound" : core::to_string(list.error().at(0));
}

const std::string kLaws =
    "    input_distribution: {type: constant, params: {value: 100}}\n"
    "    output_distribution: {type: constant, params: {value: 10}}\n";

TEST(BlisWorkload, SharesTheRateByFraction) {
  const auto list = described(
      "version: \"2\"\naggregate_rate: 10\nnum_requests: 2000\nclients:\n"
      "  - id: a\n    rate_fraction: 3\n    slo_class: critical\n" +
      kLaws + "  - id: b\n    rate_fraction: 1\n    slo_class: batch\n    prefix_group: p\n" +
      kLaws);
  ASSERT_TRUE(list.has_value()) << why(list);
  ASSERT_THAT(list->items, SizeIs(2000));
  double critical = 0;
  for (const Item& item : list->items) {
    const bool is_critical = list->labels.name(item.slo_class) == "critical";
    critical += is_critical ? 1 : 0;
    // A group without a length has a prefix of 50.
    EXPECT_EQ(item.input_tokens.value(), is_critical ? 100 : 150);
  }
  EXPECT_NEAR(critical / 2000, 0.75, kStandardErrors * frequency_error(0.75, 2000));
  EXPECT_NEAR(
      list->items.back().arrival.to_seconds(), 200, kStandardErrors * 200 / std::sqrt(2000));
}

TEST(BlisWorkload, RoundsKeepWholeAnswers) {
  const auto list = described(
      "version: \"2\"\naggregate_rate: 1\nnum_requests: 5\nclients:\n"
      "  - id: a\n    rate_fraction: 1\n    reasoning: {multi_turn: {max_rounds: 3, think_time_us: "
      "500000, context_growth: accumulate}}\n" +
      kLaws);
  ASSERT_TRUE(list.has_value()) << why(list);
  // num_requests counts sessions: 5 of 3 rounds. Prompts 100, 210, 320 (the origin: 209, 318).
  ASSERT_THAT(list->items, SizeIs(15));
  EXPECT_EQ(list->items[1].input_tokens.value(), 210);
  EXPECT_EQ(list->items[2].input_tokens.value(), 320);
  EXPECT_EQ(list->items[1].delay, core::Duration::milliseconds(500));
  std::set<std::string> codes;
  for (const auto& warning : list->warnings) {
    codes.insert(warning.code);
  }
  EXPECT_THAT(codes, ::testing::Contains("W-blis-context"));
  EXPECT_THAT(codes, ::testing::Contains("W-blis-sessions"));
}

TEST(BlisWorkload, UsersOfAClosedLoopAreAStage) {
  auto stream = open_items(input_of("version: \"2\"\nnum_requests: 40\nclients:\n"
                                    "  - id: a\n    concurrency: 4\n    think_time_us: 1000\n" +
                                    kLaws),
                           "t");
  ASSERT_TRUE(stream.has_value()) << core::to_string(stream.error()[0]);
  EXPECT_EQ((*stream)->stages()[0].max_concurrency, 4);
  EXPECT_EQ((*stream)->stages()[0].think, core::Duration::milliseconds(1));
  EXPECT_TRUE((*stream)->waits_for_answers());
}

TEST(BlisWorkload, ReadsCohortsWindowsAndInferencePerf) {
  const auto cohort = described(
      "version: \"2\"\naggregate_rate: 5\nhorizon: 60000000\ncohorts:\n"
      "  - id: a\n    population: 3\n    rate_fraction: 1\n    spike: {start_time_us: 10000000, "
      "duration_us: 20000000, trace_rate: 30}\n" +
      kLaws);
  ASSERT_TRUE(cohort.has_value()) << why(cohort);
  EXPECT_NEAR(static_cast<double>(cohort->items.size()), 600, kStandardErrors * std::sqrt(600.0));
  const auto perf = described(
      "version: \"2\"\ninference_perf:\n  stages: [{rate: 10, duration: 30}]\n  shared_prefix: "
      "{num_unique_system_prompts: 4, num_users_per_system_prompt: 5, system_prompt_len: 64, "
      "question_len: 20, output_len: 8}\n");
  ASSERT_TRUE(perf.has_value()) << why(perf);
  EXPECT_NEAR(static_cast<double>(perf->items.size()), 300, kStandardErrors * std::sqrt(300.0));
  EXPECT_EQ(perf->items[0].input_tokens.value(), 84);
}

TEST(BlisWorkload, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(why(described("version: \"2\"\naggregate_rate: 1\nnum_requests: 5\nclients:\n"
                            "  - id: a\n    rate_fracton: 1\n" +
                            kLaws)),
              HasSubstr("rate_fracton"));
  EXPECT_THAT(why(described("version: \"3\"\naggregate_rate: 1\nclients: []\n")),
              HasSubstr("expected \"2\" or \"1\""));
  EXPECT_THAT(why(described("version: \"2\"\naggregate_rate: 1\nclients:\n  - id: a\n    "
                            "rate_fraction: 1\n" +
                            kLaws)),
              HasSubstr("the workload would not end"));
}

TEST(InferencePerfSamples, HaveTheRequestsThatTheyState) {
  const auto folder = test::shared_dir() / "traces/inference_perf";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no " << folder;
  }
  // Sums of num_requests over the stages of each file.
  for (const auto& [name, requests] : {std::pair("batch-summarization-rag", 2250),
                                       std::pair("batch-synthetic-data-generation", 800),
                                       std::pair("deep-research", 250),
                                       std::pair("interactive-chat", 1500),
                                       std::pair("reasoning", 100)}) {
    auto stream = open_items((folder / name / "inference-perf.yaml").string());
    ASSERT_TRUE(stream.has_value()) << core::to_string(stream.error()[0]);
    const auto list = read_all(**stream);
    ASSERT_TRUE(list.has_value());
    EXPECT_THAT(list->items, SizeIs(requests)) << name;
    EXPECT_TRUE(keeps_group_rules(*list)) << name;
    EXPECT_EQ(list->stages.size(), 5U);
    EXPECT_TRUE(list->stages[1].after_previous);
  }
  // This one replays a data set from outside.
  auto otel = open_items((folder / "agentic-trace-replay/inference-perf.yaml").string());
  ASSERT_FALSE(otel.has_value());
  EXPECT_THAT(core::to_string(otel.error()[0]), HasSubstr("needs a data set from outside"));
}

// The rates of the trace files, read here by hand: the sum over windows of rate times 600 s, of
// clients whose data sets have lengths from that window on.
TEST(ServeGenSample, HasTheRateOfItsClients) {
  const auto folder = test::shared_dir() / "traces/servegen/reason";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no " << folder;
  }
  double expected = 0.0;
  {
    std::ifstream file(folder / "chunk-1-trace.csv");
    for (std::string line; std::getline(file, line);) {
      std::istringstream cells(line);
      double start = 0;
      double rate = 0;
      char comma = 0;
      cells >> start >> comma >> rate;
      expected += rate * 600.0;
    }
  }
  auto stream = open_items((folder / "chunk-1-trace.csv").string());
  ASSERT_TRUE(stream.has_value()) << core::to_string(stream.error()[0]);
  const auto list = read_all(**stream);
  ASSERT_TRUE(list.has_value());
  // Gamma gaps near Poisson: ten standard errors of a Poisson count leave room for their shape.
  EXPECT_NEAR(static_cast<double>(list->items.size()), expected, 10.0 * std::sqrt(expected));
  auto whole = open_items(folder.string());
  ASSERT_TRUE(whole.has_value()) << core::to_string(whole.error()[0]);
  // All six clients send more: it is enough to see the first that are more than one's.
  Item item;
  std::size_t more = 0;
  while (more <= list->items.size() && (*whole)->next(item)) {
    ++more;
  }
  EXPECT_GT(more, list->items.size());
}

TEST(WorkloadSpec, PutsSourcesTogether) {
  const auto list = described(
      "ridgeline_workload: 1\nsources:\n"
      "  - client: {input_len: 10, output_len: 2, arrivals: constant, request_rate: 1}\n"
      "    num_prompts: 3\n    repeat: {times: 2, period_s: 100}\n"
      "  - preset: chatbot\n    request_rate: 0.5\n    num_prompts: 4\n    shift_s: 5\n");
  ASSERT_TRUE(list.has_value()) << why(list);
  ASSERT_THAT(list->items, SizeIs(10));
  EXPECT_TRUE(std::ranges::is_sorted(list->items, {}, &Item::arrival));
  EXPECT_THAT(
      why(described("ridgeline_workload: 1\nsources:\n  - preset: chatbto\n    num_prompts: 1\n")),
      HasSubstr("did you mean 'chatbot'?"));
  EXPECT_THAT(why(described("ridgeline_workload: 1\nsources:\n  - preset: chatbot\n")),
              HasSubstr("would not end"));
}

TEST(WorkloadSpec, RefusesSizesThatNoSessionHas) {
  const auto with_session = [](const std::string& session) {
    return why(
        described("ridgeline_workload: 1\nsources:\n  - client: {input_len: 10, output_len: "
                  "2, request_rate: 1, session: {" +
                  session + "}}\n    num_prompts: 3\n"));
  };
  EXPECT_EQ(with_session("turns: 3, fan_out: 2"), "sound");
  EXPECT_THAT(with_session("turns: 1e308"),
              HasSubstr("session.turns: found 1e+308, expected 0 to 4096"));
  EXPECT_THAT(with_session("turns: {distribution: uniform, min: 1, max: 5000}"),
              HasSubstr("5000 is out of range, expected 0 to 4096"));
  EXPECT_THAT(with_session("turns: {distribution: empirical, values: [1, 4097]}"),
              HasSubstr("4097 is out of range, expected 0 to 4096"));
  EXPECT_THAT(with_session("turns: 2, fan_out: 65"), HasSubstr("found 65, expected 0 to 64"));
  EXPECT_THAT(with_session("turns: 2, think_s: 1e10"), HasSubstr("expected 0 to 1000000000"));
}

}  // namespace
}  // namespace ridgeline::workload
