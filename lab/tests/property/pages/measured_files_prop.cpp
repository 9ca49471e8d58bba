// Files of measured runs with mistakes in them: whatever they hold, they are read, predicted,
// calibrated with and reported, or refused. RIDGELINE_MUTATIONS=5000 draws as many cases; a fixed
// share runs with the others.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "document/document.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "evidence/calibrate/server_file.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/prediction.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"
#include "evidence/validate/validation_tree.hpp"
#include "lab/tests/support/collections.hpp"
#include "report/table/table.hpp"
#include "scenario/scenario.hpp"
#include "verbs/validate_view.hpp"

namespace ridgeline::report {
namespace {

constexpr int kCasesInTests = 150;
/// Memory that all cases together may take beside what a sound file takes; sanitizers keep what was
/// freed, and have no such limit.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr long kMostGrowthKiB = std::numeric_limits<long>::max();
#else
constexpr long kMostGrowthKiB = 200L * 1024;
#endif
constexpr double kLongestCaseSeconds = 60.0;

struct Sample {
  const char* name;
  const char* text;
};

constexpr auto kSamples = std::to_array<Sample>(
    {{"vllm-bench.json", R"({"date": "d", "model_id": "llama-3.1-8b", "request_rate": 4.0,
"max_concurrency": null, "completed": 3, "total_input_tokens": 360, "total_output_tokens": 36,
"request_throughput": 3.9, "output_throughput": 60.0, "mean_ttft_ms": 20.0, "p99_ttft_ms": 30.0,
"mean_tpot_ms": 7.0, "mean_e2el_ms": 100.0, "input_lens": [100, 120, 140],
"output_lens": [10, 12, 14], "ttfts": [0.02, 0.02, 0.02], "itls": [[0.1], [0.1], []],
"start_times": [5.5, 5.0, 6.25]})"},
     {"sglang.jsonl", R"({"completed": 40, "request_rate": "inf", "max_concurrency": 4,
"total_input_tokens": 4000, "total_output_tokens": 400, "mean_ttft_ms": 30.0})"},
     {"guidellm.json", R"({"benchmarks": [{"config": {"strategy": {"type_": "constant", "rate": 2}},
"metrics": {"request_totals": {"successful": 6}, "prompt_token_count": {"successful": {"mean": 50}},
"output_token_count": {"successful": {"mean": 5}}, "requests_per_second": {"successful": {"mean": 2}},
"request_latency": {"successful": {"mean": 1.5, "percentiles": {"p90": 2.0}}}},
"requests": {"successful": [{"info": {"timings": {"request_start": 7}},
"input_metrics": {"text_tokens": 60}, "output_metrics": {"text_tokens": 6}}]}},
{"config": {"strategy": {"type_": "concurrent", "streams": 4}},
"metrics": {"request_totals": {"successful": 16}, "prompt_token_count": {"successful": {"mean": 50}},
"output_token_count": {"successful": {"mean": 5}},
"time_to_first_token_ms": {"successful": {"mean": 20}}}}]})"},
     {"summary_lifecycle_metrics.json", R"({"load_summary": {"send_duration": 10,
"requested_rate": 2}, "successes": {"count": 20, "latency": {"time_to_first_token": {"mean": 0.02,
"p99": 0.1}, "request_latency": {"mean": 0.5}}, "throughput": {"requests_per_sec": 1.9},
"prompt_len": {"mean": 64}, "output_len": {"mean": 8}}})"},
     {"per_request.json", R"([{"start_time": 10, "end_time": 11, "error": null, "info":
{"input_tokens": 64, "output_tokens": 3, "output_token_times": [10.2, 10.5, 10.9]}},
{"start_time": 12, "end_time": 13, "error": {"error_type": "x"}}])"},
     {"profile_export_aiperf.json", R"({"input_config": {"endpoint": {"model_names":
["llama-3.1-8b"]}, "loadgen": {"request_rate": 3, "request_rate_mode": "poisson"}},
"request_count": {"unit": "requests", "avg": 9}, "request_throughput": {"avg": 3},
"time_to_first_token": {"unit": "ms", "avg": 20, "p99": 30}, "request_latency": {"unit": "ms",
"avg": 90}, "input_sequence_length": {"avg": 100}, "output_sequence_length": {"avg": 10}})"},
     {"profile_export.jsonl",
      R"({"metadata": {"request_start_ns": 3000000000, "benchmark_phase": "profiling"}, "metrics": )"
      R"({"input_sequence_length": {"value": 64, "unit": "tokens"}, "output_sequence_length": )"
      R"({"value": 8, "unit": "tokens"}, "time_to_first_token": {"value": 20, "unit": "ms"}, )"
      R"("request_latency": {"value": 80, "unit": "ms"}}, "error": null})"
      "\n"
      R"({"metadata": {"request_start_ns": 3100000000}, "metrics": {"input_sequence_length": )"
      R"({"value": 32}, "output_sequence_length": {"value": 4}}, "error": null})"},
     {"experiments.jsonl",
      R"({"id": "a", "family": "own", "exp_name": "a", "stage": "1", "model": )"
      R"("meta-llama/Llama-2-7b-hf", "gpu": "H100", "tp": 1, "dp": 1, "engine": "vllm", )"
      R"("engine_version": "0.11.0", "server": {"max_num_seqs": 8, "total_kv_blocks": 4000, )"
      R"("max_model_len": 4096, "block_size": 16}, "workload": {"loop": "open", "rate_rps": 2, )"
      R"("duration_s": 10, "num_requests": 20, "prefix": {"distinct_prompts": 4}, "input": )"
      R"({"kind": "uniform", "nominal_tokens": 100}, "output": {"kind": "normal", "mean": 12, )"
      R"("std": 3, "min": 1, "max": 40}}, "measured": {"ttft_ms": {"mean": 40}, "e2e_ms": )"
      R"({"mean": 150, "p90": 200}}, "predictions": {"other": {"e2e_ms": {"mean": 99}}}})"
      "\n"
      R"({"id": "b", "exp_name": "run", "stage": "0", "model": "llama-3.1-8b", "gpu": "h100", )"
      R"("workload": {"replay_file": "log.csv"}, "measured": {"ttft_ms": {"mean": 40}}})"},
     {"evaluator.json", R"({"experiments": [{"experiment_name": "x", "model": "llama-3.1-8b",
"vllm_config": {"tensor_parallelism": 1, "max_num_seqs": 64}, "workload_config":
{"rate_type": "constant", "max_requests": 20, "data": {"prefix_tokens": 16, "prompt_tokens": 100,
"prompt_tokens_stdev": 9, "output_tokens": 10}}, "total_kv_blocks": 900,
"qps_sweeps": [{"qps": 2, "ttft_mean_ms": 20, "itl_mean_ms": 9, "e2e_p90_ms": 300}]}]})"}});

