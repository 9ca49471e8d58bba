#include "document/node_json.hpp"

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/json_writer.hpp"

namespace ridgeline::document {
namespace {

TEST(NodeJson, KeepsKindsOrderAndDuplicates) {
  // YAML in, JSON out: quoted digits stay text, keys keep their order, and nothing is merged.
  const auto node = parse_yaml("b: ['1', 2, 2.5, true, null]\na: {x: }\nb: []\n", "f");
  JsonWriter json(JsonWriter::Layout::kOneLine);
  write(*node, json);
  EXPECT_EQ(json.text(), R"({"b":["1",2,2.5,true,null],"a":{"x":null},"b":[]})");
}

}  // namespace
}  // namespace ridgeline::document
