#include "api/errors.hpp"

#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "ridgeline/error.hpp"

namespace ridgeline::api {
namespace {

ErrorCode public_code(core::ErrorCode code) {
  switch (code) {
    case core::ErrorCode::kUsage:
      return ErrorCode::kUsage;
    case core::ErrorCode::kInfeasible:
      return ErrorCode::kInfeasible;
    case core::ErrorCode::kInternal:
      break;
  }
  return ErrorCode::kInternal;
}

const char* code_name(core::ErrorCode code) {
  switch (code) {
    case core::ErrorCode::kUsage:
      return "usage";
    case core::ErrorCode::kInfeasible:
      return "infeasible";
    case core::ErrorCode::kInternal:
      break;
  }
  return "internal";
}

/// An error of a setting as a host gave it: without the command line and the dashes of its flags.
core::Error for_host(core::Error error) {
  const auto without_dashes = [](std::string& text) {
    if (text.starts_with("--")) {
      text.erase(0, 2);
    }
  };
  if (error.where.file == "command line") {
    error.where = {};
    without_dashes(error.field);
  }
  return error;
}

}  // namespace

Errors public_errors(const core::Errors& errors) {
  Errors all;
  for (const core::Error& given : errors) {
    const core::Error error = for_host(given);
    all.push_back({.code = public_code(error.code),
                   .field = error.field,
                   .message = error.message,
                   .file = error.where.file,
                   .line = error.where.line,
                   .column = error.where.column,
                   .hint = error.hint});
  }
  return all;
}

document::Node errors_tree(const core::Errors& errors) {
  std::vector<document::Node> items;
  for (const core::Error& given : errors) {
    const core::Error error = for_host(given);
    items.push_back(document::MapBuilder()
                        .add("code", code_name(error.code))
                        .add("field", error.field)
                        .add("message", error.message)
                        .add("file", error.where.file.text())
                        .add("line", error.where.line)
                        .add("column", error.where.column)
                        .add("hint", error.hint)
                        .build());
  }
  return document::MapBuilder().add("errors", document::list_node(std::move(items))).build();
}

}  // namespace ridgeline::api
