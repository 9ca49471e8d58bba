// Records from a file to scores: what is predicted, and what is said of the rest.
#include "evidence/validate/validate.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/embedded_file.hpp"
#include "engine/serving.hpp"
#include "evidence/validate/deployment.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"
#include "evidence/validate/prediction.hpp"
#include "evidence/validate/scores.hpp"
#include "lab/records/evidence_words.hpp"
#include "lab/tests/support/collections.hpp"
#include "latency/constant_files.hpp"
#include "model/model_spec.hpp"
#include "support/paths.hpp"

namespace ridgeline::records {
namespace {

std::string records_file(const std::vector<std::string>& lines) {
  const auto path = std::filesystem::path(testing::TempDir()) / "records.jsonl";
  std::ofstream out(path);
  for (const auto& line : lines) {
    out << line << '\n';
  }
  return path.string();
}

/// One closed loop of one request at a time, on one line.
std::string closed_record(const std::string& id,
                          const std::string& model,
                          const std::string& gpu,
                          const std::string& more = "") {
  return R"({"id": ")" + id + R"(", "family": "own", "stage": "point", "model": ")" + model +
         R"(", "gpu": ")" + gpu + R"(", "engine": "vllm", "engine_version": "0.15.1", )" + more +
         R"("workload": {"loop": "closed", "concurrency": 1, "num_requests": 3,
             "input": {"kind": "fixed", "nominal_tokens": 64},
             "output": {"kind": "fixed", "nominal_tokens": 32}},
            "measured": {"tpot_ms": {"mean": 6.0}, "ttft_ms": {"mean": 20.0}}})";
}

std::string joined(std::string text) {
  std::erase(text, '\n');
  return text;
}

PredictOptions options_of(std::int64_t histories, std::int64_t threads) {
  PredictOptions options;
  options.histories = histories;
  options.threads = threads;
  return options;
}

TEST(Validate, EveryRecordIsScoredOrLeftOutWithAReason) {
  const auto path =
      records_file({joined(closed_record("good", "meta-llama/Llama-2-7b-hf", "H100-SXM-80GB")),
                    "{\"id\": 1,",
                    joined(closed_record("network", "nobody/Nothing-1B", "H100")),
                    "",
                    joined(closed_record("gpu", "meta-llama/Llama-2-7b-hf", "Abacus-2")),
                    joined(closed_record("pp", "meta-llama/Llama-2-7b-hf", "H100", "\"pp\": 2, ")),
                    joined(closed_record("big", "meta-llama/Llama-3.1-70B", "H100"))});
  auto evidence = read_evidence(path);
  ASSERT_TRUE(evidence.has_value());
  const auto validation = validate(std::move(*evidence), PredictOptions{});
  ASSERT_EQ(validation.records.size(), 6U);
  EXPECT_EQ(validation.count(Standing::kScored), 2);
  EXPECT_EQ(validation.count(Standing::kUnreadable), 1);
  EXPECT_EQ(validation.count(Standing::kUnpredicted), 3);
  EXPECT_EQ(validation.records[1].evidence.id, "line 2");
  EXPECT_THAT(validation.records[2].reason, testing::HasSubstr("Nothing-1B"));
  EXPECT_THAT(validation.records[3].reason, testing::HasSubstr("Abacus-2"));
  EXPECT_EQ(validation.records[4].standing, Standing::kScored) << validation.records[4].reason;
  EXPECT_THAT(validation.records[5].reason, testing::HasSubstr("does not fit"));
  const auto& good = validation.records[0];
  ASSERT_TRUE(good.prediction.has_value());
  EXPECT_EQ(good.prediction->completed, 3);
  EXPECT_NEAR(good.prediction->mean_in_flight, 1.0, 0.01);
  EXPECT_DOUBLE_EQ(good.prediction->mean_context, 64.0 + 16.0);
  EXPECT_EQ(good.prediction->cached_share, 0.0);
  // A 7B in 16 bit cannot decode faster than its 13 GB are read at 3.35 TB/s.
  EXPECT_GT(*good.prediction->figures.at(Figure::kTpot, Level::kMean), 13.0e9 / 3.35e12 * 1e3);
}

