#pragma once

#include "verbs/list_choices.hpp"

namespace ridgeline::verbs {

/// The roadmap of the original plan review, one row each: `status` is "works", "in part" or
/// "missing", read off the catalogues, engine profiles and options; `command` shows it.
[[nodiscard]] ChoiceList list_roadmap();

}  // namespace ridgeline::verbs
