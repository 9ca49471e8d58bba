#include "latency/table/table_model.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/gemm.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/kernel/plan.hpp"
#include "latency/lookup_log.hpp"
#include "latency/measured/measured_kernels.hpp"
#include "latency/measured/surfaces.hpp"
#include "latency/measured/table_notes.hpp"
#include "latency/step_time_model.hpp"
#include "latency/table/table_attention.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::table {
namespace {

core::Warning range_warning(const std::string& source,
                            const std::string& what,
                            std::int64_t asked,
                            const char* side,
                            std::int64_t end) {
  return {
      .code = "W-table-range",
      .message = fmt::format(
          "{}: asked for {} {}, {} the measured {}: extrapolated", source, what, asked, side, end),
      .hint = "see docs/models/table.md, \"Beyond the table\""};
}

void warn_outside(core::Warnings& warnings,
                  const std::string& source,
                  const std::string& what,
                  const LookupLog::Entry& asked,
                  std::int64_t least,
                  std::int64_t most) {
  if (asked.count == 0) {
    return;
  }
  const auto lowest = static_cast<std::int64_t>(asked.least);
  const auto highest = static_cast<std::int64_t>(asked.most);
  if (lowest < least) {
    warnings.push_back(range_warning(source, what, lowest, "below", least));
  }
  if (highest > most) {
    warnings.push_back(range_warning(source, what, highest, "above", most));
  }
}

/// The shape of the n-th operator of a name, if it is of that kind.
template <class Shape>
const Shape* nth_shape(const std::vector<model::Operator>& operators,
                       const std::string& name,
                       std::size_t n) {
  for (const model::Operator& op : operators) {
    if (op.name == name && n-- == 0) {
      return std::get_if<Shape>(&op.shape);
    }
  }
  return nullptr;
}

}  // namespace

TableModel::TableModel(const ModelInputs& inputs, measured::MeasuredKernels measured)
    : measured_(std::move(measured)), notes_(measured_.notes) {
  kernel_ = std::make_unique<kernel::KernelModel>(
      inputs,
      kernel::builtin_constants(),
      [&](kernel::Plan& plan, const kernel::Calibration& calibration) {
        edit(inputs, plan, calibration);
      });
  const auto formulas = kernel_->notes();
  notes_.insert(notes_.end(), formulas.begin(), formulas.end());
}

TableModel::Gemms& TableModel::gemms(const ModelInputs& inputs,
                                     const kernel::Calibration& calibration,
                                     model::DType weights) {
  auto& slot = gemms_[weights];
  if (slot != nullptr) {
    return *slot;
  }
  const hardware::GpuSpec& gpu = inputs.gpu;
  const kernel::MatmulFormat wanted = kernel::matmul_format(weights, gpu);
  const auto fits = [&](const measured::MeasuredGemm& gemm) {
    return gemm.is_8bit == wanted.is_8bit;
  };
  const auto exact = std::ranges::find_if(measured_.gemms, fits);
  const measured::MeasuredGemm& table =
      exact == measured_.gemms.end() ? measured_.gemms.front() : *exact;
  const model::DType measured_type = table.is_8bit ? model::DType::kFp8 : model::DType::kBf16;
  const kernel::MatmulFormat found = kernel::matmul_format(measured_type, gpu);
  const bool same = found.weight_bytes == wanted.weight_bytes && found.is_8bit == wanted.is_8bit;
  const auto seconds = [&](const measured::GemmPoint& point, model::DType type) {
    const kernel::MatmulFormat format = kernel::matmul_format(type, gpu);
    return kernel::gemm({.m = point.m, .k = point.k, .n = point.n},
                        format,
                        calibration.gemm(type, format).values,
                        gpu)
        .time;
  };
  const measured::GemmSurface::Factor factor = [&](const measured::GemmPoint& point) {
    return same ? 1.0 : seconds(point, weights) / seconds(point, measured_type);
  };
  const double fixed_us = core::as_microseconds(calibration.gemm(weights, wanted).values.fixed);
  slot.reset(
      new Gemms{.surface = measured::GemmSurface(table, fixed_us, factor), .source = table.source});
  if (!same) {
    slot->source += fmt::format(" ({} kernels, scaled to {} by the kernel model)",
                                model::name(measured_type),
                                model::name(weights));
    notes_.push_back({.code = "W-table-format",
                      .message = fmt::format("{}: measured {} kernels; {} weights are priced with "
                                             "the kernel model's ratio of the two",
                                             table.source,
                                             model::name(measured_type),
                                             model::name(weights))});
  }
  note_change(table.source, slot->surface.change());
  return *slot;
}

void TableModel::note_change(const std::string& source, const measured::SurfaceChange& change) {
  // Noise of a few percent is in every table.
  constexpr double kWorthANote = 0.10;
  if (change.ratio > 1.0 + kWorthANote || change.ratio < 1.0 - kWorthANote) {
    notes_.push_back(
        {.code = "W-table-order",
         .message = fmt::format("{}: times that fall where work grows were smoothed, at most by "
                                "{:+.1f} % ({})",
                                source,
                                100.0 * (change.ratio - 1.0),
                                change.where)});
  }
}

