#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/lookup_log.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/roofline/constants.hpp"
#include "latency/roofline/mfu_source.hpp"
#include "latency/roofline/network.hpp"
#include "latency/roofline/step_cost.hpp"
#include "latency/roofline/switches.hpp"

namespace ridgeline::latency::roofline {

/// A weight matrix of a layer (or lm_head), as the GEMM table knows it.
struct GemmShape {
  std::string name;
  std::int64_t k = 0;
  std::int64_t n = 0;
  measured::GemmTarget target;
};

/// One GEMM at one number of rows, all layers and the division by ranks included.
struct GemmTime {
  double seconds = 0.0;
  double by_mfu = 0.0;    ///< 2 m k n over peak and MFU.
  double by_bytes = 0.0;  ///< Reading the weights; 0 without the floor.
  Work work;              ///< One rank's, all layers.
  bool compute_bound = false;
  measured::Lookup lookup;
};

/// V2: an MFU per kernel shape. The equations stand in docs/models/rooflines.md.
class TableMfuRoofline {
 public:
  TableMfuRoofline(const Network& network,
                   const Constants& constants,
                   const Switches& switches,
                   std::int64_t tensor_parallel_size,
                   double ridge_point,
                   std::unique_ptr<MfuSource> source);

  [[nodiscard]] StepCost cost(const domain::StepBatch& batch, LookupLog* log = nullptr) const;

  /// The seven (or, fused, five) matrices of a layer.
  [[nodiscard]] const std::vector<GemmShape>& shapes() const { return shapes_; }
  [[nodiscard]] const GemmShape& lm_head() const { return lm_head_; }
  [[nodiscard]] GemmTime gemm(const GemmShape& shape,
                              std::int64_t rows,
                              bool prefill,
                              LookupLog* log = nullptr) const;
  [[nodiscard]] double layers() const { return network_.layers; }

  /// The prefills of a step that share a bucket.
  struct Bucket {
    std::int64_t length = 0;
    std::int64_t requests = 0;
    std::int64_t tokens = 0;
    double pairs = 0.0;  ///< Query times key tokens that attention is charged for.
    double kv_tokens = 0.0;
    std::int64_t rows = 0;  ///< Rows of its GEMMs.
  };
  /// Ascending, only those with requests.
  [[nodiscard]] std::vector<Bucket> buckets(const domain::StepBatch& batch) const;
  /// Attention of one bucket, and what its MFU came from.
  struct AttentionTime {
    double seconds = 0.0;
    Work work;
    bool compute_bound = false;
    measured::Lookup lookup;
  };
  [[nodiscard]] AttentionTime prefill_attention(const Bucket& bucket,
                                                LookupLog* log = nullptr) const;
  [[nodiscard]] AttentionTime decode_attention(const domain::StepBatch& batch,
                                               LookupLog* log = nullptr) const;
  /// Context tokens that decode attention is charged for: every sequence's own, or the longest's
  /// once for each.
  [[nodiscard]] double charged_context(const domain::StepBatch& batch, core::Tokens longest) const;
  /// FLOPs of attention over all layers, for so many pairs of query and key token.
  [[nodiscard]] double attention_flops(double pairs) const;

  [[nodiscard]] const MfuSource& source() const { return *source_; }
  [[nodiscard]] const Switches& switches() const { return switches_; }

 private:
  /// All GEMMs of a layer at one number of rows.
  struct GemmSum {
    double seconds = 0.0;
    double compute_seconds = 0.0;
    Work work;
    /// Look-ups that missed: outside the table, and where another row stood in.
    LookupLog::Entry outside;
    LookupLog::Entry replaced;
  };
  /// Remembers GemmSum by rows, over threads.
  class Memo;

  [[nodiscard]] GemmSum gemms(std::int64_t rows, bool prefill, LookupLog* log) const;
  [[nodiscard]] GemmSum compute_gemms(std::int64_t rows, bool prefill) const;
  void add_gemms(PhaseCost& phase,
                 std::int64_t rows,
                 std::int64_t sampled,
                 bool prefill,
                 LookupLog* log) const;
  [[nodiscard]] PhaseCost prefill_phase(const domain::StepBatch& batch,
                                        bool mixed,
                                        LookupLog* log) const;
  [[nodiscard]] PhaseCost decode_phase(const domain::StepBatch& batch, LookupLog* log) const;
  [[nodiscard]] PhaseCost joint_phase(const StepCost& step,
                                      const BatchCounts& counts,
                                      LookupLog* log) const;
  [[nodiscard]] double overhead_us(const BatchCounts& counts) const;
  [[nodiscard]] double decode_seconds(const domain::StepBatch& batch,
                                      measured::Lookup* lookup,
                                      LookupLog* log) const;
  [[nodiscard]] double by_range(const domain::StepBatch& batch, LookupLog* log) const;
  [[nodiscard]] double per_component_seconds(double attention,
                                             double kv_bytes,
                                             bool prefill,
                                             std::int64_t requests) const;
  [[nodiscard]] double weight_bandwidth(bool prefill) const;
  /// KV bandwidth of a phase with so many requests.
  [[nodiscard]] double kv_bandwidth(bool prefill, std::int64_t requests) const;
  [[nodiscard]] bool right_of_ridge(const Work& work) const {
    return work.flops > work.bytes * ridge_point_;
  }

  Network network_;
  Constants constants_;
  Switches switches_;
  std::int64_t ranks_;
  double share_;  ///< 1 / ranks.
  double peak_;
  double ridge_point_;
  double flops_per_pair_;
  std::unique_ptr<MfuSource> source_;
  std::vector<GemmShape> shapes_;
  GemmShape lm_head_;
  std::array<double, 2> weight_bandwidth_{};  ///< Decode, prefill.
  std::array<double, 2> kv_bandwidth_{};
  std::array<std::unique_ptr<Memo>, 2> memo_;

 public:
  ~TableMfuRoofline();
  TableMfuRoofline(const TableMfuRoofline&) = delete;
  TableMfuRoofline& operator=(const TableMfuRoofline&) = delete;
  TableMfuRoofline(TableMfuRoofline&&) = delete;
  TableMfuRoofline& operator=(TableMfuRoofline&&) = delete;
};

}  // namespace ridgeline::latency::roofline
