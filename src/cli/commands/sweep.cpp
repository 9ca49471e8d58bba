#include "sweep/sweep.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/sweep_words.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_file.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"
#include "core/shell_word.hpp"
#include "core/text.hpp"
#include "core/version.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"
#include "sweep/measure.hpp"
#include "sweep/merge.hpp"
#include "sweep/row.hpp"
#include "sweep/runner.hpp"
#include "sweep/shard.hpp"
#include "sweep/store.hpp"
#include "sweep/submit.hpp"
#include "verbs/request.hpp"
#include "verbs/sweep_job.hpp"

namespace ridgeline::cli {
namespace {

/// A sweep with what is measured of its points, and where its results are.
struct Job {
  sweep::Sweep sweep;
  sweep::Measure measure;
  std::string store;  ///< The folder.
  core::Warnings warnings = {};
};

/// "sweep-" and the first digits of the digest: the same folder for the same sweep.
std::string default_store(const std::string& digest) {
  constexpr std::size_t kDigits = 8;
  return "sweep-" + digest.substr(0, kDigits);
}

core::Result<Job> read_job(const Arguments& arguments) {
  verbs::Request request = sweep_request(arguments);
  auto taken = verbs::take_sweep(request);
  if (!taken) {
    return core::fail(std::move(taken).error());
  }
  std::string folder = arguments.has("store")
                           ? arguments.value("store")
                           : default_store(taken->sweep.digest(taken->measure.settings));
  return Job{.sweep = std::move(taken->sweep),
             .measure = std::move(taken->measure),
             .store = std::move(folder),
             .warnings = request.stated()->warnings};
}

/// A file that results are written to.
struct ResultFile {
  OutputFile file;
  bool is_csv = false;
};

/// Opens the files of -o, their formats by their extensions, or standard output.
core::Result<std::vector<ResultFile>> open_results(const Arguments& arguments,
                                                   const Manners& manners) {
  std::vector<std::string> paths = arguments.values("output");
  if (paths.empty()) {
    paths.emplace_back("-");
  }
  std::vector<ResultFile> files;
  for (const std::string& path : paths) {
    const bool is_csv = path.ends_with(".csv") || (path == "-" && manners.format == "csv");
    if (!is_csv && !OutputFile::is_direct(path) && !path.ends_with(".ndjson") &&
        !path.ends_with(".jsonl")) {
      return core::fail(usage_error(
          "--output", fmt::format("'{}' names no format, expected .ndjson or .csv", path)));
    }
    auto file = OutputFile::open("--output", path);
    if (!file) {
      return core::fail(std::move(file).error());
    }
    files.push_back({.file = std::move(*file), .is_csv = is_csv});
  }
  return files;
}

/// Writes results to the files of -o.
ExitCode put_merged(const sweep::Store& store,
                    sweep::Contents& contents,
                    std::vector<ResultFile>& files,
                    const Arguments& arguments,
                    const Manners& manners) {
  const std::int64_t missing = store.points() - contents.done;
  if (missing > 0 && !arguments.has("partial")) {
    return give_up(
        {usage_error(
            "--store",
            fmt::format("'{}' lacks {} of {} points", store.folder(), missing, store.points()),
            "run what is left, or --partial for what there is")},
        manners);
  }
  for (ResultFile& to : files) {
    auto done = to.is_csv ? sweep::merge_csv(contents, to.file.stream())
                          : sweep::merge_ndjson(contents, to.file.stream());
    if (done) {
      done = to.file.commit();
    }
    if (!done) {
      return give_up(done.error(), manners);
    }
  }
  return ExitCode::kOk;
}

/// "3 of 8 points, 2 infeasible"
std::string counted(std::int64_t done,
                    std::int64_t points,
                    const std::array<std::int64_t, sweep::kNumStatuses>& by_status) {
  std::string text = fmt::format("{} of {} {}", done, points, core::plural("point", points));
  for (std::size_t i = 1; i < by_status.size(); ++i) {
    if (by_status[i] > 0) {
      text += fmt::format(", {} {}", by_status[i], name(static_cast<sweep::Status>(i)));
    }
  }
  return text;
}

/// What `sweep run` ends with. A shard has done its work once its points have rows, whatever they
/// hold: a scheduler starts again what ends otherwise.
ExitCode code_of(const sweep::Contents& contents, std::int64_t points, const Arguments& arguments) {
  if (contents.done < points) {
    return ExitCode::kOk;
  }
  const bool is_shard = arguments.has("shard");
  switch (sweep::outcome_of(contents.by_status)) {
    case sweep::Status::kInfeasible:
      return ExitCode::kInfeasible;
    case sweep::Status::kRefused:
      return is_shard ? ExitCode::kOk : ExitCode::kDiffers;
    case sweep::Status::kFailed:
      return is_shard ? ExitCode::kOk : ExitCode::kInternal;
    case sweep::Status::kOk:
      break;
  }
  return ExitCode::kOk;
}

/// The reason that most points without a result have, as a line; empty where all have one.
std::string main_reason(const sweep::Contents& contents) {
  const auto most = std::ranges::max_element(
      contents.reasons, {}, [](const auto& reason) { return reason.second; });
  return most == contents.reasons.end()
             ? std::string()
             : fmt::format("{} of these: {}\n", most->second, core::escaped(most->first));
}

/// What to do next, as a line: the merge once all points have results.
std::string next_step(const sweep::Store& store, const sweep::Contents& contents) {
  const std::int64_t missing = store.points() - contents.done;
  return missing > 0 ? fmt::format("{} {} missing: run the other shards before the merge\n",
                                   missing,
                                   missing == 1 ? "point is" : "points are")
                     : fmt::format("ridgeline sweep merge {} -o results.csv\n",
                                   core::escaped(core::shell_word(store.folder())));
}

/// What a store holds; of rows that cannot be checked, it is said that they are there.
core::Result<sweep::Contents> read_store(const sweep::Store& store, const Manners& manners) {
  auto contents = store.read();
  if (contents && contents->unchecked_rows > 0) {
    const std::string text = render(
        core::Warning{
            .code = "W-no-checksum",
            .message = fmt::format("{} {} of '{}' without a checksum, as earlier versions wrote "
                                   "them: a digit that changed in one is not seen",
                                   contents->unchecked_rows,
                                   core::plural("row", contents->unchecked_rows),
                                   store.folder())},
        manners.err);
    static_cast<void>(write_all(STDERR_FILENO, text));
  }
  return contents;
}

/// What a shard ends with: where results are, and the merged ones where they were asked for.
ExitCode finish_shard(const sweep::Store& store,
                      const sweep::Tally& tally,
                      std::vector<ResultFile>& files,
                      const Arguments& arguments,
                      const Manners& manners) {
  auto contents = read_store(store, manners);
  if (!contents) {
    return give_up(contents.error(), manners);
  }
  if (InterruptGuard::flag() && tally.found + tally.done < tally.points) {
    static_cast<void>(
        write_all(STDERR_FILENO,
                  fmt::format("interrupted: {} are in '{}'; the same command goes on\n",
                              counted(contents->done, store.points(), contents->by_status),
                              core::escaped(store.folder()))));
    return InterruptGuard::exit_code();
  }
  if (!files.empty()) {
    const ExitCode written = put_merged(store, *contents, files, arguments, manners);
    if (contents->by_status[0] < contents->done) {
      static_cast<void>(
          write_all(STDERR_FILENO,
                    fmt::format("{}\n{}",
                                counted(contents->done, store.points(), contents->by_status),
                                main_reason(*contents))));
    }
    return written == ExitCode::kOk ? code_of(*contents, store.points(), arguments) : written;
  }
  const ExitCode shown =
      put_out(fmt::format("{} in '{}'\n{}{}",
                          counted(contents->done, store.points(), contents->by_status),
                          core::escaped(store.folder()),
                          main_reason(*contents),
                          next_step(store, *contents)),
              manners);
  return shown == ExitCode::kOk ? code_of(*contents, store.points(), arguments) : shown;
}

ExitCode run_sweep(const Arguments& arguments, const Manners& manners) {
  const auto job = read_job(arguments);
  const auto shard = sweep::read_shard(arguments.value("shard", "0/1"));
  const auto jobs = read_jobs(arguments);
  const auto mode = progress_mode(arguments, manners.err);
  core::Errors errors;
  keep_errors(job, errors);
  keep_errors(shard, errors);
  keep_errors(jobs, errors);
  keep_errors(mode, errors);
  if (!errors.empty()) {
    return give_up(errors, manners);
  }
  for (const core::Warning& warning : job->warnings) {
    static_cast<void>(write_all(STDERR_FILENO, render(warning, manners.err)));
  }
  // An output that cannot be written fails now, not when every point has run.
  auto files = arguments.has("output") ? open_results(arguments, manners)
                                       : core::Result<std::vector<ResultFile>>();
  if (!files) {
    return give_up(files.error(), manners);
  }
  const auto store = sweep::Store::open(
      job->store, job->sweep.description(job->measure.settings, core::version()));
  if (!store) {
    return give_up(store.error(), manners);
  }
  ProgressDisplay display(*mode, manners.err);
  const InterruptGuard guard;
  const auto tally = sweep::run_shard(
      job->sweep,
      job->measure,
      *store,
      {.shard = *shard,
       .jobs = *jobs,
       .clock = [&display] { return display.wall_seconds(); },
       .progress =
           [&display](const sweep::Tally& at) {
             display.update(verbs::Stage{.done = at.done, .found = at.found, .all = at.points});
           }},
      InterruptGuard::flag());
  display.finish();
  if (!tally) {
    return give_up(tally.error(), manners);
  }
  return finish_shard(*store, *tally, *files, arguments, manners);
}

ExitCode list_points(const Arguments& arguments, const Manners& manners) {
  const auto job = read_job(arguments);
  if (!job) {
    return give_up(job.error(), manners);
  }
  const std::vector<std::string> paths = arguments.values("output");
  auto file = OutputFile::open("--output", paths.empty() ? "-" : paths.front());
  if (!file) {
    return give_up(file.error(), manners);
  }
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  for (std::int64_t i = 0; i < job->sweep.size(); ++i) {
    const auto point = job->sweep.resolve(job->sweep.axes().point(i), job->measure.settings);
    json.clear();
    json.begin_object().member("ordinal", i).member("id", point.id).key("scenario");
    document::write(point.scenario, json);
    json.end_object();
    file->stream() << json.text() << '\n';
  }
  const auto done = file->commit();
  return done ? ExitCode::kOk : give_up(done.error(), manners);
}

/// The store that the words behind `status` and `merge` name.
core::Result<sweep::Store> named_store(const Arguments& arguments) {
  std::vector<std::string> folders = arguments.positionals;
  for (const std::string& folder : arguments.values("store")) {
    folders.push_back(folder);
  }
  if (folders.size() != 1) {
    return core::fail(
        usage_error("",
                    fmt::format("expected the folder of one store, found {}", folders.size()),
                    "ridgeline sweep status FOLDER"));
  }
  return sweep::Store::find(folders.front());
}

ExitCode merge_store(const Arguments& arguments, const Manners& manners) {
  const auto store = named_store(arguments);
  if (!store) {
    return give_up(store.error(), manners);
  }
  auto contents = read_store(*store, manners);
  if (!contents) {
    return give_up(contents.error(), manners);
  }
  auto files = open_results(arguments, manners);
  return files ? put_merged(*store, *contents, *files, arguments, manners)
               : give_up(files.error(), manners);
}

std::string status_json(const sweep::Store& store,
                        const sweep::Contents& contents,
                        std::optional<double> left_s) {
  document::JsonWriter json;
  json.begin_object()
      .member("schema_version", std::int64_t{1})
      .member("sweep", store.digest())
      .member("points", store.points())
      .member("done", contents.done)
      .member("missing", store.points() - contents.done);
  for (std::size_t i = 0; i < contents.by_status.size(); ++i) {
    json.member(name(static_cast<sweep::Status>(i)), contents.by_status[i]);
  }
  json.member("files", contents.files.size())
      .member("torn_lines", contents.torn_lines)
      .member("unchecked_rows", contents.unchecked_rows)
      .member("core_seconds", contents.wall_time_s)
      .key("core_seconds_left");
  left_s ? json.value(*left_s) : json.null();
  json.end_object();
  return json.text() + "\n";
}

ExitCode show_status(const Arguments& arguments, const Manners& manners) {
  const auto store = named_store(arguments);
  if (!store) {
    return give_up(store.error(), manners);
  }
  const auto contents = read_store(*store, manners);
  if (!contents) {
    return give_up(contents.error(), manners);
  }
  const std::int64_t missing = store->points() - contents->done;
  std::optional<double> left_s;
  if (!contents->rows.empty()) {
    left_s = contents->wall_time_s * static_cast<double>(missing) /
             static_cast<double>(contents->rows.size());
  }
  if (manners.format == "json") {
    return put_out(status_json(*store, *contents, left_s), manners);
  }
  std::string text = counted(contents->done, store->points(), contents->by_status) + "\n";
  if (missing > 0) {
    text += fmt::format("{} missing{}\n",
                        missing,
                        left_s ? fmt::format(", about {:.3g} s of one core left", *left_s) : "");
  }
  if (contents->torn_lines > 0) {
    text += fmt::format("{} torn {} passed over, as a kill leaves them\n",
                        contents->torn_lines,
                        core::plural("line", contents->torn_lines));
  }
  return put_out(text, manners);
}

ExitCode submit_sweep(Words words, Arguments arguments, const Manners& manners) {
  // `--engine` is the scheduler's here; the server's is --engine-version.
  std::string wanted;
  std::erase_if(arguments.flags, [&](const GivenFlag& flag) {
    if (flag.typed == "--engine") {
      wanted = flag.value;
    }
    return flag.typed == "--engine";
  });
  const auto engine = sweep::find_submit_engine(wanted);
  if (!engine) {
    return give_up(engine.error(), manners);
  }
  const auto job = read_job(arguments);
  if (!job) {
    return give_up(job.error(), manners);
  }
  constexpr std::int64_t kShards = 64;  // planner.md, section 9
  const auto shards =
      read_count(arguments, "shards", std::min(kShards, job->sweep.size()), sweep::kMostShards);
  if (!shards) {
    return give_up(shards.error(), manners);
  }
  for (const std::string& word : words) {
    if (core::valid_utf8_prefix(word) != word.size()) {
      return give_up({usage_error("",
                                  fmt::format("found {}, expected UTF-8: not every script can hold "
                                              "other bytes",
                                              core::quote(word)))},
                     manners);
    }
  }
  const std::string script = (*engine)->write({.words = without_submit_words(words),
                                               .store = job->store,
                                               .digest = job->sweep.digest(job->measure.settings),
                                               .points = job->sweep.size(),
                                               .shards = *shards});
  const std::vector<std::string> paths = arguments.values("output");
  if (paths.empty()) {
    return put_out(script, manners);
  }
  auto file = OutputFile::open("--output", paths.front());
  if (!file) {
    return give_up(file.error(), manners);
  }
  file->stream() << script;
  const auto done = file->commit();
  return done ? ExitCode::kOk : give_up(done.error(), manners);
}

}  // namespace

ExitCode sweep_command(Words words) {
  const Opening opening = sweep_opening();
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const auto action = take_action(arguments);
  if (!action) {
    return give_up(action.error(), manners);
  }
  if (*action == "run") {
    return run_sweep(arguments, manners);
  }
  if (*action == "list") {
    return list_points(arguments, manners);
  }
  if (*action == "merge") {
    return merge_store(arguments, manners);
  }
  if (*action == "status") {
    return show_status(arguments, manners);
  }
  return submit_sweep(words, std::move(arguments), manners);
}

}  // namespace ridgeline::cli
