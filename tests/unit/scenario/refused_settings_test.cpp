#include "scenario/refused_settings.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

using ::testing::HasSubstr;

core::Errors errors_of(std::vector<Override> more) {
  std::vector<Override> all = {{"model", "llama-3.1-8b"}, {"gpu", "h100"}};
  all.insert(all.end(), more.begin(), more.end());
  const auto loaded = load_scenario(std::nullopt, all, Purpose::kLook);
  return loaded ? core::Errors() : loaded.error();
}

TEST(RefusedSettings, StandInNoListAndAreRefusedByName) {
  for (const RefusedSetting& setting : refused_settings()) {
    SCOPED_TRACE(setting.path);
    EXPECT_EQ(find_option(setting.path), nullptr);
    const std::string other = setting.standard == "false" ? "true" : "7";
    const auto refused = errors_of({{std::string(setting.path), other}});
    ASSERT_EQ(refused.size(), 1U);
    EXPECT_EQ(refused.front().field, setting.path);
    EXPECT_THAT(refused.front().message, HasSubstr(std::string(setting.reason)));
    EXPECT_EQ(refused.front().where.file, "command line");
  }
}

TEST(RefusedSettings, WhatChangesNothingIsTaken) {
  for (const RefusedSetting& setting : refused_settings()) {
    EXPECT_TRUE(errors_of({{std::string(setting.path), std::string(setting.standard)}}).empty())
        << setting.path;
  }
}

TEST(RefusedSettings, ChoicesThatAreRefusedAreNotListed) {
  for (const auto& [path, word] : {std::pair{"engine.schedule_policy", "routing-key"},
                                   std::pair{"engine.load_balance_method", "total_tokens"},
                                   std::pair{"engine.context_chunking_policy", "FORCE_CHUNK"}}) {
    const Option* const option = find_option(path);
    ASSERT_NE(option, nullptr) << path;
    EXPECT_EQ(std::ranges::find(option->choices, word), option->choices.end());
    const auto refused = errors_of({{path, word}});
    ASSERT_EQ(refused.size(), 1U) << path;
    EXPECT_EQ(refused.front().message, *refused_choice(path, word));
  }
}

}  // namespace
}  // namespace ridgeline::scenario
