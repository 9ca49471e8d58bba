#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
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
#include "document/save.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/make_tables.hpp"

namespace ridgeline::cli {
namespace {

core::Error make_problem(std::string field, std::string message, std::string hint = {}) {
  return {.field = std::move(field),
          .message = std::move(message),
          .where = {.file = "command line"},
          .hint = std::move(hint)};
}

struct MakeWords {
  hardware::GpuSpec gpu;
  latency::measured::MakeRequest request;
  std::string directory;
};

core::Result<MakeWords> read_make_words(const Arguments& arguments) {
  MakeWords words;
  core::Errors errors;
  if (auto none = no_positionals(arguments); !none) {
    errors = none.error();
  }
  const auto gpu = hardware::find_gpu(arguments.value("gpu", "h100"));
  if (gpu) {
    words.gpu = *gpu;
  } else {
    errors.insert(errors.end(), gpu.error().begin(), gpu.error().end());
  }
  for (const std::string& text : split_list(arguments.value("heads"))) {
    if (const auto shape = parse_head_shape(text)) {
      words.request.heads.push_back(*shape);
    } else {
      errors.push_back(
          make_problem("--heads",
                       fmt::format("found \"{}\", expected HEADS-KVHEADS-HEADDIM", text),
                       "--heads 40-40-128,32-8-128"));
    }
  }
  for (const std::string& text : split_list(arguments.value("tp", "1"))) {
    const auto size = parse_positive(text);
    if (size) {
      words.request.tensor_parallel_sizes.push_back(*size);
    } else {
      errors.push_back(
          make_problem("--tp",
                       fmt::format("found \"{}\", expected a whole number from 1", text),
                       "--tp 1,2,4,8"));
    }
  }
  words.directory = arguments.value("output");
  if (words.directory.empty()) {
    errors.push_back(
        make_problem("--output", "is missing, expected a folder to write to", "-o tables"));
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return words;
}

}  // namespace

ExitCode kernels_make(Words words) {
  const Opening opening{
      .usage = "kernels make --gpu G --heads 40-40-128 --tp 1,2,4,8 -o DIR",
      .about =
          "Writes kernel tables in InferSim's layout from the kernel model: GEMM, prefill and\n"
          "decode attention, with unrounded MFU, latency, the constants that priced each row,\n"
          "and the error to expect of it.",
      .flags = {{.name = "gpu", .value = "G", .help = "GPU, by name or file (h100)"},
                {.name = "heads",
                 .value = "H-KV-DIM,...",
                 .help = "Attention heads: query heads, KV heads, head dimension"},
                {.name = "tp", .value = "N,...", .help = "Tensor parallel sizes of decode (1)"},
                {.name = "output", .letter = 'o', .value = "DIR", .help = "Folder to write to"}},
      .formats = {"table"}};
  Opening with_manners = opening;
  for (auto& flag : manner_flags("table")) {
    with_manners.flags.push_back(std::move(flag));
  }
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(with_manners, words, arguments, manners)) {
    return *code;
  }
  const auto made = read_make_words(arguments);
  if (!made) {
    return give_up(made.error(), manners);
  }
  const auto files = latency::measured::make_tables(made->gpu, made->request);
  if (!files) {
    return give_up(files.error(), manners);
  }
  if (const auto saved = document::save_files("--output", made->directory, *files); !saved) {
    return give_up(saved.error(), manners);
  }
  std::string text;
  for (const document::NewFile& file : *files) {
    text +=
        fmt::format("{}  {} rows\n",
                    core::escaped((std::filesystem::path(made->directory) / file.name).string()),
                    std::ranges::count(file.text, '\n') - 1);
  }
  return put_out(text, manners);
}

}  // namespace ridgeline::cli
