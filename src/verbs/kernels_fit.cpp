#include <algorithm>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/reader.hpp"
#include "latency/fit/columns_yaml.hpp"
#include "latency/fit/fit_kernels.hpp"
#include "latency/fit/operators.hpp"
#include "latency/fit/read_tables.hpp"
#include "verbs/kernels_fit_view.hpp"
#include "verbs/registry.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

bool is_version(std::string_view text) {
  const bool has_digit = !text.empty() && text.front() >= '0' && text.front() <= '9';
  return has_digit && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

core::Error fit_flag_error(std::string field, std::string message, std::string hint) {
  return {.field = std::move(field),
          .message = std::move(message),
          .where = {.file = "command line"},
          .hint = std::move(hint)};
}

/// "0.19.0" or "gemm_8bit=0.24.0".
core::Result<std::pair<std::string, std::string>> read_fit_version(const std::string& given) {
  const auto equals = given.find('=');
  const bool is_named = equals != std::string::npos;
  const std::string key = is_named ? given.substr(0, equals) : std::string();
  const std::string version = is_named ? given.substr(equals + 1) : given;
  std::vector<std::string> keys;
  for (const auto& of : latency::fit::operators()) {
    keys.emplace_back(of.key);
  }
  if (is_named && std::ranges::find(keys, key) == keys.end()) {
    const auto near = document::nearest(key, keys);
    return core::fail(fit_flag_error(
        "--version",
        fmt::format("found operator \"{}\", expected one of {}", key, fmt::join(keys, ", ")),
        near ? fmt::format("did you mean '{}'?", *near) : std::string()));
  }
  if (!is_version(version)) {
    return core::fail(fit_flag_error("--version",
                                     fmt::format("found \"{}\", expected a version of vLLM", given),
                                     "--version 0.19.0, or --version gemm_8bit=0.24.0"));
  }
  return std::pair(key, version);
}

/// One of some words; the first where nothing is given.
core::Result<std::string> read_one_of(Request& request,
                                      const std::string& key,
                                      const std::vector<std::string>& words) {
  std::string given = request.take_text(key, words.front());
  if (std::ranges::find(words, given) != words.end()) {
    return given;
  }
  const auto near = document::nearest(given, words);
  return core::fail(
      fit_flag_error("--" + (key == "leave_out" ? std::string("leave-out") : key),
                     fmt::format("found \"{}\", expected one of {}", given, fmt::join(words, ", ")),
                     near ? fmt::format("did you mean '{}'?", *near) : std::string()));
}

core::Result<Reply> kernels_fit(Request& request, Host& /*host*/) {
  latency::fit::FitOptions options;
  options.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 16U));
  for (const std::string& given : request.take_texts("version")) {
    auto version = read_fit_version(given);
    request.keep(version);
    if (version) {
      options.versions.push_back(*std::move(version));
    }
  }
  const auto engine = read_one_of(request, "engine", {"vllm", "sglang", "trtllm"});
  request.keep(engine);
  const auto left_out = read_one_of(request, "leave_out", {"gpus", "shapes"});
  request.keep(left_out);
  const std::string source = request.take_text("kernel_source");
  const std::string folder =
      request.take_folder("kernels fit", "ridgeline kernels fit tables -o columns.yaml");
  request.end();
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  if (*left_out == "shapes") {
    options.leave_out = latency::fit::LeaveOut::kShapes;
  }
  const auto tables =
      latency::fit::read_tables(folder, {.engine = *engine, .kernel_source = source});
  if (!tables) {
    return core::fail(tables.error());
  }
  const auto fits = shared(latency::fit::fit_kernels(*tables, options));
  if (fits->empty()) {
    return core::fail(fit_flag_error(folder,
                                     "no operator has rows enough to fit its constants",
                                     "more shapes are needed: docs/models/kernel.md"));
  }
  Reply reply{.tree = tree_of(fits, kernel_fit_tree),
              .views = {{"table", view_of(fits, kernel_fit_table)}}};
  reply.artefacts["output"] = [fits] { return latency::fit::columns_yaml(*fits); };
  return reply;
}

}  // namespace

Verb kernels_fit_verb() {
  using Kind = Parameter::Kind;
  return {
      .name = "kernels fit",
      .summary = "fit the kernel model's constants to measured operators",
      .usage = "kernels fit DIR [-o FILE]",
      .about =
          "Fits the constants of the kernel model to measured operators: aiconfigurator's tables\n"
          "of an engine, or full/<gpu>/ of tools/profiler. Prints relative errors per operator "
          "and\n"
          "GPU, in sample and with the GPU left out; -o writes what --latency-constants reads.",
      .words = "folder",
      .parameters = {{.kind = Kind::kManners},
                     {.key = "output",
                      .kind = Kind::kFile,
                      .value = "FILE",
                      .help = "Writes the constants, as --latency-constants reads them",
                      .letter = 'o'},
                     {.key = "version",
                      .kind = Kind::kEach,
                      .value = "V",
                      .help = "Newest tables not above this version of the engine; OPERATOR=V for "
                              "one operator"},
                     {.key = "engine",
                      .value = "vllm|sglang|trtllm",
                      .help = "Whose tables; vllm by default"},
                     {.key = "kernel_source",
                      .value = "NAME",
                      .help = "Only rows whose kernel_source is NAME: one kernel of several"},
                     {.key = "leave_out",
                      .value = "gpus|shapes",
                      .help = "What the errors left out are of: the GPU, or each quarter of its "
                              "shapes under the others' constants; gpus by default"}},
      .formats = {"table", "json"},
      .run = kernels_fit};
}

}  // namespace ridgeline::verbs
