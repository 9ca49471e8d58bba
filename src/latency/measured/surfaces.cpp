#include "latency/measured/surfaces.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/math.hpp"
#include "latency/measured/isotonic.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/measured_kernels.hpp"

namespace ridgeline::latency::measured {
namespace {

/// Beyond every shape that is asked for: 2^31 rows, columns, sequences or tokens.
constexpr double kFar = 2147483648.0;
/// What a query costs before its first key, in keys: the prefill-attention fit over all GPUs
/// (data/latency/kernel.yaml, the generic column).
constexpr double kStartupKeys = 401.0;
/// Rows this near the fastest show the launch: some 22.5 us around a Python wrapper, whatever the
/// work (InferSim's benchmark of decode attention).
constexpr double kLaunchBound = 1.10;
constexpr double kSurfaceHole = std::numeric_limits<double>::quiet_NaN();

using Axis = std::vector<double>;

using core::real;

double pairs_of(double seq_len) {
  return seq_len * (seq_len / 2.0 + kStartupKeys);
}

void sort_unique(Axis& axis) {
  std::ranges::sort(axis);
  axis.erase(std::unique(axis.begin(), axis.end()), axis.end());
}

std::size_t tick_of(const Axis& axis, double value) {
  return static_cast<std::size_t>(std::ranges::lower_bound(axis, value) - axis.begin());
}

template <class Points>
double fastest(const Points& points) {
  return std::ranges::min_element(points, {}, [](const auto& point) { return point.us; })->us;
}

/// Measured cells only; the axes' ends are there as ticks.
MonotoneGrid gemm_grid(const MeasuredGemm& measured,
                       const GemmSurface::Factor& factor,
                       bool with_ends) {
  std::vector<Axis> axes(3);
  for (const GemmPoint& point : measured.points) {
    axes[0].push_back(real(point.m));
    axes[1].push_back(real(point.k));
    axes[2].push_back(real(point.n));
  }
  if (with_ends) {
    axes[0].push_back(kFar);
    for (const std::size_t axis : {1U, 2U}) {
      axes[axis].push_back(0.0);
      axes[axis].push_back(kFar);
    }
  }
  std::ranges::for_each(axes, sort_unique);
  std::vector<double> values(axes[0].size() * axes[1].size() * axes[2].size(), kSurfaceHole);
  for (const GemmPoint& point : measured.points) {
    const std::size_t cell =
        (tick_of(axes[0], real(point.m)) * axes[1].size() + tick_of(axes[1], real(point.k))) *
            axes[2].size() +
        tick_of(axes[2], real(point.n));
    values[cell] = point.us * factor(point);
  }
  return {std::move(axes), std::move(values)};
}

/// What a line through two points of a batch size says of shorter contexts.
struct DecodeLineBelow {
  double kv_len;
  double us;
  double slope;

