#include "report/comparison_page.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "document/basis.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "report/chart/compare.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/svg.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/html_report.hpp"
#include "report/leaves.hpp"

namespace ridgeline::report {
namespace {

using document::list_of;
using document::MapBuilder;

using document::Node;

constexpr std::int64_t kComparisonSchemaVersion = 1;

struct Setting {
  std::string path;
  std::vector<std::string> values;  ///< One per run; "–" where it has none.
};

/// Settings that are not the same in all simulated runs.
std::vector<Setting> differing_settings(const std::vector<PageRun>& runs) {
  std::vector<Setting> all;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Node* const config = runs[i].result.find("config");
    if (runs[i].measured || config == nullptr) {
      continue;
    }
    for (auto& [path, value] : leaves_of(*config)) {
      const auto [place, is_new] = places.emplace(path, all.size());
      if (is_new) {
        all.push_back({.path = path, .values = std::vector<std::string>(runs.size(), "\u2013")});
      }
      all[place->second].values[i] = std::move(value);
    }
  }
  std::erase_if(all, [&](const Setting& setting) {
    std::vector<std::string> of_runs;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i].measured) {
        of_runs.push_back(setting.values[i]);
      }
    }
    return std::ranges::all_of(of_runs, [&](const auto& one) { return one == of_runs.front(); });
  });
  return all;
}

bool is_of_load(std::string_view path) {
  return path == "seed" || path == "workload" || path.starts_with("workload.");
}

/// Whether every run but the measured ones gets the same requests, in words.
std::string pairing_html(const std::vector<PageRun>& runs, const std::vector<Setting>& differing) {
  const auto simulated =
      std::ranges::count_if(runs, [](const PageRun& run) { return !run.measured; });
  if (simulated < 2) {
    return {};
  }
  const bool paired = std::ranges::none_of(
      differing, [](const Setting& setting) { return is_of_load(setting.path); });
  if (!paired) {
    return "<p>Not paired: seeds or workloads differ, so that a part of each difference is chance. "
           "Run each with several <code>--seed</code> to see how much.</p>\n";
  }
  const bool same = std::ranges::all_of(runs, [&](const PageRun& run) {
    return run.measured || text_at(run.result, "digest") == text_at(runs.front().result, "digest");
  });
  return same && !runs.front().measured
             ? "<p>Paired, and equal: every request had the same life in all of them.</p>\n"
             : "<p>Paired: same seed and workload, so that each request comes at the same instant "
               "with the same lengths in all of them.</p>\n";
}

std::vector<std::string> run_heads(const std::vector<PageRun>& runs) {
  std::vector<std::string> head = {""};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    head.push_back(xml_escaped(runs[i].name) + (runs[i].measured ? "<br>measured"
                                                : i == 0         ? "<br>baseline"
                                                                 : ""));
    if (runs[i].result.find("bound") != nullptr) {
      head.back() += fmt::format("<br>{}", document::kBoundWords);
    }
  }
  return head;
}

std::string settings_html(const std::vector<PageRun>& runs, const std::vector<Setting>& differing) {
  std::string html = "<section id=\"settings\">\n<h2>Settings that differ</h2>\n";
  if (differing.empty()) {
    return html + "<p>None.</p>\n</section>\n";
  }
  std::vector<std::vector<std::string>> rows;
  for (const Setting& setting : differing) {
    std::vector<std::string> row = {xml_escaped(setting.path)};
    for (const std::string& value : setting.values) {
      row.push_back(xml_escaped(value));
    }
    rows.push_back(std::move(row));
  }
  return html + table_html(run_heads(runs), rows) + "</section>\n";
}

struct Number {
  std::string_view name;
  std::string_view key;
  std::string_view unit;
};
constexpr auto kNumbers = std::to_array<Number>({
    {.name = "TTFT mean", .key = "summary.ttft_ms.mean", .unit = "ms"},
    {.name = "TTFT p50", .key = "summary.ttft_ms.p50", .unit = "ms"},
    {.name = "TTFT p90", .key = "summary.ttft_ms.p90", .unit = "ms"},
    {.name = "TTFT p99", .key = "summary.ttft_ms.p99", .unit = "ms"},
    {.name = "TPOT mean", .key = "summary.tpot_ms.mean", .unit = "ms"},
    {.name = "TPOT p50", .key = "summary.tpot_ms.p50", .unit = "ms"},
    {.name = "TPOT p90", .key = "summary.tpot_ms.p90", .unit = "ms"},
    {.name = "TPOT p99", .key = "summary.tpot_ms.p99", .unit = "ms"},
    {.name = "ITL p50", .key = "summary.itl_ms.p50", .unit = "ms"},
    {.name = "ITL p99", .key = "summary.itl_ms.p99", .unit = "ms"},
    {.name = "E2E mean", .key = "summary.e2e_ms.mean", .unit = "ms"},
    {.name = "E2E p50", .key = "summary.e2e_ms.p50", .unit = "ms"},
    {.name = "E2E p90", .key = "summary.e2e_ms.p90", .unit = "ms"},
    {.name = "E2E p99", .key = "summary.e2e_ms.p99", .unit = "ms"},
    {.name = "queue p99", .key = "summary.queue_time_ms.p99", .unit = "ms"},
    {.name = "requests", .key = "summary.request_throughput", .unit = "req/s"},
    {.name = "output", .key = "summary.output_throughput", .unit = "tok/s"},
    {.name = "input and output", .key = "summary.total_token_throughput", .unit = "tok/s"},
    {.name = "goodput", .key = "summary.goodput", .unit = "req/s"},
    {.name = "completed", .key = "summary.completed", .unit = ""},
    {.name = "preemptions", .key = "summary.preemptions", .unit = ""},
    {.name = "KV peak", .key = "summary.kv_cache.peak", .unit = ""},
    {.name = "prefix hits", .key = "summary.kv_cache.prefix_hit_rate", .unit = ""},
    {.name = "busy", .key = "summary.busy_s", .unit = "s"},
});

