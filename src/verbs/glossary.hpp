#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace ridgeline::verbs {

/// A word of the original documents (a plan review and H5, H28, H29 and H33), and what says
/// it here.
struct GlossaryEntry {
  std::string_view theirs;
  std::string_view ours;
};
/// Names of constants and switches stand in latency/roofline/setting_names.hpp instead.
[[nodiscard]] std::span<const GlossaryEntry> glossary();
/// The entry of a word, in any case and without regard to dashes, dots, blanks and underscores; or
/// nullptr.
[[nodiscard]] const GlossaryEntry* find_in_glossary(std::string_view word);

/// The error, with the translation as its hint where it is of an unknown word that the glossary
/// has.
[[nodiscard]] core::Error with_translation(core::Error error);

/// The glossary for a person: `ridgeline help glossary`.
[[nodiscard]] std::string glossary_page();

}  // namespace ridgeline::verbs
