#include "metrics/series_tree.hpp"

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
#include "document/json_writer.hpp"
#include "document/node_builder.hpp"
#include "domain/step.hpp"
#include "metrics/series.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

using document::integer_node;
using document::list_node;
using document::MapBuilder;
using document::number_node;

using document::JsonWriter;
using document::Node;
using metrics::RequestStory;
using metrics::Series;
using metrics::Window;

/// Decimals of a mean over a window: more says nothing in a picture, and takes room.
constexpr std::int64_t kMeanUnits = 1000;

/// Ticks of a window that the run has: the last one is cut at the run's end.
std::int64_t length_of(const Series& series, std::size_t window) {
  const std::int64_t whole = series.window.count();
  const std::int64_t begin = static_cast<std::int64_t>(window) * whole;
  return std::clamp<std::int64_t>(series.end.count() - begin, 1, whole);
}

/// The greatest integer that is written, where there are more.
std::int64_t written(core::Int128 ticks) {
  return static_cast<std::int64_t>(
      std::min<core::Int128>(ticks, std::numeric_limits<std::int64_t>::max()));
}

std::int64_t idle_of(const Series& series, std::size_t window) {
  core::Int128 idle = core::Int128{length_of(series, window)} * series.instances;
  for (const core::Int128 ticks : series.windows[window].busy) {
    idle -= ticks;
  }
  return written(std::max<core::Int128>(idle, 0));
}

/// Makes a tree of the calls that JsonWriter writes.
class TreeWriter {
 public:
  TreeWriter& begin_object() {
    open_.push_back({.key = std::move(key_), .members = MapBuilder(), .items = {}});
    return *this;
  }
  TreeWriter& begin_array() { return begin_object(); }
  TreeWriter& key(std::string_view name) {
    key_ = name;
    return *this;
  }
  TreeWriter& value(double number) { return put(number_node(number)); }
  TreeWriter& value(std::int64_t number) { return put(integer_node(number)); }
  TreeWriter& null() { return put(Node()); }
  TreeWriter& end_object() {
    Node map = open_.back().members.build();
    return close(std::move(map));
  }
  TreeWriter& end_array() {
    Node list = list_node(std::move(open_.back().items));
    return close(std::move(list));
  }
  /// What was written; whole.
  Node take() { return std::move(whole_); }

 private:
  /// A map or a list that is open, and its own key.
  struct Level {
    std::string key;
    MapBuilder members;
    std::vector<Node> items;
  };

  TreeWriter& close(Node node) {
    key_ = std::move(open_.back().key);
    open_.pop_back();
    return put(std::move(node));
  }
  /// Where no key was given, to a list.
  TreeWriter& put(Node node) {
    if (open_.empty()) {
      whole_ = std::move(node);
    } else if (key_.empty()) {
      open_.back().items.push_back(std::move(node));
    } else {
      open_.back().members.add(std::exchange(key_, {}), std::move(node));
    }
    return *this;
  }

  std::vector<Level> open_;
  std::string key_;
  Node whole_;
};

/// The text of a series is written as it is made: its tree would take ten times the memory.
template <class Writer>
class SeriesWriter {
 public:
  SeriesWriter(const Series& series, Writer& out) : series_(series), out_(out) {}

  void write() {
    out_.begin_object();
    out_.key("window_s").value(series_.window.to_seconds());
    out_.key("windows").value(static_cast<std::int64_t>(series_.windows.size()));
    out_.key("end_s").value(series_.end.to_seconds());
    out_.key("instances").value(series_.instances);
    gauges();
    rates();
    busy();
    latencies();
    if (series_.slo.any()) {
      slo();
    }
    quantiles();
    requests();
    out_.end_object();
  }

