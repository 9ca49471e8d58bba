// Expectations of every golden that `conform` calls equal, broken: each must be seen to differ, or
// be refused. Recordings beside the checkout (skipped without), and those of tests/recordings.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/conform/conform.hpp"
#include "support/paths.hpp"

namespace ridgeline::conform {
namespace {

using document::Node;

/// A value of a document with a part of it changed, made when it is asked for.
using Make = std::function<Node()>;
using Change = std::function<void(const std::string& what, const Make& changed)>;

Node with_item(const Node& list, std::size_t at, Node item) {
  std::vector<Node> items = list.items();
  items[at] = std::move(item);
  return Node::list(std::move(items), list.where());
}

Node with_member(const Node& map, std::size_t at, Node value) {
  std::vector<Node::Member> members = map.members();
  members[at].value = std::move(value);
  return Node::map(std::move(members), map.where());
}

Node with_member(const Node& map, std::string_view key, Node value) {
  const auto& members = map.members();
  const auto found = std::ranges::find(members, key, &Node::Member::key);
  return with_member(map, static_cast<std::size_t>(found - members.begin()), std::move(value));
}

bool is_nothing(const Node& node) {
  return node.is_null() || (node.is_list() && node.items().empty()) ||
         (node.is_map() && node.members().empty());
}

Node other_scalar(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::kBool:
      return Node::boolean(!node.as_bool(), node.where());
    case Node::Kind::kInteger:
      return Node::integer(node.as_integer() + 1, node.where());
    case Node::Kind::kReal:
      return Node::real(node.as_real() + 0.01, node.where());
    case Node::Kind::kString:
      return Node::string(node.as_string() + "x", node.where());
    default:
      return Node::integer(1, node.where());
  }
}

/// Lists whose order is a decision.
bool has_order(std::string_view key) {
  static const std::set<std::string_view> kOrdered = {"running",
                                                      "waiting",
                                                      "fitting",
                                                      "active",
                                                      "generation",
                                                      "final_free_queue",
                                                      "routed_to",
                                                      "costs",
                                                      "ceilings",
                                                      "probabilities",
                                                      "trace"};
  return kOrdered.contains(key);
}

/// Keys that stand in a case or not.
bool may_be_left_out(std::string_view key) {
  return key == "softmax";
}
/// What was drawn, and from what: inputs that stand among the expectations.
bool is_input(std::string_view key) {
  return key == "uniform" || key == "temperature";
}

/// Each way to break what a value says: other numbers and names, entries dropped, added and
/// swapped. `may_drop`: of an excerpt a key may be missing.
void for_each_break(const Node& node,
                    const std::string& path,
                    std::string_view key,
                    bool may_drop,
                    const Change& change) {
  if (node.is_map()) {
    const auto& members = node.members();
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::string at = path + "." + members[i].key;
      if (is_input(members[i].key)) {
        continue;
      }
      if (may_drop && !is_nothing(members[i].value) && !may_be_left_out(members[i].key)) {
        change(at + " dropped", [&] {
          std::vector<Node::Member> fewer = members;
          fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
          return Node::map(std::move(fewer), node.where());
        });
      }
      for_each_break(members[i].value,
                     at,
                     members[i].key,
                     may_drop,
                     [&](const std::string& what, const Make& changed) {
                       change(what, [&] { return with_member(node, i, changed()); });
                     });
    }
    change(path + " with one more", [&] {
      std::vector<Node::Member> more = members;
      more.push_back({.key = "nobody", .value = Node::integer(1, node.where()), .where = {}});
      return Node::map(std::move(more), node.where());
    });
    return;
  }
  if (!node.is_list()) {
    change(path + " changed", [&] { return other_scalar(node); });
    return;
  }
  const auto& items = node.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    for_each_break(items[i],
                   fmt::format("{}[{}]", path, i),
                   {},
                   may_drop,
                   [&](const std::string& what, const Make& changed) {
                     change(what, [&] { return with_item(node, i, changed()); });
                   });
  }
  if (!items.empty() && may_drop) {
    change(path + " without its last", [&] {
      return Node::list(std::vector<Node>(items.begin(), items.end() - 1), node.where());
    });
  }
  change(path + " with one more", [&] {
    std::vector<Node> more = items;
    more.push_back(items.empty() ? Node::string("nobody", node.where()) : items.front());
    return Node::list(std::move(more), node.where());
  });
  const auto differ = [](const Node& a, const Node& b) {
    return a.kind() != b.kind() ||
           (a.kind() == Node::Kind::kString && a.as_string() != b.as_string()) ||
           (a.is_number() && a.as_real() != b.as_real()) || a.is_map();
  };
  if (items.size() > 1 && has_order(key) && differ(items[0], items[1])) {
    change(path + " swapped", [&] {
      std::vector<Node> swapped = items;
      std::swap(swapped[0], swapped[1]);
      return Node::list(std::move(swapped), node.where());
    });
  }
}

