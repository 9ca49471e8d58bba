// H33's ratios on made tables: whether the measured tables or the formulas make them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "lab/studies/h33_answers.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/make_tables.hpp"
#include "latency/roofline/constants.hpp"
#include "latency/roofline/mfu_source.hpp"
#include "latency/roofline/network.hpp"
#include "latency/roofline/switches.hpp"
#include "latency/roofline/table_mfu.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::studies::h33 {
namespace {

using latency::roofline::MfuSource;
using latency::roofline::TableMfuRoofline;

core::Result<std::unique_ptr<TableMfuRoofline>> formulas_of(
    const char* preset,
    const hardware::GpuSpec& gpu,
    const std::shared_ptr<const latency::measured::KernelTables>& tables) {
  const auto spec = model::find_model(kLlama8b);
  RIDGELINE_CHECK(spec.has_value(), kLlama8b);
  const auto network = latency::roofline::network_of(*spec, preset);
  const auto set = latency::roofline::find_constant_set("h100-test");
  const auto* state = latency::roofline::find_preset(preset);
  RIDGELINE_CHECK(network.has_value() && set.has_value() && state != nullptr, preset);
  auto source = MfuSource::from_tables(tables, *network, 1, state->switches, *set);
  if (!source) {
    return core::fail(std::move(source).error());
  }
  return std::make_unique<TableMfuRoofline>(
      *network, *set, state->switches, 1, gpu.ridge_point(), std::move(*source));
}

double attention_of(const TableMfuRoofline& formulas, const std::vector<std::int64_t>& contexts) {
  std::vector<core::Tokens> lengths;
  core::Tokens sum;
  for (const std::int64_t context : contexts) {
    lengths.emplace_back(context);
    sum += core::Tokens(context);
  }
  const domain::StepBatch batch{.num_decodes = std::ssize(lengths),
                                .decode_context = sum,
                                .decode_lengths = lengths,
                                .prefills = {}};
  return formulas.decode_attention(batch).seconds;
}

}  // namespace

core::Result<StudyTable> made_tables_table() {
  constexpr double kTolerance = 0.05;
  constexpr std::int64_t kHighRange = 10;
  const auto gpu = hardware::find_gpu("h100");
  RIDGELINE_CHECK(gpu.has_value(), "h100");
  auto made = latency::measured::made_kernel_tables(
      *gpu,
      {.heads = {{.heads = 32, .kv_heads = 8, .head_dim = 128}}, .tensor_parallel_sizes = {1}});
  if (!made) {
    return core::fail(std::move(made).error());
  }
  const auto tables = std::make_shared<const latency::measured::KernelTables>(std::move(*made));
  const auto batch = formulas_of("v2-h33", *gpu, tables);
  const auto single = formulas_of("v2-h33-perreq", *gpu, tables);
  if (!batch || !single) {
    return core::fail(!batch ? batch.error() : single.error());
  }
  StudyTable table{.name = "causes_on_made_tables", .rows = {}};
  for (const DecodeScenario& scenario : decode_scenarios()) {
    const double ratio =
        attention_of(**batch, scenario.contexts) / attention_of(**single, scenario.contexts);
    table.rows.push_back(row("scenario",
                             scenario.name,
                             "range",
                             scenario.range(),
                             "even",
                             scenario.range() == 1,
                             "decides",
                             scenario.range() >= kHighRange,
                             "ratio",
                             ratio,
                             "within_5_pct",
                             std::abs(ratio - 1.0) <= kTolerance));
  }
  return table;
}

}  // namespace ridgeline::studies::h33
