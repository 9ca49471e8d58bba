#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/result.hpp"
#include "domain/step.hpp"
#include "latency/lookup_log.hpp"
#include "latency/roofline/constant_mfu.hpp"
#include "latency/roofline/constants.hpp"
#include "latency/roofline/network.hpp"
#include "latency/roofline/step_cost.hpp"
#include "latency/roofline/switches.hpp"
#include "latency/roofline/table_mfu.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::roofline {

/// What a preset becomes once settings, a hardware_config.json and the GPU have had their say.
struct Configuration {
  std::string name;  ///< Name of the preset.
  Version version = Version::kV2;
  Constants constants;
  Switches switches;
  double ridge_point = 0.0;  ///< FLOP per byte of the GPU.
  core::Warnings notes;
};
/// Unknown keys and values are errors, keys without effect notes. A hardware_config.json replaces
/// the preset's constants as a whole, as it did in the original; V1 then names what it lacks.
[[nodiscard]] core::Result<Configuration> configure(const Preset& preset,
                                                    const hardware::GpuSpec& gpu,
                                                    const ModelOptions& options);

/// V0, V1 or V2 as a step-time model: whole microseconds, no closed form, host time 0.
class RooflineModel final : public StepTimeModel {
 public:
  RooflineModel(Configuration configuration, const ConstantMfuRoofline& formulas);
  RooflineModel(Configuration configuration, std::unique_ptr<TableMfuRoofline> formulas);

  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override;
  [[nodiscard]] domain::StepTime predict_logged(const domain::StepBatch& batch,
                                                LookupLog& log) const override;
  [[nodiscard]] bool logs() const override { return table_formulas() != nullptr; }
  [[nodiscard]] bool needs_decode_lengths() const override {
    return configuration_.version == Version::kV2;
  }
  [[nodiscard]] Explanation explain(const domain::StepBatch& batch) const override;
  [[nodiscard]] std::vector<ModelSetting> settings() const override;
  [[nodiscard]] core::Warnings notes() const override { return configuration_.notes; }
  [[nodiscard]] core::Warnings findings(const LookupLog& log) const override;

  /// Both sides of every phase, before rounding. V2 notes look-ups that miss in the log, if any.
  [[nodiscard]] StepCost cost(const domain::StepBatch& batch, LookupLog* log = nullptr) const;
  /// The formulas of V2; nullptr for V0 and V1.
  [[nodiscard]] const TableMfuRoofline* table_formulas() const;
  [[nodiscard]] const Configuration& configuration() const { return configuration_; }

 private:
  Configuration configuration_;
  std::variant<ConstantMfuRoofline, std::unique_ptr<TableMfuRoofline>> formulas_;
};

/// The model of a preset. V2 reads its tables from `inputs.options.bench_data`.
[[nodiscard]] core::Result<std::unique_ptr<RooflineModel>> make_roofline_model(
    const Preset& preset, const ModelInputs& inputs);

/// What `--latency` can choose here.
[[nodiscard]] std::vector<StepTimeModelEntry> entries();

/// The parts of a step that the formulas priced: explain() without the total.
[[nodiscard]] Explanation explain_cost(const RooflineModel& model,
                                       const domain::StepBatch& batch,
                                       const StepCost& cost);

}  // namespace ridgeline::latency::roofline
