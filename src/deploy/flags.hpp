#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "deploy/layout.hpp"
#include "document/document.hpp"
#include "scenario/foreign_flags.hpp"
#include "scenario/options.hpp"

namespace ridgeline::deploy {

/// The value of an option in one deployment.
struct OptionValue {
  std::string_view option;
  document::Node value;    ///< Null where it is not set.
  bool is_stated = false;  ///< By the scenario's author; else a default, or derived.
  bool is_default = false;
};

/// A word of a file, and where it stands.
struct Word {
  std::string text;
  core::Location where = {};
};
/// Options by their paths.
using OptionNodes = std::vector<std::pair<std::string, document::Node>>;

/// A whole number of 0 or more, of a text that is one.
[[nodiscard]] std::optional<std::int64_t> read_count(std::string_view text);

/// The JSON of a node on one line, as a flag's value.
[[nodiscard]] std::string one_line(const document::Node& node);

/// The value of a word as the option takes it: a number where it is one.
[[nodiscard]] document::Node typed_node(const scenario::Option& option, const Word& word);

/// How the command line of an engine's server is written: by the `options` of its file in
/// data/flags.
struct Dialect {
  std::string_view engine;  ///< "vllm"

  /// How it states an option of the section `engine`; null where no flag says it.
  [[nodiscard]] const scenario::StatedOption* stated(std::string_view option) const;
  /// Puts options into the role's flags and variables, as that version has them. What is stated, is
  /// no default and has neither is an error that names it.
  void put(std::span<const OptionValue> options,
           std::string_view version,
           Role& role,
           core::Errors& errors) const;
};
inline constexpr Dialect kVllmDialect = {.engine = "vllm"};
inline constexpr Dialect kSglangDialect = {.engine = "sglang"};
/// Dialect of an engine's name; null where no target is written for it.
[[nodiscard]] const Dialect* find_dialect(std::string_view engine);

/// Whether a deployment says that option explicitly.
[[nodiscard]] bool is_explicit(const Dialect& dialect, const OptionValue& option);

}  // namespace ridgeline::deploy
