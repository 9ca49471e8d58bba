#include "latency/roofline/mfu_source.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "latency/lookup_log.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/roofline/constants.hpp"
#include "latency/roofline/network.hpp"
#include "latency/roofline/switches.hpp"

namespace ridgeline::latency::roofline {
namespace {

measured::LookupMode mode_of(Lookup lookup) {
  switch (lookup) {
    case Lookup::kFloor:
      return measured::LookupMode::kFloor;
    case Lookup::kLog:
      return measured::LookupMode::kLog;
    case Lookup::kInterpolate:
    case Lookup::kConstant:
      break;
  }
  return measured::LookupMode::kInterpolate;
}

/// Batch sizes whose slice is remembered: as many as engines run.
constexpr std::int64_t kRememberedBatches = 2048;

std::int64_t whole(double value) {
  return static_cast<std::int64_t>(value);
}

/// How far outside an ascending axis a value lies; 0 inside.
template <class Axis>
double outside_by(const Axis& axis, std::int64_t value) {
  return static_cast<double>(
      std::max({std::int64_t{0}, axis.front() - value, value - axis.back()}));
}

void note_miss(LookupLog* log, Miss miss, double away, std::int64_t times = 1) {
  if (log != nullptr) {
    log->note(static_cast<std::size_t>(miss), away, times);
  }
}

void note_outside(LookupLog* log, Miss miss, double away, std::int64_t times = 1) {
  if (away > 0.0) {
    note_miss(log, miss, away, times);
  }
}

void note_replaced(LookupLog* log, const measured::Lookup& found) {
  if (found.outcome != measured::LookupOutcome::kFound) {
    note_miss(log, Miss::kReplaced, found.distance);
  }
}

}  // namespace

MfuSource::MfuSource(double mfu_prefill, double mfu_decode)
    : constant_prefill_(mfu_prefill), constant_decode_(mfu_decode) {}

MfuSource::~MfuSource() {
  for (std::int64_t batch = 0; slices_ != nullptr && batch <= kRememberedBatches; ++batch) {
    delete slices_[static_cast<std::size_t>(batch)].load();
  }
}

core::Result<std::unique_ptr<MfuSource>> MfuSource::from_tables(
    std::shared_ptr<const measured::KernelTables> tables,
    const Network& network,
    std::int64_t tensor_parallel_size,
    const Switches& switches,
    const Constants& constants) {
  const auto mode = mode_of(switches.lookup);
  const measured::HeadShape own{.heads = whole(network.heads),
                                .kv_heads = whole(network.kv_heads),
                                .head_dim = whole(network.head_dim)};
  auto heads = measured::choose_heads(*tables, own);
  if (!heads) {
    return core::fail(std::move(heads).error());
  }
  auto decode =
      measured::choose_decode(*tables, heads->prefill->shape(), tensor_parallel_size, mode);
  if (!decode) {
    return core::fail(std::move(decode).error());
  }
  auto source = std::make_unique<MfuSource>(0.0, 0.0);
  source->heads_ = *heads;
  source->decode_ = *decode;
  source->prefill_options_ = {
      .mode = mode, .zero = switches.zero_rows, .v1_mfu = constants.mfu_prefill};
  source->decode_options_ = {
      .mode = mode, .zero = switches.zero_rows, .v1_mfu = constants.mfu_decode};
  source->network_heads_ = measured::to_string(own);
  source->ranks_ = tensor_parallel_size;
  for (const std::int64_t context : decode->table->kv_lens()) {
    source->contexts_.push_back(static_cast<double>(context));
  }
  source->index_contexts();
  source->slices_ = std::make_unique<std::atomic<const Slice*>[]>(
      static_cast<std::size_t>(kRememberedBatches) + 1);
  source->tables_ = std::move(tables);
  return source;
}

measured::GemmTarget MfuSource::gemm_target(std::int64_t k, std::int64_t n) const {
  if (!has_tables()) {
    return {.k = k, .n = n};
  }
  return measured::find_gemm_column(tables_->gemm, k, n, decode_options_.mode);
}

measured::Lookup MfuSource::gemm(const measured::GemmTarget& target,
                                 std::int64_t m,
                                 bool prefill,
                                 LookupLog* log) const {
  if (!has_tables()) {
    return {.mfu = prefill ? constant_prefill_ : constant_decode_};
  }
  const measured::GemmTable& table = tables_->gemm;
  const auto found =
      measured::look_up_gemm(table, target, m, prefill ? prefill_options_ : decode_options_);
  if (log != nullptr) {
    const auto& by_m = table.columns()[target.column].by_m;
    const std::array<std::int64_t, 2> ends = {table.rows()[by_m.front()].m,
                                              table.rows()[by_m.back()].m};
    note_outside(log, Miss::kRows, outside_by(ends, m));
    note_replaced(log, found);
  }
  return found;
}

measured::Lookup MfuSource::prefill(std::int64_t bucket, LookupLog* log) const {
  if (!has_tables()) {
    return {.mfu = constant_prefill_};
  }
  const auto found = measured::look_up_prefill(*heads_.prefill, bucket, prefill_options_);
  if (log != nullptr) {
    note_outside(log, Miss::kSequence, found.outside ? found.distance : 0.0);
    note_replaced(log, found);
  }
  return found;
}

measured::Lookup MfuSource::decode(std::int64_t batch, std::int64_t context, LookupLog* log) const {
  if (!has_tables()) {
    return {.mfu = constant_decode_};
  }
  const measured::DecodeTable& table = *decode_.table;
  const auto found = measured::look_up_decode(table, batch, context, decode_options_);
  if (log != nullptr) {
    note_outside(log, Miss::kContext, outside_by(table.kv_lens(), context));
    note_outside(log, Miss::kBatch, outside_by(table.batch_sizes(), batch));
    note_replaced(log, found);
  }
  return found;
}

std::unique_ptr<const MfuSource::Slice> MfuSource::cut(std::int64_t batch) const {
  const measured::DecodeTable& table = *decode_.table;
  const auto batches = table.batch_sizes();
  const auto above = static_cast<std::size_t>(
      std::lower_bound(batches.begin(), batches.end(), batch) - batches.begin());
  const std::size_t high = std::min(above, batches.size() - 1);
  const bool between = above > 0 && above < batches.size() && batches[above] != batch;
  const std::size_t low = between ? above - 1 : high;
  const double share = between ? static_cast<double>(batch - batches[low]) /
                                     static_cast<double>(batches[high] - batches[low])
                               : 0.0;
  const auto mfu = [&](std::size_t i, std::size_t j) {
    const std::size_t row = table.cell(i, j);
    return row == measured::DecodeTable::kNoRow ? 0.0 : table.rows()[row].mfu;
  };
  auto slice = std::make_unique<Slice>();
  for (std::size_t j = 0; j < contexts_.size(); ++j) {
    // As look_up_decode: along the batch first.
    const double first = mfu(low, j);
    slice->mfu.push_back(between ? first + (mfu(high, j) - first) * share : first);
  }
  return slice;
}

const MfuSource::Slice& MfuSource::slice(std::int64_t batch) const {
  auto& place = slices_[static_cast<std::size_t>(batch)];
  const Slice* known = place.load(std::memory_order_acquire);
  if (known == nullptr) {
    auto fresh = cut(batch);
    // Another thread may have been faster: the slices are equal, one of them stays.
    if (place.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) {
      known = fresh.release();
    }
  }
  return *known;
}

void MfuSource::index_contexts() {
  constexpr std::int64_t kMostCells = 4096;
  const auto ticks = decode_.table->kv_lens();
  while ((ticks.back() >> cell_bits_) >= kMostCells) {
    ++cell_bits_;
  }
  for (std::int64_t cell = 0; cell <= ticks.back() >> cell_bits_; ++cell) {
    const std::int64_t start = cell << cell_bits_;
    ticks_before_.push_back(static_cast<std::uint32_t>(
        std::upper_bound(ticks.begin(), ticks.end(), start) - ticks.begin()));
  }
}

std::size_t MfuSource::ticks_up_to(std::int64_t context) const {
  const auto ticks = decode_.table->kv_lens();
  if (context >= ticks.back()) {
    return ticks.size();
  }
  std::size_t count = ticks_before_[static_cast<std::size_t>(context >> cell_bits_)];
  while (ticks[count] <= context) {
    ++count;
  }
  return count;
}

double MfuSource::weighted_context(std::int64_t batch,
                                   std::span<const core::Tokens> contexts,
                                   LookupLog* log) const {
  double sum = 0.0;
  if (!has_tables() || decode_options_.mode != measured::LookupMode::kInterpolate ||
      batch > kRememberedBatches) {
    for (const core::Tokens context : contexts) {
      sum += static_cast<double>(context.value()) * decode(batch, context.value(), log).mfu;
    }
    return sum;
  }
  const std::vector<double>& mfu = slice(batch).mfu;
  const std::size_t last = contexts_.size() - 1;
  std::int64_t outside = 0;
  double farthest = 0.0;
  for (const core::Tokens tokens : contexts) {
    const auto context = static_cast<double>(tokens.value());
    const std::size_t above = ticks_up_to(tokens.value());
    double value = 0.0;
    if (above == 0 || above > last) {
      const double away = std::max(contexts_.front() - context, context - contexts_.back());
      outside += away > 0.0 ? 1 : 0;
      farthest = std::max(farthest, away);
      value = mfu[above == 0 ? 0 : last];
    } else {
      const double low = contexts_[above - 1];
      const double share = (context - low) / (contexts_[above] - low);
      value = mfu[above - 1] + (mfu[above] - mfu[above - 1]) * share;
    }
    if (value < measured::kZeroMfu) {
      const auto found =
          measured::look_up_decode(*decode_.table, batch, tokens.value(), decode_options_);
      value = found.mfu;
      if (log != nullptr) {
        note_replaced(log, found);
      }
    }
    sum += context * value;
  }
  if (log != nullptr) {
    if (outside > 0) {
      note_miss(log, Miss::kContext, farthest, outside);
    }
    note_outside(
        log, Miss::kBatch, outside_by(decode_.table->batch_sizes(), batch), std::ssize(contexts));
  }
  return sum;
}

const std::string& MfuSource::gemm_path() const {
  return tables_->gemm.path();
}

const std::string& MfuSource::prefill_path() const {
  return heads_.prefill->path();
}

const std::string& MfuSource::decode_path() const {
  return decode_.table->path();
}

core::Warnings MfuSource::notes() const {
  core::Warnings notes;
  if (!has_tables()) {
    return notes;
  }
  if (heads_.distance > 0.0) {
    notes.push_back(
        {.code = "W-table-heads",
         .message = fmt::format("no attention table of {} heads: {} is the nearest, {:.3g} away "
                                "({}/{}.csv is missing, {} stands in)",
                                network_heads_,
                                measured::to_string(heads_.prefill->shape()),
                                heads_.distance,
                                tables_->prefill_folder,
                                network_heads_,
                                heads_.prefill->path()),
         .hint = "ridgeline kernels make writes tables of any heads"});
  }
  if (decode_.tp_distance > 0) {
    notes.push_back(
        {.code = "W-table-tp",
         .message = fmt::format("no decode table of this tensor_parallel_size: that of {} is used "
                                "({}/{}-tp{}.csv is missing, {} stands in)",
                                decode_.table->key().tensor_parallel_size,
                                tables_->decode_folder,
                                measured::to_string(decode_.table->key().shape),
                                ranks_,
                                decode_.table->path()),
         .hint = "ridgeline kernels make writes tables of any size"});
  }
  return notes;
}

core::Warnings MfuSource::findings(const LookupLog& log) {
  struct Text {
    Miss kind;
    const char* code;
    const char* what;
    const char* unit;
  };
  static constexpr Text kTexts[] = {
      {Miss::kContext, "W-table-context", "contexts outside the decode table", "tokens"},
      {Miss::kBatch, "W-table-batch", "batches outside the decode table", "sequences"},
      {Miss::kSequence, "W-table-sequence", "prompt lengths outside the prefill table", "tokens"},
      {Miss::kRows, "W-table-rows", "GEMM sizes outside the table", "rows"},
      {Miss::kReplaced,
       "W-table-zero",
       "look-ups found a zero or a hole, and took another row",
       "in the table's units"},
  };
  core::Warnings warnings;
  for (const Text& text : kTexts) {
    if (const auto missed = log.at(static_cast<std::size_t>(text.kind)); missed.count > 0) {
      warnings.push_back(
          {.code = text.code,
           .message = fmt::format(
               "{} {}, at most {:.6g} {} away", missed.count, text.what, missed.most, text.unit),
           .hint = "--latency kernel has no table to leave"});
    }
  }
  return warnings;
}

}  // namespace ridgeline::latency::roofline
