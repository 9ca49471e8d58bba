#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "document/reader.hpp"

namespace ridgeline::scenario {

/// A setting of the section `engine` that servers have and nothing here simulates. It is in no list
/// of options: the value that changes nothing is taken, any other is refused with the reason.
struct RefusedSetting {
  std::string_view path;      ///< "engine.max_beam_width"
  std::string_view flag;      ///< "max-beam-width"
  std::string_view standard;  ///< What changes nothing: "1".
  std::string_view reason;
};
[[nodiscard]] std::span<const RefusedSetting> refused_settings();

/// Notes those that the section holds with another value, and takes the others as read.
void refuse_settings(document::ObjectReader& engine);

/// Why a word that a server knows is no choice here; nothing of other words.
[[nodiscard]] std::optional<std::string_view> refused_choice(std::string_view path,
                                                             std::string_view word);

}  // namespace ridgeline::scenario