/// A run's number, with its ratio to the baseline's and the difference.
std::string number_cell(const std::vector<PageRun>& runs, std::size_t i, std::string_view key) {
  const Node* const value = at_path(runs[i].result, key);
  std::string cell =
      fmt::format("<span data-key=\"{}:{}\">{}</span>", i, key, number_text(value, key));
  const Node* const base = at_path(runs.front().result, key);
  if (i == 0 || value == nullptr || base == nullptr || !value->is_number() || !base->is_number() ||
      base->as_real() == 0.0) {
    return cell;
  }
  const double difference = value->as_real() - base->as_real();
  return cell + fmt::format("<br><small>\u00d7{:.3f}, {}{}</small>",
                            value->as_real() / base->as_real(),
                            difference < 0.0 ? "\u2212" : "+",
                            significant(difference < 0.0 ? -difference : difference));
}

std::string numbers_html(const std::vector<PageRun>& runs) {
  std::vector<std::vector<std::string>> rows;
  for (const Number& number : kNumbers) {
    const bool known = std::ranges::any_of(runs, [&](const PageRun& run) {
      const Node* const value = at_path(run.result, number.key);
      return value != nullptr && value->is_number();
    });
    if (!known) {
      continue;
    }
    std::vector<std::string> row = {
        fmt::format("{}{}{}", number.name, number.unit.empty() ? "" : ", ", number.unit)};
    for (std::size_t i = 0; i < runs.size(); ++i) {
      row.push_back(number_cell(runs, i, number.key));
    }
    rows.push_back(std::move(row));
  }
  return "<section id=\"numbers\">\n<h2>Numbers, with their ratio to the first and the "
         "difference</h2>\n" +
         table_html(run_heads(runs), rows) + "</section>\n";
}

/// The runs without what their files have over time: six of it are more than a page should weigh.
std::vector<PageRun> without_series(const std::vector<PageRun>& runs) {
  std::vector<PageRun> lighter;
  for (const PageRun& run : runs) {
    MapBuilder map;
    for (const auto& member : run.result.members()) {
      if (member.key != "series") {
        map.add(member.key, member.value);
      }
    }
    lighter.push_back({.name = run.name, .result = map.build(), .measured = run.measured});
  }
  return lighter;
}

}  // namespace

std::string comparison_page(const std::vector<PageRun>& runs) {
  RIDGELINE_CHECK(runs.size() >= 2 && runs.size() <= kMostPageRuns, "runs that a page can hold");
  std::vector<figures::OneOf> all;
  for (const PageRun& run : runs) {
    all.push_back({.name = run.name, .result = &run.result, .measured = run.measured});
  }
  const auto differing = differing_settings(runs);
  std::string page = page_opening(fmt::format("{} runs side by side", runs.size()));
  page += fmt::format("<p>Runs side by side; the baseline is {}.</p>\n",
                      xml_escaped(runs.front().name));
  page += pairing_html(runs, differing) + settings_html(runs, differing) + numbers_html(runs);
  for (const figures::Figure& figure :
       {figures::compared_distributions(all), figures::compared_clock(all)}) {
    if (!figure.marks.empty()) {
      page += figure_section(figure);
    }
  }
  return page + page_closing(json_element("runs", page_runs_tree(without_series(runs))));
}

Node page_runs_tree(const std::vector<PageRun>& runs) {
  return MapBuilder()
      .add("schema_version", kComparisonSchemaVersion)
      .add("runs", list_of(runs, [&](const PageRun& run) -> document::Node {
             return MapBuilder()
                 .add("name", run.name)
                 .add("measured", run.measured)
                 .add("result", run.result);
           }));
}

}  // namespace ridgeline::report