void TableModel::edit(const ModelInputs& inputs,
                      kernel::Plan& plan,
                      const kernel::Calibration& calibration) {
  short_chunk_ = calibration.attention.short_chunk;
  const auto operators = model::forward_pass(inputs.network, inputs.execution.sharding);
  std::map<std::string, std::size_t> seen;
  for (kernel::RowOperator& row : plan.rows) {
    // Rows of one name stand in the order of the operators that they came from.
    const model::Gemm* shape = nth_shape<model::Gemm>(operators, row.name, seen[row.name]++);
    if (shape == nullptr) {
      continue;
    }
    Gemms& table = gemms(inputs, calibration, shape->weights);
    (row.rows == model::Rows::kTokens ? table.of_tokens : table.of_sampled) = true;
    row.source = table.source;
    row.cost = [&table = std::as_const(table), formula = row.cost, k = shape->k, n = shape->n](
                   std::int64_t rows) {
      kernel::Cost cost = formula(rows);
      cost.time = core::microseconds(table.surface.us(rows, k, n));
      cost.compute.reset();
      cost.memory.reset();
      cost.losing.reset();
      return cost;
    };
  }
  for (kernel::AttentionOperator& op : plan.attention) {
    const auto* shape = nth_shape<model::Attention>(operators, op.name, seen[op.name]++);
    // Tables are of full attention: windows, latent attention and recurrences stay with formulas.
    if (shape == nullptr || op.window > 0) {
      continue;
    }
    const auto attention = std::make_shared<TableAttention>(
        choose_tables(measured_, *shape),
        *shape,
        op.calls,
        calibration.attention.short_chunk,
        inputs.gpu.mem_bandwidth * calibration.attention.prefill_bandwidth_efficiency);
    note_change(attention->decode_source(), attention->decode_surface().change());
    note_change(attention->prefill_source(), attention->prefill_curve().change());
    op.measured = attention;
    op.decode_source = attention->decode_source();
    op.prefill_source = attention->prefill_source();
    attention_.push_back(attention);
  }
}

domain::StepTime TableModel::predict_logged(const domain::StepBatch& batch, LookupLog& log) const {
  const auto note = [&log](std::size_t entry, std::int64_t value) {
    log.note(entry, static_cast<double>(value));
  };
  const std::int64_t tokens = kernel_->padded(batch.num_tokens().value());
  const std::int64_t sampled = batch.num_sampled();
  std::size_t entry = 0;
  for (const auto& [weights, table] : gemms_) {
    if (table->of_tokens && tokens > 0) {
      note(entry, tokens);
    }
    if (table->of_sampled && sampled > 0) {
      note(entry, sampled);
    }
    ++entry;
  }
  std::int64_t sequences = batch.num_decodes;
  core::Tokens context = batch.decode_context - spared_context(batch.shared_context);
  for (const domain::PrefillChunk& chunk : batch.prefills) {
    if (chunk.new_tokens <= short_chunk_) {
      ++sequences;
      context += chunk.past;
      continue;
    }
    for (std::size_t i = 0; i < attention_.size(); ++i) {
      note(entry_of(i, Asked::kSeqLen), (chunk.past + chunk.new_tokens).value());
    }
  }
  for (std::size_t i = 0; sequences > 0 && i < attention_.size(); ++i) {
    note(entry_of(i, Asked::kBatch), sequences);
    note(entry_of(i, Asked::kKvLen), std::max<std::int64_t>(context.value(), 0) / sequences);
  }
  return predict(batch);
}

core::Warnings TableModel::findings(const LookupLog& log) const {
  core::Warnings warnings;
  std::size_t entry = 0;
  for (const auto& [weights, table] : gemms_) {
    warn_outside(warnings,
                 table->source,
                 "m",
                 log.at(entry++),
                 table->surface.smallest_m(),
                 table->surface.largest_m());
  }
  for (std::size_t i = 0; i < attention_.size(); ++i) {
    const TableAttention& attention = *attention_[i];
    const measured::DecodeSurface& decode = attention.decode_surface();
    const measured::PrefillCurve& prefill = attention.prefill_curve();
    warn_outside(warnings,
                 attention.decode_source(),
                 "a batch of",
                 log.at(entry_of(i, Asked::kBatch)),
                 1,
                 decode.largest_batch());
    warn_outside(warnings,
                 attention.decode_source(),
                 "a mean context of",
                 log.at(entry_of(i, Asked::kKvLen)),
                 decode.smallest_kv_len(),
                 decode.largest_kv_len());
    warn_outside(warnings,
                 attention.prefill_source(),
                 "a prompt of",
                 log.at(entry_of(i, Asked::kSeqLen)),
                 prefill.smallest(),
                 prefill.largest());
  }
  return warnings;
}

core::Result<std::unique_ptr<StepTimeModel>> make_table_model(const ModelInputs& inputs) {
  if (inputs.options.bench_data.empty()) {
    return core::fail(
        core::Error{.field = "latency.bench_data",
                    .message = "the model 'table' needs a folder of measured kernel tables",
                    .where = {},
                    .hint = measured::where_tables_come_from()});
  }
  // Whatever `kernel` refuses, it would refuse in the middle of a table model too.
  if (auto formulas = kernel::make_kernel_model(inputs); !formulas) {
    return core::fail(std::move(formulas).error());
  }
  auto measured = measured::load_measured_kernels(inputs.options.bench_data, inputs.gpu);
  if (!measured) {
    return core::fail(core::with_field(std::move(measured).error(), "latency.bench_data"));
  }
  return std::make_unique<TableModel>(inputs, std::move(*measured));
}

}  // namespace ridgeline::latency::table
