#include "api/searches.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/call.hpp"
#include "api/call_document.hpp"
#include "api/clock.hpp"
#include "api/search_contact.hpp"
#include "core/parallel.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "plan/answer.hpp"
#include "plan/capacity_measure.hpp"
#include "plan/mix_plan.hpp"
#include "plan/planner.hpp"
#include "plan/question.hpp"
#include "report/palette.hpp"
#include "report/plan_mix.hpp"
#include "report/plan_report.hpp"
#include "report/plan_svg.hpp"
#include "report/result_json.hpp"
#include "ridgeline/error.hpp"
#include "sweep/axes.hpp"
#include "sweep/measure.hpp"
#include "sweep/row.hpp"
#include "sweep/sweep.hpp"

namespace ridgeline::api {
namespace {

/// Where nothing meets the targets surely enough (docs/cli.md).
constexpr int kNotSure = 99;
constexpr std::int64_t kMostJobs = 1024;

std::int64_t usual_jobs() {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::thread::hardware_concurrency()));
}

core::Result<sweep::Measure> measure_of(const std::string& name) {
  if (name == "run") {
    return sweep::run_measure();
  }
  if (name == "capacity") {
    return plan::capacity_measure();
  }
  return core::fail(core::Error{
      .field = "measure", .message = fmt::format("found \"{}\", expected run or capacity", name)});
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
  constexpr int kRefused = 1;
  switch (sweep::outcome_of(by_status)) {
    case sweep::Status::kInfeasible:
      return static_cast<int>(ErrorCode::kInfeasible);
    case sweep::Status::kRefused:
      return kRefused;
    case sweep::Status::kFailed:
      return static_cast<int>(ErrorCode::kInternal);
    case sweep::Status::kOk:
      break;
  }
  return 0;
}

/// A key of a plan that is a word of its command line, as text.
std::optional<std::string> word_of(CallDocument& document, std::string_view key) {
  const document::Node value = document.take(key);
  switch (value.kind()) {
    case document::Node::Kind::kNull:
      return std::nullopt;
    case document::Node::Kind::kString:
      return value.as_string();
    case document::Node::Kind::kInteger:
      return fmt::format("{}", value.as_integer());
    case document::Node::Kind::kReal:
      return fmt::format("{}", value.as_real());
    default:
      return value.describe();  // Refused where it is read.
  }
}

int code_of(const plan::Answer& answer) {
  if (answer.partial) {
    return kStopped;
  }
  if (answer.pick) {
    return 0;
  }
  return answer.is_infeasible ? static_cast<int>(ErrorCode::kInfeasible) : kNotSure;
}

}  // namespace

core::Result<Reply> sweep_points(CallDocument& document, const CallHost& host) {
  const std::int64_t jobs = document.take_count("jobs", usual_jobs(), kMostJobs);
  if (!document.errors().empty()) {
    return core::fail(document.errors());
  }
  auto sweep = sweep::read_sweep({.document = document.scenario()});
  if (!sweep) {
    return core::fail(std::move(sweep).error());
  }
  const auto measure = measure_of(sweep->measure());
  if (!measure) {
    return core::fail(measure.error());
  }
  SearchContact contact(host.hooks);
  std::vector<std::optional<PointRow>> rows(static_cast<std::size_t>(sweep->size()));
  {
    const SearchContact::Watch watch(contact);
    core::for_each_job(rows.size(), jobs, [&](std::size_t i) {
      if (!contact.stop()) {
        rows[i] = row_of(*sweep, *measure, static_cast<std::int64_t>(i), contact.stop());
        contact.advance(sweep->size());
      }
    });
  }
  std::vector<document::Node> points;
  std::array<std::int64_t, sweep::kNumStatuses> by_status{};
  for (auto& row : rows) {
    if (row) {
      ++by_status[static_cast<std::size_t>(row->status)];
      points.push_back(std::move(row->tree));
    }
  }
  const bool is_partial = points.size() < rows.size();
  document::MapBuilder tree;
  tree.add("schema_version", document::integer_node(1))
      .add("digest", document::text_node(sweep->digest(measure->settings)))
      .add("measure", document::text_node(sweep->measure()))
      .add("size", document::integer_node(sweep->size()))
      .add("points", document::list_node(std::move(points)));
  if (is_partial) {
    tree.add("partial", document::bool_node(true));
  }
  return Reply{.code = is_partial ? kStopped : code_of(by_status),
               .json = report::json_text(tree.build())};
}

core::Result<Reply> plan_deployment(CallDocument& document, const CallHost& host) {
  const std::int64_t jobs = document.take_count("jobs", usual_jobs(), kMostJobs);
  plan::QuestionWords words;
  words.effort = word_of(document, "effort");
  words.confidence = word_of(document, "confidence");
  words.top_n = word_of(document, "top_n");
  words.prices = word_of(document, "prices");
  words.max_gpus = word_of(document, "max_gpus");
  words.accept_bounds = document.take_bool("accept_bounds", false);
  if (!document.errors().empty()) {
    return core::fail(document.errors());
  }
  words.document = document.scenario();
  auto question = plan::read_question(words);
  if (!question) {
    return core::fail(std::move(question).error());
  }
  SearchContact contact(host.hooks);
  const StopWatch clock;
  const plan::PlanOptions options{.jobs = jobs, .progress = [&](const plan::PlanProgress& at) {
                                    contact.update(at.done, at.all);
                                  }};
  const SearchContact::Watch watch(contact);
  const auto info = [&] {
    return report::PlanRunInfo{
        .wall_time_s = clock.seconds(), .core_seconds = core_seconds(), .jobs = jobs};
  };
  if (!question->classes.empty()) {
    auto found = plan::plan_mix(*question, options, contact.stop());
    if (!found) {
      return core::fail(std::move(found).error());
    }
    const auto answer = std::make_shared<const plan::MixAnswer>(std::move(*found));
    Reply reply{.code = answer->partial           ? kStopped
                        : answer->failure.empty() ? 0
                        : answer->only_bounds     ? kNotSure
                                                  : static_cast<int>(ErrorCode::kInfeasible),
                .json = report::json_text(report::mix_tree(*answer, info()))};
    reply.report = [answer, json = reply.json](std::string_view format) {
      return format == "table"  ? std::optional(report::mix_table(*answer, {}))
             : format == "json" ? std::optional(json)
                                : std::nullopt;
    };
    return reply;
  }
  auto found = plan::plan(*question, options, contact.stop());
  if (!found) {
    return core::fail(std::move(found).error());
  }
  const auto answer = std::make_shared<const plan::Answer>(std::move(*found));
  Reply reply{.code = code_of(*answer),
              .json = report::json_text(report::plan_tree(*answer, info()))};
  reply.report = [answer, json = reply.json](std::string_view format) {
    return format == "table"  ? std::optional(report::plan_table(*answer, {}))
           : format == "json" ? std::optional(json)
                              : std::nullopt;
  };
  reply.picture_name = "plan";
  reply.picture = [answer] { return report::plan_svg(*answer); };
  return reply;
}

}  // namespace ridgeline::api
