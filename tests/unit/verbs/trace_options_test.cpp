#include "verbs/trace_options.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "document/document.hpp"
#include "unit/workload/items.hpp"
#include "verbs/host.hpp"
#include "verbs/request.hpp"
#include "workload/item.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::verbs {
namespace {

TEST(TraceOptions, AreReadOfADocument) {
  Request request(*document::parse_json(
      R"({"trace_start": "2s", "trace_end": 3.5, "trace_tenant": "a,b", "seed": 0,)"
      R"( "trace_sessions": "answered", "skip_bad_rows": true})",
      ""));
  const workload::ReadOptions options = take_read_options(request);
  request.end();
  EXPECT_TRUE(request.errors().empty());
  EXPECT_EQ(options.part.start, core::Duration::from_seconds(2.0));
  EXPECT_EQ(options.part.end, core::Duration::from_seconds(3.5));
  EXPECT_EQ(options.part.tenants.size(), 2U);
  EXPECT_EQ(options.session_times, workload::SessionTimes::kAnswered);
  EXPECT_TRUE(options.skip_bad_rows);
}

TEST(TraceOptions, EachProblemNamesItsFlag) {
  const auto text = [](const std::string& word) {
    return document::Node::string(word, {.file = "command line"});
  };
  Request request({{.key = "trace_start", .value = text("x"), .where = {}},
                   {.key = "trace_end", .value = text("-1"), .where = {}},
                   {.key = "trace_sessions", .value = text("never"), .where = {}},
                   {.key = "seed", .value = text("-1"), .where = {}}},
                  Request::Stated{});
  static_cast<void>(take_read_options(request));
  ASSERT_EQ(request.errors().size(), 4U);
  EXPECT_EQ(request.errors().front().field, "--trace-sessions");
  EXPECT_EQ(request.errors().back().message,
            "found \"-1\", expected a whole number from 0 to 9007199254740992");
}

TEST(TraceOptions, AWatchedStreamGivesTheSameItems) {
  Host host;
  const auto stream =
      watched(workload::stream_of({workload::item_at(0.5), workload::item_at(2.0)}), host);
  EXPECT_EQ(stream->size(), 2);
  EXPECT_THAT(workload::arrivals_of(*stream), testing::ElementsAre(0.5, 2.0));
}

}  // namespace
}  // namespace ridgeline::verbs
