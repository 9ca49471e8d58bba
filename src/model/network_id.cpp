#include "model/network_id.hpp"

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/catalogue.hpp"
#include "document/document.hpp"
#include "model/hf_document.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {
namespace {

using document::Node;

/// Words of a name between dashes, in lower case: "Llama-3.3-70B" -> llama, 3.3, 70b.
std::vector<std::string> name_words(std::string_view name) {
  std::vector<std::string> words;
  for (const auto part : std::views::split(name.substr(name.rfind('/') + 1), '-')) {
    words.push_back(core::lower_case(std::string_view(part.begin(), part.end())));
  }
  return words;
}

/// Whether the words of `name` are words of `id`, in their order.
bool is_named(std::string_view id, std::string_view name) {
  const std::vector<std::string> of_name = name_words(name);
  std::size_t found = 0;
  for (const std::string& word : name_words(id)) {
    if (found < of_name.size() && word == of_name[found]) {
      ++found;
    }
  }
  return found == of_name.size();
}

/// Whether an engine takes the text for an id and for nothing else: no path, flag or shell's words.
bool is_hf_id(std::string_view text) {
  const auto is_word = [](std::string_view part) {
    const auto is_letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    return !part.empty() && is_letter(part.front()) &&
           std::ranges::all_of(part, [&](char c) { return is_letter(c) || c == '-' || c == '.'; });
  };
  const std::size_t slash = text.find('/');
  return is_word(text.substr(0, slash)) &&
         (slash == std::string_view::npos || is_word(text.substr(slash + 1)));
}

}  // namespace

core::Result<std::string> network_id(const std::string& name) {
  const auto document = find_model_document(name);
  if (!document) {
    return core::fail(document.error());
  }
  const Node* id = document->find(kHfIdKey);
  if (id == nullptr || !id->is_string()) {
    return core::fail({.field = "model",
                       .message = fmt::format("'{}' has no Hugging Face id, by which an engine "
                                              "would load it",
                                              name),
                       .hint = "_hf_id in its config.json"});
  }
  if (!is_hf_id(id->as_string())) {
    return core::fail({.field = std::string(kHfIdKey),
                       .message = fmt::format("found {}, expected a Hugging Face id, OWNER/NAME of "
                                              "letters, digits, '-', '_' and '.'",
                                              core::quote(id->as_string())),
                       .where = id->where()});
  }
  std::vector<std::string> ids = {id->as_string()};
  const Node* aliases = document->find(kAliasesKey);
  if (aliases != nullptr && aliases->is_list()) {
    for (const Node& alias : aliases->items()) {
      if (alias.is_string() && is_hf_id(alias.as_string()) &&
          alias.as_string().find('/') != std::string::npos) {
        ids.push_back(alias.as_string());
      }
    }
  }
  const std::string lower = core::lower_case(name);
  for (const std::string& other : ids) {
    if (core::lower_case(other) == lower) {
      return other;
    }
  }
  const auto named =
      std::ranges::find_if(ids, [&](const std::string& other) { return is_named(other, name); });
  return named == ids.end() ? ids.front() : *named;
}

}  // namespace ridgeline::model
