#include "deploy/flags.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "deploy/layout.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"

namespace ridgeline::deploy {
namespace {

using document::Node;
using testing::HasSubstr;

OptionValue stated(std::string_view option, Node value) {
  return {.option = option, .value = std::move(value), .is_stated = true, .is_default = false};
}

std::string text_of(const Role& role) {
  std::string text;
  for (const Variable& variable : role.variables) {
    text += variable.name + "=" + variable.value + " ";
  }
  for (const Flag& flag : role.flags) {
    text += flag.name + (flag.value.empty() ? " " : " " + flag.value + " ");
  }
  return text;
}

TEST(VllmFlags, AreSwitchesValuesMembersAndVariables) {
  const std::vector<OptionValue> options = {
      stated("engine.max_num_seqs", Node::integer(64, {})),
      stated("engine.enable_prefix_caching", Node::boolean(false, {})),
      stated("engine.async_scheduling", Node::boolean(true, {})),
      stated("engine.cudagraph_mode", Node::string("PIECEWISE", {})),
      stated("engine.fuse_allreduce_rms", Node::boolean(true, {})),
      stated("engine.sampler", Node::string("sort", {}))};
  Role role;
  core::Errors errors;
  kVllmDialect.put(options, "vllm@0.15", role, errors);
  EXPECT_TRUE(errors.empty());
  EXPECT_EQ(text_of(role),
            "VLLM_USE_FLASHINFER_SAMPLER=0 --max-num-seqs 64 --no-enable-prefix-caching "
            "--async-scheduling --compilation-config "
            R"({"cudagraph_mode":"PIECEWISE","pass_config":{"fuse_allreduce_rms":true}} )");
}

TEST(VllmFlags, DefaultsAreStatedWhereTheyChange) {
  OptionValue derived = stated("engine.max_num_seqs", Node::integer(256, {}));
  derived.is_stated = false;
  OptionValue plain = stated("engine.dtype", Node::string("auto", {}));
  plain.is_default = true;
  Role role;
  core::Errors errors;
  kVllmDialect.put(std::vector<OptionValue>{derived, plain}, "vllm@0.15", role, errors);
  EXPECT_EQ(text_of(role), "--max-num-seqs 256 ");
}

TEST(VllmFlags, AVersionWithoutTheFlagHasItsOwnWayOrRefuses) {
  Role role;
  core::Errors errors;
  const auto async = [](bool on) {
    return std::vector<OptionValue>{stated("engine.async_scheduling", Node::boolean(on, {}))};
  };
  kVllmDialect.put(async(false), "vllm@0.9.2", role, errors);
  EXPECT_TRUE(errors.empty() && role.flags.empty());
  kVllmDialect.put(async(true), "vllm@0.9.2", role, errors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors.front().field, "engine.async_scheduling");
  EXPECT_THAT(errors.front().message,
              HasSubstr("vLLM 0.9 is not known to have --async-scheduling"));
  // Between two lists of flags, what both have: 0.10 is not known to have what 0.11 has.
  kVllmDialect.put(async(true), "vllm@0.10", role, errors);
  EXPECT_EQ(errors.size(), 2U);
}

TEST(VllmFlags, APassThatEarlierVersionsNameOtherwiseIsRefusedWithBothNames) {
  const auto refusal = [](const char* option, const char* version) {
    Role role;
    core::Errors errors;
    kVllmDialect.put(
        std::vector<OptionValue>{stated(option, Node::boolean(true, {}))}, version, role, errors);
    return errors.empty() ? "" : errors.front().message;
  };
  for (const char* version : {"vllm@0.10.2", "vllm@0.11", "vllm@0.12"}) {
    EXPECT_THAT(refusal("engine.fuse_allreduce_rms", version),
                HasSubstr("is not known to have pass_config.fuse_allreduce_rms in "
                          "--compilation-config, which is there from 0.13 on, and was "
                          "enable_fi_allreduce_fusion before"));
    EXPECT_THAT(refusal("engine.fuse_attn_quant", version),
                HasSubstr("pass_config.fuse_attn_quant in --compilation-config, which is there "
                          "from 0.13 on, and was enable_attn_fusion before"));
  }
  EXPECT_EQ(refusal("engine.fuse_attn_quant", "vllm@0.13"), "");
}

TEST(VllmFlags, WhatNoFlagSaysIsRefused) {
  Role role;
  core::Errors errors;
  kVllmDialect.put(std::vector<OptionValue>{stated("engine.prefix_cache_retention_interval",
                                                   Node::integer(64, {}))},
                   "vllm@0.27",
                   role,
                   errors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors.front().message, HasSubstr("no flag of vLLM says so"));
}

}  // namespace
}  // namespace ridgeline::deploy