 private:
  /// A list under a key, for each window what `write` writes of it.
  template <class Write>
  void column(std::string_view name, const Write& write) {
    out_.key(name).begin_array();
    for (std::size_t i = 0; i < series_.windows.size(); ++i) {
      write(series_.windows[i], i);
    }
    out_.end_array();
  }
  template <class Of>
  void counts(std::string_view name, const Of& of) {
    column(name, [&](const Window& window, std::size_t) { out_.value(of(window)); });
  }

  /// A sum times ticks over so many ticks, to a thousandth; exactly rounded, half up.
  void mean(core::Int128 sum, core::Int128 ticks) {
    const auto units = static_cast<std::int64_t>((sum * kMeanUnits * 2 + ticks) / (ticks * 2));
    if (units % kMeanUnits == 0) {
      out_.value(units / kMeanUnits);
    } else {
      out_.value(static_cast<double>(units) / static_cast<double>(kMeanUnits));
    }
  }

  /// Columns of a gauge: an idle instance counts as zero.
  void gauge(core::Int128 Window::* sum,
             std::int64_t Window::* least,
             std::int64_t Window::* greatest) {
    column("mean", [&](const Window& window, std::size_t i) {
      mean(window.*sum, core::Int128{length_of(series_, i)} * series_.instances);
    });
    column("min", [&](const Window& window, std::size_t i) {
      out_.value(idle_of(series_, i) > 0 ? std::int64_t{0} : window.*least);
    });
    counts("max", [&](const Window& window) { return window.*greatest; });
  }

  void gauges() {
    out_.key("gauges").begin_object().key("running").begin_object();
    gauge(&Window::running, &Window::running_min, &Window::running_max);
    out_.end_object().key("kv_tokens").begin_object();
    gauge(&Window::kv_tokens, &Window::kv_tokens_min, &Window::kv_tokens_max);
    out_.end_object().key("kv_capacity_tokens");
    if (series_.kv_capacity) {
      out_.value(*series_.kv_capacity);
    } else {
      out_.null();
    }
    out_.key("waiting").begin_object();
    column("mean", [&](const Window& window, std::size_t i) {
      mean(window.waiting, length_of(series_, i));
    });
    out_.end_object().end_object();
  }

  void rates() {
    out_.key("rates").begin_object();
    counts("arrivals", [](const Window& w) { return w.arrivals; });
    counts("completions", [](const Window& w) { return w.completions; });
    counts("prefill_tokens", [](const Window& w) { return w.prefill_tokens; });
    counts("decode_tokens", [](const Window& w) { return w.decode_tokens; });
    counts("preemptions", [](const Window& w) { return w.preemptions; });
    counts("steps", [](const Window& w) { return w.steps; });
    out_.end_object();
  }

