#include "report/leaves.hpp"

#include <string>
#include <utility>
#include <vector>

#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"

namespace ridgeline::report {
namespace {

using document::Node;
using Leaves = std::vector<std::pair<std::string, std::string>>;

void collect_leaves(const Node& node, const std::string& path, Leaves& leaves) {
  if (!node.is_map() || node.members().empty()) {
    leaves.emplace_back(path, leaf_text(node));
    return;
  }
  for (const auto& member : node.members()) {
    collect_leaves(member.value, path.empty() ? member.key : path + "." + member.key, leaves);
  }
}

}  // namespace

std::string leaf_text(const Node& value) {
  if (value.is_string()) {
    return value.as_string();
  }
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  write(value, json);
  return json.text();
}

Leaves leaves_of(const Node& node) {
  Leaves leaves;
  collect_leaves(node, "", leaves);
  return leaves;
}

}  // namespace ridgeline::report
