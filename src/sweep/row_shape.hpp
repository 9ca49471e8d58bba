#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::sweep {

/// What lies between the values of one line of JSON, as flatten() sees them. Rows of one kind
/// differ in their values alone: of such a row, the shape finds them without reading its keys one
/// by one.
class RowShape {
 public:
  /// Shape of a line without white space; nothing where it holds a list that is not empty, or an
  /// escape.
  [[nodiscard]] static std::optional<RowShape> of(std::string_view json);

  /// The texts that flatten() would give, in its order, as parts of the line. False where the line
  /// has another shape.
  [[nodiscard]] bool values(std::string_view json, std::vector<std::string_view>& into) const;

  [[nodiscard]] std::size_t size() const { return before_.size(); }

 private:
  std::vector<std::string> before_;  ///< What stands before each value.
  std::string end_;
};

}  // namespace ridgeline::sweep
