#include "latency/roofline/charged_attention.hpp"

#include <algorithm>
#include <optional>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/roofline/roofline_model.hpp"
#include "latency/roofline/switches.hpp"
#include "latency/roofline/table_mfu.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::latency::roofline {

std::optional<ChargedAttention> charged_attention(const StepTimeModel& model,
                                                  const domain::StepBatch& batch) {
  const auto* roofline = dynamic_cast<const RooflineModel*>(&model);
  const TableMfuRoofline* formulas = roofline == nullptr ? nullptr : roofline->table_formulas();
  if (formulas == nullptr || batch.decode_lengths.empty()) {
    return std::nullopt;
  }
  const auto [shortest, longest] = std::ranges::minmax(batch.decode_lengths);
  const bool as_longest = formulas->switches().decode_attention == DecodeAttention::kMax;
  ChargedAttention charged{
      .flops = formulas->attention_flops(formulas->charged_context(batch, longest)),
      .own_flops = formulas->attention_flops(static_cast<double>(batch.decode_context.value())),
      .shortest_ratio = 1.0};
  if (as_longest && shortest.value() > 0) {
    charged.shortest_ratio =
        static_cast<double>(longest.value()) / static_cast<double>(shortest.value());
  }
  return charged;
}

}  // namespace ridgeline::latency::roofline