  void busy() {
    out_.key("busy_ps").begin_object();
    for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
      counts(domain::kBottleneckNames[kind],
             [kind](const Window& window) { return written(window.busy[kind]); });
    }
    column("idle", [&](const Window&, std::size_t i) { out_.value(idle_of(series_, i)); });
    out_.end_object();
  }

  /// [first bin with a request, requests in it, in the next, ...]; empty without requests.
  void histogram(const metrics::LatencyHistogram& histogram) {
    const auto& all = histogram.counts;
    const auto first = std::ranges::find_if(all, [](std::uint32_t count) { return count > 0; });
    out_.begin_array();
    if (first != all.end()) {
      out_.value(std::int64_t{first - all.begin()});
      for (auto count = first; count != all.end(); ++count) {
        out_.value(std::int64_t{*count});
      }
    }
    out_.end_array();
  }

  void latencies() {
    std::size_t bins = 0;
    for (const auto& histograms : series_.latencies) {
      for (const auto& histogram : histograms) {
        bins = std::max(bins, histogram.counts.size());
      }
    }
    constexpr auto kWindows = static_cast<std::int64_t>(Series::kWindowsPerHistogram);
    out_.key("latency_counts").begin_object();
    out_.key("window_s").value((series_.window * kWindows).to_seconds());
    out_.key("bin_bounds_ms").begin_array();
    for (std::size_t bin = 0; bin <= bins; ++bin) {
      const auto first = core::Duration::ticks(metrics::LatencyHistogram::first_of(bin));
      out_.value(first.to_milliseconds());
    }
    out_.end_array();
    for (std::size_t latency = 0; latency < metrics::kNumLatencies; ++latency) {
      out_.key(metrics::kLatencyNames[latency]).begin_array();
      for (const auto& of_windows : series_.latencies[latency]) {
        histogram(of_windows);
      }
      out_.end_array();
    }
    out_.end_object();
  }

  void slo() {
    out_.key("slo").begin_object();
    counts("requests", [](const Window& window) { return window.judged; });
    counts("good", [](const Window& window) { return window.good; });
    for (std::size_t metric = 0; metric < metrics::kNumMetrics; ++metric) {
      if (series_.slo.limits[metric]) {
        counts(metrics::kMetricNames[metric],
               [metric](const Window& window) { return window.within[metric]; });
      }
    }
    out_.end_object();
  }

  void numbers(std::string_view name, const std::vector<double>& values) {
    out_.key(name).begin_array();
    for (const double value : values) {
      out_.value(value);
    }
    out_.end_array();
  }

  void quantiles() {
    out_.key("quantiles").begin_object();
    numbers("probabilities", series_.probabilities);
    for (std::size_t latency = 0; latency < metrics::kNumLatencies; ++latency) {
      numbers(std::string(metrics::kLatencyNames[latency]) + "_ms", series_.quantiles_ms[latency]);
      if (static_cast<metrics::Latency>(latency) == metrics::Latency::kTpot) {
        numbers("itl_ms", series_.itl_ms);
      }
    }
    out_.end_object();
  }

  void time(std::string_view name, core::SimTime at) {
    out_.key(name);
    if (at == core::SimTime::never()) {
      out_.null();
    } else {
      out_.value(at.to_seconds());
    }
  }
  void span(std::string_view name, const std::optional<core::Duration>& span) {
    out_.key(name);
    if (span) {
      out_.value(span->to_milliseconds());
    } else {
      out_.null();
    }
  }

  void story(const RequestStory& story) {
    const domain::RequestRecord& record = story.record;
    out_.begin_object().key("id").value(static_cast<std::int64_t>(record.id.value()));
    time("arrival_s", record.arrival);
    time("queued_s", record.queued);
    time("first_scheduled_s", record.first_scheduled);
    time("first_token_s", record.first_token);
    time("last_token_s", record.last_token);
    out_.key("input_tokens").value(record.prompt_tokens.value());
    out_.key("cached_tokens").value(record.cached_tokens.value());
    out_.key("output_tokens").value(record.output_tokens.value());
    out_.key("preemptions").value(std::int64_t{record.preemptions});
    span("ttft_ms", story.metrics.ttft);
    span("tpot_ms", story.metrics.tpot);
    span("e2e_ms", story.metrics.e2e);
    out_.end_object();
  }
  void stories(std::string_view name, const std::vector<RequestStory>& stories) {
    out_.key(name).begin_array();
    for (const RequestStory& one : stories) {
      story(one);
    }
    out_.end_array();
  }

  void requests() {
    constexpr std::array<std::string_view, 3> kWorst = {"worst_ttft", "worst_tpot", "worst_e2e"};
    out_.key("requests").begin_object();
    for (std::size_t i = 0; i < kWorst.size(); ++i) {
      stories(kWorst[i], series_.worst[i]);
    }
    stories("sample", series_.sample);
    out_.end_object();
  }

  const Series& series_;
  Writer& out_;
};

}  // namespace

Node series_tree(const Series& series) {
  TreeWriter tree;
  SeriesWriter(series, tree).write();
  return tree.take();
}

void write_series(const Series& series, JsonWriter& json) {
  SeriesWriter(series, json).write();
}

}  // namespace ridgeline::metrics
