#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/plan_words.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/progress.hpp"
#include "cli/verb_outputs.hpp"
#include "core/result.hpp"
#include "plan/answer.hpp"
#include "plan/planner.hpp"
#include "report/palette.hpp"
#include "report/plan_measurements.hpp"
#include "report/plan_report.hpp"

namespace ridgeline::cli {
namespace {

ExitCode code_of(const plan::Answer& answer) {
  if (answer.partial) {
    return InterruptGuard::exit_code();
  }
  if (answer.pick) {
    return ExitCode::kOk;
  }
  return answer.is_infeasible ? ExitCode::kInfeasible : ExitCode::kThreshold;
}

}  // namespace

ExitCode plan_command(Words words) {
  const Opening opening = plan_opening();
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  auto question = read_plan(arguments);
  const auto jobs = read_count(arguments,
                               "jobs",
                               std::max<std::int64_t>(1, std::thread::hardware_concurrency()),
                               kMostThreads);
  const auto mode = progress_mode(arguments, manners.err);
  core::Errors errors;
  const auto keep = [&errors](const auto& result) {
    if (!result) {
      errors.insert(errors.end(), result.error().begin(), result.error().end());
    }
  };
  keep(question);
  keep(jobs);
  keep(mode);
  if (!errors.empty()) {
    return give_up(errors, manners);
  }
  auto outputs = VerbOutputs::open(arguments, manners, opening.formats);
  if (!outputs) {
    return give_up(outputs.error(), manners);
  }
  ProgressDisplay display(*mode, manners.err);
  const InterruptGuard guard;
  plan::PlanOptions options{
      .jobs = *jobs,
      .progress = [&display](const plan::PlanProgress& progress) { display.update(progress); }};
  if (arguments.has("store")) {
    options.store = arguments.value("store");
  }
  const auto answer = plan::plan(*question, options, InterruptGuard::flag());
  display.finish();
  if (!answer) {
    return give_up(answer.error(), manners);
  }
  const report::PlanRunInfo info{.wall_time_s = display.wall_seconds(), .jobs = *jobs};
  if (arguments.has("explain")) {
    const auto text =
        report::plan_explanation(*answer, arguments.value("explain"), text_style(manners.out));
    if (!text) {
      return give_up({{.field = "--explain",
                       .message = fmt::format("no deployment of this plan is \"{}\"",
                                              arguments.value("explain")),
                       .where = {.file = "command line"},
                       .hint = "ids stand in --format json; 1 is the best"}},
                     manners);
    }
    return put_out(*text, manners);
  }
  if (arguments.has("what-to-measure")) {
    return put_out(
        report::plan_measurements(*answer,
                                  static_cast<std::size_t>(question->top_n),
                                  arguments.has("kernels-only")),
        manners);
  }
  const ExitCode shown = outputs->put_out(
      [&](std::string_view format, const report::TextStyle& style) {
        return format == "json" ? report::plan_json(*answer, info)
                                : report::plan_table(*answer, style);
      },
      manners);
  return shown == ExitCode::kOk ? code_of(*answer) : shown;
}

}  // namespace ridgeline::cli
