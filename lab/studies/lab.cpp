#include "lab/studies/lab.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/check.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "lab/studies/study.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/make_tables.hpp"
#include "latency/measured/shared_tables.hpp"
#include "latency/roofline/mfu_source.hpp"
#include "latency/roofline/network.hpp"
#include "latency/roofline/roofline_model.hpp"
#include "latency/roofline/step_cost.hpp"
#include "latency/roofline/switches.hpp"
#include "latency/roofline/table_mfu.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::studies {
namespace {

/// Requests as a step-time model reads them.
class Batch {
 public:
  explicit Batch(const Requests& requests) {
    for (const std::int64_t context : requests.decodes) {
      lengths_.emplace_back(context);
      sum_ += core::Tokens(context);
    }
    for (const auto& [past, fresh] : requests.prefills) {
      chunks_.push_back({.past = core::Tokens(past), .new_tokens = core::Tokens(fresh)});
    }
  }
  [[nodiscard]] domain::StepBatch view() const {
    return {.num_decodes = std::ssize(lengths_),
            .decode_context = sum_,
            .decode_lengths = lengths_,
            .prefills = chunks_};
  }

 private:
  std::vector<core::Tokens> lengths_;
  std::vector<domain::PrefillChunk> chunks_;
  core::Tokens sum_;
};

using latency::roofline::RooflineModel;

/// A roofline that looks kernels up in tables made for this network and GPU: without the roundings
/// and holes of measured ones, so that what is left belongs to the formulas.
core::Result<std::unique_ptr<RooflineModel>> on_made_tables(const latency::roofline::Preset& preset,
                                                            const latency::ModelInputs& inputs) {
  const auto network = latency::roofline::network_of(inputs.network, std::string(preset.name));
  auto configuration = latency::roofline::configure(preset, inputs.gpu, inputs.options);
  if (!network || !configuration) {
    return core::fail(!network ? network.error() : configuration.error());
  }
  const std::int64_t ranks = inputs.execution.sharding.tensor_parallel_size;
  auto made = latency::measured::made_kernel_tables(
      inputs.gpu,
      {.heads = {{.heads = static_cast<std::int64_t>(network->heads),
                  .kv_heads = static_cast<std::int64_t>(network->kv_heads),
                  .head_dim = static_cast<std::int64_t>(network->head_dim)}},
       .tensor_parallel_sizes = {ranks}});
  if (!made) {
    return core::fail(std::move(made).error());
  }
  auto source = latency::roofline::MfuSource::from_tables(
      std::make_shared<const latency::measured::KernelTables>(std::move(*made)),
      *network,
      ranks,
      configuration->switches,
      configuration->constants);
  if (!source) {
    return core::fail(std::move(source).error());
  }
  auto formulas = std::make_unique<latency::roofline::TableMfuRoofline>(*network,
                                                                        configuration->constants,
                                                                        configuration->switches,
                                                                        ranks,
                                                                        configuration->ridge_point,
                                                                        std::move(*source));
  return std::make_unique<RooflineModel>(std::move(*configuration), std::move(formulas));
}

}  // namespace

std::shared_ptr<const latency::measured::SharedTables> keep_tables(const std::string& bench_data,
                                                                   const std::string& gpu) {
  if (bench_data.empty()) {
    return nullptr;
  }
  const auto shared = latency::measured::share_bench_data(bench_data, gpu);
  return shared ? *shared : nullptr;
}

bool reads_tables(const Arm& arm) {
  if (const auto* preset = latency::roofline::find_preset(arm.preset)) {
    return preset->version == latency::roofline::Version::kV2;
  }
  const auto* entry = latency::find_step_time_model(arm.preset);
  RIDGELINE_CHECK(entry != nullptr, arm.preset);
  return entry->uses.bench_data;
}

core::Result<std::unique_ptr<Subject>> Subject::make(const Arm& arm,
                                                     const Place& place,
                                                     const std::string& bench_data) {
  std::unique_ptr<Subject> made(new Subject());
  auto spec = model::find_model(place.network);
  auto gpu = hardware::find_gpu(place.gpu);
  if (!spec || !gpu) {
    return core::fail(!spec ? core::with_field(spec.error(), "model")
                            : core::with_field(gpu.error(), "gpu"));
  }
  made->network_ = std::move(*spec);
  made->gpu_ = std::move(*gpu);
  made->execution_.sharding.tensor_parallel_size = place.ranks;
  const latency::ModelInputs inputs{
      .network = made->network_,
      .gpu = made->gpu_,
      .execution = made->execution_,
      .options = {.bench_data = reads_tables(arm) ? bench_data : std::string(),
                  .lookup = arm.lookup,
                  .settings = arm.settings}};
  if (const auto* preset = latency::roofline::find_preset(arm.preset)) {
    auto model = place.made ? on_made_tables(*preset, inputs)
                            : latency::roofline::make_roofline_model(*preset, inputs);
    if (!model) {
      return core::fail(std::move(model).error());
    }
    made->roofline_ = model->get();
    made->model_ = std::move(*model);
    return made;
  }
  auto model = latency::make_step_time_model(arm.preset, inputs);
  if (!model) {
    return core::fail(std::move(model).error());
  }
  made->model_ = std::move(*model);
  return made;
}

