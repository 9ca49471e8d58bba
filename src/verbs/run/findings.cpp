#include "verbs/run/findings.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/int128.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "domain/step.hpp"
#include "metrics/series.hpp"
#include "scenario/resolve.hpp"
#include "verbs/run/mean_steps.hpp"

namespace ridgeline::verbs {
namespace {

using document::MapBuilder;
using document::number_node;

using document::Node;
using metrics::Series;
using metrics::Window;

/// Windows one after the other, and their sum.
struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;  ///< One behind.
  Window sum;
};

Stretch stretch_of(const Series& series, std::size_t first, std::size_t last) {
  Stretch stretch{.first = first, .last = std::min(last, series.windows.size()), .sum = {}};
  for (std::size_t i = first; i < stretch.last; ++i) {
    stretch.sum.add(series.windows[i]);
  }
  return stretch;
}

/// Windows of the stretch that a reader thinks in; 0 where the run is too short for any.
std::size_t windows_of_worst(const Series& series) {
  constexpr std::array<std::int64_t, 5> kSeconds = {3600, 600, 60, 10, 1};
  constexpr std::int64_t kOfARun = 4;
  for (const std::int64_t seconds : kSeconds) {
    const std::int64_t ticks = core::Duration::seconds(seconds).count();
    if (series.end.count() >= kOfARun * ticks) {
      const std::int64_t window = series.window.count();
      return static_cast<std::size_t>(std::max<std::int64_t>((ticks + window / 2) / window, 1));
    }
  }
  return 0;
}

std::int64_t missed_in(const Series& series, const Window& window) {
  return series.slo.any() ? window.judged - window.good : 0;
}

/// How bad a stretch is: first by its misses, then by its requests at once, times ticks.
struct Badness {
  std::int64_t missed = 0;
  core::Int128 load = 0;

  friend bool operator==(const Badness&, const Badness&) = default;
  friend auto operator<=>(const Badness&, const Badness&) = default;
};

Stretch worst_of(const Series& series, std::size_t length) {
  std::size_t worst = 0;
  Badness greatest;
  Badness now;
  for (std::size_t i = 0; i < series.windows.size(); ++i) {
    const Window& next = series.windows[i];
    now.missed += missed_in(series, next);
    now.load += next.running + next.waiting;
    if (i >= length) {
      const Window& left = series.windows[i - length];
      now.missed -= missed_in(series, left);
      now.load -= left.running + left.waiting;
    }
    if (i + 1 >= length && now > greatest) {
      greatest = now;
      worst = i + 1 - length;
    }
  }
  return stretch_of(series, worst, worst + length);
}

double over(core::Int128 sum, core::Int128 ticks) {
  return ticks > 0 ? static_cast<double>(sum) / static_cast<double>(ticks) : 0.0;
}

void add_numbers(const Series& series, const Stretch& stretch, MapBuilder& map) {
  const Window& sum = stretch.sum;
  const std::int64_t begin = static_cast<std::int64_t>(stretch.first) * series.window.count();
  const std::int64_t end =
      std::min(static_cast<std::int64_t>(stretch.last) * series.window.count(), series.end.count());
  const core::Int128 all = core::Int128{end - begin} * series.instances;
  core::Int128 busy = 0;
  for (const core::Int128 ticks : sum.busy) {
    busy += ticks;
  }
  const auto most = std::ranges::max_element(sum.busy) - sum.busy.begin();
  map.add("from_s", core::Duration::ticks(begin).to_seconds())
      .add("to_s", core::Duration::ticks(end).to_seconds())
      .add("requests", sum.judged);
  if (series.slo.any()) {
    map.add("missed", missed_in(series, sum))
        .add("missed_share",
             sum.judged > 0 ? number_node(over(missed_in(series, sum), sum.judged)) : Node());
  }
  map.add("running", over(sum.running, all))
      .add("waiting", over(sum.waiting, end - begin))
      .add("kv_share",
           series.kv_capacity && *series.kv_capacity > 0
               ? number_node(over(sum.kv_tokens, all * *series.kv_capacity))
               : Node())
      .add("preemptions", sum.preemptions)
      .add("idle_share", over(all - busy, all));
  if (busy > 0) {
    map.add("bottleneck", std::string(domain::kBottleneckNames[static_cast<std::size_t>(most)]))
        .add("bottleneck_share", over(*std::ranges::max_element(sum.busy), busy));
  }
}

Node worst_tree(const scenario::Resolved& resolved, const Series& series, const Stretch& worst) {
  MapBuilder map;
  add_numbers(series, worst, map);
  if (resolved.pools.empty()) {
    const Window& sum = worst.sum;
    const core::Tokens prompt(sum.arrivals > 0 ? sum.prefill_tokens / sum.arrivals : 0);
    map.add("decode", decode_step_tree(*resolved.deployment, sum))
        .add("prompt", prompt_step_tree(*resolved.deployment, core::Tokens(0), prompt));
  }
  return map.build();
}

}  // namespace

Node findings_tree(const scenario::Resolved& resolved, const Series& series) {
  MapBuilder whole;
  add_numbers(series, stretch_of(series, 0, series.windows.size()), whole);
  const std::size_t length = windows_of_worst(series);
  MapBuilder findings;
  findings.add("whole", whole.build())
      .add("worst",
           length > 0 && length < series.windows.size()
               ? worst_tree(resolved, series, worst_of(series, length))
               : Node());
  return findings.build();
}

}  // namespace ridgeline::verbs
