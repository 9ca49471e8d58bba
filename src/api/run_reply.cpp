#include "api/run_reply.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "api/call.hpp"
#include "api/call_document.hpp"
#include "api/tables.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "metrics/timeline.hpp"
#include "report/figures/figure.hpp"
#include "report/registry.hpp"
#include "report/result_json.hpp"
#include "report/result_tree.hpp"
#include "report/results/run.hpp"
#include "report/run_result.hpp"
#include "ridgeline/error.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::api {
Kept take_kept(CallDocument& document, core::Errors& errors) {
  using metrics::Timeline;
  Kept kept;
  for (const std::string& word : document.take_texts("keep")) {
    if (word == "requests") {
      kept.tables.requests = kUsualRequests;
    } else if (word == "all-requests") {
      kept.tables.requests = std::numeric_limits<std::int64_t>::max();
    } else if (word == "steps") {
      kept.tables.steps = true;
    } else if (word == "series" || word == "figures") {
      kept.shows_series = kept.shows_series || word == "series";
      kept.series_windows = Timeline::kUsualWindows;
    } else {
      errors.push_back({.field = "keep",
                        .message = fmt::format("found \"{}\", expected requests, all-requests, "
                                               "steps, series or figures",
                                               word)});
    }
  }
  const std::int64_t windows =
      document.take_count("series_buckets", 0, static_cast<std::int64_t>(Timeline::kMostWindows));
  if (windows > 0) {
    if (windows < static_cast<std::int64_t>(Timeline::kLeastWindows)) {
      errors.push_back({.field = "series_buckets",
                        .message = fmt::format("found {}, expected {} to {}",
                                               windows,
                                               Timeline::kLeastWindows,
                                               Timeline::kMostWindows)});
    }
    kept.series_windows = static_cast<std::size_t>(windows);
  }
  return kept;
}

Reply answered(const document::Node& tree) {
  return {.code = 0, .json = report::json_text(tree)};
}

Reply run_reply(const scenario::Resolved& resolved,
                report::RunResult&& result,
                const Kept& kept,
                std::shared_ptr<const KeptTables> tables) {
  const auto whole = std::make_shared<const report::RunResult>(std::move(result));
  Reply reply;
  if (whole->series && !kept.shows_series) {
    reply = answered(report::result_tree(*whole, report::SeriesIn::kNothing));
  } else {
    reply = answered(report::result_tree(*whole));
  }
  reply.digest = whole->digest;
  reply.figures = [whole] { return report::figures::all_figures(report::result_tree(*whole)); };
  reply.report = [whole, json = reply.json](std::string_view name) -> std::optional<std::string> {
    const auto exporter = report::find_exporter(name);
    if (!exporter || ((*exporter)->needs_series && !whole->series)) {
      return std::nullopt;
    }
    return name == "json" ? json : (*exporter)->render(*whole, {});
  };
  reply.tables = std::move(tables);
  if (whole->partial) {
    reply.code = kInterrupted;
  } else if (report::unanswered(resolved, whole->summary)) {
    reply.code = static_cast<int>(ErrorCode::kInfeasible);
  }
  return reply;
}

}  // namespace ridgeline::api
