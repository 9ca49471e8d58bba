#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "scenario/imports/imports.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

using document::Node;

/// A word of a bundle, and what it is called here.
struct Counterpart {
  std::string_view theirs;
  std::string_view ours;
};
constexpr auto kBundleRouting = std::to_array<Counterpart>({{"round-robin", "round-robin"},
                                                            {"random", "random"},
                                                            {"weighted", "blis"},
                                                            {"least-loaded", "least-request"}});
constexpr auto kBundleSchedulers =
    std::to_array<Counterpart>({{"fcfs", "fcfs"}, {"priority-fcfs", "priority"}});

class BundleImporter {
 public:
  core::Result<Imported> run(const Node& document) {
    document::ObjectReader top(document, "", errors_);
    if (const Node* routing = top.node("routing"); routing != nullptr) {
      read_routing(*routing);
    }
    if (const Node* scheduler = top.node("scheduler"); scheduler != nullptr) {
      add("engine.scheduling_policy", "scheduler", *scheduler, kBundleSchedulers);
    }
    if (const Node* admission = top.node("admission"); admission != nullptr) {
      read_admission(*admission);
    }
    // Priorities are those of the requests, as there.
    static_cast<void>(top.node("priority"));
    for (const std::string_view key :
         {"preemption", "tenant_budgets", "node_pools", "autoscaler", "instance_lifecycle"}) {
      if (const Node* part = top.node(key); part != nullptr && !part->is_null()) {
        errors_.push_back({.field = std::string(key),
                           .message = "is not imported from a policy bundle",
                           .where = part->where(),
                           .hint = "sections of a scenario: `ridgeline schema scenario`"});
      }
    }
    top.finish();
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    return Imported{.overrides = std::move(overrides_)};
  }

 private:
  void add(std::string_view path,
           std::string_view key,
           const Node& value,
           std::span<const Counterpart> words) {
    const std::string word = value.is_string() ? value.as_string() : value.describe();
    const auto found = std::ranges::find(words, word, &Counterpart::theirs);
    if (found != words.end()) {
      overrides_.push_back({.path = std::string(path), .text = std::string(found->ours)});
      return;
    }
    std::string known;
    for (const Counterpart& one : words) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", one.theirs);
    }
    errors_.push_back({.field = std::string(key),
                       .message = fmt::format("'{}' has no counterpart here", word),
                       .where = value.where(),
                       .hint = fmt::format("one of {}", known)});
  }

  void read_routing(const Node& node) {
    document::ObjectReader reader(node, "routing", errors_);
    if (const Node* policy = reader.node("policy"); policy != nullptr) {
      add("cluster.router.name", "routing.policy", *policy, kBundleRouting);
    }
    if (const Node* scorers = reader.node("scorers"); scorers != nullptr && scorers->is_list()) {
      for (const Node& scorer : scorers->items()) {
        document::ObjectReader one(scorer, "routing.scorers", errors_);
        const std::string name = one.required_string("name");
        const double weight = one.required_real("weight");
        one.finish();
        overrides_.push_back(
            {.path = "cluster.router.scorers", .text = fmt::format("{}={}", name, weight)});
      }
    }
    reader.finish();
  }

  /// Here every request is admitted unless cluster.admission says otherwise.
  void read_admission(const Node& node) {
    const Node* policy = node.find("policy");
    const bool admits_all = node.is_map() && node.members().size() == 1 && policy != nullptr &&
                            policy->is_string() && policy->as_string() == "always-admit";
    if (!admits_all) {
      errors_.push_back({.field = "admission",
                         .message = "only always-admit is imported from a policy bundle",
                         .where = node.where(),
                         .hint = "section cluster.admission of a scenario"});
    }
  }

  core::Errors errors_;
  std::vector<Override> overrides_;
};

}  // namespace

core::Result<Imported> overrides_of_policy_bundle(const Node& document) {
  return BundleImporter().run(document);
}

}  // namespace ridgeline::scenario
