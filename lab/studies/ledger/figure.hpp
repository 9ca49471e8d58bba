#pragma once

#include <string_view>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::studies {

/// A value of a command's JSON. `at` is a path of keys and indices, "tables/options/3/step", in
/// which key=value picks the first item of a list with that member ("tables/range_sweep/range=4/
/// ratio", several joined by "&"), `length` counts a list, all(key=value) keeps the
/// items with that member, and sum(key), max(key), min(key) and
/// count(key=value) end a path at a list; or a sum, in which paths stand in
/// braces: "100 * ({tables/a/0/x} / {tables/a/0/y} - 1)", with + - * / ( ) and the comparisons
/// < > =, whose result is true or false. Fails, naming the part, where there is none.
[[nodiscard]] core::Result<document::Node> find_figure(const document::Node& tree,
                                                       std::string_view at);

}  // namespace ridgeline::studies
