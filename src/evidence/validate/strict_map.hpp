#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"

namespace ridgeline::evidence::validate {

/// A section of a file of which every key counts, since one that is passed over would be another
/// server or another load: a value of the wrong kind is the record's problem, and what is never
/// asked for is named by unread().
class StrictMap {
 public:
  /// `node` may be null: a section that is missing has no keys. `path` names it in messages.
  StrictMap(const document::Node* node, std::string path);

  [[nodiscard]] std::optional<std::int64_t> count(std::string_view key);
  [[nodiscard]] std::optional<double> number(std::string_view key);
  [[nodiscard]] std::string text(std::string_view key);
  [[nodiscard]] const document::Node* map(std::string_view key);
  [[nodiscard]] const document::Node* list(std::string_view key);
  /// The value as after a flag, of whatever kind; empty where it is absent, a map or a list.
  [[nodiscard]] std::string flag(std::string_view key);
  void pass_over(std::string_view key) { known_.emplace_back(key); }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  void refuse(std::string_view key, std::string_view expected);
  /// Keys that were not asked for.
  [[nodiscard]] std::vector<std::string> rest() const;
  /// "vllm_config.foo is not read": of each of the rest.
  [[nodiscard]] std::vector<std::string> unread() const;

 private:
  const document::Node* find(std::string_view key);

  const document::Node* node_ = nullptr;
  std::string path_;
  std::vector<std::string> known_;
  std::string problem_;
};

}  // namespace ridgeline::evidence::validate
