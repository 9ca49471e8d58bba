#include "plan/slo.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "document/reader.hpp"
#include "latency/accuracy/bands.hpp"
#include "metrics/slo.hpp"
#include "plan/data_files.hpp"
#include "plan/refusals.hpp"
#include "plan/target.hpp"
#include "scenario/time_value.hpp"

namespace ridgeline::plan {
namespace {

using metrics::Metric;
using metrics::Statistic;

constexpr std::string_view kPresetGroup = "mlperf/";
constexpr std::array kMetrics = {Metric::kTtft, Metric::kTpot, Metric::kE2e};
/// Statistics that a target may have; the others say nothing that a share could test.
constexpr std::array kStatistics = {
    Statistic::kMean, Statistic::kP50, Statistic::kP90, Statistic::kP95, Statistic::kP99};

const char* key_of(Metric metric) {
  return metrics::kMetricNames[static_cast<std::size_t>(metric)];
}
const char* key_of(Statistic statistic) {
  return metrics::kStatisticNames[static_cast<std::size_t>(statistic)];
}

std::optional<Statistic> statistic_of(std::string_view word) {
  const auto* const found = std::ranges::find_if(
      kStatistics, [&](Statistic statistic) { return word == key_of(statistic); });
  return found == kStatistics.end() ? std::nullopt : std::optional(*found);
}

class SloReader {
 public:
  SloReader(const document::Node& node, core::Errors& errors)
      : errors_(errors), map_(node, "slo", errors) {}

  Slo read() {
    statistic_ = read_statistic();
    attainment_ = map_.real("attainment", {0.5, 0.99999});
    for (const Metric metric : kMetrics) {
      if (const document::Node* node = map_.node(key_of(metric))) {
        read_metric(metric, *node);
      }
    }
    if (map_.node("itl") != nullptr) {
      map_.problem("itl",
                   "is no target of a plan: its percentiles are of gaps, not of requests",
                   "tpot, the mean gap of a request");
    }
    if (const auto seconds = map_.quantity("window", "seconds")) {
      slo_.window = core::Duration::saturating(core::Seconds(*seconds));
    }
    slo_.confidence = map_.real("confidence", {0.5, accuracy::kMostSure});
    map_.finish();
    if (attainment_ && together_.any_limit) {
      slo_.targets.push_back(together_.target);
    } else if (attainment_) {
      map_.problem("attainment", "has no limits", "{attainment: 0.99, ttft: 500ms, tpot: 50ms}");
    }
    return std::move(slo_);
  }

 private:
  Statistic read_statistic() {
    const auto word = map_.string("statistic");
    if (!word) {
      return Statistic::kP99;
    }
    const auto found = statistic_of(*word);
    if (!found) {
      map_.problem("statistic",
                   fmt::format("found \"{}\", expected mean, p50, p90, p95 or p99", *word));
    }
    return found.value_or(Statistic::kP99);
  }

  std::optional<core::Duration> time_of(const document::Node& node, const std::string& field) {
    auto seconds = scenario::target_seconds(node);
    if (seconds) {
      return core::Duration::saturating(core::Seconds(*seconds));
    }
    core::Error& error = seconds.error().front();
    error.field = field;
    error.where = node.where();
    errors_.push_back(std::move(error));
    return std::nullopt;
  }

  void read_metric(Metric metric, const document::Node& node) {
    const std::string field = fmt::format("slo.{}", key_of(metric));
    if (!node.is_map()) {
      const auto limit = time_of(node, field);
      if (!limit) {
        return;
      }
      if (attainment_) {
        together_.target.statistic = Statistic::kP99;
        together_.target.is_attainment = true;
        together_.target.allowed_share = 1.0 - *attainment_;
        together_.target.limits[static_cast<std::size_t>(metric)] = limit;
        together_.any_limit = true;
      } else {
        slo_.targets.push_back(percentile_target(metric, statistic_, *limit));
      }
      return;
    }
    refuse_duplicates(node, field, errors_);
    for (const auto& member : node.members()) {
      const auto statistic = statistic_of(member.key);
      const std::string below = fmt::format("{}.{}", field, member.key);
      if (!statistic) {
        errors_.push_back({.field = below,
                           .message = "is no statistic: expected mean, p50, p90, p95 or p99",
                           .where = member.where});
        continue;
      }
      if (const auto limit = time_of(member.value, below)) {
        slo_.targets.push_back(percentile_target(metric, *statistic, *limit));
      }
    }
  }

  struct Together {
    Target target;
    bool any_limit = false;
  };

  core::Errors& errors_;
  document::ObjectReader map_;
  Slo slo_;
  Statistic statistic_ = Statistic::kP99;
  std::optional<double> attainment_;
  Together together_;
};

/// Compiled in: what is wrong with it is our fault.
const document::Node& presets() {
  static const document::Node kPresets = [] {
    const auto files = slo_files();
    RIDGELINE_CHECK(files.size() == 1, "data/slo/ holds one file");
    auto node = document::parse_yaml(files.front().text, std::string(files.front().name));
    RIDGELINE_CHECK(node && node->find("presets") != nullptr, "data/slo/mlperf.yaml is whole");
    return *node->find("presets");
  }();
  return kPresets;
}

Slo preset_slo(const document::Node& node, core::Errors& errors) {
  const std::string& name = node.as_string();
  const document::Node* preset =
      name.starts_with(kPresetGroup) ? presets().find(name.substr(kPresetGroup.size())) : nullptr;
  Slo slo;
  if (preset == nullptr) {
    const auto meant = document::nearest(name, slo_presets());
    errors.push_back({.field = "slo",
                      .message = fmt::format("found \"{}\", expected a map of targets or one of {}",
                                             name,
                                             fmt::join(slo_presets(), ", ")),
                      .where = node.where(),
                      .hint = meant ? fmt::format("did you mean {}?", *meant)
                                    : "slo: {ttft: {p99: 500ms}, tpot: {p99: 50ms}}"});
    return slo;
  }
  slo.preset = name;
  for (const Metric metric : kMetrics) {
    if (const document::Node* ms = preset->find(key_of(metric))) {
      slo.targets.push_back(percentile_target(
          metric, Statistic::kP99, core::Duration::milliseconds(std::llround(ms->as_real()))));
    }
  }
  if (const document::Node* note = preset->find("note")) {
    slo.warnings.push_back({.code = "W-slo-preset",
                            .message = fmt::format("{}: {}", name, note->as_string()),
                            .hint = "state slo.tpot to take another"});
  }
  return slo;
}

}  // namespace

Slo read_slo(const document::Node& node, core::Errors& errors) {
  if (node.is_string()) {
    return preset_slo(node, errors);
  }
  return SloReader(node, errors).read();
}

std::vector<std::string> slo_presets() {
  std::vector<std::string> names;
  for (const auto& member : presets().members()) {
    names.push_back(std::string(kPresetGroup) + member.key);
  }
  return names;
}

}  // namespace ridgeline::plan
