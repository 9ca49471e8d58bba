#include "sim/logged_model.hpp"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/lookup_log.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::sim {
namespace {

using core::Tokens;

/// Notes the tokens of every batch; a step takes 1 us.
class NotingModel final : public latency::StepTimeModel {
 public:
  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& /*batch*/) const override {
    domain::StepTime time;
    time.add(domain::Bottleneck::kMemory, core::Duration::microseconds(1));
    return time;
  }
  [[nodiscard]] domain::StepTime predict_logged(const domain::StepBatch& batch,
                                                latency::LookupLog& log) const override {
    log.note(0, static_cast<double>(batch.num_tokens().value()));
    return predict(batch);
  }
  [[nodiscard]] bool logs() const override { return true; }
  [[nodiscard]] std::optional<domain::AffineStep> affine(std::int64_t /*num_decodes*/,
                                                         Tokens context) const override {
    return domain::AffineStep{
        .base = predict({}), .slope = {}, .lowest = context, .highest = context};
  }
  [[nodiscard]] std::optional<domain::AffineStep> affine_with_prompt(
      std::int64_t num_decodes, Tokens /*prompt*/, Tokens context) const override {
    return affine(num_decodes, context);
  }
  [[nodiscard]] latency::Explanation explain(const domain::StepBatch& /*batch*/) const override {
    return {};
  }
};

TEST(LoggedModel, RunsOfOneModelKeepApartWhatTheyMet) {
  const NotingModel model;
  const LoggedModel first(model);
  const LoggedModel second(model);
  domain::StepBatch batch;
  batch.num_decodes = 5;
  EXPECT_EQ(first.predict(batch), model.predict(batch));
  EXPECT_EQ(first.lookups().at(0).count, 1);
  EXPECT_EQ(first.lookups().at(0).most, 5.0);
  EXPECT_EQ(second.lookups().at(0).count, 0);
}

TEST(LoggedModel, AClosedFormIsNotedAtTheStepItWasAskedFor) {
  const NotingModel model;
  const LoggedModel run(model);
  EXPECT_TRUE(run.affine(7, Tokens(100)).has_value());
  EXPECT_TRUE(run.affine_with_prompt(3, Tokens(600), Tokens(100)).has_value());
  EXPECT_EQ(run.lookups().at(0).count, 2);
  EXPECT_EQ(run.lookups().at(0).least, 7.0);
  EXPECT_EQ(run.lookups().at(0).most, 603.0);
}

}  // namespace
}  // namespace ridgeline::sim
