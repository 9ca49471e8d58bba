#pragma once

#include <string>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_json.hpp"
#include "lab/studies/expression.hpp"

namespace ridgeline::studies::fixtures {

/// The value as JSON, or the problem.
inline std::string worked_out(const std::string& text, bool sentence = false) {
  Scope scope;
  scope.define("half", {"x"}, parse_expression("x / 2", "let.half", {}).value());
  scope.define("three", {}, constant(Value::integer(3, {}), "let.three"));
  scope.define("circle", {}, parse_expression("circle + 1", "let.circle", {}).value());
  scope.define("endless", {"x"}, parse_expression("endless(x)", "let.endless", {}).value());
  const auto parsed = sentence ? parse_template(text, "f", {}) : parse_expression(text, "f", {});
  if (!parsed) {
    return parsed.error().front().message;
  }
  core::Errors errors;
  scope.check(*parsed, {}, errors);
  if (!errors.empty()) {
    return errors.front().message + " (" + errors.front().hint + ")";
  }
  const auto value = scope.evaluate(*parsed);
  if (!value) {
    return value.error().front().message;
  }
  std::string json = document::json_line(*value);
  json.pop_back();
  return json;
}

}  // namespace ridgeline::studies::fixtures
