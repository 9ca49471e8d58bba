#include "latency/roofline/table_mfu.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
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
namespace {

constexpr double kTeraPerUnit = 1e12;
constexpr double kFlopsPerMultiplyAdd = 2.0;
/// QK^T and AV, a multiplication and an addition each, per query head, pair and head dimension.
constexpr double kAttentionFlops = 4.0;
/// The softmax's, per query head and pair.
constexpr double kSoftmaxFlops = 4.0;
/// Rows whose GEMMs are remembered: steps of vLLM's largest default budget.
constexpr std::int64_t kRememberedRows = 16384;
// V2's first snapshot made V1's prefill overheads from the one per layer.
constexpr double kPrefillOverheadRatio = 5.0;
constexpr double kMixedOverheadRatio = 0.5;
constexpr double kAllReducesOfALayer = 2.0;
// Bandwidth::kHybrid, as V2's review proposed it: shares of the peak, and the requests from which
// the KV cache is read at its best.
constexpr double kHybridWeights = 0.9;
constexpr double kHybridKvLeast = 0.4;
constexpr double kHybridKvGrowth = 0.3;
constexpr double kHybridFullBatch = 64.0;
/// Longest contexts of DecodeAttention::kRangeCount's groups; the last group has no end.
constexpr std::array<std::int64_t, 3> kRangeEnds = {2048, 8192, 32768};

double real_of(std::int64_t count) {
  return static_cast<double>(count);
}

/// A factor that is not stated is none.
double factor_or_one(double factor) {
  return factor == 0.0 ? 1.0 : factor;
}

std::int64_t bucket_of(std::int64_t context, std::int64_t smallest) {
  std::int64_t bucket = smallest;
  while (bucket < context && bucket < kMaxBucket) {
    bucket *= 2;
  }
  return bucket;
}

}  // namespace

class TableMfuRoofline::Memo {
 public:
  Memo() = default;
  Memo(const Memo&) = delete;
  Memo& operator=(const Memo&) = delete;
  Memo(Memo&&) = delete;
  Memo& operator=(Memo&&) = delete;
  ~Memo() {
    for (auto& place : pages_) {
      const std::unique_ptr<Page> page(place.load());
      for (std::size_t i = 0; page != nullptr && i < kRowsOfPage; ++i) {
        delete (*page)[i].load();
      }
    }
  }

  /// `compute(rows)`, once for each number of rows up to kRememberedRows.
  template <class Compute>
  const GemmSum& get(std::int64_t rows, const Compute& compute) {
    const auto row = static_cast<std::size_t>(rows);
    Page& page = keep(pages_[row / kRowsOfPage], [] { return std::make_unique<Page>(); });
    return keep(page[row % kRowsOfPage],
                [&] { return std::make_unique<const GemmSum>(compute()); });
  }

 private:
  /// Made where rows of theirs are first asked for: short runs see few of them.
  static constexpr std::size_t kRowsOfPage = 128;
  using Page = std::array<std::atomic<const GemmSum*>, kRowsOfPage>;

  /// What stands in a place, made where nothing does. Another thread may be faster: one of the two
  /// equal things stays.
  template <class Thing, class Make>
  static Thing& keep(std::atomic<Thing*>& place, const Make& make) {
    Thing* known = place.load(std::memory_order_acquire);
    if (known == nullptr) [[unlikely]] {
      auto fresh = make();
      if (place.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) {
        known = fresh.release();
      }
    }
    return *known;
  }

  std::array<std::atomic<Page*>, kRememberedRows / kRowsOfPage + 1> pages_{};
};

