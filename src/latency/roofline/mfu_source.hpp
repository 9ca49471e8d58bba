#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "latency/lookup_log.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/roofline/constants.hpp"
#include "latency/roofline/network.hpp"
#include "latency/roofline/switches.hpp"

namespace ridgeline::latency::roofline {

/// The entries of a LookupLog: look-ups that missed their table, each with how far it missed.
enum class Miss : std::uint8_t { kContext, kBatch, kSequence, kRows, kReplaced };

/// MFU by kernel shape for one network on one GPU, from measured tables or (a control) from two
/// constants. Look-ups note what they miss in the log that they are given (nullptr: none); answers
/// do not depend on what was asked before.
class MfuSource {
 public:
  /// Two constants and no table.
  MfuSource(double mfu_prefill, double mfu_decode);
  /// Chooses the attention files of the network; what is missing is an error that names its path.
  static core::Result<std::unique_ptr<MfuSource>> from_tables(
      std::shared_ptr<const measured::KernelTables> tables,
      const Network& network,
      std::int64_t tensor_parallel_size,
      const Switches& switches,
      const Constants& constants);

  ~MfuSource();
  MfuSource(const MfuSource&) = delete;
  MfuSource& operator=(const MfuSource&) = delete;
  MfuSource(MfuSource&&) = delete;
  MfuSource& operator=(MfuSource&&) = delete;

  /// A weight matrix, resolved once.
  [[nodiscard]] measured::GemmTarget gemm_target(std::int64_t k, std::int64_t n) const;
  [[nodiscard]] measured::Lookup gemm(const measured::GemmTarget& target,
                                      std::int64_t m,
                                      bool prefill,
                                      LookupLog* log = nullptr) const;
  [[nodiscard]] measured::Lookup prefill(std::int64_t bucket, LookupLog* log = nullptr) const;
  [[nodiscard]] measured::Lookup decode(std::int64_t batch,
                                        std::int64_t context,
                                        LookupLog* log = nullptr) const;

  /// decode() of many contexts at one batch size, for the sum of context * MFU: what the published
  /// weighting needs, in a few nanoseconds each.
  [[nodiscard]] double weighted_context(std::int64_t batch,
                                        std::span<const core::Tokens> contexts,
                                        LookupLog* log = nullptr) const;

  [[nodiscard]] bool has_tables() const { return tables_ != nullptr; }
  [[nodiscard]] const std::string& gemm_path() const;
  [[nodiscard]] const std::string& prefill_path() const;
  [[nodiscard]] const std::string& decode_path() const;
  [[nodiscard]] core::Warnings notes() const;
  [[nodiscard]] static core::Warnings findings(const LookupLog& log);

 private:
  /// A decode table cut at one batch size: MFU at each of its contexts, before the rule for zeros.
  struct Slice {
    std::vector<double> mfu;
  };
  [[nodiscard]] std::unique_ptr<const Slice> cut(std::int64_t batch) const;
  [[nodiscard]] const Slice& slice(std::int64_t batch) const;
  void index_contexts();
  /// How many contexts of the decode table are at most that long.
  [[nodiscard]] std::size_t ticks_up_to(std::int64_t context) const;

  std::shared_ptr<const measured::KernelTables> tables_;
  measured::AttentionChoice heads_;
  measured::DecodeChoice decode_;
  measured::LookupOptions prefill_options_;
  measured::LookupOptions decode_options_;
  double constant_prefill_ = 0.0;
  double constant_decode_ = 0.0;
  std::string network_heads_;
  std::int64_t ranks_ = 1;
  std::vector<double> contexts_;  ///< The decode table's, as doubles.
  /// The decode table's contexts up to the start of each cell of 2^cell_bits_ tokens.
  std::vector<std::uint32_t> ticks_before_;
  int cell_bits_ = 0;
  std::unique_ptr<std::atomic<const Slice*>[]> slices_;
};

}  // namespace ridgeline::latency::roofline
