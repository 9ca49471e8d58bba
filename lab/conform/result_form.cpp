#include "lab/conform/result_form.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/conform/recording.hpp"

namespace ridgeline::conform {
namespace {

using document::Node;

void note(const Node& node, std::string field, std::string message, core::Errors& errors) {
  errors.push_back(
      {.field = std::move(field), .message = std::move(message), .where = node.where()});
}

/// A list of one item at least.
bool check_list(const Node* list,
                const Node& owner,
                const std::string& path,
                core::Errors& errors) {
  if (list != nullptr && list->is_list() && !list->items().empty()) {
    return true;
  }
  note(list == nullptr ? owner : *list,
       path,
       list == nullptr ? "is missing, expected a list"
                       : fmt::format("found {}, expected a list of one item at least",
                                     list->is_list() ? "an empty list" : list->describe()),
       errors);
  return false;
}

/// A map of known keys, each once.
void check_keys(const Node& map,
                std::span<const std::string_view> known,
                const std::string& path,
                core::Errors& errors) {
  if (!map.is_map()) {
    note(map, path, fmt::format("found {}, expected a map", map.describe()), errors);
    return;
  }
  std::set<std::string_view> keys;
  for (const auto& member : map.members()) {
    if (std::ranges::find(known, member.key) == known.end()) {
      note(member.value,
           path + "." + member.key,
           fmt::format("is not compared, expected one of {}", fmt::join(known, ", ")),
           errors);
    } else if (!keys.insert(member.key).second) {
      note(member.value, path + "." + member.key, "stands there twice", errors);
    }
  }
}

void check_rows(const Node& table,
                const Node& requests,
                const ResultForm& form,
                const std::string& path,
                core::Errors& errors) {
  if (!table.is_map()) {
    note(table, path, fmt::format("found {}, expected a map", table.describe()), errors);
    return;
  }
  std::set<std::string> names;
  for (const Node& request : requests.items()) {
    const Node* const id = request.find("id");
    if (id == nullptr) {
      continue;
    }
    names.insert(text_of(*id));
    if (table.find(text_of(*id)) == nullptr) {
      note(table, path + "." + text_of(*id), "is missing, expected a row of each request", errors);
    }
  }
  for (const auto& row : table.members()) {
    if (names.contains(row.key)) {
      check_keys(row.value, form.request, path + "." + row.key, errors);
    } else {
      note(row.value, path + "." + row.key, "is no request of this recording", errors);
    }
  }
}

void check_result(const Node& recording,
                  const Node& result,
                  const ResultForm& form,
                  const std::string& path,
                  core::Errors& errors) {
  static constexpr std::string_view kKeys[] = {"versions", "trace", "totals", "per_request"};
  check_keys(result, kKeys, path, errors);
  check_list(result.find("versions"), result, path + ".versions", errors);
  const Node* const trace = result.find("trace");
  if (check_list(trace, result, path + ".trace", errors)) {
    for (std::size_t i = 0; i < trace->items().size(); ++i) {
      check_keys(trace->items()[i], form.record, fmt::format("{}.trace[{}]", path, i), errors);
    }
  }
  if (is_excerpt(result)) {
    if (recording.find("derivation") == nullptr) {
      note(result,
           path + ".totals",
           "is missing, and per_request too: expected both, or a `derivation` that says what the "
           "records show",
           errors);
    }
    return;
  }
  const Node* const totals = result.find("totals");
  const Node* const table = result.find("per_request");
  if (totals == nullptr || table == nullptr) {
    note(result, path + (totals == nullptr ? ".totals" : ".per_request"), "is missing", errors);
    return;
  }
  check_keys(*totals, form.totals, path + ".totals", errors);
  const Node* const requests = recording.find("requests");
  if (requests != nullptr && requests->is_list()) {
    check_rows(*table, *requests, form, path + ".per_request", errors);
  }
}

}  // namespace

bool is_excerpt(const Node& result) {
  return result.find("totals") == nullptr && result.find("per_request") == nullptr;
}

void check_results(const Node& recording,
                   const Node& results,
                   const ResultForm& form,
                   core::Errors& errors) {
  if (!check_list(&results, recording, "results", errors)) {
    return;
  }
  for (std::size_t i = 0; i < results.items().size(); ++i) {
    check_result(recording, results.items()[i], form, fmt::format("results[{}]", i), errors);
  }
}

}  // namespace ridgeline::conform