constexpr const char* kLog =
    "exp,phase,status,arrival_s,input_tokens,output_tokens\r\n"
    "run,0,ok,0.5,100,10\r\n"
    "run,0,successful,1.5,\"120\",12\r\n";

constexpr auto kOddValues = std::to_array<std::string_view>({"1e308",
                                                             "-1",
                                                             "0",
                                                             "1e-308",
                                                             "9e15",
                                                             "1e7",
                                                             "5000000",
                                                             "9300000",
                                                             "NaN",
                                                             "\"x\"",
                                                             "null",
                                                             "[]",
                                                             "{}",
                                                             "99999999999999999999",
                                                             "1e19",
                                                             "-9223372036854775808",
                                                             "true",
                                                             "16777217",
                                                             "1000000000"});
constexpr auto kOddBytes = std::to_array<std::string_view>({std::string_view("\0", 1),
                                                            "\xEF\xBB\xBF",
                                                            "\r\n",
                                                            "\"",
                                                            "{",
                                                            "]",
                                                            ",",
                                                            "\xFF",
                                                            "../",
                                                            "\n\n"});

/// Changes one thing.
void mutate(std::string& text, core::RngStream& rng) {
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(rng.below(count)); };
  if (text.empty()) {
    return;
  }
  const std::size_t at = below(text.size());
  switch (rng.below(7)) {
    case 0:
      text[at] = static_cast<char>(rng.below(256));
      break;
    case 1:
      text.erase(at, 1 + below(40));
      break;
    case 2:
      text.insert(at, text.substr(below(text.size()), 1 + below(60)));
      break;
    case 3:
      text.insert(at, kOddBytes[below(kOddBytes.size())]);
      break;
    case 4:
      text.resize(at);
      break;
    default: {
      // A number becomes an odd value.
      const std::size_t begin = text.find_first_of("0123456789", at);
      if (begin != std::string::npos) {
        const std::size_t end = text.find_first_not_of("0123456789.", begin);
        text.replace(
            begin, std::min(end, text.size()) - begin, kOddValues[below(kOddValues.size())]);
      }
    }
  }
}