bool is_equal(const Node& document) {
  const auto results = conform_document(document, "broken");
  return results && !results->empty() && std::ranges::none_of(*results, [](const auto& one) {
           return one.difference.has_value() || !one.not_expressible.empty();
         });
}

/// A break without its places: `trace[12].free_blocks changed` is `trace[].free_blocks changed`.
std::string kind_of(std::string what) {
  std::erase_if(what, [](char c) { return c >= '0' && c <= '9'; });
  return what;
}

/// Counts breaks, tries one in so many and the first of every kind, and names those that were not
/// seen.
class Trial {
 public:
  explicit Trial(std::uint64_t one_in, std::size_t first_of_kind = 0)
      : one_in_(one_in), first_of_kind_(first_of_kind) {}

  void operator()(const std::string& what, const Make& broken) {
    // Spread over a file, and the same in every run.
    number_ = number_ * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    const bool is_first = first_of_kind_ > 0 && ++kinds_[kind_of(what)] <= first_of_kind_;
    if (!is_first && (number_ >> 33U) % one_in_ != 0) {
      return;
    }
    ++tried_;
    if (is_equal(broken())) {
      unseen_.push_back(what);
    }
  }
  [[nodiscard]] std::size_t tried() const { return tried_; }
  [[nodiscard]] const std::vector<std::string>& unseen() const { return unseen_; }

 private:
  std::uint64_t one_in_;
  std::size_t first_of_kind_;
  std::map<std::string, std::size_t> kinds_;
  std::uint64_t number_ = 0;
  std::size_t tried_ = 0;
  std::vector<std::string> unseen_;
};

/// A decision: `expected`, and the keys of its steps that `see` names.
void break_case(const Node& one, Trial& trial) {
  const std::string id = one.find("id") == nullptr ? "case" : one.find("id")->as_string();
  const auto document_of = [](const Node& changed) {
    return Node::list({changed}, changed.where());
  };
  if (!is_equal(document_of(one))) {
    return;
  }
  const Node& expected = *one.find("expected");
  const Node* const see = expected.find("see");
  if (see == nullptr) {
    for_each_break(expected, id, {}, true, [&](const std::string& what, const Make& changed) {
      trial(what, [&] { return document_of(with_member(one, "expected", changed())); });
    });
    return;
  }
  const std::string named = see->as_string().substr(0, see->as_string().find_first_of(";:"));
  const Node& steps = *one.find("steps");
  for (std::size_t i = 0; i < steps.items().size(); ++i) {
    const Node& step = steps.items()[i];
    for (std::size_t k = 0; k < step.members().size(); ++k) {
      const auto& [key, value, where] = step.members()[k];
      if (named.find(key) == std::string::npos) {
        continue;
      }
      for_each_break(value,
                     fmt::format("{} step {} {}", id, i, key),
                     key,
                     true,
                     [&](const std::string& what, const Make& changed) {
                       trial(what, [&] {
                         Node other = with_item(steps, i, with_member(step, k, changed()));
                         return document_of(with_member(one, "steps", std::move(other)));
                       });
                     });
    }
  }
}

/// How many records of a trace have a key: one that a single record has may not be written at all.
bool is_written_once(const Node& trace, std::string_view key) {
  return std::ranges::count_if(trace.items(),
                               [&](const Node& record) { return record.find(key) != nullptr; }) < 2;
}

