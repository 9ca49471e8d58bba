#include "engine/tensorrt_llm/capacity.hpp"
#include "engine/tensorrt_llm/reservation.hpp"
#include "engine/tensorrt_llm/sequence.hpp"

namespace ridgeline::engine::tensorrt_llm {

void static_batch(const CapacityInputs& inputs, Selection& selection) {
  Reservation blocks(inputs.kv);
  keep_generations(inputs, selection, blocks);
  if (selection.size() > 0) {
    return;
  }
  for (Sequence* const context : inputs.active) {
    if (selection.size() >= inputs.max_requests || !blocks.try_take(*context)) {
      return;
    }
    selection.fitting.push_back(context);
  }
}

}  // namespace ridgeline::engine::tensorrt_llm