/// A closed loop of four clients with long answers, and how it was measured.
std::string power_record(const std::string& id, const std::string& side) {
  return joined(R"({"id": ")" + id + R"(", "family": "own", "stage": "point",
      "model": "meta-llama/Llama-3.1-70B", "gpu": "H100-SXM-80GB", "num_gpus": 4, "tp": 4,
      "engine": "vllm", "engine_version": "0.15.1", "measured_side": ")" +
                side + R"(",
      "workload": {"loop": "closed", "concurrency": 4, "num_requests": 40,
                   "input": {"kind": "fixed", "nominal_tokens": 64},
                   "output": {"kind": "normal", "mean": 300, "stdev": 200, "min": 1, "max": 900}},
      "measured": {"power": {"mean_w_per_gpu": 400, "joules_per_output_token": 8}}})");
}

TEST(Validate, NamesMembersThatAreNoNumbers) {
  std::string record = joined(closed_record("NaN", "llama-3.1-8b", "h100"));
  record.replace(record.find("6.0"), 3, "NaN");
  record.insert(record.rfind("}}}"), R"(, "p50": null, "p99": -Infinity)");
  const auto evidence = read_evidence(records_file({record}));
  ASSERT_TRUE(evidence) << core::to_string(evidence.error().front());
  EXPECT_EQ(evidence->front().problem, "");
  EXPECT_THAT(evidence->front().doubts,
              testing::ElementsAre(
                  "NaN: measured.tpot_ms.mean is NaN or infinite, expected a number: left out",
                  "NaN: measured.ttft_ms.p99 is NaN or infinite, expected a number: left out"));
}

TEST(Validate, PowerIsPredictedAndScored) {
  auto evidence = read_evidence(
      records_file({power_record("whole", "client"), power_record("steady", "steady state only")}));
  const auto validation = validate(std::move(evidence).value(), options_of(1, 1));
  ASSERT_EQ(validation.count(Standing::kScored), 2);
  const auto of = [&](std::size_t record, Figure figure) {
    return validation.records[record].prediction.value().figures.at(figure, Level::kMean).value();
  };
  // A GPU that reads weights all the time: between base and limit of the law.
  for (std::size_t record = 0; record < 2; ++record) {
    EXPECT_GT(of(record, Figure::kPower), 300.0);
    EXPECT_LT(of(record, Figure::kPower), 0.975 * 700.0);
    EXPECT_NEAR(of(record, Figure::kEnergy),
                4.0 * of(record, Figure::kPower) / of(record, Figure::kOutputThroughput),
                1e-9);
  }
  // Little's law holds of the steady state, in which no client is idle; not of the whole run.
  const auto clients = [&](std::size_t record) {
    return of(record, Figure::kOutputThroughput) * of(record, Figure::kTpot) / 1e3;
  };
  EXPECT_NEAR(clients(1), 4.0, 0.1);
  EXPECT_LT(clients(0), 3.9);
  EXPECT_EQ(validation.records[1].prediction->completed, 36);  // Four are on their way.
  const auto row = std::ranges::find(validation.scores, Figure::kPower, &ScoreRow::figure);
  ASSERT_NE(row, validation.scores.end());
  EXPECT_EQ(row->n, 2);
}

std::string fleet_record(const std::string& policy) {
  return joined(closed_record("fleet",
                              "meta-llama/Llama-2-7b-hf",
                              "H100",
                              R"("cluster": {"instances": 2, "policy": ")" + policy + R"("}, )"));
}

TEST(Validate, PoliciesWithoutARouterAreRefusedByName) {
  const auto validation =
      validate(read_evidence(records_file({fleet_record("rr")})).value(), PredictOptions{});
  EXPECT_EQ(validation.count(Standing::kUnpredicted), 1);
  EXPECT_EQ(validation.records[0].reason, "cluster.policy: there is no router for rr");
}

