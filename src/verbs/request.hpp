#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "deploy/read.hpp"
#include "document/document.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::verbs {

/// The highest `threads` and `jobs`.
inline constexpr std::int64_t kMostThreads = 1024;

/// What a verb is asked. It takes its own keys; what is left is a scenario. A request is a document
/// of a host, or the words of a command line: there values are texts, the scenario is a file with
/// flags over it, and errors name flags.
class Request {
 public:
  /// The scenario of a command line.
  struct Stated {
    std::optional<std::string> file = {};
    std::vector<scenario::Override> overrides = {};
    core::Warnings warnings = {};      ///< Flags of other tools that mean nothing here.
    deploy::LaunchChoice launch = {};  ///< How the file is read that is a launch.
  };

  explicit Request(const document::Node& document) : members_(document.members()) {}
  Request(std::vector<document::Node::Member> words, core::Result<Stated> stated)
      : members_(std::move(words)), stated_(std::move(stated)) {}

  [[nodiscard]] bool is_words() const { return stated_.has_value(); }

  [[nodiscard]] bool has(std::string_view key) const;
  /// The value of a key, which is then no part of the scenario; null where it is not there.
  document::Node take(std::string_view key);
  /// A text; empty where the key is not there.
  std::string take_text(std::string_view key, std::string otherwise = {});
  /// A text, or a number as its text; nothing where the key is not there.
  std::optional<std::string> take_word(std::string_view key);
  bool take_bool(std::string_view key, bool otherwise);
  /// A list of texts; a text alone is a list of one where `or_one`.
  std::vector<std::string> take_texts(std::string_view key, bool or_one = false);
  /// A count of at least 1; `otherwise` where the key is not there.
  std::int64_t take_count(std::string_view key, std::int64_t otherwise, std::int64_t highest);
  std::int64_t take_integer(std::string_view key,
                            std::int64_t otherwise,
                            std::int64_t lowest,
                            std::int64_t highest);
  std::optional<double> take_number(std::string_view key);
  /// `jobs`, `threads`: by default one per core.
  std::int64_t take_threads(std::string_view key);
  /// The only file of a verb, whose `words` are `file`; `expected` says on a command line what it
  /// should be.
  std::string take_file(std::string_view expected);

  /// The only folder of a verb, whose `words` are `folder`.
  std::string take_folder(std::string_view verb, std::string example);

  /// "block_size", on a command line "--block-size".
  [[nodiscard]] std::string field(std::string_view key) const;
  /// A problem of a key, at its place.
  [[nodiscard]] core::Error problem(std::string_view key,
                                    std::string message,
                                    std::string hint = {}) const;
  /// Keeps a problem of the request.
  void add(core::Error error) { errors_.push_back(std::move(error)); }
  template <class T>
  void keep(const core::Result<T>& result) {
    if (!result) {
      errors_.insert(errors_.end(), result.error().begin(), result.error().end());
    }
  }
  /// Ends a verb that has no scenario: each key of a document that is left is an error.
  void end();
  [[nodiscard]] const core::Errors& errors() const { return errors_; }

  /// What is left of a document.
  [[nodiscard]] document::Node document() const { return document::Node::map(members_, {}); }
  /// What a command line says of a scenario; requires is_words().
  [[nodiscard]] const core::Result<Stated>& stated() const { return *stated_; }
  /// Whether a flag, or a host's document, sets this option of the scenario.
  [[nodiscard]] bool states(std::string_view path) const;
  /// Sets an option of the scenario over all that is said of it.
  void lay_over(scenario::Override change) { over_.push_back(std::move(change)); }
  /// The scenario.
  [[nodiscard]] core::Result<scenario::LoadedScenario> load(scenario::Purpose purpose) const;

 private:
  void expected(std::string_view key, const document::Node& found, const std::string& what);

  std::vector<document::Node::Member> members_;
  std::optional<core::Result<Stated>> stated_ = {};
  std::vector<scenario::Override> over_ = {};
  core::Errors errors_ = {};
};

/// The parts between commas; nothing of an empty text.
[[nodiscard]] std::vector<std::string> split_list(std::string_view text);

/// The problem of a value that is not one of `choices`; the nearest is offered.
[[nodiscard]] core::Error bad_choice(std::string field,
                                     std::string_view value,
                                     std::span<const std::string> choices);
/// The problem of the words after a verb, of which one of `choices` is expected; the nearest is
/// offered, else `example`.
[[nodiscard]] core::Error bad_word(std::string_view verb,
                                   std::span<const std::string> words,
                                   std::span<const std::string> choices,
                                   std::string example);

}  // namespace ridgeline::verbs
