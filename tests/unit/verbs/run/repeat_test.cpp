#include "verbs/run/repeat.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::verbs {
namespace {

scenario::Resolved small_run(std::vector<scenario::Override> more) {
  std::vector<scenario::Override> all = {{"model", "llama-3.1-8b"},
                                         {"gpu", "h100"},
                                         {"workload.num_prompts", "10"},
                                         {"workload.request_rate", "2"},
                                         {"workload.input_len", "100"},
                                         {"workload.output_len", "10"}};
  for (const scenario::Override& one : more) {
    std::erase_if(all, [&](const scenario::Override& usual) { return usual.path == one.path; });
  }
  all.insert(all.end(), more.begin(), more.end());
  auto loaded = scenario::load_scenario(std::nullopt, all, scenario::Purpose::kRun);
  EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().front().message);
  auto made = scenario::resolve(std::move(*loaded));
  EXPECT_TRUE(made.has_value());
  return *std::move(made);
}

TEST(RepeatCommand, HasAFlagForEachStatedSetting) {
  const std::string command =
      repeat_command(small_run({{"engine.enable_prefix_caching", "false"}, {"slo.ttft", "50ms"}}));
  for (const char* const word : {"ridgeline run --model llama-3.1-8b --gpu h100",
                                 " --num-prompts 10",
                                 " --request-rate 2",
                                 " --no-enable-prefix-caching",
                                 " --slo-ttft "}) {
    EXPECT_THAT(command, ::testing::HasSubstr(word));
  }
}

TEST(RepeatCommand, HasTheSeedOnce) {
  EXPECT_TRUE(repeat_command(small_run({})).ends_with(" --seed 0"));
  const std::string command = repeat_command(small_run({{"seed", "7"}}));
  EXPECT_THAT(command, ::testing::HasSubstr(" --seed 7"));
  EXPECT_EQ(command.find("--seed"), command.rfind("--seed"));
}

TEST(RepeatCommand, ReadsTheResultWhereAFlagDoesNotSayAll) {
  EXPECT_THAT(repeat_command(small_run({{"set", "model.num_hidden_layers=16"}})),
              ::testing::HasSubstr("--format json | ridgeline run -"));
}

TEST(StatedSettings, SayWhereTheyCameFrom) {
  const auto stated = stated_settings(small_run({}));
  ASSERT_FALSE(stated.empty());
  EXPECT_EQ(stated.front(), std::pair(std::string("model"), std::string("llama-3.1-8b (flag)")));
}

TEST(SettingsLink, HasEachStatedSettingAsAPartOfAUrl) {
  const std::string link = settings_link(
      small_run({{"workload.output_len", "{distribution: uniform, min: 1, max: 9}"}}));
  EXPECT_THAT(link, ::testing::StartsWith("model=llama-3.1-8b&gpu=h100&"));
  EXPECT_THAT(
      link,
      ::testing::HasSubstr("output-len=%7B%22distribution%22%3A%22uniform%22%2C%22min%22%3A1%2C%22"
                           "max%22%3A9%7D"));
  EXPECT_THAT(link, ::testing::Not(::testing::HasSubstr("seed=")));
}

}  // namespace
}  // namespace ridgeline::verbs
