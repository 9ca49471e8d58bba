#include "sweep/sweep.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "plan/capacity_measure.hpp"
#include "sweep/axes.hpp"
#include "sweep/measure.hpp"
#include "sweep/row.hpp"
#include "sweep/runner.hpp"
#include "verbs/registry.hpp"
#include "verbs/sweep_job.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

core::Result<sweep::Measure> find_measure(const std::string& name) {
  if (name == "run") {
    return sweep::run_measure();
  }
  if (name == "capacity") {
    return plan::capacity_measure();
  }
  return core::fail(
      core::Error{.field = "measure",
                  .message = fmt::format("found \"{}\", expected run or capacity", name),
                  .where = {},
                  .hint = "measure: run"});
}

document::Node values_of(const sweep::Sweep& sweep, const sweep::Point& point) {
  document::MapBuilder map;
  for (std::size_t i = 0; i < point.values.size(); ++i) {
    map.add(sweep.axes().axes()[i].path, point.values[i]);
  }
  return map.build();
}

/// A row as a sweep's file has it, without what may differ from run to run.
struct PointRow {
  document::Node tree;
  sweep::Status status = sweep::Status::kOk;
};

/// Nothing where it was interrupted.
std::optional<PointRow> row_of(const sweep::Sweep& sweep,
                               const sweep::Measure& measure,
                               std::int64_t ordinal,
                               const std::atomic<bool>& stop) {
  const sweep::Point point = sweep.axes().point(ordinal);
  sweep::ResolvedPoint resolved = sweep.resolve(point, measure.settings);
  sweep::Row row{.ordinal = ordinal,
                 .id = std::move(resolved.id),
                 .point = values_of(sweep, point),
                 .result = {},
                 .errors = {}};
  if (!resolved.resolved) {
    row.errors = std::move(resolved.resolved).error();
  } else if (auto found = measure.find(*resolved.resolved, stop); !found) {
    row.errors = std::move(found).error();
  } else if (!*found) {
    return std::nullopt;
  } else {
    row.result = std::move(**found);
  }
  const std::string line = sweep::line_of(row);
  const auto view = sweep::read_line(std::string_view(line).substr(0, line.size() - 1));
  auto tree = document::parse_json(std::string(view->without_run_info) + "}", "sweep");
  return PointRow{.tree = std::move(*tree), .status = view->status};
}

/// What the command line ends with, too.
int code_of(const std::array<std::int64_t, sweep::kNumStatuses>& by_status) {
  switch (sweep::outcome_of(by_status)) {
    case sweep::Status::kInfeasible:
      return kInfeasible;
    case sweep::Status::kRefused:
      return kDiffers;
    case sweep::Status::kFailed:
      return kInternal;
    case sweep::Status::kOk:
      break;
  }
  return 0;
}

/// Each row of the points, nothing where the host stopped it.
std::vector<std::optional<PointRow>> rows_of(const SweepJob& job, std::int64_t jobs, Host& host) {
  std::vector<std::optional<PointRow>> rows(static_cast<std::size_t>(job.sweep.size()));
  std::mutex mutex;  // So that the host hears the counts in order.
  Stage stage{.all = job.sweep.size()};
  const auto watch = host.watch(Host::Work::kOnThreads);
  core::for_each_job(rows.size(), jobs, [&](std::size_t i) {
    if (!host.stop()) {
      rows[i] = row_of(job.sweep, job.measure, static_cast<std::int64_t>(i), host.stop());
      const std::lock_guard lock(mutex);
      ++stage.done;
      host.progress(stage);
    }
  });
  return rows;
}

core::Result<Reply> sweep_points(Request& request, Host& host) {
  const std::int64_t jobs = request.take_threads("jobs");
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  const auto job = take_sweep(request);
  if (!job) {
    return core::fail(job.error());
  }
  std::vector<document::Node> points;
  std::array<std::int64_t, sweep::kNumStatuses> by_status{};
  for (auto& row : rows_of(*job, jobs, host)) {
    if (row) {
      ++by_status[static_cast<std::size_t>(row->status)];
      points.push_back(std::move(row->tree));
    }
  }
  const bool is_partial = static_cast<std::int64_t>(points.size()) < job->sweep.size();
  document::MapBuilder tree;
  tree.add("schema_version", 1)
      .add("digest", job->sweep.digest(job->measure.settings))
      .add("measure", job->sweep.measure())
      .add("size", job->sweep.size())
      .add("points", document::list_node(std::move(points)));
  if (is_partial) {
    tree.add("partial", true);
  }
  Reply reply = answer_of(tree.build());
  reply.code = is_partial ? host.stopped() : code_of(by_status);
  return reply;
}

}  // namespace

core::Result<SweepJob> take_sweep(Request& request) {
  sweep::SweepWords words;
  if (request.is_words()) {
    words.axes = request.take_texts("axis");
    words.measure = request.take_word("measure");
    if (!request.stated()) {
      return core::fail(request.stated().error());
    }
    words.file = request.stated()->file;
    words.overrides = request.stated()->overrides;
  } else {
    words.document = request.document();
  }
  auto sweep = sweep::read_sweep(words);
  if (!sweep) {
    return core::fail(std::move(sweep).error());
  }
  auto measure = find_measure(sweep->measure());
  if (!measure) {
    return core::fail(std::move(measure).error());
  }
  return SweepJob{.sweep = std::move(*sweep), .measure = std::move(*measure)};
}

Verb sweep_verb() {
  return {.name = "sweep",
          .summary = "many scenarios from one: run, list, status, merge, submit",
          .scenario = ScenarioPart::kWhole,
          .run = sweep_points,
          .own = Own::kSweep};
}

}  // namespace ridgeline::verbs
