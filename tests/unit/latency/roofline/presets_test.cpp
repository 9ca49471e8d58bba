// The presets' names and switches, and setting switches by name (switches.cpp).
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "latency/roofline/switches.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::latency::roofline {
namespace {

TEST(Presets, HaveNamesOfTheirOwnAndAreRegistered) {
  std::set<std::string> names;
  for (const Preset& preset : presets()) {
    EXPECT_TRUE(names.insert(std::string(preset.name)).second) << preset.name;
    EXPECT_NE(find_step_time_model(std::string(preset.name)), nullptr) << preset.name;
    EXPECT_FALSE(preset.summary.empty());
  }
  EXPECT_EQ(find_preset("v2"), nullptr);
}

TEST(Presets, DifferAsPublished) {
  const Switches& shipped = find_preset("v2-final")->switches;
  EXPECT_TRUE(shipped.gemm_floor);
  EXPECT_EQ(shipped.decode_attention, DecodeAttention::kWeighted);
  EXPECT_EQ(shipped.mixed, Mixing::kMax);
  EXPECT_EQ(shipped.prefill_attention_divisor, 1.8);
  const Switches& seed = find_preset("v2-seed")->switches;
  EXPECT_EQ(seed.prefill_m, PrefillRows::kRequests);
  EXPECT_EQ(seed.lookup, Lookup::kFloor);
  EXPECT_TRUE(seed.softmax);
}

TEST(Switches, AreReadBackAsTheyWereSet) {
  Switches switches;
  for (const SwitchValue& value : switch_values(find_preset("v2-seed")->switches)) {
    const auto done = set_switch(switches, value.key, value.value);
    ASSERT_TRUE(done && *done) << value.key;
  }
  EXPECT_EQ(switches, find_preset("v2-seed")->switches);
  const auto unknown = set_switch(switches, "mixing", document::Node::string("max", {}));
  ASSERT_TRUE(unknown);
  EXPECT_FALSE(*unknown);
}

TEST(Switches, RefuseOtherKindsOfValues) {
  Switches switches;
  EXPECT_FALSE(set_switch(switches, "softmax", document::Node::integer(1, {})));
  EXPECT_FALSE(set_switch(switches, "min_bucket", document::Node::integer(100, {})));
  EXPECT_FALSE(set_switch(switches, "min_bucket", document::Node::integer(131072, {})));
  EXPECT_FALSE(set_switch(switches, "prefill_attention_divisor", document::Node::integer(0, {})));
  EXPECT_FALSE(set_switch(switches, "minimum_us", document::Node::real(-1.0, {})));
  const auto word = set_switch(switches, "mixed", document::Node::string("additiv", {}));
  ASSERT_FALSE(word);
  EXPECT_THAT(word.error().front().hint, testing::HasSubstr("additive"));
  EXPECT_EQ(switches, Switches());
}

}  // namespace
}  // namespace ridgeline::latency::roofline
