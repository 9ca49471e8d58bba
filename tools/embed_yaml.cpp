// Run by the build (cmake/embed.cmake): embed_yaml IN OUT writes the YAML file IN as JSON, which
// the program reads at every start some thirty times as fast.
#include <cstdio>
#include <fstream>
#include <ios>
#include <string>

#include <fmt/core.h>

#include "core/document.hpp"
#include "core/json_writer.hpp"
#include "core/node_json.hpp"
#include "core/result.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: embed_yaml IN OUT\n");
    return 2;
  }
  const auto document = ridgeline::core::read_document(argv[1]);
  if (!document) {
    fmt::print(stderr, "{}\n", ridgeline::core::to_string(document.error().front()));
    return 2;
  }
  ridgeline::core::JsonWriter json(ridgeline::core::JsonWriter::Layout::kOneLine);
  ridgeline::core::write(*document, json);
  std::ofstream out(argv[2], std::ios::binary);
  out << json.text();
  out.close();
  if (!out) {
    fmt::print(stderr, "{}: cannot be written\n", argv[2]);
    return 2;
  }
  return 0;
}