  [[nodiscard]] double at(double kv) const { return us + slope * (kv - kv_len); }
};

/// Contexts of one batch size, ascending: rows that show the launch of the kernel take the value of
/// the line through the two next ones, and so does a context of 0. Times only get shorter, down to
/// half of the fastest.
void extend_down(std::span<double> us, const Axis& kv_lens, double fastest, bool host_timed) {
  const double floor = host_timed ? fastest * kLaunchBound : 0.0;
  std::vector<std::size_t> longer;
  for (std::size_t i = 0; i < us.size() && longer.size() < 2; ++i) {
    if (us[i] > floor) {
      longer.push_back(i);
    }
  }
  if (longer.size() < 2) {
    return;
  }
  const DecodeLineBelow line{
      .kv_len = kv_lens[longer[0]],
      .us = us[longer[0]],
      .slope = (us[longer[1]] - us[longer[0]]) / (kv_lens[longer[1]] - kv_lens[longer[0]])};
  for (std::size_t i = 0; i < longer[0]; ++i) {
    const bool is_end = kv_lens[i] == 0.0;
    if (is_end || !std::isnan(us[i])) {
      us[i] = std::clamp(line.at(kv_lens[i]), fastest / 2.0, is_end ? fastest : us[i]);
    }
  }
}

MonotoneGrid decode_grid(const MeasuredDecode& measured, bool with_ends) {
  std::vector<Axis> axes(2);
  for (const DecodePoint& point : measured.points) {
    axes[0].push_back(real(point.batch_size));
    axes[1].push_back(real(point.kv_len));
  }
  if (with_ends) {
    axes[0].push_back(kFar);
    axes[1].push_back(0.0);
    axes[1].push_back(kFar);
  }
  std::ranges::for_each(axes, sort_unique);
  std::vector<double> values(axes[0].size() * axes[1].size(), kSurfaceHole);
  for (const DecodePoint& point : measured.points) {
    values[tick_of(axes[0], real(point.batch_size)) * axes[1].size() +
           tick_of(axes[1], real(point.kv_len))] = point.us;
  }
  const std::size_t batches = axes[0].size();
  const Axis kv_lens = axes[1];
  MonotoneGrid grid(std::move(axes), values);
  for (std::size_t batch = 0; with_ends && batch < batches; ++batch) {
    const std::size_t first = batch * kv_lens.size();
    extend_down(std::span(values).subspan(first, kv_lens.size()),
                kv_lens,
                fastest(measured.points),
                measured.host_timed);
  }
  for (std::size_t cell = 0; cell < values.size(); ++cell) {
    grid.supply(cell, values[cell]);
  }
  return grid;
}

std::string cell_name(const MonotoneGrid& grid, std::size_t cell, std::vector<const char*> names) {
  std::string text;
  std::size_t rest = cell;
  for (std::size_t axis = grid.axes().size(); axis-- > 0;) {
    const Axis& ticks = grid.axes()[axis];
    text = fmt::format(
        "{} {:.0f}{}{}", names[axis], ticks[rest % ticks.size()], text.empty() ? "" : ", ", text);
    rest /= ticks.size();
  }
  return text;
}

LeaveOneOut along(const MonotoneGrid& grid, std::size_t axis) {
  LeaveOneOut out;
  const auto values = grid.values();
  for (std::size_t cell = 0; cell < values.size(); ++cell) {
    const double guess = std::isnan(values[cell]) ? kSurfaceHole : grid.without(cell, axis);
    if (!std::isnan(guess)) {
      out.errors.push_back(std::abs(guess / values[cell] - 1.0));
    }
  }
  std::ranges::sort(out.errors);
  return out;
}

}  // namespace

double LeaveOneOut::quantile(double share) const {
  if (errors.empty()) {
    return kSurfaceHole;
  }
  const auto last = static_cast<double>(errors.size() - 1);
  return errors[static_cast<std::size_t>(std::floor(share * last + 0.5))];
}

GemmSurface::GemmSurface(const MeasuredGemm& measured, double fixed_us, const Factor& factor)
    : grid_(gemm_grid(measured, factor, true)) {
  const auto [least, most] = std::ranges::minmax_element(measured.points, {}, &GemmPoint::m);
  smallest_m_ = least->m;
  largest_m_ = most->m;
  grid_.fill(fixed_us);
  const auto change = grid_.make_monotone();
  change_ = {.ratio = change.ratio, .where = cell_name(grid_, change.cell, {"m", "k", "n"})};
}

double GemmSurface::us(std::int64_t m, std::int64_t k, std::int64_t n) const {
  return grid_.at(std::array<double, 3>{real(m), real(k), real(n)});
}

LeaveOneOut leave_one_out(const MeasuredGemm& measured) {
  return along(gemm_grid(measured, [](const auto&) { return 1.0; }, false), 0);
}

DecodeSurface::DecodeSurface(const MeasuredDecode& measured) : grid_(decode_grid(measured, true)) {
  const auto [thin, thick] =
      std::ranges::minmax_element(measured.points, {}, &DecodePoint::batch_size);
  const auto [least, most] = std::ranges::minmax_element(measured.points, {}, &DecodePoint::kv_len);
  largest_batch_ = thick->batch_size;
  smallest_kv_len_ = least->kv_len;
  largest_kv_len_ = most->kv_len;
  grid_.fill(fastest(measured.points));
  const auto change = grid_.make_monotone();
  change_ = {.ratio = change.ratio, .where = cell_name(grid_, change.cell, {"batch", "kv"})};
}

DecodeSurface::Place DecodeSurface::place(std::int64_t sequences) const {
  const Axis& ticks = grid_.axes()[0];
  const double count = real(sequences);
  const auto next = std::ranges::upper_bound(ticks, count);
  if (next == ticks.begin() || next == ticks.end()) {
    return {.low = next == ticks.begin() ? 0 : ticks.size() - 1, .share = 0.0};
  }
  const double below = *(next - 1);
  return {.low = static_cast<std::size_t>(next - ticks.begin()) - 1,
          .share = (count - below) / (*next - below)};
}

double DecodeSurface::us(const Place& place, std::size_t kv_tick) const {
  const std::size_t width = grid_.axes()[1].size();
  const std::size_t cell = place.low * width + kv_tick;
  const double low = grid_.values()[cell];
  return place.share > 0.0 ? low + (grid_.values()[cell + width] - low) * place.share : low;
}

LeaveOneOut leave_one_out(const MeasuredDecode& measured) {
  return along(decode_grid(measured, false), 1);
}

PrefillCurve::PrefillCurve(std::vector<PrefillPoint> points) {
  RIDGELINE_CHECK(!points.empty(), "a curve has points");
  std::ranges::sort(points, {}, &PrefillPoint::seq_len);
  smallest_ = points.front().seq_len;
  largest_ = points.back().seq_len;
  std::vector<double> measured;
  work_.push_back(0.0);
  for (const PrefillPoint& point : points) {
    work_.push_back(pairs_of(real(point.seq_len)));
    measured.push_back(point.us);
  }
  const std::vector<double> sorted = isotonic(measured);
  // What does not grow: the first two points' line at no work.
  double fixed = 0.0;
  if (points.size() > 1) {
    fixed = sorted[0] - (sorted[1] - sorted[0]) / (work_[2] - work_[1]) * work_[1];
  }
  us_.push_back(std::clamp(fixed, 0.0, sorted[0]));
  us_.insert(us_.end(), sorted.begin(), sorted.end());
  std::vector<double> slopes;
  std::vector<double> widths;
  for (std::size_t i = 0; i + 1 < work_.size(); ++i) {
    widths.push_back(work_[i + 1] - work_[i]);
    slopes.push_back((us_[i + 1] - us_[i]) / widths[i]);
  }
  slope_ = isotonic(slopes, widths);
  for (std::size_t i = 0; i + 1 < work_.size(); ++i) {
    us_[i + 1] = us_[i] + slope_[i] * widths[i];
    const double ratio = us_[i + 1] / measured[i];
    if (std::abs(ratio - 1.0) > std::abs(change_.ratio - 1.0)) {
      change_ = {.ratio = ratio, .where = fmt::format("length {}", points[i].seq_len)};
    }
  }
  slope_.push_back(slope_.back());
}

double PrefillCurve::us(double seq_len) const {
  const double work = pairs_of(seq_len);
  const auto next = std::ranges::upper_bound(work_, work);
  const auto tick = static_cast<std::size_t>(next - work_.begin()) - 1;
  return us_[tick] + slope_[tick] * (work - work_[tick]);
}

double PrefillCurve::chunk_us(double past, double tokens) const {
  return std::max(us(tokens), us(past + tokens) - us(past));
}

LeaveOneOut leave_one_out(const std::vector<PrefillPoint>& points) {
  std::map<double, double> by_work;
  for (const PrefillPoint& point : points) {
    by_work.emplace(pairs_of(real(point.seq_len)), point.us);
  }
  Axis axis;
  std::vector<double> values;
  for (const auto& [work, us] : by_work) {
    axis.push_back(work);
    values.push_back(us);
  }
  return along(MonotoneGrid({std::move(axis)}, std::move(values)), 0);
}

std::vector<PrefillPoint> at_heads(const std::vector<const MeasuredPrefill*>& measured,
                                   std::int64_t heads) {
  std::vector<Axis> axes(2);
  for (const auto* table : measured) {
    axes[0].push_back(real(table->shape.heads));
    for (const PrefillPoint& point : table->points) {
      axes[1].push_back(real(point.seq_len));
    }
  }
  axes[0].push_back(0.0);
  axes[0].push_back(kFar);
  std::ranges::for_each(axes, sort_unique);
  std::vector<double> values(axes[0].size() * axes[1].size(), kSurfaceHole);
  double fixed = kFar;
  for (const auto* table : measured) {
    const std::size_t row = tick_of(axes[0], real(table->shape.heads)) * axes[1].size();
    for (const PrefillPoint& point : table->points) {
      double& cell = values[row + tick_of(axes[1], real(point.seq_len))];
      cell = std::isnan(cell) ? point.us : cell;
    }
    fixed = std::min(fixed, PrefillCurve(table->points).us(0.0));
  }
  const Axis lengths = axes[1];
  MonotoneGrid grid(std::move(axes), std::move(values));
  grid.fill(fixed);
  std::vector<PrefillPoint> points;
  for (const double length : lengths) {
    points.push_back({.seq_len = static_cast<std::int64_t>(length),
                      .us = grid.at(std::array<double, 2>{real(heads), length})});
  }
  return points;
}

}  // namespace ridgeline::latency::measured
