#include "routing/parameters.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "document/document.hpp"

namespace ridgeline::routing {
namespace {

const document::Node* stated(const RouterSetup& setup, std::string_view name) {
  const auto found = std::ranges::find(setup.parameters, name, &NamedValue::name);
  return found == setup.parameters.end() ? nullptr : &found->value;
}

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
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, standard);
}

bool RouterSetup::truth(std::span<const Parameter> table, std::string_view name) const {
  const document::Node* value = stated(*this, name);
  return value != nullptr ? value->as_bool() : standard<bool>(table, name);
}

std::int64_t RouterSetup::integer(std::span<const Parameter> table, std::string_view name) const {
  const document::Node* value = stated(*this, name);
  return value != nullptr ? value->as_integer() : standard<std::int64_t>(table, name);
}

double RouterSetup::number(std::span<const Parameter> table, std::string_view name) const {
  const document::Node* value = stated(*this, name);
  return value != nullptr ? value->as_real() : standard<double>(table, name);
}

std::string RouterSetup::word(std::span<const Parameter> table, std::string_view name) const {
  const document::Node* value = stated(*this, name);
  return value != nullptr ? value->as_string()
                          : std::string(standard<std::string_view>(table, name));
}

}  // namespace ridgeline::routing
