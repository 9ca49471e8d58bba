#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::conform {

/// What a check has read of a recorded case, and what it could not read.
class Reading {
 public:
  void note_read(const document::Node& node) { read_.insert(&node); }
  /// `what` stands behind "found ..., ": a kind of value, or a set of words.
  void note_wrong(const document::Node& node, std::string what) {
    wrong_.emplace(&node, std::move(what));
  }
  void note_missing(const document::Node& map, std::string_view key) {
    missing_[&map].emplace(key);
  }

  /// A key that may stand unread in a case, as "endpoints[].waiting", and why.
  struct Unread {
    std::string_view system;  ///< Empty: of all systems.
    std::string_view path;
    std::string_view reason;
  };
  /// All below `root` that was not read although it is not in the list, has another kind, or is
  /// missing.
  [[nodiscard]] core::Errors problems(const document::Node& root,
                                      std::string_view system,
                                      std::span<const Unread> may_stand_unread) const;

 private:
  std::set<const document::Node*> read_;
  std::map<const document::Node*, std::string> wrong_;
  std::map<const document::Node*, std::set<std::string>> missing_;
};

/// A value of a recorded case. It notes that it was read, and where it is not what was asked for:
/// the value returned is then 0, false or empty, and so is that of a part which is not there.
class Part {
 public:
  Part() = default;  ///< Not there.
  Part(const document::Node& node, Reading& reading) : node_(&node), reading_(&reading) {}

  /// Neither absent nor null.
  [[nodiscard]] bool is_there() const { return node_ != nullptr; }
  /// The value under a key, which may be absent or null.
  [[nodiscard]] Part operator[](std::string_view key) const;
  /// The value under a key, which must be there; or there, and maybe null.
  [[nodiscard]] Part at(std::string_view key) const;
  [[nodiscard]] Part at_or_null(std::string_view key) const;

  [[nodiscard]] double number() const;
  [[nodiscard]] std::int64_t count() const;
  /// How many there are of something: 1 to 100,000; else 0.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::string word() const;
  [[nodiscard]] bool flag() const;
  [[nodiscard]] std::vector<Part> items() const;
  [[nodiscard]] std::vector<std::pair<std::string, Part>> members() const;
  /// The value as it is written, of any kind; "none" where it is not there.
  [[nodiscard]] std::string text() const;

  [[nodiscard]] double number(std::string_view key, double otherwise = 0.0) const;
  [[nodiscard]] std::int64_t count(std::string_view key, std::int64_t otherwise = 0) const;
  [[nodiscard]] std::string word(std::string_view key) const { return (*this)[key].word(); }
  [[nodiscard]] bool flag(std::string_view key) const { return (*this)[key].flag(); }
  [[nodiscard]] std::vector<Part> list(std::string_view key) const { return (*this)[key].items(); }

  template <class Choice>
  using Choices = std::span<const std::pair<std::string_view, Choice>>;
  /// What a word stands for; the first where it is not there.
  template <class Choice>
  [[nodiscard]] Choice choice(Choices<Choice> choices) const {
    std::string all;
    for (const auto& [word, meaning] : choices) {
      if (is_there() && text() == word) {
        return meaning;
      }
      all += (all.empty() ? "" : " or ") + std::string(word);
    }
    note_wrong(all);
    return choices.front().second;
  }
  /// Says that the value is not one that the check knows.
  void note_wrong(std::string what) const;

 private:
  [[nodiscard]] bool is_a(bool of_kind, const char* kind) const;

  const document::Node* node_ = nullptr;
  Reading* reading_ = nullptr;
};

}  // namespace ridgeline::conform
