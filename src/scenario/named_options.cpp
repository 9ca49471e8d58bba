#include "scenario/named_options.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "document/parameter.hpp"
#include "scenario/options.hpp"

namespace ridgeline::scenario {
namespace {

/// A value that a person may type where the default is derived, else the default.
std::string example_of(const document::Parameter& parameter) {
  if (parameter.unset.empty()) {
    return parameter.default_text();
  }
  if (!parameter.choices.empty()) {
    return std::string(parameter.choices.front());
  }
  return parameter.kind() == "true or false" ? "true" : fmt::format("{}", parameter.lowest);
}

}  // namespace

std::string flag_word(std::string_view name) {
  const auto upper = [&](std::size_t at) {
    return at < name.size() && name[at] >= 'A' && name[at] <= 'Z';
  };
  std::string word;
  word.reserve(name.size() + 4);
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!upper(i)) {
      word += name[i] == '_' ? '-' : name[i];
      continue;
    }
    if (i > 0 && (!upper(i - 1) || (i + 1 < name.size() && !upper(i + 1)))) {
      word += '-';
    }
    word += static_cast<char>(name[i] - 'A' + 'a');
  }
  return word;
}

NamedOptions::NamedOptions(std::string_view section,
                           std::span<const NamedTable> tables,
                           SlotIn slot) {
  for (const NamedTable& table : tables) {
    for (const document::Parameter& parameter : table.parameters) {
      auto known = std::ranges::find(
          texts_, parameter.name, [](const Texts& texts) { return texts.parameter->name; });
      if (known == texts_.end()) {
        texts_.push_back({.parameter = &parameter,
                          .path = fmt::format("{}.{}", section, parameter.name),
                          .flag = flag_word(parameter.name),
                          .example = example_of(parameter)});
        known = texts_.end() - 1;
      }
      if (!known->unset.empty()) {
        known->unset += ", ";
      }
      known->unset += table.name;
      known->unset += ": ";
      known->unset += parameter.default_text();
    }
  }
  for (const Texts& texts : texts_) {
    options_.push_back({.path = texts.path,
                        .flag = texts.flag,
                        .lowest = texts.parameter->lowest,
                        .highest = texts.parameter->highest,
                        .choices = texts.parameter->choices,
                        .unset = texts.unset,
                        .help = texts.parameter->help,
                        .example = texts.example,
                        .named_kind = texts.parameter->kind(),
                        .slot = slot});
  }
}

}  // namespace ridgeline::scenario
