#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "report/palette.hpp"

namespace ridgeline::verbs {

/// How the result of a verb is shown, from its tree alone: the verb itself and `report` of a saved
/// one show the same.
struct SavedView {
  std::string_view kind;                  ///< "a validation"
  std::vector<std::string_view> formats;  ///< All but JSON.
  std::string (*show)(const document::Node& tree,
                      std::string_view format,
                      const report::TextStyle& style);
};

/// That of a result; nullptr for runs, sweeps and what is no result.
[[nodiscard]] const SavedView* view_of(const document::Node& tree);

}  // namespace ridgeline::verbs
