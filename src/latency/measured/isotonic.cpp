#include "latency/measured/isotonic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/math.hpp"

namespace ridgeline::latency::measured {
namespace {

constexpr std::size_t kMostAxes = 3;
/// Dykstra's projections onto the monotone cones of the axes converge fast; what is left after that
/// many rounds is raised.
constexpr int kMostRounds = 100;
constexpr double kConverged = 1e-9;
/// What was filled in gives way to what was measured.
constexpr double kFilledWeight = 1e-3;
constexpr double kHole = std::numeric_limits<double>::quiet_NaN();

double between(double x, double x0, double y0, double x1, double y1) {
  return y0 + (y1 - y0) * ((x - x0) / (x1 - x0));
}

}  // namespace

std::vector<double> isotonic(std::span<const double> values, std::span<const double> weights) {
  struct Block {
    double mean;
    double weight;
    std::size_t count;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    blocks.push_back({values[i], weights.empty() ? 1.0 : weights[i], 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean > blocks.back().mean) {
      const Block last = blocks.back();
      blocks.pop_back();
      Block& into = blocks.back();
      into.mean = (into.mean * into.weight + last.mean * last.weight) / (into.weight + last.weight);
      into.weight += last.weight;
      into.count += last.count;
    }
  }
  std::vector<double> result;
  result.reserve(values.size());
  for (const Block& block : blocks) {
    result.insert(result.end(), block.count, block.mean);
  }
  return result;
}

MonotoneGrid::MonotoneGrid(std::vector<std::vector<double>> axes, std::vector<double> values)
    : axes_(std::move(axes)), strides_(axes_.size()), values_(std::move(values)) {
  RIDGELINE_CHECK(!axes_.empty() && axes_.size() <= kMostAxes, "one to three axes");
  std::size_t stride = 1;
  for (std::size_t axis = axes_.size(); axis-- > 0;) {
    strides_[axis] = stride;
    stride *= axes_[axis].size();
  }
  RIDGELINE_CHECK(stride == values_.size() && stride > 0, "one value per cell");
  for (const double value : values_) {
    given_.push_back(!std::isnan(value));
  }
}

std::size_t MonotoneGrid::place(std::size_t cell, std::size_t axis) const {
  return cell / strides_[axis] % axes_[axis].size();
}

template <class OnLine>
void MonotoneGrid::for_each_line(std::size_t axis, const OnLine& on_line) const {
  for (std::size_t cell = 0; cell < values_.size(); ++cell) {
    if (place(cell, axis) == 0) {
      on_line(cell);
    }
  }
}

double MonotoneGrid::without(std::size_t cell, std::size_t axis) const {
  const std::size_t size = axes_[axis].size();
  const std::size_t here = place(cell, axis);
  const std::size_t first = cell - here * strides_[axis];
  const auto value = [&](std::size_t i) { return values_[first + i * strides_[axis]]; };
  // The nearest known cells on both sides, or the last ones looked at.
  std::size_t below = here;
  do {
    below -= below > 0 ? 1 : 0;
  } while (below > 0 && std::isnan(value(below)));
  std::size_t above = here;
  do {
    above += above + 1 < size ? 1 : 0;
  } while (above + 1 < size && std::isnan(value(above)));
  if (below == here || above == here || std::isnan(value(below)) || std::isnan(value(above))) {
    return kHole;
  }
  const auto& ticks = axes_[axis];
  return between(ticks[here], ticks[below], value(below), ticks[above], value(above));
}

double MonotoneGrid::estimate(std::span<const double> from, std::size_t cell, double fixed) const {
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (const double value = without(cell, axis); !std::isnan(value)) {
      return value;
    }
  }
  for (std::size_t axis = axes_.size(); axis-- > 0;) {
    const auto& ticks = axes_[axis];
    const std::size_t here = place(cell, axis);
    for (std::size_t away = 1; away < ticks.size(); ++away) {
      for (const bool down : {true, false}) {
        if (down ? away > here : here + away >= ticks.size()) {
          continue;
        }
        const std::size_t there = down ? here - away : here + away;
        const std::size_t other = cell + there * strides_[axis] - here * strides_[axis];
        if (!std::isnan(from[other]) && ticks[there] > 0.0) {
          const double work = std::max(from[other] - fixed, 0.0);
          return std::min(fixed, from[other]) + work * (ticks[here] / ticks[there]);
        }
      }
    }
  }
  return kHole;
}

void MonotoneGrid::fill(double fixed) {
  const auto holes = [&] {
    return std::ranges::any_of(values_, [](double value) { return std::isnan(value); });
  };
  // Each round reads what the one before left, so that the order of cells does not matter.
  while (holes()) {
    std::vector<double> next = values_;
    for (std::size_t cell = 0; cell < values_.size(); ++cell) {
      if (std::isnan(values_[cell])) {
        next[cell] = estimate(values_, cell, fixed);
      }
    }
    values_ = std::move(next);
  }
}

bool MonotoneGrid::is_monotone() const {
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    for (std::size_t cell = 0; cell < values_.size(); ++cell) {
      if (place(cell, axis) > 0 && values_[cell] < values_[cell - strides_[axis]]) {
        return false;
      }
    }
  }
  return true;
}

