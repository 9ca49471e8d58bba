#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"

namespace ridgeline::deploy {

/// A node of a manifest, and the key that it has there.
struct Place {
  const document::Node* node = nullptr;
  std::string key = {};
};

/// The nodes at a path of data/deploy/manifests.yaml: keys behind dots, "[]" is each item or value,
/// "/" begins at the document, "." is the node, "a | b" is the first that is there.
[[nodiscard]] std::vector<Place> places_at(const document::Node& document,
                                           const Place& from,
                                           std::string_view paths);

/// A value as text: of a string itself, of others as they stand. Empty for null.
[[nodiscard]] std::string plain_text(const document::Node& node);

}  // namespace ridgeline::deploy
