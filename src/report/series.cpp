#include "report/series.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/int128.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "metrics/series.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using document::Node;
using metrics::RequestStory;
using metrics::Series;
using metrics::Window;

/// Decimals of a mean over a window: more says nothing in a picture, and takes room.
constexpr std::int64_t kMeanUnits = 1000;

template <class Of>
Node column(const Series& series, const Of& of) {
  std::vector<Node> items;
  items.reserve(series.windows.size());
  for (std::size_t i = 0; i < series.windows.size(); ++i) {
    items.push_back(of(series.windows[i], i));
  }
  return list_node(std::move(items));
}

template <class Of>
Node counts(const Series& series, const Of& of) {
  return column(series,
                [&](const Window& window, std::size_t) { return integer_node(of(window)); });
}

/// Ticks of a window that the run has: the last one is cut at the run's end.
std::int64_t length_of(const Series& series, std::size_t window) {
  const std::int64_t whole = series.window.count();
  const std::int64_t begin = static_cast<std::int64_t>(window) * whole;
  return std::clamp<std::int64_t>(series.end.count() - begin, 1, whole);
}

/// A sum times ticks over so many ticks, to a thousandth; exactly rounded, half up.
Node mean_node(core::Int128 sum, core::Int128 ticks) {
  const auto units = static_cast<std::int64_t>((sum * kMeanUnits * 2 + ticks) / (ticks * 2));
  if (units % kMeanUnits == 0) {
    return integer_node(units / kMeanUnits);
  }
  return number_node(static_cast<double>(units) / static_cast<double>(kMeanUnits));
}

std::int64_t busy_of(const Window& window) {
  std::int64_t sum = 0;
  for (const std::int64_t ticks : window.busy) {
    sum += ticks;
  }
  return sum;
}

std::int64_t idle_of(const Series& series, std::size_t window) {
  const std::int64_t all = length_of(series, window) * series.instances;
  return std::max<std::int64_t>(all - busy_of(series.windows[window]), 0);
}

/// Of one instance: where it is idle, it has nothing.
Node gauge(const Series& series,
           core::Int128 Window::* sum,
           std::int64_t Window::* least,
           std::int64_t Window::* greatest) {
  const auto mean = [&](const Window& window, std::size_t i) {
    return mean_node(window.*sum, core::Int128{length_of(series, i)} * series.instances);
  };
  const auto min = [&](const Window& window, std::size_t i) {
    return integer_node(idle_of(series, i) > 0 ? 0 : window.*least);
  };
  MapBuilder map;
  return map.add("mean", column(series, mean))
      .add("min", column(series, min))
      .add("max", counts(series, [&](const Window& window) { return window.*greatest; }))
      .build();
}

Node gauges_tree(const Series& series) {
  const auto waiting = [&](const Window& window, std::size_t i) {
    return mean_node(window.waiting, length_of(series, i));
  };
  MapBuilder map;
  map.add("running", gauge(series, &Window::running, &Window::running_min, &Window::running_max))
      .add("kv_tokens",
           gauge(series, &Window::kv_tokens, &Window::kv_tokens_min, &Window::kv_tokens_max))
      .add("kv_capacity_tokens", series.kv_capacity ? integer_node(*series.kv_capacity) : Node())
      .add("waiting", MapBuilder().add("mean", column(series, waiting)).build());
  return map.build();
}

Node rates_tree(const Series& series) {
  MapBuilder map;
  return map.add("arrivals", counts(series, [](const Window& w) { return w.arrivals; }))
      .add("completions", counts(series, [](const Window& w) { return w.completions; }))
      .add("prefill_tokens", counts(series, [](const Window& w) { return w.prefill_tokens; }))
      .add("decode_tokens", counts(series, [](const Window& w) { return w.decode_tokens; }))
      .add("preemptions", counts(series, [](const Window& w) { return w.preemptions; }))
      .add("steps", counts(series, [](const Window& w) { return w.steps; }))
      .build();
}

Node busy_tree(const Series& series) {
  MapBuilder map;
  for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
    map.add(domain::kBottleneckNames[kind],
            counts(series, [kind](const Window& window) { return window.busy[kind]; }));
  }
  map.add("idle", column(series, [&](const Window&, std::size_t i) {
            return integer_node(idle_of(series, i));
          }));
  return map.build();
}

/// [first bin with a request, requests in it, in the next, ...]; empty without requests.
Node histogram_node(const metrics::LatencyHistogram& histogram) {
  std::vector<Node> items;
  for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin) {
    if (items.empty() && histogram.counts[bin] == 0) {
      continue;
    }
    if (items.empty()) {
      items.push_back(integer_node(static_cast<std::int64_t>(bin)));
    }
    items.push_back(integer_node(histogram.counts[bin]));
  }
  return list_node(std::move(items));
}

