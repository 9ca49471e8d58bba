// Run by the build (cmake/embed.cmake): embed_yaml IN OUT writes the YAML file IN as JSON, which
// the program reads at every start some thirty times as fast.
#include <cstdio>
#include <fstream>
#include <ios>
#include <string>

#include <fmt/core.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: embed_yaml IN OUT\n");
    return 2;
  }
  const auto document = ridgeline::document::read_document(argv[1]);
  if (!document) {
    fmt::print(stderr, "{}\n", ridgeline::core::to_string(document.error().front()));
    return 2;
  }
  ridgeline::document::JsonWriter json(ridgeline::document::JsonWriter::Layout::kOneLine);
  ridgeline::document::write(*document, json);
  std::ofstream out(argv[2], std::ios::binary);
  out << json.text();
  out.close();
  if (!out) {
    fmt::print(stderr, "{}: cannot be written\n", argv[2]);
    return 2;
  }
  return 0;
}
