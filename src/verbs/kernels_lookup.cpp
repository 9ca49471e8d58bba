#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/measured/lookup_question.hpp"
#include "latency/measured/make_tables.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "verbs/head_shapes.hpp"
#include "verbs/kernels_lookup_view.hpp"
#include "verbs/registry.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

using latency::measured::HeadShape;
using latency::measured::KernelTables;
using latency::measured::LookupMode;
using latency::measured::LookupQuestion;

core::Error lookup_problem(std::string field, std::string message, std::string hint = {}) {
  return {.field = std::move(field),
          .message = std::move(message),
          .where = {.file = "command line"},
          .hint = std::move(hint)};
}

/// The counts of a question, as the last word gives them.
void read_numbers(std::string_view list, LookupQuestion& question, core::Errors& errors) {
  for (const std::string& text : split_list(list)) {
    const auto value = parse_positive(text);
    if (!value) {
      errors.push_back(lookup_problem(
          "kernels lookup",
          fmt::format("found {}, expected a whole number from 1", core::quote(text))));
    }
    question.numbers.push_back(value.value_or(1));
  }
  const std::size_t least = question.kind == "gemm" ? 3 : question.kind == "prefill" ? 1 : 2;
  const std::size_t most = question.kind == "decode" ? 3 : least;
  if (question.numbers.size() < least || question.numbers.size() > most) {
    errors.push_back(lookup_problem(
        "kernels lookup",
        fmt::format("found {} numbers in {}, expected {}",
                    question.numbers.size(),
                    core::quote(list),
                    least == most ? fmt::format("{}", least) : "BATCH,KV or BATCH,KV,TP")));
  }
}

core::Result<LookupQuestion> read_question(Request& request) {
  const std::vector<std::string> words = request.take_texts("question");
  core::Errors errors;
  LookupQuestion question;
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
  read_numbers(words.back(), question, errors);
  const std::string mode = request.take_text("latency_lookup", "interp");
  if (mode != "interp" && mode != "floor") {
    const std::vector<std::string> choices = {"interp", "floor"};
    errors.push_back(bad_choice(request.field("latency_lookup"), mode, choices));
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

core::Result<KernelTables> tables_for(const std::string& name,
                                      const std::string& bench_data,
                                      const LookupQuestion& question) {
  const auto gpu = hardware::find_gpu(name.empty() ? "h100" : name);
  if (!bench_data.empty()) {
    return latency::measured::load_bench_data(bench_data, gpu ? gpu->name : name);
  }
  if (!gpu) {
    return core::fail(gpu.error());
  }
  latency::measured::MakeRequest made;
  if (question.kind != "gemm") {
    made.heads.push_back(question.heads);
    made.tensor_parallel_sizes.push_back(question.kind == "decode" ? question.numbers[2] : 1);
  }
  return latency::measured::made_kernel_tables(*gpu, made);
}

core::Result<Reply> kernels_lookup(Request& request, Host& /*host*/) {
  const auto question = read_question(request);
  const std::string gpu = request.take_text("gpu");
  const std::string bench_data = request.take_text("bench_data");
  request.end();
  request.keep(question);
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  const auto tables = tables_for(gpu, bench_data, *question);
  if (!tables) {
    return core::fail(tables.error());
  }
  auto answer = latency::measured::answer_lookup(*tables, *question);
  if (!answer) {
    return core::fail(std::move(answer).error());
  }
  if (bench_data.empty()) {
    answer->file.clear();
    answer->line = 0;
  }
  const auto found = shared(std::move(*answer));
  Reply reply{.tree = tree_of(found, kernel_lookup_tree)};
  add_views(reply, reply.tree, kernel_lookup_sheet);
  return reply;
}

}  // namespace

Verb kernels_lookup_verb() {
  return {
      .name = "kernels lookup",
      .summary = "one look-up of the published models: row, distance, MFU, latency",
      .usage = "kernels lookup gemm M,K,N | prefill HEADS SEQ | decode HEADS BATCH,KV[,TP]",
      .about =
          "One look-up as the published models make it: the row used, how far it is from what\n"
          "was asked, its latency, and the MFU that comes out. Without --bench-data, in tables\n"
          "made by the kernel model.",
      .words = "question",
      .parameters = {{.key = "bench_data",
                      .value = "DIR",
                      .help = "Folder of measured kernel tables"},
                     {.key = "gpu", .value = "G", .help = "Whose tables (h100)"},
                     {.key = "latency_lookup",
                      .value = "interp|floor",
                      .help = "Between rows, or the row below"}},
      .formats = {"table", "json"},
      .run = kernels_lookup};
}

}  // namespace ridgeline::verbs