TableMfuRoofline::TableMfuRoofline(const Network& network,
                                   const Constants& constants,
                                   const Switches& switches,
                                   std::int64_t tensor_parallel_size,
                                   double ridge_point,
                                   std::unique_ptr<MfuSource> source)
    : network_(network),
      constants_(constants),
      switches_(switches),
      ranks_(tensor_parallel_size),
      share_(1.0 / real_of(tensor_parallel_size)),
      peak_(constants.tflops_peak * kTeraPerUnit),
      ridge_point_(ridge_point),
      flops_per_pair_(
          (kAttentionFlops * network.head_dim + (switches.softmax ? kSoftmaxFlops : 0.0)) *
          network.heads * network.layers),
      source_(std::move(source)),
      memo_{std::make_unique<Memo>(), std::make_unique<Memo>()} {
  const auto add = [&](const char* name, double k, double n) {
    GemmShape shape{.name = name,
                    .k = static_cast<std::int64_t>(k),
                    .n = static_cast<std::int64_t>(n),
                    .target = {}};
    shape.target = source_->gemm_target(shape.k, shape.n);
    return shape;
  };
  const double d = network.hidden;
  double query = d;
  double kv = network.kv_width();
  double width = network.width;
  const bool shard = switches.tensor_parallel == TensorParallel::kShard;
  if (shard) {
    const auto whole = [&](double count) {
      return real_of(static_cast<std::int64_t>(count) / ranks_);
    };
    query = whole(network.heads) * network.head_dim;
    kv = std::max(1.0, whole(network.kv_heads)) * network.head_dim;
    width = whole(network.width);
  }
  if (shard && switches.fuse_qkv) {
    shapes_.push_back(add("qkv_proj", d, query + 2.0 * kv));
  } else {
    shapes_.push_back(add("q_proj", d, query));
    shapes_.push_back(add("k_proj", d, kv));
    shapes_.push_back(add("v_proj", d, kv));
  }
  shapes_.push_back(add("o_proj", query, d));
  shapes_.push_back(add("gate_proj", d, width));
  shapes_.push_back(add("up_proj", d, width));
  shapes_.push_back(add("down_proj", width, d));
  lm_head_ = add("lm_head", d, network.vocab);
  const double peak_bandwidth = constants.bandwidth_peak_tbs * kTeraPerUnit;
  for (const bool prefill : {false, true}) {
    const auto i = static_cast<std::size_t>(prefill);
    const double phase =
        prefill ? constants.prefill_bandwidth_factor : constants.decode_bandwidth_factor;
    double weight = constants.bandwidth_efficiency;
    double cache = constants.bandwidth_efficiency;
    if (switches.bandwidth == Bandwidth::kPerPhase) {
      weight = cache = phase;
    } else if (switches.bandwidth == Bandwidth::kSplit) {
      // The one factor stands for each that is not given.
      for (const auto& [own, share] : {std::pair(constants.weight_bandwidth_factor, &weight),
                                       std::pair(constants.kv_bandwidth_factor, &cache)}) {
        *share = own > 0.0 ? own : *share;
      }
    } else if (switches.bandwidth == Bandwidth::kHybrid) {
      weight = kHybridWeights;
      cache = 1.0;  // The share follows the requests.
    }
    weight_bandwidth_[i] = peak_bandwidth * factor_or_one(weight);
    kv_bandwidth_[i] = peak_bandwidth * factor_or_one(cache);
  }
}

TableMfuRoofline::~TableMfuRoofline() = default;

double TableMfuRoofline::weight_bandwidth(bool prefill) const {
  return weight_bandwidth_[static_cast<std::size_t>(prefill)];
}

double TableMfuRoofline::kv_bandwidth(bool prefill, std::int64_t requests) const {
  const double bandwidth = kv_bandwidth_[static_cast<std::size_t>(prefill)];
  if (switches_.bandwidth != Bandwidth::kHybrid) {
    return bandwidth;
  }
  const double full = std::min(real_of(requests) / kHybridFullBatch, 1.0);
  return bandwidth * (kHybridKvLeast + kHybridKvGrowth * full);
}

double TableMfuRoofline::attention_flops(double pairs) const {
  return flops_per_pair_ * pairs;
}

