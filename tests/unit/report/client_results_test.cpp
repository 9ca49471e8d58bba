#include "report/client_results.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/document.hpp"
#include "core/result.hpp"
#include "report/schemas.hpp"
#include "unit/report/client_fixtures.hpp"
#include "unit/report/example_result.hpp"
#include "unit/report/schema_check.hpp"

namespace ridgeline::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::rendered;
using testing::two_requests;

TEST(ClientResults, ValidateAgainstTheirSchemas) {
  const auto results = two_requests();
  for (const ClientFormat& format : client_formats()) {
    const core::EmbeddedFile* file = nullptr;
    for (const auto& schema : schema_files()) {
      file = schema.name == format.schema ? &schema : file;
    }
    ASSERT_NE(file, nullptr) << format.schema;
    const auto schema = core::parse_json(file->text, std::string(file->name));
    ASSERT_TRUE(schema.has_value());
    const std::string name(format.name);
    const core::Node tree = rendered(name.c_str(), testing::example_result(), results);
    EXPECT_THAT(testing::SchemaCheck(*schema).problems(tree), IsEmpty()) << format.name;
    EXPECT_THAT(testing::SchemaCheck(*schema).problems(rendered(name.c_str(), {}, {})), IsEmpty())
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

}  // namespace
}  // namespace ridgeline::report