/// A recording: what its results say, for one version each.
void break_recording(const Node& document, Trial& trial) {
  static const std::vector<std::string> kUnwritten = {
      "blocks", "parked", "aborted", "evicted_blocks"};
  const Node& results = *document.find("results");
  for (const Node& result : results.items()) {
    const Node& version = result.find("versions")->items().front();
    const Node one = with_member(result, "versions", Node::list({version}, version.where()));
    const auto document_of = [&](const Node& changed) {
      return with_member(document, "results", Node::list({changed}, changed.where()));
    };
    if (!is_equal(document_of(one))) {
      continue;
    }
    const bool is_whole = one.find("totals") != nullptr;
    const std::size_t last = one.find("trace")->items().size() - 1;
    for (std::size_t k = 0; k < one.members().size(); ++k) {
      const auto& [key, value, where] = one.members()[k];
      if (key == "versions") {
        continue;
      }
      for_each_break(value, key, key, is_whole, [&](const std::string& what, const Make& changed) {
        const std::string at_last = fmt::format("trace[{}].", last);
        // What comes of the last step of an excerpt was not recorded.
        const bool is_outcome = !is_whole && what.starts_with(at_last) &&
                                (what.find("tokens_out") != std::string::npos ||
                                 what.find("finished") != std::string::npos ||
                                 what.find("free_blocks") != std::string::npos);
        const bool is_unwritten = std::ranges::any_of(kUnwritten, [&](const std::string& name) {
          return what.ends_with("." + name + " dropped") &&
                 is_written_once(*one.find("trace"), name);
        });
        // The free list of a larger pool is left out.
        const bool is_large = what == "totals.final_free_queue dropped" &&
                              document.find("cfg")->find("num_blocks")->as_integer() > 64;
        // A recorder may take an abort for an end.
        const bool is_abort = what.ends_with("finish_step dropped") &&
                              !is_written_once(*one.find("trace"), "aborted");
        if (!is_outcome && !is_unwritten && !is_abort && !is_large) {
          trial(what, [&] { return document_of(with_member(one, k, changed())); });
        }
      });
    }
  }
}

void break_file(const std::filesystem::path& file, Trial& trial) {
  const auto document = document::read_document(file.string());
  ASSERT_TRUE(document.has_value()) << file;
  if (document->is_list()) {
    for (const Node& one : document->items()) {
      break_case(one, trial);
    }
  } else if (document->find("results") != nullptr) {
    break_recording(*document, trial);
  }
  for (const std::string& what : trial.unseen()) {
    ADD_FAILURE() << file << ": " << what << ": is not seen";
  }
}

std::vector<std::filesystem::path> goldens(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string parent = entry.path().parent_path().filename().string();
      const bool is_of_conform = parent != "agentx" && parent != "roofline" && parent != "serve";
      if (entry.path().extension() == ".json" && is_of_conform) {
        files.push_back(entry.path());
      }
    }
  }
  std::ranges::sort(files);
  return files;
}

/// RIDGELINE_EVERY_BREAK tries every kind of break of every file, in minutes: ./dev properties
/// conform. The 800,000 places of all recordings would take hours.
bool tries_all() {
  return std::getenv("RIDGELINE_EVERY_BREAK") != nullptr;  // NOLINT(concurrency-mt-unsafe)
}

TEST(Conform, BrokenRecordingsOfOurOwnDiffer) {
  std::size_t tried = 0;
  for (const auto& file : goldens(test::source_dir() / "tests" / "recordings")) {
    Trial trial(tries_all() ? 1 : 3);
    break_file(file, trial);
    tried += trial.tried();
  }
  EXPECT_GT(tried, 300U);
}

TEST(Conform, BrokenDecisionsDiffer) {
  const auto files = goldens(test::shared_dir() / "golden");
  if (files.empty()) {
    GTEST_SKIP() << "needs the decisions of ../shared/golden";
  }
  std::size_t tried = 0;
  for (const auto& file : files) {
    const std::string folder = file.parent_path().filename().string();
    if (folder == "cluster" || folder == "fleet") {
      Trial trial(1);
      break_file(file, trial);
      tried += trial.tried();
    }
  }
  EXPECT_GT(tried, 2000U);
}

TEST(Conform, BrokenRecordingsDiffer) {
  const auto files = goldens(test::shared_dir() / "golden");
  if (files.empty()) {
    GTEST_SKIP() << "needs the recordings of ../shared/golden";
  }
  std::size_t tried = 0;
  for (const auto& file : files) {
    const std::string folder = file.parent_path().filename().string();
    const bool is_long = file.filename().string().find("stress") != std::string::npos;
    if (folder != "cluster" && folder != "fleet" && (tries_all() || !is_long)) {
      Trial trial(tries_all() ? 97 : 199, tries_all() ? 12 : 0);
      break_file(file, trial);
      tried += trial.tried();
      if (tries_all()) {
        fmt::print(stderr, "{}: {} breaks\n", file.string(), trial.tried());
      }
    }
  }
  EXPECT_GT(tried, 500U);
}

}  // namespace
}  // namespace ridgeline::conform