GemmTime TableMfuRoofline::gemm(const GemmShape& shape,
                                std::int64_t rows,
                                bool prefill,
                                LookupLog* log) const {
  const double m = real_of(rows);
  const double k = real_of(shape.k);
  const double n = real_of(shape.n);
  const bool is_last = &shape == &lm_head_;
  // lm_head is cut over the ranks in either way of counting them.
  const bool divide = is_last || switches_.tensor_parallel == TensorParallel::kDivide;
  const double calls = is_last ? 1.0 : network_.layers;
  const double scale = calls * (divide ? share_ : 1.0);
  GemmTime time;
  time.lookup = source_->gemm(shape.target, rows, prefill, log);
  time.by_mfu = kFlopsPerMultiplyAdd * m * k * n / (peak_ * time.lookup.mfu) * scale;
  if (switches_.gemm_floor || is_last) {
    time.by_bytes = k * n * network_.bytes / weight_bandwidth(prefill) * scale;
  }
  time.seconds = std::max(time.by_mfu, time.by_bytes);
  time.work = {kFlopsPerMultiplyAdd * m * k * n * scale,
               network_.bytes * (k * n + m * k + m * n) * scale};
  time.compute_bound = right_of_ridge(time.work);
  return time;
}

TableMfuRoofline::GemmSum TableMfuRoofline::compute_gemms(std::int64_t rows, bool prefill) const {
  GemmSum sum;
  LookupLog log;
  for (const GemmShape& shape : shapes_) {
    const GemmTime time = gemm(shape, rows, prefill, &log);
    sum.seconds += time.seconds;
    sum.compute_seconds += time.compute_bound ? time.seconds : 0.0;
    sum.work.flops += time.work.flops;
    sum.work.bytes += time.work.bytes;
  }
  sum.outside = log.at(static_cast<std::size_t>(Miss::kRows));
  sum.replaced = log.at(static_cast<std::size_t>(Miss::kReplaced));
  return sum;
}

TableMfuRoofline::GemmSum TableMfuRoofline::gemms(std::int64_t rows,
                                                  bool prefill,
                                                  LookupLog* log) const {
  if (rows == 0) {
    return {};
  }
  const auto compute = [&] { return compute_gemms(rows, prefill); };
  const GemmSum sum = rows > kRememberedRows
                          ? compute()
                          : memo_[static_cast<std::size_t>(prefill)]->get(rows, compute);
  const auto note = [log](Miss miss, const LookupLog::Entry& missed) {
    if (missed.count > 0) {
      log->note(static_cast<std::size_t>(miss), missed.most, missed.count);
    }
  };
  if (log != nullptr) {
    note(Miss::kRows, sum.outside);
    note(Miss::kReplaced, sum.replaced);
  }
  return sum;
}

void TableMfuRoofline::add_gemms(
    PhaseCost& phase, std::int64_t rows, std::int64_t sampled, bool prefill, LookupLog* log) const {
  const GemmSum sum = gemms(rows, prefill, log);
  phase.gemm += sum.seconds;
  phase.gemm_compute += sum.compute_seconds;
  phase.gemm_work.flops += sum.work.flops;
  if (switches_.lm_head && sampled > 0) {
    const GemmTime last = gemm(lm_head_, sampled, prefill, log);
    phase.gemm += last.seconds;
    phase.gemm_compute += last.compute_bound ? last.seconds : 0.0;
    phase.gemm_work.flops += last.work.flops;
  }
}

std::vector<TableMfuRoofline::Bucket> TableMfuRoofline::buckets(
    const domain::StepBatch& batch) const {
  std::vector<Bucket> found;
  for (const domain::PrefillChunk& chunk : batch.prefills) {
    const std::int64_t fresh = chunk.new_tokens.value();
    const std::int64_t context = chunk.past.value() + fresh;
    const std::int64_t length = bucket_of(context, switches_.min_bucket);
    auto place = std::ranges::lower_bound(found, length, {}, &Bucket::length);
    if (place == found.end() || place->length != length) {
      place = found.insert(place, {.length = length});
    }
    ++place->requests;
    place->tokens += fresh;
    place->kv_tokens += real_of(context);
    const std::int64_t counted = switches_.attention_length == AttentionLength::kHybrid
                                     ? std::max(context, switches_.min_bucket)
                                     : context;
    place->pairs += real_of(fresh) * real_of(counted);
  }
  for (Bucket& bucket : found) {
    bucket.rows = switches_.prefill_m == PrefillRows::kTokens ? bucket.tokens : bucket.requests;
    if (switches_.attention_length == AttentionLength::kBucket) {
      // As published: a query per row of the GEMMs, over the whole bucket.
      bucket.pairs = real_of(bucket.rows) * real_of(bucket.length);
    }
  }
  return found;
}

