#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ridgeline::cli {

/// One flag that a verb understands.
struct FlagSpec {
  enum class Takes {
    kNothing,  ///< A switch: `--no-jump`; with FlagSpec::value that one word may follow it.
    kValue,    ///< `--seed 1` or `--seed=1`.
    kTruth,    ///< `--x`, `--x=true`, `--x=false`, and `--no-x` for the last.
    kRefused,  ///< Known, but answered with `help` as an error: not in this version.
    kIgnored,  ///< Known, and without a meaning here, as `help` says: noted and passed over.
  };
  std::string name;  ///< Without dashes: "max-num-seqs".
  Takes takes = Takes::kValue;
  bool repeatable = false;
  bool many = false;         ///< Takes all words up to the next flag, with blanks between them.
  char letter = 0;           ///< A short form, 0 for none.
  std::string value = {};    ///< How help calls the value: "FILE". Ignored flags without take none.
  std::string help = {};     ///< One line; empty hides the flag from help.
  std::string meaning = {};  ///< The flag this one stands for (aliases); empty: itself.
};

/// The flag of that name, or null.
[[nodiscard]] const FlagSpec* find_spec(std::span<const FlagSpec> specs, std::string_view name);

/// A flag as it was given.
struct GivenFlag {
  std::string name;   ///< FlagSpec::meaning, or name.
  std::string value;  ///< "true" or "false" for switches and truths.
  std::string typed;  ///< As the user typed it, without the value: "--tp".
};

struct Arguments {
  std::vector<std::string> positionals;
  std::vector<GivenFlag> flags;  ///< In order of appearance.
  std::vector<FlagSpec> ignored =
      {};  ///< Flags passed over, in order of appearance; named as typed.

  /// The one use of a flag, or nullptr.
  [[nodiscard]] const GivenFlag* find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Its value, or `otherwise` when it was not given.
  [[nodiscard]] std::string value(std::string_view name, std::string_view otherwise = {}) const;
  /// Every value of a repeatable flag, in order.
  [[nodiscard]] std::vector<std::string> values(std::string_view name) const;
};

/// Flags that are read beside a verb's `own`. Most command lines have none of them.
using FurtherFlags = std::vector<FlagSpec> (*)(std::span<const FlagSpec> own);

/// Reads the words after the verb. Every problem is noted, not only the first: unknown flags (with
/// the nearest known one), repeated flags, missing and superfluous values. A lone `--` ends the
/// flags. `further` is called at the first flag that is not in `specs`.
[[nodiscard]] core::Result<Arguments> parse_arguments(std::span<const std::string> words,
                                                      std::span<const FlagSpec> specs,
                                                      FurtherFlags further = nullptr);

/// A problem of the command line; `field` is the flag that it is of, as "--jobs", or empty.
[[nodiscard]] core::Error usage_error(std::string_view field,
                                      std::string message,
                                      std::string hint = {});

/// The problem of a flag whose value is not one of `choices`; the nearest is offered.
[[nodiscard]] core::Error bad_choice(std::string_view flag,
                                     std::string_view value,
                                     std::span<const std::string> choices);

/// The highest --threads.
inline constexpr std::int64_t kMostThreads = 1024;

/// The value of a flag that counts something, from 1 to `highest`; `otherwise` where it is not
/// given.
[[nodiscard]] core::Result<std::int64_t> read_count(const Arguments& arguments,
                                                    std::string_view flag,
                                                    std::int64_t otherwise,
                                                    std::int64_t highest);

/// --jobs: how many runs at a time, by default one per core.
[[nodiscard]] core::Result<std::int64_t> read_jobs(const Arguments& arguments);

/// Adds what went wrong with `result`, if anything did.
template <typename T>
void keep_errors(const core::Result<T>& result, core::Errors& errors) {
  if (!result) {
    errors.insert(errors.end(), result.error().begin(), result.error().end());
  }
}

}  // namespace ridgeline::cli