// By turns, half of the clients are on each instance: as fast as one instance with half of them.
TEST(Validate, FleetsBehindARouterArePredicted) {
  const auto validation =
      validate(read_evidence(
                   records_file({fleet_record("Round Robin"),
                                 joined(closed_record("one", "meta-llama/Llama-2-7b-hf", "H100"))}))
                   .value(),
               options_of(1, 1));
  ASSERT_EQ(validation.count(Standing::kScored), 2);
  const auto& fleet = validation.records[0].prediction->figures;
  const auto& one = validation.records[1].prediction->figures;
  EXPECT_EQ(validation.records[0].prediction->completed,
            validation.records[1].prediction->completed);
  EXPECT_LE(*fleet.at(Figure::kTpot, Level::kMean), *one.at(Figure::kTpot, Level::kMean));
  const auto row = std::ranges::find(validation.scores, "policy", &ScoreRow::axis);
  ASSERT_NE(row, validation.scores.end());
  EXPECT_EQ(row->value, "Round Robin");
  EXPECT_EQ(row->n, 1);
}

/// A stage of prompts in groups on two instances, behind a random choice.
std::string ladder_record(const std::string& stage, const std::string& load) {
  return joined(R"({"id": "ladder )" + stage +
                R"(", "family": "own", "exp_name": "l", "stage": ")" + stage + R"(",
      "model": "meta-llama/Llama-3.1-8B", "gpu": "H100", "tp": 1, "num_gpus": 2,
      "engine": "vllm", "engine_version": "0.11.0", "server": {"kv_cache_tokens_per_pod": 100000},
      "cluster": {"instances": 2, "policy": "random-scheduling"},
      "workload": {"generator": "inference-perf shared_prefix", "loop": "open", "arrival": "evenly", )" +
                load + R"(,
                   "prefix": {"num_groups": 3, "prompts_per_group": 2, "note": "the first stage is a warm-up"},
                   "input": {"kind": "fixed", "nominal_tokens": 384, "system_prompt_len": 320, "question_len": 64},
                   "output": {"kind": "fixed", "nominal_tokens": 20}},
      "measured": {"ttft_ms": {"mean": 20}, "itl_ms": {"mean": 4}, "output_tokens_per_s": 40, "requests_per_s": 2}})");
}

