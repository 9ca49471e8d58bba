#include "verbs/clients/client_results.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "domain/record.hpp"
#include "metrics/summary.hpp"
#include "report/schemas.hpp"
#include "scenario/rank_share.hpp"
#include "unit/report/schema_check.hpp"
#include "unit/verbs/clients/client_fixtures.hpp"
#include "unit/verbs/run/example_result.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

using fixtures::rendered;
using fixtures::two_requests;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ClientResults, ValidateAgainstTheirSchemas) {
  const auto results = two_requests();
  for (const ClientFormat& format : client_formats()) {
    const document::EmbeddedFile* file = nullptr;
    for (const auto& schema : report::schema_files()) {
      file = schema.name == format.schema ? &schema : file;
    }
    ASSERT_NE(file, nullptr) << format.schema;
    const auto schema = document::parse_json(file->text, std::string(file->name));
    ASSERT_TRUE(schema.has_value());
    const std::string name(format.name);
    const document::Node tree = rendered(name.c_str(), fixtures::example_result(), results);
    EXPECT_THAT(report::testing::SchemaCheck(*schema).problems(tree), IsEmpty()) << format.name;
    EXPECT_THAT(report::testing::SchemaCheck(*schema).problems(rendered(name.c_str(), {}, {})),
                IsEmpty())
        << format.name;
  }
}

// The steps in which the first request got its further tokens end at 2.5, 2.75 and 3 s.
TEST(ClientResults, GapsAreThoseOfTheSteps) {
  const auto results = two_requests();
  EXPECT_THAT(results.gaps_of(results.rows()[0]), ElementsAre(0.25, 0.25, 0.25));
  EXPECT_THAT(results.gaps_of(results.rows()[1]), IsEmpty());
}

TEST(ClientResults, UnknownClientsNameTheNearest) {
  EXPECT_THAT(core::to_string(find_client_format("guidelm").error()[0]),
              HasSubstr("did you mean 'guidellm'?"));
}

// With 5 requests to 2 ranks the first rank has three, 0, 2 and 4: they stand for 0 to 4.
TEST(ClientResults, OfOneRankStandForAllRanks) {
  ClientResults results = two_requests();
  RunResult result = fixtures::example_result();
  result.summary.duration_s = 4.0;
  result.summary.completed = 2;
  result.summary.request_throughput = 0.5;
  result.summary.goodput = 0.25;
  EXPECT_EQ(seen_by_client(result, results).summary.completed, 2);
  result.deployment.emplace();
  results.stand_for_all(scenario::RankShare(2, {.requests = 5}), 5);
  ASSERT_EQ(results.rows().size(), 5U);
  EXPECT_EQ(results.rows()[1].output_tokens, 4);
  EXPECT_EQ(results.rows()[2].output_tokens, 1);
  EXPECT_EQ(results.rows()[4].outcome, domain::Outcome::kRejected);
  const metrics::Summary summary = seen_by_client(result, results).summary;
  EXPECT_EQ(summary.completed, 4);
  EXPECT_EQ(summary.requests(), 5);
  EXPECT_EQ(summary.total_output_tokens, 10);
  EXPECT_EQ(summary.request_throughput, 1.0);
  EXPECT_EQ(summary.output_throughput, 2.5);
  EXPECT_EQ(summary.goodput, 0.5);
}

}  // namespace
}  // namespace ridgeline::verbs
