#pragma once

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::api {

/// A call's document over its `base`: the path of a scenario's file, or a scenario. What the
/// document says wins: sections are merged, all other values replaced. Without `base` the document
/// itself.
[[nodiscard]] core::Result<document::Node> over_base(const document::Node& document);

}  // namespace ridgeline::api