TEST(Validate, FleetsClimbTheLadderThatTheirSummaryHas) {
  const auto validation = validate(
      read_evidence(
          records_file({ladder_record("qps2", R"("rate_rps": 2, "duration_s": 10)"),
                        ladder_record("summary", R"("stages": [{"rate_rps": 3, "duration_s": 2},
                             {"rate_rps": 2, "duration_s": 10}, {"rate_rps": 8, "duration_s": 5}])")}))
          .value(),
      options_of(1, 1));
  ASSERT_EQ(validation.count(Standing::kScored), 2);
  const Prediction& stage = *validation.records[0].prediction;
  const Prediction& whole = *validation.records[1].prediction;
  EXPECT_EQ(stage.completed, 20);
  EXPECT_EQ(whole.completed, 60);  // Without the warm-up.
  EXPECT_EQ(whole.incomplete, 0);
  // The client noted two times for each token.
  EXPECT_NEAR(*stage.figures.at(Figure::kItl, Level::kMean),
              *stage.figures.at(Figure::kTpot, Level::kMean) / 2,
              0.05 * *stage.figures.at(Figure::kTpot, Level::kMean));
  // 20 requests of 20 tokens, evenly over 9.5 s and an answer.
  const double answer = *stage.figures.at(Figure::kE2e, Level::kMean) / 1e3;
  EXPECT_NEAR(
      *stage.figures.at(Figure::kOutputThroughput, Level::kMean), 400.0 / (9.5 + answer), 0.5);
  // The mean of two stages' throughputs: the other sends 8 a second.
  EXPECT_GT(*whole.figures.at(Figure::kOutputThroughput, Level::kMean),
            2.0 * *stage.figures.at(Figure::kOutputThroughput, Level::kMean));
  EXPECT_FALSE(whole.figures.at(Figure::kPower, Level::kMean));
}

TEST(Validate, PrefillAndDecodeApartArePredicted) {
  const auto validation = validate(
      read_evidence(records_file({joined(R"({"id": "apart", "family": "own", "stage": "point",
      "model": "Qwen/Qwen3-8B", "gpu": "H800-SXM", "num_gpus": 16, "tp": 8,
      "engine": "vllm", "engine_version": "0.11.2.dev358", "server": {"prefix_caching": false},
      "cluster": {"prefill": {"instances": 1, "tp": 8}, "decode": {"instances": 1, "tp": 8},
                  "transfer": "RDMA, 8 x ConnectX-7 RoCE"},
      "workload": {"loop": "unknown, low load", "input": {"kind": "fixed", "nominal_tokens": 4096},
                   "output": {"kind": "unknown"}},
      "measured": {"ttft_ms": {"mean": 100}, "kv_transfer_ms": 4}})")}))
          .value(),
      options_of(1, 1));
  ASSERT_EQ(validation.count(Standing::kScored), 1) << validation.records[0].reason;
  const ScoredRecord& record = validation.records[0];
  // 4,096 tokens of 36 layers, 8 heads of 128 values, K and V, 2 bytes: 0.4 ms and 604 MB at 144
  // GB/s.
  EXPECT_NEAR(
      *record.prediction->figures.at(Figure::kKvTransfer, Level::kMean), 0.4 + 603.98 / 144, 0.01);
  EXPECT_TRUE(record.error_pct(Figure::kKvTransfer, Level::kMean));
  EXPECT_THAT(record.evidence.assumed,
              testing::Contains(testing::HasSubstr("answers of one token")));
}

TEST(Validate, FilesThatHoldNoRecordsAreErrors) {
  EXPECT_FALSE(read_evidence("no/such/file.jsonl").has_value());
  EXPECT_FALSE(read_evidence(records_file({"", " "})).has_value());
}

TEST(Validate, ThreadsChangeNothing) {
  const auto path =
      records_file({joined(closed_record("a", "meta-llama/Llama-2-7b-hf", "H100")),
                    joined(closed_record("b", "Qwen/Qwen2.5-7B-Instruct", "H100")),
                    joined(closed_record("c", "meta-llama/Llama-2-7b-hf", "A100-SXM-80GB"))});
  const auto figures = [&](std::int64_t threads) {
    std::vector<Figures> all;
    for (const auto& record :
         validate(read_evidence(path).value(), options_of(1, threads)).records) {
      all.push_back(record.prediction.value().figures);
    }
    return all;
  };
  EXPECT_EQ(figures(1), figures(3));
}

TEST(Validate, AnotherWeightFormatReplacesTheNetworksOwn) {
  const auto weights = [](const std::string& more) {
    auto evidence =
        read_evidence(
            records_file({joined(closed_record("a", "meta-llama/Llama-2-7b-hf", "H100", more))}))
            .value();
    return deploy(evidence.front(), {}).value().deployment->memory.weights.value();
  };
  // All but embedding and lm_head (2 * 32000 * 4096 weights) halves.
  const double sixteen = weights("");
  const double embeddings = 2.0 * 2.0 * 32000.0 * 4096.0;
  EXPECT_NEAR(weights("\"precision\": \"fp8\", "),
              (sixteen - embeddings) / 2.0 + embeddings,
              0.01 * sixteen);
  EXPECT_EQ(weights("\"precision\": \"BF16\", "), sixteen);
}

TEST(Validate, WhatIfsWinOverTheRecord) {
  auto evidence =
      read_evidence(records_file({joined(closed_record("a", "meta-llama/Llama-2-7b-hf", "H100"))}))
          .value();
  const auto server =
      deploy(evidence.front(), {{.path = "engine.async_scheduling", .text = "false"}});
  ASSERT_TRUE(server.has_value());
  EXPECT_FALSE(server->deployment->engine.async_scheduling);
  EXPECT_FALSE(evidence.front().assumed.empty());
}

TEST(Validate, WhatARecordDoesNotSayIsItsGeneratorsRecipe) {
  const auto is_async = [](const std::string& gpu, const std::string& more) {
    std::string record = closed_record("a", "meta-llama/Llama-2-7b-hf", gpu, more);
    const std::string loop = "\"loop\": \"closed\"";
    record.replace(record.find(loop), loop.size(), "\"generator\": \"InferenceX\", " + loop);
    auto evidence = read_evidence(records_file({joined(record)})).value();
    return deploy(evidence.front(), {}).value().deployment->engine.async_scheduling;
  };
  EXPECT_TRUE(is_async("H100-SXM-80GB", "\"precision\": \"fp8\", "));
  // What the record says comes first.
  EXPECT_FALSE(is_async("H100", "\"server\": {\"async_scheduling\": false}, "));
}

TEST(Validate, ARecordThatNamesItsScriptHasThatDaysRecipe) {
  const auto precision = [](const std::string& date, const std::string& recipe) {
    std::string record =
        closed_record("a",
                      "MiniMaxAI/MiniMax-M2.5",
                      "B200-SXM",
                      R"("tp": 4, "num_gpus": 4, "measured_date": ")" + date + R"(", "recipe": )" +
                          recipe + R"(, "server": {"max_num_seqs": 8}, )");
    const std::string loop = "\"loop\": \"closed\"";
    record.replace(record.find(loop), loop.size(), "\"generator\": \"InferenceX\", " + loop);
    auto evidence = read_evidence(records_file({joined(record)})).value();
    const auto section = deploy(evidence.front(), {}).value().scenario().deployment.engine;
    EXPECT_EQ(section.max_num_seqs, 8);
    return section.float32_matmul_precision;
  };
  EXPECT_EQ(precision("2026-04-22", R"({"script": "a.sh"})"), "high");
  EXPECT_EQ(precision("2026-04-08", R"({"script": "a.sh"})"), "highest");
  EXPECT_EQ(precision("2026-04-22", "{}"), "highest");
}

/// A data file without its comments and the classes by which an engine chooses its kernels, in
/// lower case.
std::string stated_in(std::string_view text) {
  std::string stated;
  bool comment = false;
  for (const char c : text) {
    comment = c == '\n' ? false : comment || c == '#';
    stated += comment ? ' ' : c;
  }
  constexpr std::string_view kClasses = R"("families":[)";
  for (auto at = stated.find(kClasses); at != std::string::npos; at = stated.find(kClasses)) {
    stated.erase(at, stated.find(']', at) - at);
  }
  return core::lower_case(stated);
}

TEST(Validate, NoConstantIsKeyedByANetworkOrAnExperiment) {
  std::vector<std::string> names = model::catalogue_names();
  for (const std::string family : {"llama",
                                   "qwen",
                                   "mistral",
                                   "mixtral",
                                   "yi-",
                                   "deepseek",
                                   "codegen",
                                   "roleplay",
                                   "trainval"}) {
    names.push_back(family);
  }
  std::vector<document::EmbeddedFile> files(engine::serving_files().begin(),
                                            engine::serving_files().end());
  for (const auto& file : latency::constant_files()) {
    files.push_back(file);
  }
  ASSERT_GE(files.size(), 2U);
  for (const auto& file : files) {
    const std::string stated = stated_in(file.text);
    for (const auto& name : names) {
      EXPECT_EQ(stated.find(core::lower_case(name)), std::string::npos)
          << file.name << " has a constant for " << name;
    }
  }
}

TEST(Validate, TheTrainingRuns) {
  const auto path = test::shared_dir() / "groundtruth" / "experiments.jsonl";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "needs the measured runs of ../shared/groundtruth";
  }
  auto evidence = read_evidence(path.string()).value();
  std::erase_if(evidence, [](const Evidence& record) {
    return record.family == "trainval" && record.model != "mistralai/Mistral-Nemo-Instruct-2407";
  });
  std::erase_if(evidence, [](const Evidence& record) { return record.family == "silicon"; });
  const auto validation = validate(std::move(evidence), options_of(1, 1));
  // Twelve guidellm phases, one of them an overload; six records of a 12B.
  EXPECT_EQ(validation.count(Standing::kScored), 17);
  EXPECT_EQ(validation.count(Standing::kSaturated), 1);
  for (const auto& row : validation.scores) {
    if (row.axis == "all" && row.value == "all" && row.figure == Figure::kTpot &&
        row.level == Level::kMean) {
      EXPECT_LT(row.median_abs, 2.0);
    }
  }
}

}  // namespace
}  // namespace ridgeline::records
