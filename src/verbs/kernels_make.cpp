#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/node_builder.hpp"
#include "document/save.hpp"
#include "latency/measured/make_tables.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "verbs/head_shapes.hpp"
#include "verbs/registry.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

std::vector<document::Node> rows_of(const std::string& folder,
                                    const std::vector<document::NewFile>& files) {
  std::vector<document::Node> rows;
  for (const document::NewFile& file : files) {
    rows.push_back(document::MapBuilder()
                       .add("file", (std::filesystem::path(folder) / file.name).string())
                       .add("rows", std::ranges::count(file.text, '\n') - 1)
                       .build());
  }
  return rows;
}

std::string rows_text(const document::Node& rows) {
  std::string text;
  for (const document::Node& row : rows.items()) {
    text += fmt::format("{}  {} rows\n",
                        core::escaped(row.find("file")->as_string()),
                        row.find("rows")->as_integer());
  }
  return text;
}

core::Result<Reply> kernels_make(Request& request, Host& /*host*/) {
  latency::measured::MakeRequest wanted;
  if (const auto words = request.take_texts("words"); !words.empty()) {
    request.add({.message = fmt::format("unexpected \"{}\"", words.front()),
                 .where = {.file = "command line"}});
  }
  const auto gpu = hardware::find_gpu(request.take_text("gpu", "h100"));
  request.keep(gpu);
  for (const std::string& text : request.take_texts("heads")) {
    if (const auto shape = parse_head_shape(text)) {
      wanted.heads.push_back(*shape);
    } else {
      request.add(request.problem("heads",
                                  fmt::format("found \"{}\", expected HEADS-KVHEADS-HEADDIM", text),
                                  "--heads 40-40-128,32-8-128"));
    }
  }
  const bool states_sizes = request.has("tp");
  for (const std::string& text :
       states_sizes ? request.take_texts("tp") : std::vector<std::string>{"1"}) {
    if (const auto size = parse_positive(text)) {
      wanted.tensor_parallel_sizes.push_back(*size);
    } else {
      request.add(request.problem(
          "tp", fmt::format("found \"{}\", expected a whole number from 1", text), "--tp 1,2,4,8"));
    }
  }
  const std::string folder = request.take_text("output");
  if (folder.empty()) {
    request.add(
        request.problem("output", "is missing, expected a folder to write to", "-o tables"));
  }
  request.end();
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  const auto files = latency::measured::make_tables(*gpu, wanted);
  if (!files) {
    return core::fail(files.error());
  }
  if (const auto saved = document::save_files("--output", folder, *files); !saved) {
    return core::fail(saved.error());
  }
  const auto found = shared(document::list_node(rows_of(folder, *files)));
  return Reply{.tree = [found] { return *found; }, .views = {{"table", view_of(found, rows_text)}}};
}

}  // namespace

Verb kernels_make_verb() {
  using Kind = Parameter::Kind;
  return {.name = "kernels make",
          .summary = "write tables from the kernel model, for any GPU",
          .usage = "kernels make --gpu G --heads 40-40-128 --tp 1,2,4,8 -o DIR",
          .about =
              "Writes kernel tables in InferSim's layout from the kernel model: GEMM, prefill and\n"
              "decode attention, with unrounded MFU, latency, the constants that priced each row,\n"
              "and the error to expect of it.",
          .words = "words",
          .parameters =
              {{.key = "gpu", .value = "G", .help = "GPU, by name or file (h100)"},
               {.key = "heads",
                .kind = Kind::kWords,
                .value = "H-KV-DIM,...",
                .help = "Attention heads: query heads, KV heads, head dimension"},
               {.key = "tp",
                .kind = Kind::kWords,
                .value = "N,...",
                .help = "Tensor parallel sizes of decode (1)"},
               {.key = "output", .value = "DIR", .help = "Folder to write to", .letter = 'o'}},
          .formats = {"table"},
          .run = kernels_make};
}

}  // namespace ridgeline::verbs
