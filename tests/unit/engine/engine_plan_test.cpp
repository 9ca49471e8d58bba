#include "engine/engine_plan.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/parameter.hpp"
#include "engine/tensorrt_llm/options.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::engine {
namespace {

core::Errors findings_of(const std::vector<document::NamedValue>& stated, bool is_met) {
  const auto network = model::find_model("llama-3.1-8b");
  const auto gpu = hardware::find_gpu("h100");
  const Need needs[] = {{"tokens_per_block", "blocks", is_met},
                        {"enable_block_reuse", "a cache", is_met},
                        {"free_gpu_memory_fraction", "memory", is_met},
                        {"capacity_scheduler_policy", "a policy", is_met}};
  return without_effect({.network = *network,
                         .gpu = *gpu,
                         .sharding = {},
                         .version = "1.2",
                         .max_model_len = core::Tokens(8192),
                         .settings = {tensorrt_llm::kSettings.settings, stated}},
                        tensorrt_llm::kSettings,
                        needs);
}

TEST(WithoutEffect, NamesWhatIsChangedAndWhatItNeeds) {
  const std::vector<document::NamedValue> changed = {
      {.name = "tokens_per_block", .value = document::Node::integer(64, {})},
      {.name = "enable_block_reuse", .value = document::Node::boolean(false, {})},
      {.name = "free_gpu_memory_fraction", .value = document::Node::real(0.5, {})},
      {.name = "capacity_scheduler_policy", .value = document::Node::string("STATIC_BATCH", {})}};
  const core::Errors errors = findings_of(changed, false);
  ASSERT_EQ(errors.size(), 4U);
  EXPECT_EQ(errors[0].field, "engine.tokens_per_block");
  EXPECT_EQ(errors[0].message, "would be ignored: it needs blocks");
  EXPECT_TRUE(findings_of(changed, true).empty());
}

TEST(WithoutEffect, WhatIsStatedAsItIsByDefaultChangesNothing) {
  EXPECT_TRUE(findings_of({}, false).empty());
  EXPECT_TRUE(
      findings_of({{.name = "tokens_per_block", .value = document::Node::integer(32, {})},
                   {.name = "enable_block_reuse", .value = document::Node::boolean(true, {})}},
                  false)
          .empty());
}

}  // namespace
}  // namespace ridgeline::engine
