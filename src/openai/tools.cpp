#include "openai/tools.hpp"

#include <string>
#include <string_view>

#include <simdjson.h>

namespace ridgeline::openai {

std::string name_of_tool(std::string_view function) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  std::string_view name;
  if (parser.parse(function.data(), function.size()).get(root) == simdjson::SUCCESS &&
      root["name"].get(name) == simdjson::SUCCESS) {
    return std::string(name);
  }
  return {};
}

std::string parameters_of_tool(std::string_view function) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::element parameters;
  if (parser.parse(function.data(), function.size()).get(root) == simdjson::SUCCESS &&
      root["parameters"].get(parameters) == simdjson::SUCCESS && !parameters.is_null()) {
    return simdjson::minify(parameters);
  }
  return "{}";
}

}  // namespace ridgeline::openai
