#include "latency/roofline/roofline_model.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "latency/lookup_log.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/shared_tables.hpp"
#include "latency/roofline/constant_mfu.hpp"
#include "latency/roofline/mfu_source.hpp"
#include "latency/roofline/network.hpp"
#include "latency/roofline/step_cost.hpp"
#include "latency/roofline/switches.hpp"
#include "latency/roofline/table_mfu.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::roofline {
namespace {

using KindSeconds = std::array<double, domain::kNumBottlenecks>;
constexpr double kMicros = 1e-6;

double& of_kind(KindSeconds& seconds, domain::Bottleneck kind) {
  return seconds[static_cast<std::size_t>(kind)];
}

/// A phase's share of the step by what holds its operators up.
void add_phase(const PhaseCost& phase, KindSeconds& seconds) {
  if (!phase.present || phase.share == 0.0) {
    return;
  }
  if (!phase.memory_wins()) {
    const double compute = phase.gemm_compute + phase.attention_compute;
    of_kind(seconds, domain::Bottleneck::kCompute) += phase.share * compute;
    of_kind(seconds, domain::Bottleneck::kMemory) += phase.share * (phase.compute() - compute);
    return;
  }
  of_kind(seconds, domain::Bottleneck::kMemory) += phase.share * phase.memory();
}

/// Splits the rounded time exactly: what rounding changed goes to the greatest part.
domain::StepTime split(const StepCost& cost) {
  KindSeconds seconds{};
  add_phase(cost.prefill, seconds);
  add_phase(cost.decode, seconds);
  add_phase(cost.joint, seconds);
  of_kind(seconds, domain::Bottleneck::kOverhead) += (cost.overhead_us + cost.waiting_us) * kMicros;
  of_kind(seconds, domain::Bottleneck::kNetwork) += cost.all_reduce_us * kMicros;
  domain::StepTime time;
  std::size_t greatest = 0;
  for (std::size_t kind = 0; kind < seconds.size(); ++kind) {
    time.by_bottleneck[kind] = core::Duration::saturating(core::Seconds(seconds[kind]));
    greatest = seconds[kind] > seconds[greatest] ? kind : greatest;
  }
  const core::Duration total = core::Duration::microseconds(cost.rounded_us);
  time.by_bottleneck[greatest] += total - time.gpu();
  return time;
}

}  // namespace

RooflineModel::RooflineModel(Configuration configuration, const ConstantMfuRoofline& formulas)
    : configuration_(std::move(configuration)), formulas_(formulas) {}

RooflineModel::RooflineModel(Configuration configuration,
                             std::unique_ptr<TableMfuRoofline> formulas)
    : configuration_(std::move(configuration)), formulas_(std::move(formulas)) {}

const TableMfuRoofline* RooflineModel::table_formulas() const {
  const auto* formulas = std::get_if<std::unique_ptr<TableMfuRoofline>>(&formulas_);
  return formulas == nullptr ? nullptr : formulas->get();
}

StepCost RooflineModel::cost(const domain::StepBatch& batch, LookupLog* log) const {
  if (const TableMfuRoofline* formulas = table_formulas()) {
    return formulas->cost(batch, log);
  }
  return std::get<ConstantMfuRoofline>(formulas_).cost(batch);
}

domain::StepTime RooflineModel::predict(const domain::StepBatch& batch) const {
  return split(cost(batch));
}

domain::StepTime RooflineModel::predict_logged(const domain::StepBatch& batch,
                                               LookupLog& log) const {
  return split(cost(batch, &log));
}

Explanation RooflineModel::explain(const domain::StepBatch& batch) const {
  const StepCost priced = cost(batch);
  Explanation explanation = explain_cost(*this, batch, priced);
  explanation.total = split(priced);
  core::Seconds sum;
  for (const OperatorTime& part : explanation.parts) {
    sum += part.time;
  }
  explanation.rounding = core::Seconds(explanation.total.gpu().to_seconds()) - sum;
  return explanation;
}

std::vector<ModelSetting> RooflineModel::settings() const {
  const Configuration& c = configuration_;
  std::vector<ModelSetting> settings;
  for (const ConstantKey& key : constant_keys()) {
    if (has_effect(c.version, c.switches, c.constants, key.name)) {
      settings.push_back({.key = std::string(key.name),
                          .value = document::Node::real(c.constants.*key.member, {})});
    }
  }
  if (c.version == Version::kV2) {
    for (SwitchValue& value : switch_values(c.switches)) {
      if (switch_has_effect(c.switches, value.key)) {
        settings.push_back({.key = std::move(value.key), .value = std::move(value.value)});
      }
    }
  }
  return settings;
}

core::Warnings RooflineModel::findings(const LookupLog& log) const {
  return logs() ? MfuSource::findings(log) : core::Warnings();
}

core::Result<std::unique_ptr<RooflineModel>> make_roofline_model(const Preset& preset,
                                                                 const ModelInputs& inputs) {
  auto network = network_of(inputs.network, std::string(preset.name));
  if (!network) {
    return core::fail(std::move(network).error());
  }
  auto configuration = configure(preset, inputs.gpu, inputs.options);
  if (!configuration) {
    return core::fail(std::move(configuration).error());
  }
  auto head_notes = network_notes(inputs.network, *network);
  configuration->notes.insert(configuration->notes.end(), head_notes.begin(), head_notes.end());
  const std::int64_t ranks = inputs.execution.sharding.tensor_parallel_size;
  const double ridge = configuration->ridge_point;
  if (preset.version != Version::kV2) {
    const ConstantMfuRoofline formulas(
        preset.version, *network, configuration->constants, static_cast<double>(ranks), ridge);
    return std::make_unique<RooflineModel>(std::move(*configuration), formulas);
  }
  const Switches& switches = configuration->switches;
  std::unique_ptr<MfuSource> source;
  if (switches.lookup == Lookup::kConstant) {
    source = std::make_unique<MfuSource>(configuration->constants.mfu_prefill,
                                         configuration->constants.mfu_decode);
  } else {
    auto shared = measured::share_bench_data(inputs.options.bench_data, inputs.gpu.name);
    if (!shared) {
      return core::fail(core::with_field(std::move(shared).error(), "latency.bench_data"));
    }
    configuration->notes.insert(
        configuration->notes.end(), (*shared)->notes.begin(), (*shared)->notes.end());
    auto made = MfuSource::from_tables(
        std::shared_ptr<const measured::KernelTables>(*shared, &(*shared)->tables),
        *network,
        ranks,
        switches,
        configuration->constants);
    if (!made) {
      return core::fail(core::with_field(std::move(made).error(), "latency.bench_data"));
    }
    source = std::move(*made);
    const auto notes = source->notes();
    configuration->notes.insert(configuration->notes.end(), notes.begin(), notes.end());
  }
  auto formulas = std::make_unique<TableMfuRoofline>(
      *network, configuration->constants, switches, ranks, ridge, std::move(source));
  return std::make_unique<RooflineModel>(std::move(*configuration), std::move(formulas));
}

std::vector<StepTimeModelEntry> entries() {
  std::vector<StepTimeModelEntry> found;
  for (const Preset& preset : presets()) {
    const bool tables = preset.version == Version::kV2;
    found.push_back(
        {.name = std::string(preset.name),
         .summary = std::string(preset.summary),
         .uses = {.bench_data = true, .hardware_config = true, .lookup = tables, .settings = true},
         .make =
             [&preset](const ModelInputs& inputs) -> core::Result<std::unique_ptr<StepTimeModel>> {
           return make_roofline_model(preset, inputs);
         }});
  }
  return found;
}

}  // namespace ridgeline::latency::roofline
