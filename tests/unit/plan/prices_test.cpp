#include "plan/prices.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"

namespace ridgeline::plan {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Date, IsADayOfTheCalendar) {
  EXPECT_EQ(Date::parse("1970-01-01")->days, 0);
  EXPECT_EQ(Date::parse("2026-05-07")->text(), "2026-05-07");
  EXPECT_EQ(Date::parse("2024-03-01")->days - Date::parse("2024-02-28")->days, 2);
  for (const char* wrong : {"2026-02-29", "2026-13-01", "26-05-07", "2026/05/07", "2026-5-7", ""}) {
    EXPECT_FALSE(Date::parse(wrong)) << wrong;
  }
}

constexpr const char* kList =
    "currency: USD\n"
    "prices:\n"
    "  H100-SXM: {value: 2.5, date: 2026-05-07, source: a}\n"
    "  h200: {value: 3, date: 2026-01-31, source: b}\n";

TEST(Prices, GpusGoByAnyName) {
  const auto prices = read_prices(kList, "p.yaml");
  ASSERT_TRUE(prices);
  EXPECT_EQ(prices->of("h100")->usd_per_hour, 2.5);
  EXPECT_EQ(prices->of("h200")->source, "b");
  EXPECT_EQ(prices->of("b200"), nullptr);
  EXPECT_FALSE(prices->is_example);
}

TEST(Prices, AWrongListIsRefusedWithAllItsProblems) {
  const auto prices = read_prices(
      "currency: EUR\n"
      "prices:\n"
      "  h100: {value: 0, date: yesterday, source: a}\n"
      "  h1000: {value: 1, date: 2026-01-01, source: a}\n"
      "  h200: {value: 1, date: 2026-01-01, source: a}\n"
      "  H200-SXM: {value: 1, date: 2026-01-01}\n",
      "p.yaml");
  ASSERT_FALSE(prices);
  std::string all;
  for (const core::Error& error : prices.error()) {
    all += core::to_string(error) + "\n";
  }
  EXPECT_THAT(all, HasSubstr("currency: found \"EUR\", expected USD"));
  EXPECT_THAT(all, HasSubstr("prices.h100.value"));
  EXPECT_THAT(all, HasSubstr("prices.h100.date: found \"yesterday\""));
  EXPECT_THAT(all, HasSubstr("prices.h1000"));
  EXPECT_THAT(all, HasSubstr("h200 has a price already"));
  EXPECT_THAT(all, HasSubstr("prices.H200-SXM.source"));
}

TEST(Prices, TheExampleSaysThatItIsOne) {
  const auto prices = load_prices("");
  ASSERT_TRUE(prices);
  EXPECT_TRUE(prices->is_example);
  const auto warnings = price_warnings(*prices, {"h100"}, Date::parse("2026-05-20"));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].code, "W-example-prices");
  EXPECT_FALSE(load_prices("no/such/file.yaml"));
}

TEST(Prices, AgeIsJudgedAgainstADayThatIsGiven) {
  const auto prices = read_prices(kList, "p.yaml");
  EXPECT_THAT(price_warnings(*prices, {"h100"}, Date::parse("2026-08-05")), IsEmpty());
  auto warnings = price_warnings(*prices, {"h100"}, Date::parse("2026-08-06"));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].code, "W-old-prices");
  EXPECT_THAT(warnings[0].message, HasSubstr("91 days before 2026-08-06"));
  warnings = price_warnings(*prices, {"h100", "h200"}, std::nullopt);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].code, "W-undated-prices");
  EXPECT_THAT(warnings[0].message, HasSubstr("h200 is of 2026-01-31"));
}

}  // namespace
}  // namespace ridgeline::plan
