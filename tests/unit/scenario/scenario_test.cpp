#include "scenario/scenario.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"
#include "workload/options.hpp"

namespace ridgeline::scenario {
namespace {

using testing::HasSubstr;

/// A scenario file that lives as long as the test.
class ScenarioFile {
 public:
  explicit ScenarioFile(std::string_view text, std::string_view suffix = ".yaml")
      : path_(testing::TempDir() + "scenario" + std::string(suffix)) {
    std::ofstream(path_) << text;
  }
  ScenarioFile(const ScenarioFile&) = delete;
  ScenarioFile& operator=(const ScenarioFile&) = delete;
  ~ScenarioFile() { std::remove(path_.c_str()); }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr std::string_view kSmall = R"(
model: llama-3.1-8b
gpu: h100
workload: {request_rate: 8, input_len: 512, output_len: 256}
)";

core::Errors errors_of(std::string_view text,
                       const std::vector<Override>& overrides = {},
                       Purpose purpose = Purpose::kRun) {
  const ScenarioFile file(text);
  auto loaded = load_scenario(file.path(), overrides, purpose);
  return loaded ? core::Errors() : loaded.error();
}

/// "field: message" of each error.
std::vector<std::string> lines_of(const core::Errors& errors) {
  std::vector<std::string> lines;
  lines.reserve(errors.size());
  for (const auto& error : errors) {
    lines.push_back(error.field + ": " + error.message);
  }
  return lines;
}

TEST(LoadScenario, ReadsAFile) {
  const ScenarioFile file(kSmall);
  const auto loaded = load_scenario(file.path(), {}, Purpose::kRun);
  ASSERT_TRUE(loaded) << core::to_string(loaded.error().front());
  EXPECT_EQ(loaded->scenario.deployment.model, "llama-3.1-8b");
  EXPECT_EQ(loaded->scenario.workload.request_rate, 8.0);
  EXPECT_EQ(loaded->scenario.deployment.engine.block_size, 16);
  EXPECT_EQ(loaded->of("gpu").origin, Provenance::Origin::kFile);
  EXPECT_EQ(loaded->of("gpu").where.line, 3);
  EXPECT_EQ(loaded->of("engine.block_size").origin, Provenance::Origin::kDefault);
}

TEST(LoadScenario, AFlagWinsOverTheFile) {
  const ScenarioFile file(kSmall);
  const auto loaded =
      load_scenario(file.path(),
                    {{"workload.request_rate", "3.5"}, {"engine.enable_prefix_caching", "false"}},
                    Purpose::kRun);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->scenario.workload.request_rate, 3.5);
  EXPECT_FALSE(loaded->scenario.deployment.engine.enable_prefix_caching);
  EXPECT_EQ(loaded->of("workload.request_rate").origin, Provenance::Origin::kFlag);
  EXPECT_EQ(loaded->of("workload.input_len").origin, Provenance::Origin::kFile);
}

TEST(LoadScenario, AllProblemsAtOnceInTheOrderOfTheFile) {
  const auto errors = errors_of(R"(
model: llama-3.1-8b
gpu: h100
engine:
  block_size: 0
  max_num_sequences: 3
  max_num_seqs: many
  max_num_seqs: 5
workload: {request_rate: -8, input_len: 5GB, output_len: 256, duration: 60GB}
sede: 1
)");
  EXPECT_THAT(
      lines_of(errors),
      testing::ElementsAre(
          "engine.block_size: 0 is out of range, expected 1 to 256",
          HasSubstr("engine.max_num_sequences: unknown key"),
          HasSubstr("engine.max_num_seqs: expected an integer, found \"many\""),
          HasSubstr("engine.max_num_seqs: given twice"),
          HasSubstr("workload.request_rate: -8 is out of range"),
          HasSubstr("workload.input_len: found \"5GB\""),
          HasSubstr("workload.duration: \"60GB\" is bytes, expected a time (ps, ns, us, ms, "
                    "s, min, m, h, d)"),
          HasSubstr("sede: unknown key")));
  EXPECT_EQ(errors[0].where.line, 5);
  EXPECT_EQ(errors[0].where.column, 15);
  EXPECT_THAT(errors[1].hint, HasSubstr("max_num_seqs"));
  EXPECT_THAT(errors.back().hint, HasSubstr("seed"));
}

TEST(LoadScenario, FlagsAreCheckedLikeTheFile) {
  const auto errors =
      errors_of(kSmall, {{"workload.request_rate", "nan"}, {"engine.block_size", "1e3"}});
  EXPECT_THAT(lines_of(errors),
              testing::UnorderedElementsAre(
                  HasSubstr("workload.request_rate: expected a number, found \"nan\""),
                  HasSubstr("engine.block_size: expected an integer, found 1000")));
  EXPECT_EQ(errors.front().where.file, "command line");
}

TEST(LoadScenario, SaysWhatIsMissing) {
  EXPECT_THAT(lines_of(errors_of("{}")),
              testing::ElementsAre("model: missing",
                                   "gpu: missing",
                                   "workload.request_rate: missing",
                                   "workload.input_len: missing",
                                   "workload.output_len: missing"));
  EXPECT_THAT(lines_of(errors_of("{}", {}, Purpose::kLook)),
              testing::ElementsAre("model: missing", "gpu: missing"));
  EXPECT_THAT(lines_of(errors_of("{model: llama-3.1-8b, gpu: h100}", {}, Purpose::kReplay)),
              testing::ElementsAre("workload.trace: missing"));
}

TEST(LoadScenario, ReplaysAgentsOnLanesAlone) {
  const std::string agents =
      "{model: llama-3.1-8b, gpu: h100, workload: {trace: t.jsonl, agent_scenario: agentx";
  EXPECT_THAT(lines_of(errors_of(agents + "}}")),
              testing::ElementsAre(HasSubstr("workload.max_concurrency: missing")));
  EXPECT_THAT(lines_of(errors_of(agents + ", max_concurrency: 4, num_prompts: 9}}")),
              testing::ElementsAre(HasSubstr("workload.num_prompts: would be ignored")));
  EXPECT_THAT(
      lines_of(errors_of("{model: llama-3.1-8b, gpu: h100, workload: {trace: t.csv, "
                         "warmup_requests_per_lane: 2}}")),
      testing::ElementsAre(HasSubstr("workload.warmup_requests_per_lane: would be ignored")));
}

TEST(LoadScenario, RefusesWhatWouldBeIgnored) {
  EXPECT_THAT(lines_of(errors_of(kSmall, {{"workload.trace", "t.csv"}})),
              testing::ElementsAre(HasSubstr("workload.input_len: would be ignored"),
                                   HasSubstr("workload.output_len: would be ignored")));
  EXPECT_THAT(lines_of(errors_of(
                  "{model: llama-3.1-8b, gpu: h100, workload: {trace: t.csv, request_rate: 2, "
                  "trace_speed_up: 2}}")),
              testing::ElementsAre(HasSubstr("workload.trace_speed_up: would be ignored")));
  EXPECT_THAT(lines_of(errors_of(
                  "{model: llama-3.1-8b, gpu: h100, workload: {trace: t.csv, burstiness: 2}}")),
              testing::ElementsAre(HasSubstr("workload.burstiness: would be ignored")));
  EXPECT_THAT(lines_of(errors_of(kSmall, {{"workload.trace_start", "5s"}})),
              testing::ElementsAre(HasSubstr("workload.trace_start: would be ignored")));
  EXPECT_THAT(lines_of(errors_of(
                  "{model: llama-3.1-8b, gpu: h100, workload: {max_concurrency: 4, input_len: 1, "
                  "output_len: 1, arrivals: poisson, burstiness: 2}}")),
              testing::ElementsAre(HasSubstr("workload.arrivals: would be ignored"),
                                   HasSubstr("workload.burstiness: would be ignored")));
  EXPECT_THAT(errors_of(kSmall, {{"workload.max_concurrency", "4"}}), testing::IsEmpty());
  EXPECT_THAT(lines_of(errors_of(
                  kSmall, {{"workload.max_concurrency", "4"}, {"workload.think_time", "4s"}})),
              testing::ElementsAre(HasSubstr("workload.think_time: would be ignored")));
  EXPECT_THAT(lines_of(errors_of(kSmall, {{"workload.think_time", "4s"}})),
              testing::ElementsAre(HasSubstr("workload.think_time: would be ignored")));
  EXPECT_THAT(lines_of(errors_of(kSmall, {{"workload.num_prefixes", "4"}})),
              testing::ElementsAre(HasSubstr("workload.num_prefixes: would be ignored")));
  EXPECT_THAT(lines_of(errors_of(
                  kSmall, {{"workload.arrivals", "constant"}, {"workload.burstiness", "2"}})),
              testing::ElementsAre(HasSubstr("workload.burstiness: would be ignored")));
}

TEST(LoadScenario, RefusesAClusterThatDoesNotAddUp) {
  EXPECT_THAT(errors_of(kSmall,
                        {{"cluster.instances", "4"},
                         {"cluster.router.name", "least-request"},
                         {"cluster.gateway.notice_latency", "1ms"}}),
              testing::IsEmpty());
  EXPECT_THAT(
      lines_of(errors_of(
          kSmall, {{"cluster.router.name", "random"}, {"cluster.gateway.gateway_latency", "1ms"}})),
      testing::ElementsAre(HasSubstr("cluster.router.name: would be ignored"),
                           HasSubstr("cluster.gateway.gateway_latency: would be ignored")));
  EXPECT_THAT(lines_of(errors_of(
                  kSmall, {{"cluster.instances", "4"}, {"cluster.router.name", "least-requests"}})),
              testing::ElementsAre(HasSubstr("no routing policy 'least-requests'")));
  EXPECT_THAT(lines_of(errors_of(kSmall,
                                 {{"cluster.instances", "4"},
                                  {"cluster.gateway.refresh_metrics_interval", "1s"}})),
              testing::ElementsAre(HasSubstr("the policy round-robin reads no gauges")));
  EXPECT_THAT(
      lines_of(errors_of(kSmall, {{"cluster.instances", "2"}, {"engine.data_parallel_size", "2"}})),
      testing::IsEmpty());
  EXPECT_THAT(
      lines_of(errors_of(kSmall, {{"cluster.instances", "3"}, {"engine.data_parallel_size", "2"}})),
      testing::ElementsAre(HasSubstr("cluster.instances: found 3, expected a multiple of "
                                     "data_parallel_size, 2: each rank is an instance")));
  EXPECT_THAT(lines_of(errors_of(kSmall,
                                 {{"cluster.instances", "4"},
                                  {"cluster.autoscaling.name", "schedule"},
                                  {"cluster.autoscaling.max_replicas", "4"},
                                  {"engine.data_parallel_size", "2"}})),
              testing::Contains(HasSubstr("cluster.autoscaling.name: instances that come and go")));
  EXPECT_THAT(lines_of(errors_of(kSmall, {{"cluster.instances", "0"}})),
              testing::ElementsAre(HasSubstr("expected 1 to 4096")));
}

TEST(LoadScenario, ANumberOfTraceRequestsIsNotIgnored) {
  EXPECT_THAT(
      errors_of("{model: llama-3.1-8b, gpu: h100, workload: {trace: t.csv, num_prompts: 5}}"),
      testing::IsEmpty());
}

TEST(LoadScenario, BlocksAndUtilisationAreOneChoice) {
  constexpr std::string_view kBlocks =
      "{model: a, gpu: b, engine: {num_gpu_blocks: 100, gpu_memory_utilization: 0.5}}";
  const ScenarioFile file(kBlocks);
  const auto by_share =
      load_scenario(file.path(), {{"engine.gpu_memory_utilization", "0.7"}}, Purpose::kLook);
  ASSERT_TRUE(by_share);
  EXPECT_EQ(by_share->scenario.deployment.engine.num_gpu_blocks, std::nullopt);
  EXPECT_EQ(by_share->scenario.deployment.engine.gpu_memory_utilization, 0.7);
  const auto by_blocks =
      load_scenario(file.path(), {{"engine.num_gpu_blocks", "200"}}, Purpose::kLook);
  ASSERT_TRUE(by_blocks);
  EXPECT_EQ(by_blocks->scenario.deployment.engine.num_gpu_blocks, 200);
  EXPECT_EQ(by_blocks->scenario.deployment.engine.gpu_memory_utilization, std::nullopt);
  EXPECT_EQ(by_blocks->of("engine.gpu_memory_utilization").origin, Provenance::Origin::kDefault);
}

// A missing workload and a misspelt network are reported together.
TEST(LoadScenario, NamesAreCheckedBesideWhatIsMissing) {
  const auto errors = errors_of("{model: llama-3.1-8, gpu: h10, engine: {version: v0.0.1}}");
  EXPECT_THAT(lines_of(errors),
              testing::UnorderedElementsAre(
                  testing::StartsWith("model: \"llama-3.1-8\" is neither a network"),
                  testing::StartsWith("gpu: \"h10\" is neither a GPU"),
                  testing::StartsWith("engine.version: "),
                  "workload.request_rate: missing",
                  "workload.input_len: missing",
                  "workload.output_len: missing"));
  for (const auto& error : errors) {
    EXPECT_EQ(error.where.line > 0, error.message != "missing") << error.field;
  }
}

core::Result<LoadedScenario> look_at(std::string_view path, std::string_view text) {
  return load_scenario(std::nullopt,
                       {{"model", "a"}, {"gpu", "b"}, {std::string(path), std::string(text)}},
                       Purpose::kLook);
}

TEST(LoadScenario, DurationsAreSecondsOrCarryAUnit) {
  const auto duration = [](std::string_view text) {
    const auto loaded = look_at("warmup", text);
    return loaded ? loaded->scenario.run.warmup : std::nullopt;
  };
  EXPECT_EQ(duration("2"), core::Duration::seconds(2));
  EXPECT_EQ(duration("0.5"), core::Duration::milliseconds(500));
  EXPECT_EQ(duration("250ms"), core::Duration::milliseconds(250));
  EXPECT_EQ(duration("-1s"), std::nullopt);
  EXPECT_EQ(duration("1e9"), std::nullopt);
  EXPECT_EQ(duration("5GB"), std::nullopt);
  EXPECT_EQ(duration(""), std::nullopt);
}

TEST(LoadScenario, LatencyTargetsCarryAUnit) {
  for (const char* const path : {"slo.ttft", "slo.tpot", "slo.itl", "slo.e2e"}) {
    EXPECT_TRUE(look_at(path, "250ms")) << path;
    for (const char* const text : {"500", "0.5", "1e3", "0", "-5", "inf", "0s"}) {
      const auto refused = look_at(path, text);
      ASSERT_FALSE(refused) << path << " " << text;
      EXPECT_EQ(refused.error().size(), 1U);
      EXPECT_EQ(refused.error().front().field, path);
      EXPECT_THAT(refused.error().front().message, testing::StartsWith("found "));
      EXPECT_THAT(refused.error().front().message, testing::HasSubstr("expected a time above 0"));
    }
    EXPECT_EQ(look_at(path, "500").error().front().hint, "500ms or 0.5s?");
    EXPECT_EQ(look_at(path, "0.5").error().front().hint, "500ms or 0.5s?");
  }
}

TEST(LoadScenario, PatchesMergeByKey) {
  const ScenarioFile file("{model: a, gpu: b, set: {model.x: 1, hardware.y: 2TB/s}}");
  const auto loaded =
      load_scenario(file.path(), {{"set", "model.x=3"}, {"set", "model.z=q"}}, Purpose::kLook);
  ASSERT_TRUE(loaded);
  const auto& patches = loaded->scenario.deployment.patches;
  ASSERT_EQ(patches.size(), 3U);
  EXPECT_EQ(patches[0].key, "x");
  EXPECT_EQ(patches[0].value.as_integer(), 3);
  EXPECT_EQ(patches[1].target, "hardware");
  EXPECT_EQ(patches[2].value.as_string(), "q");
}

TEST(LoadScenario, RefusesMalformedPatches) {
  EXPECT_THAT(lines_of(errors_of("{model: a, gpu: b, set: [1]}", {}, Purpose::kLook)),
              testing::ElementsAre(HasSubstr("set: ")));
  EXPECT_THAT(lines_of(errors_of("{model: a, gpu: b, set: {engine.x: 1}}", {}, Purpose::kLook)),
              testing::ElementsAre(
                  HasSubstr("set.engine.x: expected model.<key>, hardware.<key> or rules.<key>")));
  EXPECT_THAT(lines_of(errors_of("{model: a, gpu: b}", {{"set", "model.x"}}, Purpose::kLook)),
              testing::ElementsAre(HasSubstr("expected NAME=VALUE")));
  EXPECT_THAT(
      lines_of(errors_of(
          "{model: a, gpu: b}", {{"set", "model.x=1"}, {"set", "model.x=2"}}, Purpose::kLook)),
      testing::ElementsAre(HasSubstr("set.model.x: given twice")));
}

TEST(LoadScenario, RefusesWhatIsNoDocument) {
  EXPECT_FALSE(errors_of("model: [").empty());
  EXPECT_FALSE(errors_of("- a\n- b\n").empty());
  EXPECT_FALSE(errors_of("engine: 5\nmodel: a\ngpu: b\n", {}, Purpose::kLook).empty());
  EXPECT_FALSE(load_scenario("no/such/file.yaml", {}, Purpose::kRun));
}

// What `calibrate` writes of a server holds for that server alone.
TEST(LoadScenario, AnotherServerHasNoMeasurementsOfItsOwn) {
  const ScenarioFile file(
      std::string(kSmall) +
      "calibrated: {gpu: h100, network: dense, precision: bf16, engine: vllm, deployment: "
      "llama-3.1-8b TP1, records: 3, in_flight: [1, 8], input_tokens: [512, 512], ttft: {p50: "
      "[-1, 1], p90: [-2, 3]}}\n");
  const auto is_calibrated = [&](const std::vector<Override>& overrides) {
    const auto loaded = load_scenario(file.path(), overrides, Purpose::kRun).value();
    const bool is_kept = !loaded.scenario.deployment.calibrated.is_null();
    EXPECT_EQ(to_node(loaded.scenario).find("calibrated") != nullptr, is_kept);
    return is_kept;
  };
  EXPECT_TRUE(is_calibrated({}));
  EXPECT_TRUE(is_calibrated({{.path = "workload.request_rate", .text = "4"},
                             {.path = "seed", .text = "7"},
                             {.path = "gpu", .text = "h100"}}));
  EXPECT_FALSE(is_calibrated({{.path = "gpu", .text = "h200"}}));
  EXPECT_FALSE(is_calibrated({{.path = "engine.tensor_parallel_size", .text = "2"}}));
  EXPECT_FALSE(is_calibrated({{.path = "engine.enforce_eager", .text = "true"}}));
  EXPECT_FALSE(is_calibrated({{.path = "serving.delivery_time", .text = "9ms"}}));
  EXPECT_FALSE(is_calibrated({{.path = "set", .text = "hardware.mem_bandwidth=3TB/s"}}));
  EXPECT_THAT(lines_of(errors_of(std::string(kSmall) + "calibrated: {gpu: h100}")),
              testing::Contains(HasSubstr("calibrated.records")));
}

TEST(ToNode, ComesBackAsTheSameScenario) {
  const ScenarioFile file(R"(
model: llama-3.1-8b
gpu: h100
engine: {max_num_seqs: 7, async_scheduling: false, gpu_memory_utilization: 0.55}
workload:
  request_rate: 0.125
  duration: 90s
  burstiness: 0.5
  input_len: {distribution: lognormal, mean: 300.5, std: 20, min: 2, max: 900}
  output_len: {distribution: empirical, values: [1, 2], weights: [0.25, 0.75]}
slo: {ttft: 250ms, statistic: p95}
seed: 12345
set: {model.num_hidden_layers: 40, hardware.mem_bandwidth: 4TB/s}
)");
  const auto loaded = load_scenario(file.path(), {}, Purpose::kRun);
  ASSERT_TRUE(loaded) << core::to_string(loaded.error().front());
  const std::string once = flow_text(to_node(loaded->scenario));

  const ScenarioFile copy(once);  // flow text is YAML
  const auto again = load_scenario(copy.path(), {}, Purpose::kRun);
  ASSERT_TRUE(again) << once << '\n' << core::to_string(again.error().front());
  EXPECT_EQ(flow_text(to_node(again->scenario)), once);
  EXPECT_EQ(again->scenario.workload.duration, core::Duration::seconds(90));
  EXPECT_EQ(again->scenario.deployment.engine.gpu_memory_utilization, 0.55);
  EXPECT_EQ(again->scenario.deployment.patches.size(), 2U);
}

constexpr std::string_view kTuned = R"(
model: llama-3.1-8b
gpu: h100
latency: {name: v1, set: {perLayerOverhead: 80, mixed: max}}
)";

