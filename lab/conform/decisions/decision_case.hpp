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
#include "lab/conform/conform.hpp"
#include "lab/conform/decisions/part.hpp"
#include "routing/filters.hpp"
#include "routing/scorers/candidate.hpp"

namespace ridgeline::conform {

/// Decisions recorded of a router, a gateway or an autoscaler, and how ours compare: the first
/// difference is kept.
class DecisionCase {
 public:
  /// Requires a map with policy, kind and expected.
  explicit DecisionCase(const document::Node& node) : node_(node), all_(node, reading_) {}
  DecisionCase(const DecisionCase&) = delete;
  DecisionCase& operator=(const DecisionCase&) = delete;

  [[nodiscard]] std::string system() const { return all_.word("system"); }
  [[nodiscard]] std::string policy() const { return all_.word("policy"); }
  [[nodiscard]] std::string id() const { return all_.word("id"); }
  [[nodiscard]] std::string version() const { return all_.word("version"); }
  [[nodiscard]] Part params() const { return all_["params"]; }
  [[nodiscard]] Part request() const { return all_["request"]; }
  [[nodiscard]] Part expected() const { return all_.at("expected"); }
  [[nodiscard]] std::vector<Part> endpoints() const { return all_.list("endpoints"); }
  /// Steps of a case whose `expected.see` names just these keys of a step as expectations.
  [[nodiscard]] std::vector<Part> steps_with(const std::vector<std::string>& expectations) const;
  [[nodiscard]] std::vector<std::string> endpoint_ids() const;
  [[nodiscard]] std::vector<routing::Candidate> candidates() const;

  /// Equal within 1e-9, absolute below 1 and relative above.
  void check_number(const std::string& where, const Part& recorded, double ours);
  /// Nothing of ours is null.
  void check_count(const std::string& where,
                   const Part& recorded,
                   const std::optional<std::int64_t>& ours);
  void check_flag(const std::string& where, const Part& recorded, bool ours);
  void check_word(const std::string& where, const Part& recorded, const std::string& ours);
  void check_text(const std::string& where, const std::string& recorded, const std::string& ours);
  /// Numbers by the ids of their endpoints.
  void check_scores(const std::string& where,
                    const Part& recorded,
                    const std::vector<std::string>& ids,
                    const std::vector<double>& ours);
  /// Numbers in an order.
  void check_numbers(const std::string& where,
                     const Part& recorded,
                     const std::vector<double>& ours);
  /// A set of endpoints: the places among `ids`.
  void check_places(const std::string& where,
                    const Part& recorded,
                    const std::vector<std::string>& ids,
                    const routing::Places& ours);

  /// An endpoint among those that may be chosen in step i; returns its place, which is what the
  /// next step builds on.
  std::size_t check_among(std::size_t i,
                          const Part& recorded,
                          const std::vector<std::string>& ids,
                          const routing::Places& ours);

  [[nodiscard]] const std::optional<Difference>& difference() const { return difference_; }
  /// What was not compared.
  [[nodiscard]] core::Errors problems() const;

 private:
  const document::Node& node_;
  Reading reading_;
  Part all_;
  bool has_compared_ = false;
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
  [[nodiscard]] Prompt read(const Part& step, std::string_view unit);

 private:
  std::vector<std::string> contents_;
};

/// The place of an id; the number of ids where it is not among them.
[[nodiscard]] std::size_t place_of(const std::vector<std::string>& ids, const std::string& id);
/// The place of an id that must be among them: noted as wrong, and the first, where it is not.
[[nodiscard]] std::size_t known_place(const std::vector<std::string>& ids, const Part& id);
/// "e0", "e1", ...
[[nodiscard]] std::vector<std::string> numbered_ids(std::string_view prefix, std::size_t count);
[[nodiscard]] std::vector<std::string> words_of(const Part& list);

}  // namespace ridgeline::conform
