#include "evidence/validate/measured_power.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"
#include "latency/power/power_law.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::evidence::validate {

void read_power(const document::Node& power,
                std::int64_t gpus,
                Figures& figures,
                std::vector<std::string>& odd) {
  const auto read = [&](std::string_view key) { return positive_at(power, key, "power.", odd); };
  auto watts = read("mean_w_per_gpu");
  if (const auto total = read("mean_w_total"); !watts && total) {
    watts = *total / static_cast<double>(gpus);
  }
  const auto share = read("mean_share_of_tdp");
  if (const auto limit = read("tdp_w"); !watts && share && limit) {
    watts = *share * *limit;
  }
  figures.at(Figure::kPower, Level::kMean) = watts;
  figures.at(Figure::kEnergy, Level::kMean) = read("joules_per_output_token");
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
