#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "latency/roofline/constants.hpp"
#include "latency/roofline/network.hpp"
#include "latency/roofline/switches.hpp"
#include "latency/tables/kernel_tables.hpp"
#include "latency/tables/lookup.hpp"

namespace ridgeline::latency::roofline {

/// How often look-ups missed their table, and how far. Each count is exact on one thread, and on
/// any number of threads the same for the same batches, but for GEMMs, which are remembered.
class MissCounts {
 public:
  enum class Kind : std::uint8_t { kContext, kBatch, kSequence, kRows, kReplaced };
  static constexpr std::size_t kNumKinds = 5;

  void add(Kind kind, std::int64_t count, double farthest) const;
  [[nodiscard]] std::int64_t count(Kind kind) const;
  [[nodiscard]] double farthest(Kind kind) const;

 private:
  struct Entry {
    std::atomic<std::int64_t> count{0};
    std::atomic<double> farthest{0.0};
  };
  mutable std::array<Entry, kNumKinds> entries_;
};

/// Whether a look-up is a prediction's, which counts its misses, or repeats one for people.
enum class Counting : std::uint8_t { kCounted, kSilent };

/// MFU by kernel shape for one network on one GPU, from measured tables or (a control) from two
/// constants. Counts what it misses; answers do not depend on what was asked before.
class MfuSource {
 public:
  /// Two constants and no table.
  MfuSource(double mfu_prefill, double mfu_decode);
  /// Chooses the attention files of the network; what is missing is an error that names its path.
  static core::Result<std::unique_ptr<MfuSource>> from_tables(
      std::shared_ptr<const tables::KernelTables> tables,
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
  [[nodiscard]] tables::GemmTarget gemm_target(std::int64_t k, std::int64_t n) const;
  [[nodiscard]] tables::Lookup gemm(const tables::GemmTarget& target,
                                    std::int64_t m,
                                    bool prefill,
                                    Counting counting = Counting::kCounted) const;
  [[nodiscard]] tables::Lookup prefill(std::int64_t bucket,
                                       Counting counting = Counting::kCounted) const;
  [[nodiscard]] tables::Lookup decode(std::int64_t batch,
                                      std::int64_t context,
                                      Counting counting = Counting::kCounted) const;

  /// decode() of many contexts at one batch size, for the sum of context * MFU: what the published
  /// weighting needs, in a few nanoseconds each.
  [[nodiscard]] double weighted_context(std::int64_t batch,
                                        std::span<const core::Tokens> contexts,
                                        Counting counting = Counting::kCounted) const;

  [[nodiscard]] bool has_tables() const { return tables_ != nullptr; }
  [[nodiscard]] const std::string& gemm_path() const;
  [[nodiscard]] const std::string& prefill_path() const;
  [[nodiscard]] const std::string& decode_path() const;
  [[nodiscard]] core::Warnings notes() const;
  [[nodiscard]] core::Warnings findings() const;
  [[nodiscard]] const MissCounts& misses() const { return misses_; }

 private:
  /// A decode table cut at one batch size: MFU at each of its contexts, before the rule for zeros.
  struct Slice {
    std::vector<double> mfu;
  };
  void count_outside(MissCounts::Kind kind, double away, std::int64_t count) const;
  void count_replaced(const tables::Lookup& found) const;
  [[nodiscard]] std::unique_ptr<const Slice> cut(std::int64_t batch) const;
  [[nodiscard]] const Slice& slice(std::int64_t batch) const;
  void index_contexts();
  /// How many contexts of the decode table are at most that long.
  [[nodiscard]] std::size_t ticks_up_to(std::int64_t context) const;

  std::shared_ptr<const tables::KernelTables> tables_;
  tables::AttentionChoice heads_;
  tables::DecodeChoice decode_;
  tables::LookupOptions prefill_options_;
  tables::LookupOptions decode_options_;
  double constant_prefill_ = 0.0;
  double constant_decode_ = 0.0;
  std::string network_heads_;
  std::vector<double> contexts_;  ///< The decode table's, as doubles.
  /// The decode table's contexts up to the start of each cell of 2^cell_bits_ tokens.
  std::vector<std::uint32_t> ticks_before_;
  int cell_bits_ = 0;
  std::unique_ptr<std::atomic<const Slice*>[]> slices_;
  MissCounts misses_;
};

}  // namespace ridgeline::latency::roofline
