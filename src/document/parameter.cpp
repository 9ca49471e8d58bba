#include "document/parameter.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "core/check.hpp"
#include "document/document.hpp"

namespace ridgeline::document {
namespace {

template <class T>
T standard(std::span<const Parameter> table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Parameter::name);
  RIDGELINE_CHECK(found != table.end(), name);
  return std::get<T>(found->standard);
}

}  // namespace

std::string_view Parameter::kind() const {
  struct Namer {
    std::string_view operator()(bool /*value*/) const { return "true or false"; }
    std::string_view operator()(std::int64_t /*value*/) const { return "integer"; }
    std::string_view operator()(double /*value*/) const { return "number"; }
    std::string_view operator()(std::string_view /*value*/) const { return "text"; }
  };
  return std::visit(Namer{}, standard);
}

std::string Parameter::default_text() const {
  return unset.empty()
             ? std::visit([](const auto& value) { return fmt::format("{}", value); }, standard)
             : std::string(unset);
}

Node Parameter::standard_node() const {
  struct Maker {
    Node operator()(bool value) const { return Node::boolean(value, {}); }
    Node operator()(std::int64_t value) const { return Node::integer(value, {}); }
    Node operator()(double value) const { return Node::real(value, {}); }
    Node operator()(std::string_view value) const { return Node::string(std::string(value), {}); }
  };
  return unset.empty() ? std::visit(Maker{}, standard) : Node();
}

const Node* ParameterValues::stated(std::string_view name) const {
  const auto found = std::ranges::find(stated_, name, &NamedValue::name);
  return found == stated_.end() ? nullptr : &found->value;
}

bool ParameterValues::truth(std::string_view name) const {
  const Node* value = stated(name);
  return value != nullptr ? value->as_bool() : standard<bool>(table_, name);
}

std::int64_t ParameterValues::integer(std::string_view name) const {
  const Node* value = stated(name);
  return value != nullptr ? value->as_integer() : standard<std::int64_t>(table_, name);
}

double ParameterValues::number(std::string_view name) const {
  const Node* value = stated(name);
  return value != nullptr ? value->as_real() : standard<double>(table_, name);
}

std::string ParameterValues::word(std::string_view name) const {
  const Node* value = stated(name);
  return value != nullptr ? value->as_string()
                          : std::string(standard<std::string_view>(table_, name));
}

}  // namespace ridgeline::document