double TableMfuRoofline::per_component_seconds(double attention,
                                               double kv_bytes,
                                               bool prefill,
                                               std::int64_t requests) const {
  return switches_.per_component
             ? std::max(attention, kv_bytes * share_ / kv_bandwidth(prefill, requests))
             : attention;
}

TableMfuRoofline::AttentionTime TableMfuRoofline::prefill_attention(const Bucket& bucket,
                                                                    LookupLog* log) const {
  AttentionTime time;
  time.lookup = source_->prefill(bucket.length, log);
  const double flops = attention_flops(bucket.pairs);
  time.seconds = flops / switches_.prefill_attention_divisor / (peak_ * time.lookup.mfu) * share_;
  const double kv_bytes = network_.kv_bytes_per_token() * real_of(bucket.length) *
                          real_of(bucket.requests) * switches_.byte_factors.prefill_kv;
  time.seconds = per_component_seconds(time.seconds, kv_bytes, true, bucket.requests);
  // Keys and values once, queries and outputs per new token.
  const double query_bytes = 2.0 * network_.heads * network_.head_dim * network_.bytes *
                             network_.layers * real_of(bucket.tokens);
  time.work = {flops * share_,
               (network_.kv_bytes_per_token() * bucket.kv_tokens + query_bytes) * share_};
  time.compute_bound = right_of_ridge(time.work);
  return time;
}

double TableMfuRoofline::by_range(const domain::StepBatch& batch, LookupLog* log) const {
  struct Range {
    std::int64_t bucket = 0;
    std::int64_t longest = 0;
    double context = 0.0;
    std::int64_t sequences = 0;
  };
  const bool own_count = switches_.decode_attention == DecodeAttention::kRangeCount;
  std::vector<Range> ranges;
  for (const core::Tokens tokens : batch.decode_lengths) {
    const std::int64_t bucket =
        own_count ? std::ranges::lower_bound(kRangeEnds, tokens.value()) - kRangeEnds.begin()
                  : bucket_of(tokens.value(), switches_.min_bucket);
    auto place = std::ranges::lower_bound(ranges, bucket, {}, &Range::bucket);
    if (place == ranges.end() || place->bucket != bucket) {
      place = ranges.insert(place, {.bucket = bucket});
    }
    place->longest = std::max(place->longest, tokens.value());
    place->context += real_of(tokens.value());
    ++place->sequences;
  }
  double seconds = 0.0;
  for (const Range& range : ranges) {
    const std::int64_t looked_up = own_count ? range.sequences : batch.num_decodes;
    const double mfu = source_->decode(looked_up, range.longest, log).mfu;
    seconds += attention_flops(range.context) / (peak_ * mfu);
  }
  return seconds;
}

double TableMfuRoofline::decode_seconds(const domain::StepBatch& batch,
                                        measured::Lookup* lookup,
                                        LookupLog* log) const {
  const double context = real_of(batch.decode_context.value());
  if (switches_.decode_attention == DecodeAttention::kWeighted) {
    const double weighted = source_->weighted_context(batch.num_decodes, batch.decode_lengths, log);
    if (context == 0.0 || weighted == 0.0) {
      return 0.0;
    }
    lookup->mfu = weighted / context;
    return attention_flops(context) / (peak_ * lookup->mfu);
  }
  if (switches_.decode_attention == DecodeAttention::kRange ||
      switches_.decode_attention == DecodeAttention::kRangeCount) {
    return by_range(batch, log);
  }
  if (switches_.decode_attention == DecodeAttention::kPerRequest) {
    double seconds = 0.0;
    for (const core::Tokens tokens : batch.decode_lengths) {
      const double mfu = source_->decode(1, tokens.value(), log).mfu;
      seconds += attention_flops(real_of(tokens.value())) / (peak_ * mfu);
    }
    return seconds;
  }
  const core::Tokens longest = *std::ranges::max_element(batch.decode_lengths);
  *lookup = source_->decode(batch.num_decodes, longest.value(), log);
  return attention_flops(charged_context(batch, longest)) / (peak_ * lookup->mfu);
}

