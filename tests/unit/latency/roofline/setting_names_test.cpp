#include "latency/roofline/setting_names.hpp"

#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "latency/roofline/constants.hpp"
#include "latency/roofline/switches.hpp"

namespace ridgeline::latency::roofline {
namespace {

TEST(SettingNames, TakesOurNamesInAnyCase) {
  EXPECT_EQ(setting_name("BwEfficiencyFactor").key, "bwEfficiencyFactor");
  EXPECT_EQ(setting_name("TFLOPSPEAK").key, "TFlopsPeak");
  EXPECT_EQ(setting_name("Min_Bucket").key, "min_bucket");
  EXPECT_EQ(setting_name("bwEfficiencyFactor").alias, nullptr);
}

TEST(SettingNames, TheDocumentsNamesAreSettingsOfOurs) {
  for (const SettingAlias& alias : setting_aliases()) {
    const bool is_constant = find_constant(alias.ours) != nullptr;
    const SettingName name = setting_name(alias.theirs);
    EXPECT_TRUE(name.is_known) << alias.theirs;
    EXPECT_EQ(name.alias, &alias);
    EXPECT_EQ(name.key, alias.ours);
    Switches switches;
    // A switch is one that set_switch() knows, whatever it says of the value.
    const auto set = set_switch(switches, name.key, document::Node::boolean(true, {}));
    EXPECT_NE(is_constant, !set || *set) << alias.theirs;
  }
}

TEST(SettingNames, OthersStayAsTyped) {
  const SettingName name = setting_name("maxKVLen");
  EXPECT_EQ(name.key, "maxKVLen");
  EXPECT_FALSE(name.is_known);
}

TEST(SettingNames, NoCorrectionIsAFactorOfOne) {
  const auto zero = document::Node::integer(0, {});
  EXPECT_EQ(own_value(setting_name("attentionPrefillCorrectionFactor"), zero).as_real(), 1.0);
  EXPECT_EQ(own_value(setting_name("PrefillBwEfficiency"), zero).as_real(), 0.0);
  EXPECT_EQ(own_value(setting_name("prefill_attention_divisor"), zero).as_real(), 0.0);
  const auto empty = document::Node::string("", {});
  EXPECT_EQ(own_value(setting_name("MixedBatchMode"), empty).as_string(), "default");
  EXPECT_EQ(own_value(setting_name("mixed"), empty).as_string(), "");
}

}  // namespace
}  // namespace ridgeline::latency::roofline
