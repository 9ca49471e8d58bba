#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::verbs {

/// One thing that a scenario can choose.
struct Choice {
  std::string name;
  std::string summary;
  std::vector<document::Node::Member> facts = {};  ///< More, for programs.
};
using ChoiceList = core::Result<std::vector<Choice>>;

/// One kind of them: "models", "gpus", ...
struct ChoiceKind {
  std::string_view name;
  ChoiceList (*list)();
};
[[nodiscard]] std::span<const ChoiceKind> choice_kinds();

/// The kind that one word names; anything else is an error that lists the kinds and the nearest.
[[nodiscard]] core::Result<const ChoiceKind*> find_choice_kind(std::span<const std::string> words);

/// The names that a flag's value may be, such as the GPUs of "gpu"; none where it is anything else.
[[nodiscard]] std::vector<std::string> known_values(std::string_view flag);

/// [{name, summary, facts ...}, ...]
[[nodiscard]] document::Node choices_tree(const std::vector<Choice>& choices);

}  // namespace ridgeline::verbs