latency::roofline::StepCost Subject::cost(const Requests& requests) const {
  RIDGELINE_CHECK(roofline_ != nullptr, "costs are of rooflines");
  return roofline_->cost(Batch(requests).view());
}

core::Seconds Subject::attention(const Requests& requests) const {
  core::Seconds sum;
  for (const auto& part : model_->explain(Batch(requests).view()).parts) {
    // What belongs to one phase is attention; everything else works on the rows of both.
    if (part.phase != "step") {
      sum += part.time;
    }
  }
  return sum;
}

std::int64_t Subject::step_us(const Requests& requests) const {
  return cost(requests).rounded_us;
}

core::Seconds Subject::gpu_time(const Requests& requests) const {
  return core::Seconds(model_->predict(Batch(requests).view()).gpu().to_seconds());
}

core::Result<std::unique_ptr<Subject>> Lab::subject(const std::string& arm) const {
  return subject(arm, study_.place);
}

core::Result<std::unique_ptr<Subject>> Lab::subject(const std::string& arm,
                                                    const Place& place) const {
  const auto found = std::ranges::find(study_.arms, arm, &Arm::name);
  RIDGELINE_CHECK(found != study_.arms.end(), arm);
  return Subject::make(*found, place, options_.bench_data);
}

core::Result<std::unique_ptr<Subject>> Lab::subject(const std::string& arm,
                                                    const std::string& network,
                                                    std::int64_t ranks) const {
  return subject(arm, Place{.network = network, .ranks = ranks});
}

core::Result<latency::measured::KernelTables> Lab::tables() const {
  const auto shared = latency::measured::share_bench_data(options_.bench_data, study_.place.gpu);
  if (!shared) {
    return core::fail(shared.error());
  }
  return (*shared)->tables;
}

core::Warnings Lab::table_notes() const {
  return tables_ == nullptr ? core::Warnings() : tables_->notes;
}

document::Node cell(std::int64_t value) {
  return document::Node::integer(value, {});
}
document::Node cell(double value) {
  return document::Node::real(value, {});
}
document::Node cell(const std::string& value) {
  return document::Node::string(value, {});
}
document::Node cell(const char* value) {
  return document::Node::string(value, {});
}
document::Node cell(bool value) {
  return document::Node::boolean(value, {});
}
document::Node cell(const std::vector<std::int64_t>& values) {
  std::vector<document::Node> items;
  for (const std::int64_t value : values) {
    items.push_back(cell(value));
  }
  return document::Node::list(std::move(items), {});
}
document::Node cell(const std::vector<double>& values) {
  std::vector<document::Node> items;
  for (const double value : values) {
    items.push_back(cell(value));
  }
  return document::Node::list(std::move(items), {});
}

document::Node statement(const char* id,
                         const std::string& said,
                         bool holds,
                         const std::string& computed) {
  return row("id", id, "said", said, "holds", holds, "computed", computed);
}

double rounded(double value, int decimals) {
  // By way of the text, which is rounded exactly: scaling first would move values at a tie.
  const std::string text = fmt::format("{:.{}f}", value, decimals);
  return core::parse_whole<double>(text).value_or(value);
}

latency::ModelSetting constants(const char* set) {
  return setting("constants", set);
}
latency::ModelSetting setting(const char* key, const char* value) {
  return {.key = key, .value = document::Node::string(value, {})};
}
latency::ModelSetting setting(const char* key, double value) {
  return {.key = key, .value = document::Node::real(value, {})};
}
latency::ModelSetting setting(const char* key, std::int64_t value) {
  return {.key = key, .value = document::Node::integer(value, {})};
}
latency::ModelSetting flag(const char* key, bool value) {
  return {.key = key, .value = document::Node::boolean(value, {})};
}

}  // namespace ridgeline::studies
