#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "domain/chain.hpp"
#include "evidence/conform/conform.hpp"
#include "routing/filters.hpp"
#include "routing/scorers/candidate.hpp"

namespace ridgeline::evidence::conform {

/// A member of a map as a number, whatever its kind; `otherwise` where it is absent or null.
[[nodiscard]] double number_of(const document::Node& map,
                               std::string_view key,
                               double otherwise = 0.0);
[[nodiscard]] std::int64_t count_of(const document::Node& map,
                                    std::string_view key,
                                    std::int64_t otherwise = 0);
[[nodiscard]] std::string word_of(const document::Node& map, std::string_view key);
[[nodiscard]] bool flag_of(const document::Node& map, std::string_view key);
/// A member as a map or a list; an empty one where it is absent.
[[nodiscard]] const document::Node& part_of(const document::Node& map, std::string_view key);
[[nodiscard]] const std::vector<document::Node>& items_of(const document::Node& map,
                                                          std::string_view key);

/// Decisions recorded of a router, a gateway or an autoscaler, and how ours compare: the first
/// difference is kept.
class DecisionCase {
 public:
  /// Of a map with policy, kind and expected.
  explicit DecisionCase(const document::Node& node) : node_(node) {}

  [[nodiscard]] std::string system() const { return word_of(node_, "system"); }
  [[nodiscard]] std::string policy() const { return word_of(node_, "policy"); }
  [[nodiscard]] const document::Node& params() const { return part_of(node_, "params"); }
  [[nodiscard]] const document::Node& request() const { return part_of(node_, "request"); }
  [[nodiscard]] const document::Node& expected() const { return part_of(node_, "expected"); }
  [[nodiscard]] const std::vector<document::Node>& endpoints() const {
    return items_of(node_, "endpoints");
  }
  [[nodiscard]] const std::vector<document::Node>& steps() const {
    return items_of(node_, "steps");
  }
  [[nodiscard]] std::vector<std::string> endpoint_ids() const;
  [[nodiscard]] std::vector<routing::Candidate> candidates() const;

  /// Equal within 1e-9, absolute below 1 and relative above.
  void check_number(const std::string& where, double recorded, double ours);
  void check_text(const std::string& where, const std::string& recorded, const std::string& ours);
  /// Numbers by the ids of their endpoints.
  void check_scores(const std::string& where,
                    const document::Node& recorded,
                    const std::vector<std::string>& ids,
                    const std::vector<double>& ours);
  /// A set of endpoints: the places among `ids`.
  void check_places(const std::string& where,
                    const std::vector<document::Node>& recorded,
                    const std::vector<std::string>& ids,
                    const routing::Places& ours);

  [[nodiscard]] const std::optional<Difference>& difference() const { return difference_; }

 private:
  const document::Node& node_;
  std::optional<Difference> difference_;
};

/// The prompt of a step, as a chain of which contents count from 0 in the order of their names'
/// first appearance; `unit` names the key of the lengths.
class RecordedPrompts {
 public:
  struct Prompt {
    domain::Chain chain;
    std::vector<domain::Segment> segments;
    std::int64_t length = 0;
  };
  [[nodiscard]] Prompt read(const document::Node& step, std::string_view unit);

 private:
  std::vector<std::string> contents_;
};

/// The place of an id; the number of ids where it is not among them.
[[nodiscard]] std::size_t place_of(const std::vector<std::string>& ids, const std::string& id);
/// "e0", "e1", ...
[[nodiscard]] std::vector<std::string> numbered_ids(std::string_view prefix, std::int64_t count);

}  // namespace ridgeline::evidence::conform
