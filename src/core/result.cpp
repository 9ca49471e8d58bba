#include "core/result.hpp"

#include <string>

#include <fmt/core.h>

#include "core/text.hpp"

namespace ridgeline::core {

Errors with_field(Errors errors, const std::string& field) {
  for (Error& error : errors) {
    if (error.field.empty()) {
      error.field = field;
    }
  }
  return errors;
}

std::string to_string(const Error& error) {
  std::string text;
  if (!error.where.file.empty()) {
    text += shown_path(error.where.file);
    if (error.where.line > 0) {
      text += fmt::format(":{}:{}", error.where.line, error.where.column);
    }
    text += ": ";
  }
  if (!error.field.empty()) {
    text += escaped(error.field) + ": ";
  }
  text += escaped(error.message);
  if (!error.hint.empty()) {
    text += " (" + escaped(error.hint) + ")";
  }
  return text;
}

}  // namespace ridgeline::core