/// As the verbs do it: read, predict, score, report, calibrate. How many records were predicted.
std::int64_t use_file(const std::string& path) {
  auto evidence = evidence::validate::read_evidence(path);
  if (!evidence) {
    EXPECT_FALSE(evidence.error().front().message.empty());
    return 0;
  }
  const std::vector<scenario::Override> server = {{.path = "model", .text = "llama-3.1-8b"},
                                                  {.path = "gpu", .text = "h100"}};
  std::int64_t requests = 0;
  for (const auto& record : *evidence) {
    for (const auto& stage : record.stages) {
      requests += record.problem.empty() ? stage.requests : 0;
    }
  }
  constexpr std::int64_t kFew = 1000;  // a calibration simulates some hundred times
  if (requests <= kFew) {
    evidence::calibrate::CalibrateOptions options;
    options.histories = 1;
    options.overrides = server;
    if (const auto calibration = evidence::calibrate::calibrate(*evidence, options)) {
      EXPECT_FALSE(evidence::calibrate::server_yaml(*calibration).empty());
    }
  }
  evidence::validate::PredictOptions options;
  options.histories = 1;
  options.overrides = server;
  const auto validation = evidence::validate::validate(std::move(*evidence), options);
  const document::Node tree = evidence::validate::validation_tree(validation);
  for (const Face face : {Face::kTerminal, Face::kMarkdown, Face::kHtml, Face::kCsv}) {
    EXPECT_FALSE(verbs::validation_text(tree, face, {}).empty());
  }
  using evidence::validate::Standing;
  return validation.count(Standing::kScored) + validation.count(Standing::kSaturated);
}

long peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(MeasuredFiles, WithMistakesAreReadOrRefused) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "measured_files";
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
    return (folder / name).string();
  };
  write("log.csv", kLog);
  for (const auto& sample : kSamples) {
    const auto path = write(sample.name, sample.text);
    const auto evidence = evidence::validate::read_evidence(path);
    ASSERT_TRUE(evidence.has_value()) << sample.name;
    for (const auto& record : *evidence) {
      EXPECT_EQ(record.problem, "") << sample.name;
    }
    EXPECT_EQ(use_file(path), static_cast<std::int64_t>(evidence->size())) << sample.name;
  }
  const char* const wanted = std::getenv("RIDGELINE_MUTATIONS");
  const int cases = wanted == nullptr ? kCasesInTests : std::atoi(wanted);
  const long before = peak_kib();
  for (int i = 0; i < cases; ++i) {
    core::RngStream rng(1, 0, "mutations", static_cast<std::uint64_t>(i));
    const auto& sample = kSamples[static_cast<std::size_t>(rng.below(kSamples.size()))];
    std::string text = sample.text;
    std::string log = kLog;
    for (std::uint64_t changes = 1 + rng.below(4); changes > 0; --changes) {
      mutate(rng.below(4) == 0 ? log : text, rng);
    }
    write("log.csv", log);
    const auto path = write(sample.name, text);
    const auto start = std::chrono::steady_clock::now();
    SCOPED_TRACE(text);
    use_file(path);
    std::filesystem::remove(path);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    ASSERT_LT(took.count(), kLongestCaseSeconds) << "case " << i;
    ASSERT_LT(peak_kib() - before, kMostGrowthKiB) << "case " << i;
  }
}

}  // namespace
}  // namespace ridgeline::report