TEST(Scenario, SettingsOfTheStepTimeModelKeepTheirOrderAndAFlagWins) {
  const ScenarioFile file(kTuned);
  const auto loaded =
      load_scenario(file.path(),
                    {{"latency.set", "perLayerOverhead=90"}, {"latency.set", "softmax=true"}},
                    Purpose::kLook);
  ASSERT_TRUE(loaded) << core::to_string(loaded.error().front());
  const auto& settings = loaded->scenario.deployment.latency.settings;
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(settings[0].key, "perLayerOverhead");
  EXPECT_EQ(settings[0].value.as_integer(), 90);
  EXPECT_EQ(settings[1].value.as_string(), "max");
  EXPECT_TRUE(settings[2].value.as_bool());
  // Read back, the document gives the same.
  const auto again = read_scenario(to_node(loaded->scenario), {}, Purpose::kLook);
  ASSERT_TRUE(again) << core::to_string(again.error().front());
  ASSERT_EQ(again->scenario.deployment.latency.settings.size(), 3U);
  EXPECT_EQ(again->scenario.deployment.latency.settings[1].key, "mixed");
}

TEST(Scenario, SettingsThatAreNoPairsOrNoMapAreRefused) {
  EXPECT_THAT(lines_of(errors_of(kTuned, {{"latency.set", "softmax"}}, Purpose::kLook)),
              testing::Contains(HasSubstr("--latency-set: found \"softmax\"")));
  EXPECT_THAT(lines_of(errors_of("model: a\ngpu: b\nlatency: {set: [1]}\n", {}, Purpose::kLook)),
              testing::Contains(HasSubstr("latency.set: found a list")));
}

TEST(ReadScenario, AnOptionInTheWrongPlaceIsPointedToItsSection) {
  const auto wrong = document::parse_yaml(
      "model: llama-3.1-8b\ngpu: h100\nquantization: fp8\nengine: {seed: 3}\n", "s.yaml");
  ASSERT_TRUE(wrong);
  const auto result = read_scenario(*wrong, {}, Purpose::kLook);
  ASSERT_FALSE(result);
  std::vector<std::string> hints;
  for (const auto& error : result.error()) {
    hints.push_back(error.field + ": " + error.hint);
  }
  EXPECT_THAT(hints,
              testing::IsSupersetOf({"quantization: `quantization` belongs to the section `engine`",
                                     "engine.seed: `seed` stands at the top, in no section"}));
}

}  // namespace
}  // namespace ridgeline::scenario