Node latencies_tree(const Series& series) {
  std::size_t bins = 0;
  for (const auto& histograms : series.latencies) {
    for (const auto& histogram : histograms) {
      bins = std::max(bins, histogram.counts.size());
    }
  }
  std::vector<Node> bounds;
  for (std::size_t bin = 0; bin <= bins; ++bin) {
    const auto first = core::Duration::ticks(metrics::LatencyHistogram::first_of(bin));
    bounds.push_back(number_node(first.to_milliseconds()));
  }
  MapBuilder map;
  map.add("window_s",
          number_node((series.window * static_cast<std::int64_t>(Series::kWindowsPerHistogram))
                          .to_seconds()))
      .add("bin_bounds_ms", list_node(std::move(bounds)));
  for (std::size_t latency = 0; latency < metrics::kNumLatencies; ++latency) {
    std::vector<Node> items;
    for (const auto& histogram : series.latencies[latency]) {
      items.push_back(histogram_node(histogram));
    }
    map.add(metrics::kLatencyNames[latency], list_node(std::move(items)));
  }
  return map.build();
}

Node slo_tree(const Series& series) {
  MapBuilder map;
  map.add("requests", counts(series, [](const Window& window) { return window.judged; }))
      .add("good", counts(series, [](const Window& window) { return window.good; }));
  for (std::size_t metric = 0; metric < metrics::kNumMetrics; ++metric) {
    if (series.slo.limits[metric]) {
      map.add(metrics::kMetricNames[metric],
              counts(series, [metric](const Window& window) { return window.within[metric]; }));
    }
  }
  return map.build();
}

Node quantiles_tree(const Series& series) {
  const auto numbers = [](const std::vector<double>& values) {
    std::vector<Node> items;
    for (const double value : values) {
      items.push_back(number_node(value));
    }
    return list_node(std::move(items));
  };
  MapBuilder map;
  map.add("probabilities", numbers(series.probabilities));
  for (std::size_t latency = 0; latency < metrics::kNumLatencies; ++latency) {
    map.add(std::string(metrics::kLatencyNames[latency]) + "_ms",
            numbers(series.quantiles_ms[latency]));
    if (static_cast<metrics::Latency>(latency) == metrics::Latency::kTpot) {
      map.add("itl_ms", numbers(series.itl_ms));
    }
  }
  return map.build();
}

Node time_node(core::SimTime at) {
  return at == core::SimTime::never() ? Node() : number_node(at.to_seconds());
}
Node span_node(const std::optional<core::Duration>& span) {
  return span ? number_node(span->to_milliseconds()) : Node();
}

Node story_node(const RequestStory& story) {
  const domain::RequestRecord& record = story.record;
  MapBuilder map;
  map.add("id", integer_node(record.id.value()))
      .add("arrival_s", time_node(record.arrival))
      .add("queued_s", time_node(record.queued))
      .add("first_scheduled_s", time_node(record.first_scheduled))
      .add("first_token_s", time_node(record.first_token))
      .add("last_token_s", time_node(record.last_token))
      .add("input_tokens", integer_node(record.prompt_tokens.value()))
      .add("cached_tokens", integer_node(record.cached_tokens.value()))
      .add("output_tokens", integer_node(record.output_tokens.value()))
      .add("preemptions", integer_node(record.preemptions))
      .add("ttft_ms", span_node(story.metrics.ttft))
      .add("tpot_ms", span_node(story.metrics.tpot))
      .add("e2e_ms", span_node(story.metrics.e2e));
  return map.build();
}

Node stories_node(const std::vector<RequestStory>& stories) {
  std::vector<Node> items;
  for (const RequestStory& story : stories) {
    items.push_back(story_node(story));
  }
  return list_node(std::move(items));
}

Node requests_tree(const Series& series) {
  constexpr std::array<std::string_view, 3> kWorst = {"worst_ttft", "worst_tpot", "worst_e2e"};
  MapBuilder map;
  for (std::size_t i = 0; i < kWorst.size(); ++i) {
    map.add(kWorst[i], stories_node(series.worst[i]));
  }
  return map.add("sample", stories_node(series.sample)).build();
}

}  // namespace

Node series_tree(const Series& series) {
  MapBuilder map;
  map.add("window_s", number_node(series.window.to_seconds()))
      .add("windows", integer_node(static_cast<std::int64_t>(series.windows.size())))
      .add("end_s", number_node(series.end.to_seconds()))
      .add("instances", integer_node(series.instances))
      .add("gauges", gauges_tree(series))
      .add("rates", rates_tree(series))
      .add("busy_ps", busy_tree(series))
      .add("latency_counts", latencies_tree(series));
  if (series.slo.any()) {
    map.add("slo", slo_tree(series));
  }
  return map.add("quantiles", quantiles_tree(series))
      .add("requests", requests_tree(series))
      .build();
}

}  // namespace ridgeline::report