/// A running maximum along an axis keeps what is sorted along the others sorted.
void MonotoneGrid::raise() {
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    for (std::size_t cell = 0; cell < values_.size(); ++cell) {
      if (place(cell, axis) > 0) {
        values_[cell] = std::max(values_[cell], values_[cell - strides_[axis]]);
      }
    }
  }
}

MonotoneGrid::Change MonotoneGrid::make_monotone() {
  if (is_monotone()) {
    return {};
  }
  const std::vector<double> before = values_;
  std::vector<double> logs(values_.size());
  std::ranges::transform(values_, logs.begin(), [](double value) { return core::log(value); });
  std::vector<std::vector<double>> rest(axes_.size(), std::vector<double>(values_.size(), 0.0));
  std::vector<double> weights;
  double moved = 1.0;
  for (int round = 0; round < kMostRounds && moved > kConverged; ++round) {
    moved = 0.0;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      std::vector<double> line(axes_[axis].size());
      for_each_line(axis, [&](std::size_t first) {
        weights.clear();
        for (std::size_t i = 0; i < line.size(); ++i) {
          const std::size_t cell = first + i * strides_[axis];
          line[i] = logs[cell] + rest[axis][cell];
          weights.push_back(given_[cell] ? 1.0 : kFilledWeight);
        }
        const auto sorted = isotonic(line, weights);
        for (std::size_t i = 0; i < line.size(); ++i) {
          const std::size_t cell = first + i * strides_[axis];
          moved = std::max(moved, std::abs(sorted[i] - logs[cell]));
          rest[axis][cell] = line[i] - sorted[i];
          logs[cell] = sorted[i];
        }
      });
    }
  }
  Change change;
  for (std::size_t cell = 0; cell < values_.size(); ++cell) {
    const double value = core::exp(logs[cell]);
    values_[cell] = std::abs(value / before[cell] - 1.0) < kConverged ? before[cell] : value;
  }
  raise();
  for (std::size_t cell = 0; cell < values_.size(); ++cell) {
    const double ratio = values_[cell] / before[cell];
    if (given_[cell] && std::abs(ratio - 1.0) > std::abs(change.ratio - 1.0)) {
      change = {.ratio = ratio, .cell = cell};
    }
  }
  return change;
}

double MonotoneGrid::at(std::span<const double> point) const {
  std::array<std::size_t, kMostAxes> low{};
  std::array<double, kMostAxes> share{};
  std::size_t first = 0;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const auto& ticks = axes_[axis];
    const auto next = std::ranges::upper_bound(ticks, point[axis]);
    if (next == ticks.begin()) {
      low[axis] = 0;
    } else if (next == ticks.end()) {
      low[axis] = ticks.size() - 1;
    } else {
      low[axis] = static_cast<std::size_t>(next - ticks.begin()) - 1;
      share[axis] = (point[axis] - ticks[low[axis]]) / (*next - ticks[low[axis]]);
    }
    first += low[axis] * strides_[axis];
  }
  // Corner by corner: bit i of `corner` is the upper tick of axis i.
  double sum = 0.0;
  for (std::size_t corner = 0; corner < (std::size_t{1} << axes_.size()); ++corner) {
    double weight = 1.0;
    std::size_t cell = first;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      const bool upper = (corner >> axis & 1U) != 0;
      weight *= upper ? share[axis] : 1.0 - share[axis];
      cell += upper && share[axis] > 0.0 ? strides_[axis] : 0;
    }
    sum += weight > 0.0 ? weight * values_[cell] : 0.0;
  }
  return sum;
}

}  // namespace ridgeline::latency::measured
