#include "api/policies.hpp"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "ridgeline.h"
#include "verbs/run/run_result.hpp"

namespace ridgeline::api {
namespace {

void price(void* user, rl_step* step) {
  ++*static_cast<int*>(user);
  step->seconds[1] = step->decode_context == 13 ? -1.0 : 0.002;
  step->ok = 1;
}

void closed_form(void* /*user*/, rl_affine* affine) {
  affine->seconds[1] = 0.001;
  affine->seconds_per_token = 1e-9;
  affine->ok = affine->num_decodes == 2 ? 1 : 2;
}

rl_hooks hooks_of(int& asked) {
  rl_hooks hooks = {};
  hooks.size = sizeof(hooks);
  hooks.user = &asked;
  hooks.predict = price;
  return hooks;
}

domain::StepBatch decodes(std::int64_t number, std::int64_t context) {
  domain::StepBatch batch;
  batch.num_decodes = number;
  batch.decode_context = core::Tokens(context);
  return batch;
}

TEST(HostPolicies, AModelIsAskedUntilItFails) {
  int asked = 0;
  HostPolicies policies(hooks_of(asked));
  ASSERT_TRUE(policies.any());
  const auto* model = policies.parts().step_time_model;
  EXPECT_EQ(model->predict(decodes(1, 5)).gpu(), core::Duration::milliseconds(2));
  EXPECT_FALSE(policies.failure());
  static_cast<void>(model->predict(decodes(1, 13)));
  ASSERT_TRUE(policies.failure());
  EXPECT_EQ(policies.failure()->field, "step_model");
  EXPECT_EQ(policies.failure()->message,
            "found -1 seconds for 1 decodes with 13 tokens of context, expected a number from 0 to "
            "9200000");
  static_cast<void>(model->predict(decodes(1, 5)));
  EXPECT_EQ(asked, 2) << "a model that failed is not asked again";
}

TEST(HostPolicies, TheClosedFormIsThePrediction) {
  int asked = 0;
  rl_hooks hooks = hooks_of(asked);
  hooks.affine = closed_form;
  HostPolicies policies(hooks);
  const auto* model = policies.parts().step_time_model;
  const auto form = model->affine(2, core::Tokens(100));
  ASSERT_TRUE(form);
  EXPECT_EQ(form->at(core::Tokens(100)), model->predict(decodes(2, 100)));
  EXPECT_EQ(asked, 0);
  EXPECT_FALSE(model->affine(3, core::Tokens(100)));
  EXPECT_EQ(model->predict(decodes(3, 100)).gpu(), core::Duration::milliseconds(2));
}

TEST(HostPolicies, TheResultSaysWhoDecided) {
  int asked = 0;
  const HostPolicies policies(hooks_of(asked));
  verbs::RunResult result;
  result.config = *document::parse_json(R"({"latency": {"name": "kernel"}, "seed": 1})", "");
  policies.tell(*document::parse_json(R"({"step_model": {"class": "m.Mine"}})", ""), result);
  EXPECT_EQ(result.config.find("latency")->find("class")->as_string(), "m.Mine");
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_EQ(result.warnings.front().code, "W-python-model");
}

}  // namespace
}  // namespace ridgeline::api
