#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/kernel/plan.hpp"
#include "latency/lookup_log.hpp"
#include "latency/measured/measured_kernels.hpp"
#include "latency/measured/surfaces.hpp"
#include "latency/step_time_model.hpp"
#include "latency/table/table_attention.hpp"

namespace ridgeline::latency::table {

/// The `table` step-time model: measured latency of GEMM and attention, interpolated; the kernels
/// that tables seldom hold (experts, all-reduce, element-wise, sampling, gaps) by the formulas of
/// `kernel` (docs/models/table.md). Needs no decode lengths; affine in the context sum, piece by
/// piece.
class TableModel final : public StepTimeModel {
 public:
  /// The inputs are checked (make_table_model) and outlive the model.
  TableModel(const ModelInputs& inputs, measured::MeasuredKernels measured);

  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override {
    return kernel_->predict(batch);
  }
  [[nodiscard]] domain::StepTime predict_logged(const domain::StepBatch& batch,
                                                LookupLog& log) const override;
  [[nodiscard]] bool logs() const override { return true; }
  [[nodiscard]] std::optional<domain::AffineStep> affine(std::int64_t num_decodes,
                                                         core::Tokens context) const override {
    return kernel_->affine(num_decodes, context);
  }
  [[nodiscard]] std::optional<domain::AffineStep> affine_with_prompt(
      std::int64_t num_decodes, core::Tokens prompt, core::Tokens context) const override {
    return kernel_->affine_with_prompt(num_decodes, prompt, context);
  }
  [[nodiscard]] core::Tokens spared_context(core::Tokens shared) const override {
    return kernel_->spared_context(shared);
  }
  [[nodiscard]] Explanation explain(const domain::StepBatch& batch) const override {
    return kernel_->explain(batch);
  }
  [[nodiscard]] core::Warnings notes() const override { return notes_; }
  [[nodiscard]] core::Warnings findings(const LookupLog& log) const override;

  /// predict() with nothing remembered.
  [[nodiscard]] domain::StepTime recompute(const domain::StepBatch& batch) const {
    return kernel_->recompute(batch);
  }

 private:
  /// GEMMs priced by one surface.
  struct Gemms {
    measured::GemmSurface surface;
    std::string source;
    bool of_tokens = false;   ///< Some have a row for each token of a step,
    bool of_sampled = false;  ///< some one for each sequence that samples.
  };
  /// The entries of a LookupLog: of each surface the rows asked for, then of each attention the
  /// sequences, the mean contexts and the prompts.
  enum class Asked : std::uint8_t { kBatch, kKvLen, kSeqLen };
  static constexpr std::size_t kAskedOfAttention = 3;
  [[nodiscard]] std::size_t entry_of(std::size_t attention, Asked asked) const {
    return gemms_.size() + attention * kAskedOfAttention + static_cast<std::size_t>(asked);
  }

  void edit(const ModelInputs& inputs, kernel::Plan& plan, const kernel::Calibration& calibration);
  Gemms& gemms(const ModelInputs& inputs,
               const kernel::Calibration& calibration,
               model::DType weights);
  void note_change(const std::string& source, const measured::SurfaceChange& change);

  measured::MeasuredKernels measured_;
  std::map<model::DType, std::unique_ptr<Gemms>> gemms_;
  std::vector<std::shared_ptr<const TableAttention>> attention_;
  core::Tokens short_chunk_;  ///< Prompt chunks up to this are the decode kernel's.
  core::Warnings notes_;
  std::unique_ptr<kernel::KernelModel> kernel_;
};

/// Needs latency.bench_data.
[[nodiscard]] core::Result<std::unique_ptr<StepTimeModel>> make_table_model(
    const ModelInputs& inputs);

}  // namespace ridgeline::latency::table
