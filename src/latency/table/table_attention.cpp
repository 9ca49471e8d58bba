#include "latency/table/table_attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/math.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/plan.hpp"
#include "latency/measured/measured_kernels.hpp"
#include "latency/measured/surfaces.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::table {
namespace {

/// Beyond every time that is asked for: it keeps sums in range.
constexpr core::Seconds kLongestCall(10'000.0);

double real_rows(std::int64_t count) {
  return static_cast<double>(count);
}

bool is_8bit(model::DType type) {
  return model::bytes_per_element(type) == 1.0;
}

double table_kv_bytes(const measured::HeadShape& shape, bool kv_8bit) {
  constexpr double kKeysAndValues = 2.0;
  return real_rows(shape.kv_heads) * real_rows(shape.head_dim) * kKeysAndValues *
         (kv_8bit ? 1.0 : 2.0);
}

/// How many times larger the larger of two is, as a logarithm.
double apart(double a, double b) {
  return std::abs(core::log(a / b));
}

}  // namespace

AttentionTables choose_tables(const measured::MeasuredKernels& measured,
                              const model::Attention& shape) {
  AttentionTables chosen;
  const bool kv_8bit = is_8bit(shape.kv);
  const double bytes = kernel::kv_bytes(shape).value();
  const auto decode_distance = [&](const measured::MeasuredDecode& table) {
    return std::tuple(table.kv_8bit != kv_8bit,
                      apart(table_kv_bytes(table.shape, table.kv_8bit), bytes),
                      apart(real_rows(table.shape.heads), real_rows(shape.heads)));
  };
  for (const measured::MeasuredDecode& table : measured.decodes) {
    if (chosen.decode == nullptr || decode_distance(table) < decode_distance(*chosen.decode)) {
      chosen.decode = &table;
    }
  }
  const auto prefill_distance = [&](const measured::MeasuredPrefill& table) {
    // Calls over several prompts at once say nothing of one.
    return std::tuple(table.prompts != 1,
                      std::abs(table.shape.head_dim - shape.head_dim),
                      table.kv_8bit != kv_8bit);
  };
  const auto best = std::ranges::min_element(measured.prefills, {}, prefill_distance);
  RIDGELINE_CHECK(chosen.decode != nullptr && best != measured.prefills.end(),
                  "tables of both kinds of attention");
  std::map<std::int64_t, const measured::MeasuredPrefill*> by_heads;
  for (const measured::MeasuredPrefill& table : measured.prefills) {
    if (prefill_distance(table) != prefill_distance(*best)) {
      continue;
    }
    const auto kv_apart = [&](const measured::MeasuredPrefill& other) {
      return apart(real_rows(other.shape.kv_heads), real_rows(shape.kv_heads));
    };
    const auto [at, is_new] = by_heads.try_emplace(table.shape.heads, &table);
    if (!is_new && kv_apart(table) < kv_apart(*at->second)) {
      at->second = &table;
    }
  }
  for (const auto& [heads, table] : by_heads) {
    chosen.prefill.push_back(table);
  }
  return chosen;
}

TableAttention::TableAttention(const AttentionTables& chosen,
                               const model::Attention& shape,
                               std::int64_t calls,
                               core::Tokens short_chunk,
                               core::BytesPerSecond kv_bandwidth)
    : surface_(*chosen.decode),
      curve_(measured::at_heads(chosen.prefill, shape.heads)),
      decode_source_(chosen.decode->source),
      calls_(calls),
      short_chunk_(short_chunk),
      kv_token_(kernel::kv_bytes(shape) / kv_bandwidth) {
  const double scale = table_kv_bytes(chosen.decode->shape, chosen.decode->kv_8bit) /
                       kernel::kv_bytes(shape).value();
  for (const double kv_len : surface_.kv_ticks()) {
    ticks_.push_back(kv_len * scale);
  }
  for (const auto* table : chosen.prefill) {
    if (table->shape.heads == shape.heads || chosen.prefill.size() == 1) {
      prefill_source_ = table->source;
    }
  }
  if (prefill_source_.empty()) {
    prefill_source_ =
        fmt::format("{} tables from {} on", chosen.prefill.size(), chosen.prefill.front()->source);
  }
}

/// The first context sum that lies at or beyond a tick: each sequence also reads the token that it
/// adds.
std::int64_t TableAttention::knot(std::int64_t sequences, std::size_t tick) const {
  return static_cast<std::int64_t>(std::ceil(ticks_[tick] * real_rows(sequences))) - sequences;
}

core::Duration TableAttention::at_knot(const measured::DecodeSurface::Place& place,
                                       std::size_t tick) const {
  const core::Seconds time = core::microseconds(surface_.us(place, tick)) * real_rows(calls_);
  return core::Duration::saturating(std::min(time, kLongestCall));
}

kernel::MeasuredAttention::Piece TableAttention::decode(std::int64_t sequences,
                                                        std::int64_t context) const {
  // A whole sum has reached a knot, a tick rounded up, where it has reached the tick.
  const double count = real_rows(sequences);
  const double sum = real_rows(context + sequences);
  std::size_t low = 0;
  std::size_t high = ticks_.size() - 1;
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (ticks_[middle] * count <= sum ? low : high) = middle;
  }
  const auto place = surface_.place(sequences);
  const std::int64_t start = knot(sequences, low);
  const std::int64_t end = knot(sequences, high);
  const core::Duration at_end = at_knot(place, high);
  if (context >= end) {
    return {.base = at_end, .slope = {}, .lowest = end, .highest = kernel::kMaxContext};
  }
  const core::Duration at_start = at_knot(place, low);
  // Rounded down: the piece ends no higher than the next one begins.
  const core::Duration slope =
      core::Duration::ticks((at_end - at_start).count() / std::max<std::int64_t>(1, end - start));
  return {.base = at_start - slope * start,
          .slope = slope,
          .lowest = std::max<std::int64_t>(0, start),
          .highest = std::min(end - 1, kernel::kMaxContext)};
}

core::Seconds TableAttention::prefill(std::span<const domain::PrefillChunk> chunks) const {
  const double alone = curve_.us(0.0);
  double us = alone;
  std::int64_t kv_tokens = 0;
  std::int64_t sequences = 0;
  std::int64_t context = 0;
  for (const domain::PrefillChunk& chunk : chunks) {
    if (chunk.new_tokens <= short_chunk_) {
      continue;
    }
    const std::int64_t past = chunk.past.value();
    const std::int64_t tokens = chunk.new_tokens.value();
    us += std::max(0.0, curve_.chunk_us(real_rows(past), real_rows(tokens)) - alone);
    kv_tokens += past + tokens;
    ++sequences;
    context += past;
  }
  core::Seconds least = kv_token_ * real_rows(kv_tokens);
  if (sequences > 0) {
    // Shorter chunks are the decode kernel's: no chunk is cheaper than those.
    const std::int64_t sum = std::min(context, kernel::kMaxContext);
    const Piece piece = decode(sequences, sum);
    least = std::max(
        least, core::Seconds((piece.base + piece.slope * sum).to_seconds() / real_rows(calls_)));
  }
  return std::min(std::max(core::microseconds(us), least), kLongestCall);
}

}  // namespace ridgeline::latency::table
