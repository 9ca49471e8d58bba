#include "sim/logs/request_log.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "metrics/request_metrics.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/replay.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {
namespace {

using core::Duration;

constexpr const char* kHeader =
    "request_id,arrival_s,input_tokens,output_tokens,cached_tokens,preemptions,outcome,"
    "queue_time_ms,ttft_ms,tpot_ms,e2e_ms,server_ttft_ms,server_e2e_ms,"
    "max_tokens,session,turn,priority,images,slo_class,tenant,model,adapter\n";

domain::RequestRecord record() {
  domain::RequestRecord record;
  record.id = core::RequestId(0);
  record.prompt_tokens = core::Tokens(100);
  record.output_tokens = core::Tokens(20);
  record.cached_tokens = core::Tokens(16);
  record.preemptions = 2;
  record.arrival = core::SimTime::at(Duration::milliseconds(1500));
  return record;
}

metrics::RequestMetrics all_metrics() {
  metrics::RequestMetrics metrics;
  metrics.queue_time = Duration();
  metrics.ttft = Duration::microseconds(13'250);
  metrics.tpot = Duration::ticks(10'333'333'333);
  metrics.e2e = Duration::seconds(2);
  metrics.server_ttft = Duration::ticks(1);
  metrics.server_e2e = Duration::ticks(1'000'000'001);
  return metrics;
}

/// A source of requests without labels; the log asks it for nothing else.
class NoSource final : public workload::Source {
 public:
  std::optional<core::SimTime> next_arrival() override { return std::nullopt; }
  domain::Request pop() override { return {}; }
};
const NoSource kNoSource;

/// The request that record() is of.
domain::Request request(std::uint32_t id = 0) {
  domain::Request request;
  request.id = core::RequestId(id);
  request.max_tokens = core::Tokens(20);
  return request;
}

std::string logged(RequestLogFormat format,
                   const domain::RequestRecord& ended,
                   const metrics::RequestMetrics& metrics) {
  std::ostringstream out;
  {
    const auto log = make_request_log(format, kNoSource, out);
    log->on_arrival(request());
    log->on_request(ended, metrics);
  }
  return out.str();
}

// A picosecond is 1e-9 ms.
TEST(RequestLog, WritesExactDecimalsAsCsv) {
  EXPECT_EQ(logged(RequestLogFormat::kCsv, record(), all_metrics()),
            std::string(kHeader) +
                "0,1.5,100,20,16,2,finished,0,13.25,10.333333333,2000,0.000000001,1.000000001,"
                "20,,,0,0,,,,\n");
}

TEST(RequestLog, WritesExactDecimalsAsJsonLines) {
  EXPECT_EQ(logged(RequestLogFormat::kJsonLines, record(), all_metrics()),
            "{\"request_id\":0,\"arrival_s\":1.5,\"input_tokens\":100,\"output_tokens\":20,"
            "\"cached_tokens\":16,\"preemptions\":2,\"outcome\":\"finished\",\"queue_time_ms\":0,"
            "\"ttft_ms\":13.25,\"tpot_ms\":10.333333333,\"e2e_ms\":2000,"
            "\"server_ttft_ms\":0.000000001,\"server_e2e_ms\":1.000000001}\n");
}

TEST(RequestLog, LeavesOutWhatARequestLacks) {
  auto refused = record();
  refused.outcome = domain::Outcome::kRejected;
  EXPECT_THAT(logged(RequestLogFormat::kCsv, refused, {}),
              ::testing::EndsWith(",rejected,,,,,,,20,,,0,0,,,,\n"));
  const std::string line = logged(RequestLogFormat::kJsonLines, refused, {});
  const auto parsed = document::parse_json(line, "line");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_TRUE(parsed->find("ttft_ms")->is_null());
  EXPECT_EQ(parsed->find("outcome")->as_string(), "rejected");
}

TEST(RequestLog, HoldsTheLongestTimes) {
  auto late = record();
  late.arrival = core::SimTime::never();
  EXPECT_THAT(logged(RequestLogFormat::kCsv, late, {}),
              ::testing::HasSubstr("\n0,9223372.036854775807,"));
}

TEST(RequestLog, StreamsAndKeepsTheOrder) {
  constexpr std::uint32_t kRequests = 5000;
  std::ostringstream out;
  {
    const auto log = make_request_log(RequestLogFormat::kCsv, kNoSource, out);
    auto ended = record();
    for (std::uint32_t i = 0; i < kRequests; ++i) {
      ended.id = core::RequestId(i);
      log->on_arrival(request(i));
      log->on_request(ended, all_metrics());
    }
    // 5 000 lines of some 80 bytes pass the buffer several times before the end.
    EXPECT_GT(out.str().size(), 5000U * 60U);
  }
  std::istringstream in(out.str());
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line + "\n", kHeader);
  std::uint32_t next = 0;
  while (std::getline(in, line)) {
    EXPECT_TRUE(line.starts_with(std::to_string(next) + ",")) << line;
    ++next;
  }
  EXPECT_EQ(next, kRequests);
}

/// The ids in a CSV log, in order.
std::vector<std::string> ids_in(const std::string& log) {
  std::vector<std::string> ids;
  std::istringstream in(log);
  std::string line;
  for (std::getline(in, line); std::getline(in, line);) {
    ids.push_back(line.substr(0, line.find(',')));
  }
  return ids;
}

TEST(RequestLog, KeepsTheOrderOfArrivalWhateverEndsFirst) {
  std::ostringstream out;
  {
    const auto log = make_request_log(RequestLogFormat::kCsv, kNoSource, out);
    auto ended = record();
    for (const std::uint32_t id : {0U, 1U, 2U, 3U, 4U}) {
      log->on_arrival(request(id));
    }
    // The last one and request 1 never end: an interrupted run.
    for (const std::uint32_t id : {3U, 0U, 2U}) {
      ended.id = core::RequestId(id);
      log->on_request(ended, all_metrics());
    }
  }
  EXPECT_THAT(ids_in(out.str()), ::testing::ElementsAre("0", "2", "3"));
}

TEST(RequestLog, SaysWhatTheRequestAskedFor) {
  workload::ItemList list;
  workload::Item item;
  item.input_tokens = core::Tokens(100);
  item.output_tokens = core::Tokens(50);
  item.priority = -2;
  item.session = 3;
  item.turn = 1;
  item.images = 4;
  item.tenant = list.labels.intern("a \"b\"");
  item.adapter = list.labels.intern("sql");
  item.prompt = {{.content = 9, .length = core::Tokens(64)}};
  list.items = {item};
  const auto source = workload::make_replay(workload::make_list_stream(list));
  std::ostringstream out;
  {
    const auto log = make_request_log(RequestLogFormat::kJsonLines, *source, out);
    log->on_arrival(source->pop());
    log->on_request(record(), all_metrics());
  }
  // It asked for 50 tokens; 20 were generated.
  EXPECT_THAT(out.str(),
              ::testing::EndsWith(
                  ",\"max_tokens\":50,\"session\":3,\"turn\":1,\"priority\":-2,\"images\":4,"
                  "\"tenant\":\"a \\\"b\\\"\",\"adapter\":\"sql\",\"prompt\":[[9,64]]}\n"));
}

TEST(RequestLog, AnEmptyRunHasAHeaderAndNoLines) {
  std::ostringstream csv;
  make_request_log(RequestLogFormat::kCsv, kNoSource, csv).reset();
  EXPECT_EQ(csv.str(), kHeader);
  std::ostringstream lines;
  make_request_log(RequestLogFormat::kJsonLines, kNoSource, lines).reset();
  EXPECT_EQ(lines.str(), "");
}

TEST(RequestLog, TakesItsFormatFromTheName) {
  EXPECT_EQ(request_log_format("a.csv").value_or(RequestLogFormat::kJsonLines),
            RequestLogFormat::kCsv);
  EXPECT_EQ(request_log_format("a.jsonl").value_or(RequestLogFormat::kCsv),
            RequestLogFormat::kJsonLines);
  EXPECT_EQ(request_log_format("a.ndjson").value_or(RequestLogFormat::kCsv),
            RequestLogFormat::kJsonLines);
  const auto unknown = request_log_format("a.xlsx");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(unknown.error()[0].message, ::testing::HasSubstr("'a.xlsx'"));
}

}  // namespace
}  // namespace ridgeline::sim
