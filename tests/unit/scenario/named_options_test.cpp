#include "scenario/named_options.hpp"

#include <array>
#include <cstdint>
#include <string_view>

#include <gtest/gtest.h>

#include "document/parameter.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

TEST(NamedOptions, FlagsAreWordsWithDashes) {
  EXPECT_EQ(flag_word("maxTTFTPenaltyMs"), "max-ttft-penalty-ms");
  EXPECT_EQ(flag_word("cache_threshold"), "cache-threshold");
}

/// A parameter of two tables is one option, which says what each takes without it.
TEST(NamedOptions, AParameterOfSeveralTablesIsOneOption) {
  constexpr std::array<document::Parameter, 2> kFirst = {
      {{.name = "page_size",
        .standard = std::int64_t{1},
        .lowest = 1,
        .highest = 64,
        .help = "a",
        .source = ""},
       {.name = "is_lazy", .standard = false, .help = "b", .source = "", .unset = "by GPU"}}};
  constexpr std::array<document::Parameter, 1> kSecond = {{{.name = "page_size",
                                                            .standard = std::int64_t{4},
                                                            .lowest = 1,
                                                            .highest = 64,
                                                            .help = "a",
                                                            .source = ""}}};
  const std::array<NamedTable, 2> tables = {
      {{.name = "one", .parameters = kFirst}, {.name = "two", .parameters = kSecond}}};
  const NamedOptions options(
      "engine", tables, [](DeploymentSection& d, std::string_view key) -> Slot {
        return NamedSlot{.values = &d.engine.settings, .name = key};
      });
  ASSERT_EQ(options.all().size(), 2);
  EXPECT_EQ(options.all()[0].path, "engine.page_size");
  EXPECT_EQ(options.all()[0].flag, "page-size");
  EXPECT_EQ(options.all()[0].unset, "one: 1, two: 4");
  EXPECT_EQ(options.all()[0].example, "1");
  EXPECT_EQ(options.all()[1].unset, "one: by GPU");
  EXPECT_EQ(options.all()[1].example, "true");
}

}  // namespace
}  // namespace ridgeline::scenario