double TableMfuRoofline::charged_context(const domain::StepBatch& batch,
                                         core::Tokens longest) const {
  return switches_.decode_attention == DecodeAttention::kMax
             ? real_of(batch.num_decodes) * real_of(longest.value())
             : real_of(batch.decode_context.value());
}

TableMfuRoofline::AttentionTime TableMfuRoofline::decode_attention(const domain::StepBatch& batch,
                                                                   LookupLog* log) const {
  AttentionTime time;
  const double context = real_of(batch.decode_context.value());
  time.seconds = decode_seconds(batch, &time.lookup, log) * share_;
  const double kv_bytes = network_.kv_bytes_per_token() * context;
  time.seconds = per_component_seconds(
      time.seconds, kv_bytes * switches_.byte_factors.decode_kv, false, batch.num_decodes);
  time.work = {attention_flops(context) * share_, kv_bytes * share_};
  time.compute_bound = right_of_ridge(time.work);
  return time;
}

PhaseCost TableMfuRoofline::prefill_phase(const domain::StepBatch& batch,
                                          bool mixed,
                                          LookupLog* log) const {
  PhaseCost phase;
  phase.present = true;
  std::int64_t sampled = 0;
  double dynamic = 0.0;
  for (const domain::PrefillChunk& chunk : batch.prefills) {
    sampled += chunk.samples ? 1 : 0;
    dynamic += dynamic_bytes(network_,
                             real_of(chunk.past.value()),
                             real_of(chunk.new_tokens.value()),
                             chunk.new_tokens.value() == 1,
                             switches_.byte_factors);
  }
  for (const Bucket& bucket : buckets(batch)) {
    add_gemms(phase, bucket.rows, 0, true, log);
    const AttentionTime attention = prefill_attention(bucket, log);
    phase.attention += attention.seconds;
    phase.attention_compute += attention.compute_bound ? attention.seconds : 0.0;
    phase.attention_work.flops += attention.work.flops;
  }
  add_gemms(phase, 0, sampled, true, log);
  const double weights =
      network_.weight_bytes().value() +
      (switches_.lm_head ? network_.hidden * network_.vocab * network_.bytes : 0.0);
  phase.gemm_work.bytes = weights * share_;
  phase.attention_work.bytes = switches_.per_component ? 0.0 : dynamic * share_;
  const bool reads_weights = !(mixed && switches_.weights_once);
  phase.weights = reads_weights ? phase.gemm_work.bytes / weight_bandwidth(true) : 0.0;
  phase.dynamic = phase.attention_work.bytes / kv_bandwidth(true, std::ssize(batch.prefills));
  return phase;
}

PhaseCost TableMfuRoofline::decode_phase(const domain::StepBatch& batch, LookupLog* log) const {
  PhaseCost phase;
  phase.present = true;
  add_gemms(phase, batch.num_decodes, batch.num_decodes, false, log);
  const AttentionTime attention = decode_attention(batch, log);
  phase.attention = attention.seconds;
  phase.attention_compute = attention.compute_bound ? attention.seconds : 0.0;
  const double dynamic = dynamic_bytes(network_,
                                       real_of(batch.decode_context.value()),
                                       real_of(batch.num_decodes),
                                       true,
                                       switches_.byte_factors);
  const double weights =
      network_.weight_bytes().value() +
      (switches_.lm_head ? network_.hidden * network_.vocab * network_.bytes : 0.0);
  phase.attention_work.flops = attention.work.flops;
  phase.gemm_work.bytes = weights * share_;
  phase.attention_work.bytes = switches_.per_component ? 0.0 : dynamic * share_;
  phase.weights = phase.gemm_work.bytes / weight_bandwidth(false);
  phase.dynamic = phase.attention_work.bytes / kv_bandwidth(false, batch.num_decodes);
  return phase;
}

