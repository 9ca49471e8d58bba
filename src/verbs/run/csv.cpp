#include "verbs/run/csv.hpp"

#include <string>
#include <string_view>

#include <fmt/core.h>

#include "core/text.hpp"
#include "document/document.hpp"
#include "document/node_path.hpp"
#include "scenario/options.hpp"
#include "verbs/run/result_tree.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

std::string field_of(const document::Node& value) {
  switch (value.kind()) {
    case document::Node::Kind::kBool:
      return value.as_bool() ? "true" : "false";
    case document::Node::Kind::kInteger:
      return fmt::format("{}", value.as_integer());
    case document::Node::Kind::kReal:
      return core::shortest(value.as_real());
    case document::Node::Kind::kString:
      return core::csv_cell(value.as_string());
    default:
      return {};
  }
}

struct Table {
  std::string names;
  std::string values;

  void add(const std::string& name, const document::Node& value) {
    if (name == "overload" || name == "groups") {
      return;  // Some runs have them and some have not; the columns must not differ.
    }
    if (value.is_map()) {
      for (const auto& member : value.members()) {
        add(name.empty() ? member.key : name + "." + member.key, member.value);
      }
      return;
    }
    add_cell(name, field_of(value));
  }
  void add_cell(const std::string& name, const std::string& field) {
    const char* comma = names.empty() ? "" : ",";
    names += comma + core::csv_cell(name);
    values += comma + field;
  }
};

}  // namespace

std::string run_csv(const document::Node& result) {
  Table table;
  table.add("", node_at(result, "summary"));
  // Every file has these columns: empty where one rank is the whole deployment.
  const document::Node* const deployment = result.find("deployment");
  const document::Node names = deployment_tree({});
  for (const auto& member : names.members()) {
    table.add_cell("deployment." + member.key,
                   deployment != nullptr ? field_of(node_at(*deployment, member.key)) : "");
  }
  const document::Node& config = node_at(result, "config");
  const auto add_setting = [&](std::string_view path) {
    const document::Node& value = node_at(config, path);
    table.add_cell(fmt::format("config.{}", path),
                   value.is_map() ? core::csv_cell(scenario::flow_text(value)) : field_of(value));
  };
  for (const scenario::Option& option : scenario::options()) {
    add_setting(option.path);
  }
  add_setting("latency.set");
  add_setting("set");
  table.names += ",digest\n";
  table.values += "," + field_of(node_at(result, "digest")) + "\n";
  return table.names + table.values;
}

}  // namespace ridgeline::verbs
