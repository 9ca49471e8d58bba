#include "engine/loop/step_times.hpp"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"
#include "support/linear_model.hpp"

namespace ridgeline::engine {
namespace {

/// Counts what the model is asked.
class AskedModel final : public latency::StepTimeModel {
 public:
  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override {
    ++predictions;
    return model_.predict(batch);
  }
  [[nodiscard]] std::optional<domain::AffineStep> affine(std::int64_t decodes,
                                                         core::Tokens context) const override {
    ++lines;
    return model_.affine(decodes, context);
  }
  [[nodiscard]] std::optional<domain::AffineStep> affine_with_prompt(
      std::int64_t decodes, core::Tokens prompt, core::Tokens context) const override {
    ++lines;
    return model_.affine_with_prompt(decodes, prompt, context);
  }
  [[nodiscard]] latency::Explanation explain(const domain::StepBatch& batch) const override {
    return model_.explain(batch);
  }

  mutable int predictions = 0;
  mutable int lines = 0;

 private:
  test::LinearModel model_{{.per_context = core::Duration::microseconds(2)}};
};

domain::StepBatch decodes_at(std::int64_t context) {
  domain::StepBatch batch;
  batch.num_decodes = 7;
  batch.decode_context = core::Tokens(context);
  return batch;
}

TEST(StepTimes, DecodesAreAskedForOnceAndGetWhatTheModelSays) {
  const AskedModel model;
  const test::LinearModel same({.per_context = core::Duration::microseconds(2)});
  StepTimes times(model, true);
  for (const std::int64_t context : {100, 107, 5000}) {
    EXPECT_EQ(times.of(decodes_at(context)), same.predict(decodes_at(context)));
  }
  EXPECT_EQ(model.lines, 1);
  EXPECT_EQ(model.predictions, 0);
}

TEST(StepTimes, AWholePromptBesideDecodesIsOnALineFromTheSecondTimeOn) {
  const AskedModel model;
  StepTimes times(model, true);
  const domain::PrefillChunk prompt{.past = {}, .new_tokens = core::Tokens(30)};
  domain::StepBatch batch = decodes_at(100);
  batch.prefills = {&prompt, 1};
  const domain::StepTime first = times.of(batch);
  EXPECT_EQ(model.predictions, 1);
  EXPECT_EQ(times.of(batch), first);
  EXPECT_EQ(times.of(batch), first);
  EXPECT_EQ(model.predictions, 1);
  EXPECT_EQ(model.lines, 1);
}

TEST(StepTimes, OthersAreAskedForEachTime) {
  const AskedModel model;
  StepTimes stepping(model, false);
  static_cast<void>(stepping.of(decodes_at(100)));
  EXPECT_EQ(model.predictions, 1) << "no lines are kept";
  StepTimes times(model, true);
  const domain::PrefillChunk part{.past = core::Tokens(8), .new_tokens = core::Tokens(30)};
  domain::StepBatch chunk = decodes_at(100);
  chunk.prefills = {&part, 1};
  static_cast<void>(times.of(chunk));
  static_cast<void>(times.of(chunk));
  EXPECT_EQ(model.predictions, 3);
  times.forget();
  static_cast<void>(times.of(decodes_at(100)));
  static_cast<void>(times.of(decodes_at(100)));
  EXPECT_EQ(model.lines, 1);
}

}  // namespace
}  // namespace ridgeline::engine
