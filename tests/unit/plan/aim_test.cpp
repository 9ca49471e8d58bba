#include "plan/aim.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::plan {
namespace {

struct Read {
  std::optional<LoadToFind> load;
  std::vector<scenario::Override> overrides;
  core::Errors errors;
};

Read read(const std::string& file,
          std::vector<scenario::Override> overrides,
          const std::string& word = "throughput") {
  Read out{.load = {}, .overrides = std::move(overrides), .errors = {}};
  const auto base = document::parse_yaml(file, "test");
  EXPECT_TRUE(base.has_value());
  out.load = read_aim(document::Node::string(word, {}), *base, out.overrides, out.errors);
  return out;
}

TEST(Aim, ClientsAreFoundUnlessTheQuestionHasARate) {
  EXPECT_EQ(read("{}", {}).load, LoadToFind::kClients);
  EXPECT_EQ(read("{workload: {max_concurrency: 64}}", {}).load, LoadToFind::kClients);
  EXPECT_EQ(read("{workload: {request_rate: 5}}", {}).load, LoadToFind::kRate);
  EXPECT_EQ(read("{workload: {trace: day.csv}}", {}).load, LoadToFind::kRate);
  EXPECT_EQ(read("{}", {{"workload.request_rate", "auto"}}).load, LoadToFind::kRate);
  EXPECT_EQ(read("{}", {{"workload.max_concurrency", "auto"}}).load, LoadToFind::kClients);
}

TEST(Aim, TheLoadOfAFileGivesWay) {
  const Read found = read("{workload: {request_rate: 5}}", {{"model", "llama-3.1-8b"}});
  ASSERT_EQ(found.overrides.size(), 2U);
  EXPECT_EQ(found.overrides[1].path, "workload.request_rate");
  EXPECT_EQ(found.overrides[1].text, "1");
}

TEST(Aim, ATraceIsSpedUp) {
  EXPECT_TRUE(read("{workload: {trace: day.csv}}", {}).overrides.empty());
}

TEST(Aim, AStatedLoadIsRefused) {
  const Read rate = read("{}", {{"workload.request_rate", "5"}});
  EXPECT_FALSE(rate.load.has_value());
  ASSERT_EQ(rate.errors.size(), 1U);
  EXPECT_EQ(rate.errors[0].field, "workload.request_rate");
  const Read both =
      read("{}", {{"workload.request_rate", "auto"}, {"workload.max_concurrency", "auto"}});
  EXPECT_FALSE(both.load.has_value());
  ASSERT_EQ(both.errors.size(), 1U);
  EXPECT_EQ(both.errors[0].field, "workload.max_concurrency");
}

TEST(Aim, ThereIsOneWord) {
  const Read found = read("{}", {}, "speed");
  ASSERT_EQ(found.errors.size(), 1U);
  EXPECT_EQ(found.errors[0].field, "maximize");
}

}  // namespace
}  // namespace ridgeline::plan
