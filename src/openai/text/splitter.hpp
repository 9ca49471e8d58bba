#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ridgeline::text {

/// What becomes of a match and of what stands between matches, as tokenizers' Split names it.
enum class SplitBehavior : std::uint8_t {
  kIsolated,            ///< Each is a part.
  kRemoved,             ///< Matches are left out.
  kMergedWithPrevious,  ///< A match belongs to what stands before it.
  kMergedWithNext,      ///< A match belongs to what stands behind it.
};

/// Cuts texts where a regular expression matches, as tokenizers do before they look for tokens. By
/// PCRE2 of the system, which is loaded where a splitter is made.
class Splitter {
 public:
  /// `is_inverted`: what stands between the expression's matches counts as matches. Fails where the
  /// expression is none, and where there is no PCRE2.
  [[nodiscard]] static core::Result<Splitter> make(std::string_view expression,
                                                   SplitBehavior behavior,
                                                   bool is_inverted = false);

  /// Adds the parts of a text, none of them empty. Text that is not UTF-8, or that costs the
  /// expression too many steps, is one part.
  void split(std::string_view text, std::vector<std::string_view>& parts) const;

 private:
  Splitter(std::shared_ptr<void> code, SplitBehavior behavior, bool is_inverted)
      : code_(std::move(code)), behavior_(behavior), is_inverted_(is_inverted) {}

  std::shared_ptr<void> code_;  ///< A pcre2_code.
  SplitBehavior behavior_;
  bool is_inverted_;
};

/// An expression that matches this text alone.
[[nodiscard]] std::string literal_expression(std::string_view text);

}  // namespace ridgeline::text
