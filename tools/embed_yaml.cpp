// Run by the build (cmake/embed.cmake): embed_yaml IN OUT writes the YAML file IN as JSON, which
// the program reads at every start some thirty times as fast.
#include <cstdio>
#include <fstream>
#include <ios>
#include <string>

#include <fmt/core.h>

#include "core/document.hpp"
#include "core/json_writer.hpp"
#include "core/result.hpp"

namespace {

using ridgeline::core::JsonWriter;
using ridgeline::core::Node;

void write(const Node& node, JsonWriter& json) {
  switch (node.kind()) {
    case Node::Kind::kNull:
      json.null();
      return;
    case Node::Kind::kBool:
      json.value(node.as_bool());
      return;
    case Node::Kind::kInteger:
      json.value(node.as_integer());
      return;
    case Node::Kind::kReal:
      json.value(node.as_real());
      return;
    case Node::Kind::kString:
      json.value(node.as_string());
      return;
    case Node::Kind::kList:
      json.begin_array();
      for (const Node& item : node.items()) {
        write(item, json);
      }
      json.end_array();
      return;
    case Node::Kind::kMap:
      json.begin_object();
      for (const Node::Member& member : node.members()) {
        json.key(member.key);
        write(member.value, json);
      }
      json.end_object();
      return;
  }
}

}  // namespace

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
  JsonWriter json(JsonWriter::Layout::kOneLine);
  write(*document, json);
  std::ofstream out(argv[2], std::ios::binary);
  out << json.text();
  out.close();
  if (!out) {
    fmt::print(stderr, "{}: cannot be written\n", argv[2]);
    return 2;
  }
  return 0;
}
