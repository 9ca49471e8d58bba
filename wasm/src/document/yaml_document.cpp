#include <string>
#include <string_view>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::document {

/// JSON, which is YAML too: the embedded files are, and what a page or a program says. yaml-cpp is
/// not built here.
core::Result<Node> parse_yaml(std::string_view text, const std::string& file) {
  return parse_json(text, file);
}

}  // namespace ridgeline::document
