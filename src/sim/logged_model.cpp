#include "sim/logged_model.hpp"

#include <cstdint>
#include <optional>

#include "core/units.hpp"
#include "domain/step.hpp"

namespace ridgeline::sim {

// A closed form stands for many steps: the one that it was asked for is noted.

std::optional<domain::AffineStep> LoggedModel::affine(std::int64_t num_decodes,
                                                      core::Tokens context) const {
  auto step = model_.affine(num_decodes, context);
  if (step) {
    domain::StepBatch batch;
    batch.num_decodes = num_decodes;
    batch.decode_context = context;
    static_cast<void>(predict(batch));
  }
  return step;
}

std::optional<domain::AffineStep> LoggedModel::affine_with_prompt(std::int64_t num_decodes,
                                                                  core::Tokens prompt,
                                                                  core::Tokens context) const {
  auto step = model_.affine_with_prompt(num_decodes, prompt, context);
  if (step) {
    const domain::PrefillChunk whole{.past = {}, .new_tokens = prompt, .samples = true};
    domain::StepBatch batch;
    batch.num_decodes = num_decodes;
    batch.decode_context = context;
    batch.prefills = {&whole, 1};
    static_cast<void>(predict(batch));
  }
  return step;
}

}  // namespace ridgeline::sim
