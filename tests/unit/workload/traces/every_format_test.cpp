// Every format, by the samples that its fuzzer starts from: what is read goes through our own
// format unchanged, and is replayed alike lazily, from memory and after a conversion.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "support/paths.hpp"
#include "unit/workload/traces/trace_text.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/replay.hpp"
#include "workload/source.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/formats/client_configs.hpp"
#include "workload/traces/reading/trace_reader.hpp"
#include "workload/traces/trace.hpp"
#include "workload/traces/writing/convert.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::IsEmpty;

/// A format and one of the files that its fuzzer starts from.
struct FormatSample {
  const TraceFormat* format;
  std::string path;
};

void PrintTo(const FormatSample& sample, std::ostream* out) {
  *out << sample.path;
}

std::string sample_text(const FormatSample& sample) {
  std::ifstream file(test::source_dir() / "fuzz/corpora" / sample.path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A client of ServeGen's, which is two files.
std::string servegen_trace(const std::filesystem::path& folder, const std::string& trace) {
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "chunk-0-trace.csv") << trace;
  std::ofstream(folder / "chunk-0-dataset.json")
      << R"({"0": {"input_tokens": "{10: 0.5, 20: 0.5}", "output_tokens": "{5: 1.0}"}})";
  return folder.string();
}

/// As a run opens it: the same seed each time, conversations that wait for answers.
core::Result<std::unique_ptr<ItemStream>> open_sample(const FormatSample& sample) {
  const ReadOptions options{.session_times = SessionTimes::kAnswered, .seed = 7};
  if (sample.format != &kServeGen) {
    return open_items(input_of(sample_text(sample)), "t", options);
  }
  const auto folder =
      std::filesystem::temp_directory_path() / ("ridgeline_servegen_" + std::to_string(getpid()));
  auto stream = open_items(servegen_trace(folder, sample_text(sample)), options);
  std::filesystem::remove_all(folder);
  return stream;
}

core::Result<std::unique_ptr<ItemStream>> open_converted(const FormatSample& sample) {
  auto stream = open_sample(sample);
  if (!stream) {
    return stream;
  }
  std::ostringstream out;
  const auto done = convert(std::move(*stream), kRequestJsonl, out);
  if (!done) {
    return core::fail(done.error());
  }
  EXPECT_THAT(done->lost, IsEmpty());
  return open_items(input_of(out.str()), "converted");
}

/// What an engine gets that answers each request after a second.
std::vector<domain::Request> replayed(std::unique_ptr<ItemStream> stream) {
  const auto source = make_replay(std::move(stream));
  std::vector<domain::Request> requests;
  std::vector<std::pair<core::SimTime, core::RequestId>> running;
  while (source->next_arrival() || !running.empty()) {
    const auto arrival = source->next_arrival();
    if (arrival && (running.empty() || *arrival <= running.front().first)) {
      requests.push_back(source->pop());
      running.emplace_back(requests.back().arrival + core::Duration::seconds(1),
                           requests.back().id);
    } else {
      source->on_completion(running.front().second, running.front().first);
      running.erase(running.begin());
    }
  }
  EXPECT_THAT(source->errors(), IsEmpty());
  return requests;
}

bool same_request(const domain::Request& a, const domain::Request& b) {
  return a.id == b.id && a.arrival == b.arrival && a.prompt_tokens == b.prompt_tokens &&
         a.output_tokens == b.output_tokens && a.max_tokens == b.max_tokens &&
         a.priority == b.priority && a.lora == b.lora && a.session == b.session &&
         a.prompt == b.prompt;
}

class EveryFormat : public ::testing::TestWithParam<FormatSample> {};

TEST_P(EveryFormat, IsFoundByItsContent) {
  const std::string text = sample_text(GetParam());
  ASSERT_FALSE(text.empty());
  const auto format = detect_format(text, "t");
  ASSERT_TRUE(format.has_value()) << core::to_string(format.error()[0]);
  EXPECT_EQ((*format)->name, GetParam().format->name);
}

TEST_P(EveryFormat, GoesThroughOurOwnUnchanged) {
  auto stream = open_sample(GetParam());
  ASSERT_TRUE(stream.has_value()) << core::to_string(stream.error()[0]);
  const auto list = read_all(**stream);
  ASSERT_TRUE(list.has_value()) << core::to_string(list.error()[0]);
  ASSERT_FALSE(list->items.empty());
  auto converted = open_converted(GetParam());
  ASSERT_TRUE(converted.has_value()) << core::to_string(converted.error()[0]);
  const auto again = read_all(**converted);
  ASSERT_TRUE(again.has_value()) << core::to_string(again.error()[0]);
  EXPECT_EQ(again->stages, list->stages);
  EXPECT_EQ(again->block_tokens, list->block_tokens);
  ASSERT_EQ(again->items.size(), list->items.size());
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    // Labels are numbered as they appear; what they say is the same.
    Item read = again->items[i];
    const Item& given = list->items[i];
    for (std::int32_t Item::* const label :
         {&Item::slo_class, &Item::tenant, &Item::model, &Item::adapter}) {
      ASSERT_EQ(read.*label < 0, given.*label < 0);
      if (given.*label >= 0) {
        EXPECT_EQ(again->labels.name(read.*label), list->labels.name(given.*label));
      }
      read.*label = given.*label;
    }
    EXPECT_EQ(read, given) << "item " << i;
  }
}

