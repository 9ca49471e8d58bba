#include "evidence/validate/measured_power.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/power/power_law.hpp"

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

void leave_out_idle_power(Evidence& evidence) {
  auto& watts = evidence.measured.at(Figure::kPower, Level::kMean);
  if (!watts) {
    return;
  }
  const auto gpu = hardware::find_gpu(evidence.gpu);
  if (!gpu || *watts >= latency::idle_power(*gpu)) {
    return;
  }
  const std::string found = fmt::format(
      "watts_per_gpu is {:.3g}, expected {:.3g} at least, which a GPU of {:.0f} W "
      "draws awake and idle",
      *watts,
      latency::idle_power(*gpu),
      gpu->power_watts);
  watts.reset();
  evidence.measured.at(Figure::kEnergy, Level::kMean).reset();
  if (evidence.measured.empty()) {
    evidence.refusal = found;
  } else {
    evidence.doubts.push_back(fmt::format("{}: {}: left out", evidence.id, found));
  }
}

}  // namespace ridgeline::evidence::validate
