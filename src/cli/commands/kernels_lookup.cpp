#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/kernels.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/word_lists.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/json_writer.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/measured/make_tables.hpp"

namespace ridgeline::cli {
namespace {

using latency::measured::HeadShape;
using latency::measured::KernelTables;
using latency::measured::Lookup;
using latency::measured::LookupMode;
using latency::measured::LookupOptions;
using latency::measured::LookupOutcome;

core::Error lookup_problem(std::string field, std::string message, std::string hint = {}) {
  return {.field = std::move(field),
          .message = std::move(message),
          .where = {.file = "command line"},
          .hint = std::move(hint)};
}

/// What is asked: `gemm M,K,N`, `prefill HEADS SEQ` or `decode HEADS BATCH,KV[,TP]`.
struct Question {
  std::string kind;
  HeadShape heads;
  std::vector<std::int64_t> numbers;
  LookupOptions options;
};

/// What is answered.
struct Answer {
  std::string target;
  std::string row;  ///< Its shape.
  std::string file;
  int line = 0;
  bool made = false;    ///< By the kernel model just now: no such file was read.
  std::string missing;  ///< The table of the shape asked for, where `file` stands in for it.
  double row_latency_us = 0.0;
  double row_mfu = 0.0;
  double heads_distance = 0.0;
  std::int64_t tp_distance = 0;
  Lookup lookup;
};

const char* outcome_text(LookupOutcome outcome) {
  switch (outcome) {
    case LookupOutcome::kFound:
      return "found";
    case LookupOutcome::kReplaced:
      return "the table says 0: another row stands in";
    case LookupOutcome::kNothing:
      break;
  }
  return "no row can be used";
}

core::Result<Question> read_question(const Arguments& arguments) {
  const auto& words = arguments.positionals;
  core::Errors errors;
  Question question;
  question.kind = words.empty() ? "" : words.front();
  const bool is_gemm = question.kind == "gemm";
  if (!is_gemm && question.kind != "prefill" && question.kind != "decode") {
    return core::fail(lookup_problem(
        "kernels lookup",
        fmt::format(
            "found {}, expected gemm M,K,N, prefill HEADS SEQ or decode HEADS BATCH,KV[,TP]",
            core::quote(question.kind)),
        "ridgeline kernels lookup gemm 128,4096,4096"));
  }
  const std::size_t expected = is_gemm ? 2 : 3;
  if (words.size() != expected) {
    return core::fail(
        lookup_problem("kernels lookup",
                       fmt::format("found {} words after {}, expected {}",
                                   words.size() - 1,
                                   question.kind,
                                   is_gemm                      ? "M,K,N"
                                   : question.kind == "prefill" ? "HEADS SEQ"
                                                                : "HEADS BATCH,KV[,TP]")));
  }
  if (!is_gemm) {
    const auto heads = parse_head_shape(words[1]);
    if (!heads) {
      errors.push_back(lookup_problem(
          "kernels lookup",
          fmt::format("found {}, expected HEADS-KVHEADS-HEADDIM", core::quote(words[1])),
          "32-8-128"));
    }
    question.heads = heads.value_or(HeadShape{1, 1, 1});
  }
  for (const std::string& text : split_list(words.back())) {
    const auto value = parse_positive(text);
    if (!value) {
      errors.push_back(lookup_problem(
          "kernels lookup",
          fmt::format("found {}, expected a whole number from 1", core::quote(text))));
    }
    question.numbers.push_back(value.value_or(1));
  }
  const std::size_t least = is_gemm ? 3 : question.kind == "prefill" ? 1 : 2;
  const std::size_t most = question.kind == "decode" ? 3 : least;
  if (question.numbers.size() < least || question.numbers.size() > most) {
    errors.push_back(lookup_problem(
        "kernels lookup",
        fmt::format("found {} numbers in {}, expected {}",
                    question.numbers.size(),
                    core::quote(words.back()),
                    least == most ? fmt::format("{}", least) : "BATCH,KV or BATCH,KV,TP")));
  }
  const std::string mode = arguments.value("latency-lookup", "interp");
  if (mode != "interp" && mode != "floor") {
    const std::vector<std::string> choices = {"interp", "floor"};
    errors.push_back(bad_choice("--latency-lookup", mode, choices));
  }
  question.options.mode = mode == "floor" ? LookupMode::kFloor : LookupMode::kInterpolate;
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  if (question.kind == "decode" && question.numbers.size() == 2) {
    question.numbers.push_back(1);
  }
  return question;
}

core::Result<Answer> ask_gemm(const KernelTables& tables, const Question& question) {
  const auto& numbers = question.numbers;
  const auto target = latency::measured::find_gemm_column(
      tables.gemm, numbers[1], numbers[2], question.options.mode);
  Answer answer;
  answer.lookup = look_up_gemm(tables.gemm, target, numbers[0], question.options);
  const auto& row = tables.gemm.rows()[answer.lookup.row];
  answer.target = fmt::format("m {}, k {}, n {}", numbers[0], numbers[1], numbers[2]);
  answer.row = fmt::format("m {}, k {}, n {}", row.m, row.k, row.n);
  answer.file = tables.gemm.path();
  answer.line = row.line;
  answer.row_latency_us = row.latency_us;
  answer.row_mfu = row.mfu;
  return answer;
}

/// The file that a folder of measured tables holds for heads and, of decode, a number of ranks.
std::string table_path(const std::string& folder, const HeadShape& heads, std::int64_t ranks = 0) {
  const std::string end = ranks > 0 ? fmt::format("-tp{}.csv", ranks) : std::string(".csv");
  return fmt::format("{}/{}{}", folder, to_string(heads), end);
}

core::Result<Answer> ask_attention(const KernelTables& tables, const Question& question) {
  const auto heads = latency::measured::choose_heads(tables, question.heads);
  if (!heads) {
    return core::fail(heads.error());
  }
  const auto& numbers = question.numbers;
  Answer answer;
  answer.heads_distance = heads->distance;
  if (heads->distance > 0.0) {
    answer.missing = table_path(tables.prefill_folder, question.heads);
  }
  const std::string shape = to_string(question.heads);
  if (question.kind == "prefill") {
    answer.lookup = look_up_prefill(*heads->prefill, numbers[0], question.options);
    const auto& row = heads->prefill->rows()[answer.lookup.row];
    answer.target = fmt::format("{}, length {}", shape, numbers[0]);
    answer.row = fmt::format("{}, length {}", to_string(heads->prefill->shape()), row.seq_len);
    answer.file = heads->prefill->path();
    answer.line = row.line;
    answer.row_latency_us = row.latency_us;
    answer.row_mfu = row.mfu;
    return answer;
  }
  const auto choice = latency::measured::choose_decode(
      tables, heads->prefill->shape(), numbers[2], question.options.mode);
  if (!choice) {
    return core::fail(choice.error());
  }
  const auto& table = *choice->table;
  answer.tp_distance = choice->tp_distance;
  if (heads->distance > 0.0 || choice->tp_distance > 0) {
    answer.missing = table_path(tables.decode_folder, question.heads, numbers[2]);
  }
  answer.lookup = look_up_decode(table, numbers[0], numbers[1], question.options);
  answer.target =
      fmt::format("{} tp {}, batch {}, kv {}", shape, numbers[2], numbers[0], numbers[1]);
  answer.file = table.path();
  if (answer.lookup.row == Lookup::kNoRow) {
    answer.row = "none";
    return answer;
  }
  const auto& row = table.rows()[answer.lookup.row];
  answer.row = fmt::format("{} tp {}, batch {}, kv {}",
                           to_string(table.key().shape),
                           table.key().tensor_parallel_size,
                           row.batch_size,
                           row.kv_len);
  answer.line = row.line;
  answer.row_latency_us = row.latency_us;
  answer.row_mfu = row.mfu;
  return answer;
}

std::string answer_table(const Answer& answer) {
  std::string text = fmt::format("target    {}\n", answer.target);
  const std::string place =
      answer.line > 0 ? fmt::format("{}:{}", answer.file, answer.line) : answer.file;
  text += fmt::format("row       {}  ({}{})\n",
                      answer.row,
                      answer.made ? "made by the kernel model, no file read: " : "",
                      place);
  if (!answer.missing.empty()) {
    text += fmt::format("missing   {}: {} stands in\n", answer.missing, answer.file);
  }
  text += fmt::format("distance  {}\n", core::shortest(answer.lookup.distance));
  if (answer.heads_distance > 0.0 || answer.tp_distance > 0) {
    text += fmt::format("heads     {} away; tensor parallel size {} away\n",
                        core::shortest(answer.heads_distance),
                        answer.tp_distance);
  }
  text += fmt::format("mfu       {}  ({}{}); the row's own {}\n",
                      core::shortest(answer.lookup.mfu),
                      outcome_text(answer.lookup.outcome),
                      answer.lookup.outside ? ", outside the table" : "",
                      core::shortest(answer.row_mfu));
  text += fmt::format("latency   {} us (the row's)\n", core::shortest(answer.row_latency_us));
  return text;
}

std::string answer_json(const Answer& answer) {
  document::JsonWriter json;
  json.begin_object();
  json.member("target", answer.target);
  json.member("row", answer.row);
  json.member("file", answer.file);
  json.member("line", answer.line);
  json.member("made", answer.made);
  json.member("missing", answer.missing);
  json.member("distance", answer.lookup.distance);
  json.member("heads_distance", answer.heads_distance);
  json.member("tp_distance", answer.tp_distance);
  json.member("mfu", answer.lookup.mfu);
  json.member("outcome", outcome_text(answer.lookup.outcome));
  json.member("outside", answer.lookup.outside);
  json.member("row_mfu", answer.row_mfu);
  json.member("latency_us", answer.row_latency_us);
  json.end_object();
  return json.text() + "\n";
}

core::Result<KernelTables> tables_for(const Arguments& arguments, const Question& question) {
  const auto gpu = hardware::find_gpu(arguments.value("gpu", "h100"));
  if (arguments.has("bench-data")) {
    return latency::measured::load_bench_data(arguments.value("bench-data"),
                                              gpu ? gpu->name : arguments.value("gpu"));
  }
  if (!gpu) {
    return core::fail(gpu.error());
  }
  latency::measured::MakeRequest request;
  if (question.kind != "gemm") {
    request.heads.push_back(question.heads);
    request.tensor_parallel_sizes.push_back(question.kind == "decode" ? question.numbers[2] : 1);
  }
  return latency::measured::made_kernel_tables(*gpu, request);
}

}  // namespace

ExitCode kernels_lookup(Words words) {
  Opening opening{
      .usage = "kernels lookup gemm M,K,N | prefill HEADS SEQ | decode HEADS BATCH,KV[,TP]",
      .about =
          "One look-up as the published models make it: the row used, how far it is from what\n"
          "was asked, its latency, and the MFU that comes out. Without --bench-data, in tables\n"
          "made by the kernel model.",
      .flags = {{.name = "bench-data", .value = "DIR", .help = "Folder of measured kernel tables"},
                {.name = "gpu", .value = "G", .help = "Whose tables (h100)"},
                {.name = "latency-lookup",
                 .value = "interp|floor",
                 .help = "Between rows, or the row below"}},
      .formats = {"table", "json"}};
  for (auto& flag : manner_flags("table|json")) {
    opening.flags.push_back(std::move(flag));
  }
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const auto question = read_question(arguments);
  if (!question) {
    return give_up(question.error(), manners);
  }
  const auto tables = tables_for(arguments, *question);
  if (!tables) {
    return give_up(tables.error(), manners);
  }
  auto answer =
      question->kind == "gemm" ? ask_gemm(*tables, *question) : ask_attention(*tables, *question);
  if (!answer) {
    return give_up(answer.error(), manners);
  }
  answer->made = !arguments.has("bench-data");
  return put_out(manners.format == "json" ? answer_json(*answer) : answer_table(*answer), manners);
}

}  // namespace ridgeline::cli
