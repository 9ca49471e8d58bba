#include "evidence/validate/measured_power.hpp"

#include <cstdint>
#include <optional>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"

namespace ridgeline::evidence::validate {

void read_power(const document::Node& power, std::int64_t gpus, Figures& figures) {
  auto watts = number_at(power, "mean_w_per_gpu");
  if (const auto total = number_at(power, "mean_w_total"); !watts && total) {
    watts = *total / static_cast<double>(gpus);
  }
  const auto share = number_at(power, "mean_share_of_tdp");
  if (const auto limit = number_at(power, "tdp_w"); !watts && share && limit) {
    watts = *share * *limit;
  }
  const auto take = [&](Figure figure, const std::optional<double>& value) {
    if (value && *value > 0.0) {
      figures.at(figure, Level::kMean) = value;
    }
  };
  take(Figure::kPower, watts);
  take(Figure::kEnergy, number_at(power, "joules_per_output_token"));
}

}  // namespace ridgeline::evidence::validate