TEST_P(EveryFormat, IsReplayedAlikeHoweverItIsRead) {
  auto lazy = open_sample(GetParam());
  auto source = open_sample(GetParam());
  auto converted = open_converted(GetParam());
  ASSERT_TRUE(lazy.has_value() && source.has_value() && converted.has_value());
  auto list = read_all(**source);
  ASSERT_TRUE(list.has_value());
  const auto first = replayed(std::move(*lazy));
  EXPECT_FALSE(first.empty());
  EXPECT_TRUE(
      std::ranges::equal(first, replayed(make_list_stream(std::move(*list))), same_request));
  // An adapter's number is its place among all labels of the stream: it only tells adapters apart.
  const auto third = replayed(std::move(*converted));
  EXPECT_TRUE(std::ranges::equal(first, third, [](domain::Request a, const domain::Request& b) {
    a.lora = b.lora;
    return same_request(a, b);
  }));
}

/// Requests and tokens of a workload.
struct Amounts {
  std::int64_t requests = 0;
  core::Tokens input;
  core::Tokens output;
  friend bool operator==(const Amounts&, const Amounts&) = default;
};

void PrintTo(const Amounts& amounts, std::ostream* out) {
  *out << amounts.requests << " requests, " << amounts.input.value() << " and "
       << amounts.output.value() << " tokens";
}

Amounts amounts_of(ItemStream& stream) {
  Amounts amounts;
  for (Item item; stream.next(item);) {
    ++amounts.requests;
    amounts.input += item.input_tokens;
    amounts.output += item.output_tokens;
  }
  EXPECT_THAT(stream.errors(), IsEmpty());
  return amounts;
}

// Whatever else a format has no room for, requests and their lengths stay; arrivals may not be
// there at all, and what else was lost is said.
TEST_P(EveryFormat, IsConvertedToEveryOther) {
  auto given = open_sample(GetParam());
  ASSERT_TRUE(given.has_value());
  const Amounts amounts = amounts_of(**given);
  for (const TraceFormat* format : trace_formats()) {
    if (format->make_writer == nullptr) {
      continue;
    }
    auto stream = open_sample(GetParam());
    ASSERT_TRUE(stream.has_value());
    const bool waits = (*stream)->waits_for_answers();
    std::ostringstream out;
    const auto done = convert(std::move(*stream), *format, out);
    ASSERT_TRUE(done.has_value()) << format->name;
    EXPECT_EQ(done->requests, amounts.requests) << format->name;
    auto again = open_items(input_of(out.str()), "t", {.session_times = SessionTimes::kAnswered});
    ASSERT_TRUE(again.has_value()) << format->name << core::to_string(again.error()[0]);
    EXPECT_EQ(amounts_of(**again), amounts) << format->name;
    const Fields chains = fields({Field::kDependency, Field::kSessionChain});
    EXPECT_TRUE(!waits || (format->carries & chains) != 0 || !done->lost.empty()) << format->name;
  }
}

std::vector<FormatSample> format_samples() {
  return {{&kAzureLlmCsv, "azure_csv/sound"},
          {&kAzureLlmCsv, "azure_csv/zone"},
          {&kAzureLmmCsv, "azure_lmm_csv/sound"},
          {&kBurstGpt, "burstgpt_csv/sound"},
          {&kMooncake, "mooncake_jsonl/sound"},
          {&kBailian, "mooncake_jsonl/bailian"},
          {&kMooncakeSessions, "mooncake_sessions/delay"},
          {&kMooncakeSessions, "mooncake_sessions/delta"},
          {&kMooncakeAgentic, "mooncake_agentic/sound"},
          {&kServeGen, "servegen/trace"},
          {&kShareGpt, "sharegpt/sound"},
          {&kVidurCsv, "vidur_csv/sound"},
          {&kSplitwiseCsv, "splitwise_csv/sound"},
          {&kApexJsonl, "apex_jsonl/sound"},
          {&kLlmServingSim, "llmservingsim/sound"},
          {&kAppliedCompute, "applied_compute/sound"},
          {&kTraceV2, "trace_v2/data"},
          {&kBlisWorkload, "blis_workload/clients"},
          {&kInferencePerfConfig, "inference_perf_config/sound"},
          {&kGuidellmScenario, "guidellm_scenario/sound"},
          {&kAiperfConfig, "aiperf_config/sound"},
          {&kInferencePerfLifecycle, "inference_perf_lifecycle/sound"},
          {&kAiperf, "aiperf/sound"},
          {&kObserved, "observed/sound"},
          {&kObserved, "observed/session"},
          {&kGuidellm, "guidellm/sound"},
          {&kSglangBench, "vllm_bench/sglang"},
          {&kVllmBench, "vllm_bench/sound"},
          {&kOtelSpans, "otel_spans/sound"},
          {&kWorkloadSpec, "workload_spec/sound"},
          {&kRequestCsv, "request_csv/sound"},
          {&kRequestJsonl, "request_jsonl/sound"},
          {&kRequestJsonl, "request_jsonl/groups"}};
}

TEST(EveryFormatSamples, LeaveNoFormatOut) {
  std::set<std::string_view> with_sample;
  for (const FormatSample& sample : format_samples()) {
    with_sample.insert(sample.format->name);
  }
  for (const TraceFormat* format : trace_formats()) {
    EXPECT_TRUE(with_sample.contains(format->name)) << format->name;
  }
}

INSTANTIATE_TEST_SUITE_P(Samples,
                         EveryFormat,
                         ::testing::ValuesIn(format_samples()),
                         [](const auto& of) {
                           std::string name = of.param.path;
                           std::ranges::replace(name, '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace ridgeline::workload
