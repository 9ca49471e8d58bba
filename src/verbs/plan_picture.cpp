#include "verbs/plan_picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "metrics/slo.hpp"
#include "plan/answer.hpp"
#include "plan/cost.hpp"
#include "report/figures/marks.hpp"
#include "report/scale.hpp"
#include "report/svg.hpp"

namespace ridgeline::verbs {
namespace {

using plan::PlanCandidate;

constexpr double kPictureHeight = 600.0;
constexpr double kPlotLeft = 88.0;
constexpr double kPlotRight = 932.0;
constexpr double kPlotTop = 96.0;
constexpr double kPlotBottom = 536.0;
constexpr double kMarkRadius = 5.0;   ///< Radius.
constexpr double kRingRadius = 10.0;  ///< Around the pick.
constexpr int kAxisTicks = 6;

constexpr std::string_view kPlanStyle = R"(
.page{fill:#ffffff}.frame{fill:none;stroke:#8c959f}.grid{stroke:#d8dee4;stroke-width:1}
text{font:12px system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;fill:#1f2328}
.title{font-size:16px;font-weight:600}.quiet{fill:#59636e}
.front{fill:none;stroke:#1f2328;stroke-width:1.5}.whisker{stroke:#59636e;stroke-width:1}
.certified{fill:#0969da;stroke:#ffffff}.simulated{fill:#ffffff;stroke:#0969da;stroke-width:1.5}
.fluid{stroke:#59636e;stroke-opacity:.6}.ring{fill:none;stroke:#bc4c00;stroke-width:2}
@media (prefers-color-scheme:dark){
.page{fill:#0d1117}.frame{stroke:#656c76}.grid{stroke:#262c36}text{fill:#e6edf3}.quiet{fill:#9198a1}
.front{stroke:#e6edf3}.whisker{stroke:#9198a1}.certified{fill:#4493f8;stroke:#0d1117}
.simulated{fill:#0d1117;stroke:#4493f8}.fluid{stroke:#9198a1}.ring{stroke:#f0883e}}
)";

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

/// From zero to a round number above the largest value.
class PlanAxis {
 public:
  PlanAxis(double largest, double start, double end) : start_(start), end_(end) {
    const double least = std::max(largest, 1e-9) / (kAxisTicks - 1);
    double power = 1.0;
    while (power > least) {
      power /= 10.0;
    }
    while (power * 10.0 <= least) {
      power *= 10.0;
    }
    step_ = power * (least <= 2.0 * power ? 2.0 : least <= 5.0 * power ? 5.0 : 10.0);
    ticks_ = static_cast<int>(std::ceil(largest * 1.05 / step_));
    ticks_ = std::max(1, ticks_);
  }

  [[nodiscard]] double pixel(double value) const {
    return start_ + (end_ - start_) * value / (step_ * ticks_);
  }
  [[nodiscard]] int ticks() const { return ticks_; }
  [[nodiscard]] double tick(int i) const { return step_ * i; }

 private:
  double start_;
  double end_;
  double step_ = 1.0;
  int ticks_ = 1;
};

std::string text_at(
    double x, double y, std::string_view anchor, std::string_view style, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n",
                     x,
                     y,
                     anchor,
                     style,
                     report::xml_escaped(text));
}

std::string line_at(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>",
                     x1,
                     y1,
                     x2,
                     y2,
                     style);
}

/// What a mark looks like: a disc, a circle, or a cross where no run was made.
std::string mark_at(double x, double y, plan::Stage stage) {
  if (stage == plan::Stage::kFluid) {
    return line_at(x - kMarkRadius, y - kMarkRadius, x + kMarkRadius, y + kMarkRadius, "fluid") +
           line_at(x - kMarkRadius, y + kMarkRadius, x + kMarkRadius, y - kMarkRadius, "fluid");
  }
  return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" class=\"{}\"/>",
                     x,
                     y,
                     kMarkRadius,
                     stage == plan::Stage::kCertified ? "certified" : "simulated");
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

class PlanDrawing {
 public:
  explicit PlanDrawing(const plan::Answer& answer) : answer_(answer) {
    for (std::size_t i = 0; i < answer.candidates.size(); ++i) {
      if (auto point = point_of(answer, answer.candidates[i])) {
        point->is_pick = answer.pick == i;
        points_.push_back(*point);
      }
    }
  }

  std::string draw() {
    double most_cost = 0.0;
    double most_served = is_per_token(answer_) ? 0.0 : answer_.load;
    for (const PlanPoint& point : points_) {
      most_cost = std::max(most_cost, point.cost);
      most_served = std::max(most_served, point.high);
    }
    const PlanAxis x(most_cost, kPlotLeft, kPlotRight);
    const PlanAxis y(most_served, kPlotBottom, kPlotTop);
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" role=\"img\">\n<style>{2}</style>\n<rect class=\"page\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n",
        report::figures::kPictureWidth,
        kPictureHeight,
        kPlanStyle);
    svg += heading();
    svg += axes(x, y);
    svg += front(x, y);
    for (const PlanPoint& point : points_) {
      svg += mark(point, x, y);
    }
    return svg + "</svg>\n";
  }

 private:
  [[nodiscard]] std::string heading() const {
    std::string targets;
    for (const auto& target : answer_.question.slo.targets) {
      targets += (targets.empty() ? "" : ", ") + target.text();
    }
    constexpr double kLegend = 72.0;
    constexpr double kMiddle = 4.0;  // Half of what a letter is high.
    std::string svg = text_at(
        kPlotLeft, 30.0, "start", "title", fmt::format("{}: {}", answer_.workload, targets));
    double at = kPlotLeft + kMarkRadius;
    const auto legend = [&](plan::Stage stage, std::string_view text, double width) {
      svg += mark_at(at, kLegend - kMiddle, stage) + "\n";
      svg += text_at(at + 2.0 * kMarkRadius, kLegend, "start", "quiet", text);
      at += width;
    };
    legend(plan::Stage::kCertified, "certified", 90.0);
    legend(plan::Stage::kSimulated, "simulated", 90.0);
    legend(plan::Stage::kFluid, "estimated", 90.0);
    svg += text_at(
        at, kLegend, "start", "quiet", "ring: the answer; bars: 80 %; line: the cheapest");
    return svg;
  }

  [[nodiscard]] std::string axes(const PlanAxis& x, const PlanAxis& y) const {
    std::string svg;
    for (int i = 0; i <= x.ticks(); ++i) {
      const double at = x.pixel(x.tick(i));
      svg += line_at(at, kPlotTop, at, kPlotBottom, "grid") + "\n";
      svg += text_at(
          at, kPlotBottom + 18.0, "middle", "quiet", fmt::format("{:.4g}", x.tick(i)));
    }
    for (int i = 0; i <= y.ticks(); ++i) {
      const double at = y.pixel(y.tick(i));
      svg += line_at(kPlotLeft, at, kPlotRight, at, "grid") + "\n";
      svg += text_at(
          kPlotLeft - 8.0, at + 4.0, "end", "quiet", fmt::format("{:.4g}", y.tick(i)));
    }
    svg += text_at(
        (kPlotLeft + kPlotRight) / 2.0, kPlotBottom + 44.0, "middle", "", cost_unit(answer_));
    svg += text_at(kPlotLeft,
                           kPlotTop - 8.0,
                           "start",
                           "",
                           is_per_token(answer_) ? "tokens per second of one user"
                           : answer_.is_closed_loop
                               ? "clients within the targets, all replicas"
                               : "requests per second within the targets, all replicas");
    return svg;
  }

  /// Line through the simulated points that serve more than any cheaper one.
  [[nodiscard]] std::string front(const PlanAxis& x, const PlanAxis& y) const {
    std::vector<const PlanPoint*> order;
    for (const PlanPoint& point : points_) {
      if (point.candidate->stage != plan::Stage::kFluid) {
        order.push_back(&point);
      }
    }
    std::ranges::stable_sort(order, [](const PlanPoint* a, const PlanPoint* b) {
      return a->cost != b->cost ? a->cost < b->cost : a->served > b->served;
    });
    std::string path;
    double best = 0.0;
    for (const PlanPoint* point : order) {
      if (point->served > best) {
        path += path.empty() ? fmt::format("M{:.1f} {:.1f}", x.pixel(point->cost), kPlotBottom)
                             : fmt::format("H{:.1f}", x.pixel(point->cost));
        path += fmt::format("V{:.1f}", y.pixel(point->served));
        best = point->served;
      }
    }
    return path.empty()
               ? path
               : fmt::format("<path class=\"front\" d=\"{}H{:.1f}\"/>\n", path, kPlotRight);
  }

  [[nodiscard]] std::string mark(const PlanPoint& point,
                                 const PlanAxis& x,
                                 const PlanAxis& y) const {
    const double at_x = x.pixel(point.cost);
    const double at_y = y.pixel(point.served);
    std::string svg =
        fmt::format("<g><title>{}</title>", report::xml_escaped(mark_title(answer_, point)));
    if (point.high > point.low) {
      svg += line_at(at_x, y.pixel(point.low), at_x, y.pixel(point.high), "whisker");
    }
    svg += mark_at(at_x, at_y, point.candidate->stage);
    if (point.is_pick) {
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" class=\"ring\"/>",
                         at_x,
                         at_y,
                         kRingRadius);
    }
    return svg + "</g>\n";
  }

  const plan::Answer& answer_;
  std::vector<PlanPoint> points_;
};

}  // namespace

std::string plan_svg(const plan::Answer& answer) {
  return PlanDrawing(answer).draw();
}

}  // namespace ridgeline::verbs
