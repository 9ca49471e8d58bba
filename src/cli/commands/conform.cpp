#include "evidence/conform/conform.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "core/result.hpp"
#include "document/json_writer.hpp"

namespace ridgeline::cli {
namespace {

using evidence::conform::ConformResult;

std::size_t num_different(const std::vector<ConformResult>& results) {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(), [](const auto& result) {
        return result.difference.has_value();
      }));
}

std::string as_table(const std::vector<ConformResult>& results) {
  std::string text;
  for (const auto& result : results) {
    text += fmt::format("{}  {:<36} {:<26} as {}\n",
                        result.difference ? "differs" : "equal  ",
                        result.scenario,
                        result.version,
                        result.profile);
    if (result.difference) {
      text += fmt::format("         {}\n         recorded  {}\n         ours      {}\n",
                          result.difference->where,
                          result.difference->recorded,
                          result.difference->ours);
    }
  }
  const std::size_t different = num_different(results);
  return text + fmt::format("{} equal, {} differ\n", results.size() - different, different);
}

std::string as_json(const std::vector<ConformResult>& results) {
  document::JsonWriter json;
  json.begin_object();
  json.key("results").begin_array();
  for (const auto& result : results) {
    json.begin_object();
    json.member("file", result.file);
    json.member("scenario", result.scenario);
    json.member("version", result.version);
    json.member("profile", result.profile);
    json.member("equal", !result.difference.has_value());
    if (result.difference) {
      json.key("difference").begin_object();
      json.member("where", result.difference->where);
      json.member("recorded", result.difference->recorded);
      json.member("ours", result.difference->ours);
      json.end_object();
    }
    json.end_object();
  }
  json.end_array();
  const std::size_t different = num_different(results);
  json.member("equal", results.size() - different);
  json.member("different", different);
  json.end_object();
  return json.text() + "\n";
}

}  // namespace

ExitCode conform_command(Words words) {
  const Opening opening{
      .usage = "conform FILE...",
      .about =
          "Replays decisions recorded from vLLM's own scheduler and compares, for every engine\n"
          "version in the file: schedules, queues, preemptions, free counts, block ids, prefix\n"
          "statistics and per-request tables. Exit code 1 when anything differs.",
      .flags = manner_flags("table|json"),
      .formats = {"table", "json"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  if (arguments.positionals.empty()) {
    return give_up({{.field = "conform",
                     .message = "found no file, expected at least one recording",
                     .where = {.file = "command line"},
                     .hint = "ridgeline conform recording.json"}},
                   manners);
  }
  std::vector<ConformResult> results;
  core::Errors errors;
  for (const auto& file : arguments.positionals) {
    const auto lines = evidence::conform::conform_file(file);
    if (lines) {
      results.insert(results.end(), lines->begin(), lines->end());
    } else {
      errors.insert(errors.end(), lines.error().begin(), lines.error().end());
    }
  }
  if (!errors.empty()) {
    return give_up(errors, manners);
  }
  const ExitCode written =
      put_out(manners.format == "json" ? as_json(results) : as_table(results), manners);
  if (written != ExitCode::kOk) {
    return written;
  }
  return num_different(results) == 0 ? ExitCode::kOk : ExitCode::kDiffers;
}

}  // namespace ridgeline::cli
