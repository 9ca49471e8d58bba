#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "deploy/layout.hpp"
#include "document/document.hpp"

namespace ridgeline::deploy {

/// What the first lines of a file say of it.
struct HeaderParts {
  const Layout& layout;  ///< But for its header.
  const Input& input;
  document::Node assumed;
};
/// The line before those behind "#:".
inline constexpr std::string_view kAssumedLine =
    "# Assumed by the prediction, and said by no flag below:\n";
/// Comment lines: what is deployed, by which plan, what is predicted; then, behind "#:", the part
/// of the scenario that no flag of the file says, as YAML.
[[nodiscard]] std::string header_text(const HeaderParts& parts);

/// The part of a scenario behind the "#:" of a file, its values at their places in the file; an
/// empty map where there is none.
[[nodiscard]] core::Result<document::Node> assumed_in(std::string_view text,
                                                      const std::string& file);

}  // namespace ridgeline::deploy