PhaseCost TableMfuRoofline::joint_phase(const StepCost& step,
                                        const BatchCounts& counts,
                                        LookupLog* log) const {
  PhaseCost joint;
  joint.present = true;
  // One GEMM over a row per request of either phase, and what each phase has beyond its own.
  add_gemms(joint, counts.prefills + counts.decodes, 0, true, log);
  const double prefill_rest =
      std::max(0.0, step.prefill.compute() - gemms(counts.prefills, true, nullptr).seconds);
  const double decode_rest =
      std::max(0.0, step.decode.compute() - gemms(counts.decodes, false, nullptr).seconds);
  joint.attention = prefill_rest + decode_rest;
  joint.attention_compute = (step.prefill.attention_compute > 0.0 ? prefill_rest : 0.0) +
                            (step.decode.attention_compute > 0.0 ? decode_rest : 0.0);
  joint.weights = step.decode.weights;
  joint.dynamic = step.prefill.dynamic + step.decode.dynamic;
  joint.gemm_work.bytes = step.decode.gemm_work.bytes;
  joint.attention_work = {step.prefill.attention_work.flops + step.decode.attention_work.flops,
                          step.prefill.attention_work.bytes + step.decode.attention_work.bytes};
  return joint;
}

double TableMfuRoofline::overhead_us(const BatchCounts& counts) const {
  const double per_layer = constants_.per_layer_overhead_us * network_.layers * share_;
  switch (switches_.overhead) {
    case Overhead::kNone:
      return 0.0;
    case Overhead::kPerLayer:
      return per_layer;
    case Overhead::kLegacy:
      break;
  }
  LegacyOverhead legacy{
      constants_.step_overhead_us, constants_.prefill_overhead_us, constants_.mixed_overhead_us};
  if (per_layer > 0.0) {
    legacy.base_us = per_layer;
    legacy.prefill_us = kPrefillOverheadRatio * per_layer;
    legacy.mixed_us = legacy.prefill_us * kMixedOverheadRatio;
  }
  return legacy_overhead_us(legacy, counts.prefills, counts.decodes);
}

StepCost TableMfuRoofline::cost(const domain::StepBatch& batch, LookupLog* log) const {
  const BatchCounts counts = counts_of(batch);
  const bool mixed = counts.prefills > 0 && counts.decodes > 0;
  StepCost step;
  if (counts.prefills > 0) {
    step.prefill = prefill_phase(batch, mixed, log);
  }
  if (counts.decodes > 0) {
    step.decode = decode_phase(batch, log);
  }
  if (mixed) {
    const auto all = real_of(counts.prefill_tokens + counts.decodes);
    switch (switches_.mixed) {
      case Mixing::kDefault:
        set_default_shares(step, counts.prefill_tokens, counts.decodes);
        break;
      case Mixing::kSmooth:
        step.prefill.share = real_of(counts.prefill_tokens) / all;
        step.decode.share = real_of(counts.decodes) / all;
        break;
      case Mixing::kAdditive:
        step.joint = joint_phase(step, counts, log);
        step.prefill.share = step.decode.share = 0.0;
        break;
      case Mixing::kMax: {
        const bool prefill_wins = step.prefill.time() >= step.decode.time();
        step.prefill.share = prefill_wins ? 1.0 : 0.0;
        step.decode.share = prefill_wins ? 0.0 : 1.0;
        break;
      }
    }
  }
  step.seconds = step.prefill.share * step.prefill.time() + step.decode.share * step.decode.time() +
                 step.joint.time();
  step.overhead_us = overhead_us(counts);
  if (switches_.overhead == Overhead::kLegacy && ranks_ > 1) {
    step.all_reduce_us = network_.layers * kAllReducesOfALayer * constants_.all_reduce_us;
  }
  finish(step, switches_.minimum_us);
  return step;
}

}  // namespace ridgeline::latency::roofline
