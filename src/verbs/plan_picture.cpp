#include "verbs/plan_picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "metrics/slo.hpp"
#include "plan/answer.hpp"
#include "plan/cost.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/marks.hpp"
#include "report/scale.hpp"

namespace ridgeline::verbs {
namespace {

using plan::PlanCandidate;
using report::figures::Canvas;
using report::figures::kPlotRight;
using report::figures::Scale;
using report::figures::Shape;
using report::figures::Spot;

constexpr double kPictureHeight = 600.0;
constexpr double kPlotLeft = 88.0;
constexpr double kPlotTop = 96.0;
constexpr double kPlotBottom = 536.0;
constexpr double kMarkRadius = 5.0;
constexpr double kRingRadius = 10.0;  ///< Around the pick.

/// A deployment with its place.
struct PlanPoint {
  const PlanCandidate* candidate = nullptr;
  double cost = 0.0;
  double served = 0.0;
  double low = 0.0;  ///< Lower end of `served`; equal to `high` where nothing is known.
  double high = 0.0;
  std::int64_t replicas = 0;
  bool is_pick = false;
};

bool is_per_token(const plan::Answer& answer) {
  const auto& objectives = answer.question.objectives;
  return !objectives.empty() && (objectives.front() == plan::Objective::kUsdPerMtok ||
                                 objectives.front() == plan::Objective::kJoulesPerToken);
}

std::string_view cost_unit(const plan::Answer& answer) {
  if (answer.question.objectives.empty()) {
    return "cost";
  }
  switch (answer.question.objectives.front()) {
    case plan::Objective::kGpus:
      return "GPUs";
    case plan::Objective::kUsdPerHour:
    case plan::Objective::kUsdPerMtok:
      return "USD/h";
    default:
      return "W";
  }
}

/// Tokens per second of one user: 1/TPOT.
std::optional<plan::Interval> speed_of(const plan::Answer& answer, const PlanCandidate& candidate) {
  for (const plan::TargetResult& result : candidate.targets) {
    const auto& target = answer.question.slo.targets[result.target];
    if (!target.is_attainment && target.limit_of(metrics::Metric::kTpot) && result.value_ms &&
        result.value_ms->lo > 0.0) {
      return plan::Interval{.value = report::kMillisecondsPerSecond / result.value_ms->value,
                            .lo = report::kMillisecondsPerSecond / result.value_ms->hi,
                            .hi = report::kMillisecondsPerSecond / result.value_ms->lo};
    }
  }
  return std::nullopt;
}

std::optional<PlanPoint> point_of(const plan::Answer& answer, const PlanCandidate& candidate) {
  PlanPoint point{.candidate = &candidate, .replicas = candidate.replicas};
  if (candidate.unit_cost <= 0.0 || !candidate.has_price) {
    return std::nullopt;
  }
  if (is_per_token(answer)) {
    const auto speed = speed_of(answer, candidate);
    if (!speed || candidate.replicas < 1) {
      return std::nullopt;
    }
    point.served = speed->value;
    point.low = speed->lo;
    point.high = speed->hi;
  } else if (candidate.capacity && candidate.replicas > 0) {
    const double replicas = core::real(answer.serving(candidate.replicas));
    point.served = candidate.capacity->value * replicas;
    point.low = candidate.capacity->lo * replicas;
    point.high = candidate.capacity->hi * replicas;
  } else if (candidate.stage == plan::Stage::kFluid && candidate.fluid_capacity > 0.0) {
    const double replicas = std::max(1.0, std::ceil(answer.load / candidate.fluid_capacity));
    point.replicas = static_cast<std::int64_t>(replicas);
    point.served = point.low = point.high = candidate.fluid_capacity * replicas;
  } else {
    return std::nullopt;
  }
  point.cost = candidate.unit_cost * core::real(point.replicas);
  return point;
}

/// What a mark looks like: a disc, a circle, or a cross where no run was made.
void draw_mark(plan::Stage stage, Spot at, std::string_view hint, Canvas& canvas) {
  const bool is_run = stage != plan::Stage::kFluid;
  canvas.mark(is_run ? Shape::kDisc : Shape::kCross,
              at,
              kMarkRadius,
              stage == plan::Stage::kCertified ? "fa"
              : is_run                         ? "open"
                                               : "cross",
              hint);
}

std::string mark_title(const plan::Answer& answer, const PlanPoint& point) {
  const PlanCandidate& candidate = *point.candidate;
  std::string text = fmt::format("{} x {}, {:.4g} {}, {:.3g} {}",
                                 point.replicas,
                                 candidate.label,
                                 point.cost,
                                 cost_unit(answer),
                                 point.served,
                                 is_per_token(answer)    ? "tokens/s of one user"
                                 : answer.is_closed_loop ? "clients"
                                                         : "req/s");
  if (candidate.is_bound()) {
    text += ", at best: " + candidate.bound;
  } else if (candidate.stage == plan::Stage::kCertified && candidate.replicas > 0) {
    text += fmt::format(", {:.0f} % sure", candidate.p_feasible * 100.0);
  }
  text += fmt::format(" ({})", plan::kStageNames[static_cast<std::size_t>(candidate.stage)]);
  if (!candidate.dropped_reason.empty()) {
    text += ": " + candidate.dropped_reason;
  }
  return text;
}

void draw_heading(const plan::Answer& answer, Canvas& canvas) {
  std::string targets;
  for (const auto& target : answer.question.slo.targets) {
    targets += (targets.empty() ? "" : ", ") + target.text();
  }
  canvas.text({.x = kPlotLeft, .y = 30.0},
              "start",
              "title",
              fmt::format("{}: {}", answer.workload, targets));
  constexpr double kLegend = 72.0;
  constexpr double kWidth = 90.0;
  constexpr double kMiddle = 4.0;  // Half of what a letter is high.
  double at = kPlotLeft + kMarkRadius;
  for (const auto& [stage, name] : {std::pair(plan::Stage::kCertified, "certified"),
                                    std::pair(plan::Stage::kSimulated, "simulated"),
                                    std::pair(plan::Stage::kFluid, "estimated")}) {
    draw_mark(stage, {.x = at, .y = kLegend - kMiddle}, "", canvas);
    canvas.text({.x = at + 2.0 * kMarkRadius, .y = kLegend}, "start", "quiet", name);
    at += kWidth;
  }
  canvas.text({.x = at, .y = kLegend},
              "start",
              "quiet",
              "ring: the answer; bars: 80 %; line: the cheapest");
}

/// A line through the simulated points that serve more than any cheaper one.
void draw_front(const std::vector<PlanPoint>& points,
                const Scale& x,
                const Scale& y,
                Canvas& canvas) {
  std::vector<const PlanPoint*> order;
  for (const PlanPoint& point : points) {
    if (point.candidate->stage != plan::Stage::kFluid) {
      order.push_back(&point);
    }
  }
  std::ranges::stable_sort(order, [](const PlanPoint* a, const PlanPoint* b) {
    return a->cost != b->cost ? a->cost < b->cost : a->served > b->served;
  });
  std::vector<Spot> spots;
  double best = 0.0;
  for (const PlanPoint* point : order) {
    if (point->served > best) {
      const double at = x.pixel(point->cost);
      spots.push_back({.x = at, .y = spots.empty() ? kPlotBottom : spots.back().y});
      spots.push_back({.x = at, .y = y.pixel(point->served)});
      best = point->served;
    }
  }
  if (!spots.empty()) {
    spots.push_back({.x = kPlotRight, .y = spots.back().y});
    canvas.path(spots, "frame");
  }
}

void draw_point(const plan::Answer& answer,
                const PlanPoint& point,
                const Scale& x,
                const Scale& y,
                Canvas& canvas) {
  const Spot at{.x = x.pixel(point.cost), .y = y.pixel(point.served)};
  if (point.high > point.low) {
    canvas.line(
        {.x = at.x, .y = y.pixel(point.low)}, {.x = at.x, .y = y.pixel(point.high)}, "whisker");
  }
  draw_mark(point.candidate->stage, at, mark_title(answer, point), canvas);
  if (point.is_pick) {
    canvas.mark(Shape::kDisc, at, kRingRadius, "ring");
  }
}

}  // namespace

std::string plan_svg(const plan::Answer& answer) {
  std::vector<PlanPoint> points;
  double most_cost = 0.0;
  double most_served = is_per_token(answer) ? 0.0 : answer.load;
  for (std::size_t i = 0; i < answer.candidates.size(); ++i) {
    if (auto point = point_of(answer, answer.candidates[i])) {
      point->is_pick = answer.pick == i;
      most_cost = std::max(most_cost, point->cost);
      most_served = std::max(most_served, point->high);
      points.push_back(*point);
    }
  }
  Canvas canvas(report::figures::kPictureWidth, kPictureHeight);
  draw_heading(answer, canvas);
  const Scale x = Scale::from_zero(most_cost, kPlotLeft, kPlotRight);
  const Scale y = Scale::from_zero(most_served, kPlotBottom, kPlotTop);
  canvas.axis_below(x, kPlotBottom, kPlotTop, cost_unit(answer));
  canvas.axis_left(y, kPlotLeft, kPlotRight);
  canvas.text({.x = kPlotLeft, .y = kPlotTop - 8.0},
              "start",
              "",
              is_per_token(answer)    ? "tokens per second of one user"
              : answer.is_closed_loop ? "clients within the targets, all replicas"
                                      : "requests per second within the targets, all replicas");
  draw_front(points, x, y, canvas);
  for (const PlanPoint& point : points) {
    draw_point(answer, point, x, y, canvas);
  }
  report::figures::Figure figure{.id = "plan", .title = answer.workload};
  figure.draw(canvas);
  return standalone_svg(figure);
}

}  // namespace ridgeline::verbs
