#include "document/yaml_writer.hpp"

#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"

namespace ridgeline::document {
namespace {

std::string json_of(const Node& node) {
  JsonWriter json(JsonWriter::Layout::kOneLine);
  write(node, json);
  return json.text();
}

Node json(const std::string& text) {
  auto node = parse_json(text, "test.json");
  EXPECT_TRUE(node) << text;
  return *node;
}

TEST(YamlText, IsInBlockStyle) {
  EXPECT_EQ(yaml_text(json(R"({"a": {"b": [1, "--x=2", {"c": true, "d": null}]}, "e": []})")),
            "a:\n"
            "  b:\n"
            "    - 1\n"
            "    - --x=2\n"
            "    - c: true\n"
            "      d: null\n"
            "e: []\n");
  EXPECT_EQ(yaml_text(json("{}")), "{}\n");
  EXPECT_EQ(yaml_text(Node::list({Node::real(5.0, {}), Node::real(0.5, {})}, {})), "- 5\n- 0.5\n");
}

TEST(YamlText, QuotesWhatIsNoPlainString) {
  EXPECT_EQ(yaml_text(json(R"(["256", "yes", "On", "", "a: b", "a:", "-1", "#x", "it's"])")),
            "- \"256\"\n- \"yes\"\n- \"On\"\n- \"\"\n- \"a: b\"\n- \"a:\"\n- \"-1\"\n- \"#x\"\n"
            "- \"it's\"\n");
}

TEST(YamlText, ReadsBackAsTheSame) {
  for (const char* text :
       {R"({"a": {"b": [1, "--x=2", {"c": true, "d": null}]}, "e": [], "f": {}})",
        R"(["1.5", 1.5, 1e300, "null", "2026-01-01", "a\nb", "\u00e9", "tab\t"])",
        R"({"nvidia.com/gpu": "4", "x y": [[1, 2], [3, [4]]], "k": {"l": {"m": 0.1}}})"}) {
    const Node node = json(text);
    const auto read = parse_yaml(yaml_text(node), "test.yaml");
    ASSERT_TRUE(read) << yaml_text(node);
    EXPECT_EQ(json_of(*read), json_of(node)) << yaml_text(node);
  }
}

}  // namespace
}  // namespace ridgeline::document
