#include "lab/pages/conform.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "document/json_writer.hpp"
#include "lab/conform/conform.hpp"

namespace ridgeline::report {

using conform::ConformResult;

std::size_t num_different(const std::vector<ConformResult>& results) {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(), [](const auto& result) {
        return result.difference.has_value();
      }));
}

std::size_t num_not_expressible(const std::vector<ConformResult>& results) {
  return static_cast<std::size_t>(std::ranges::count_if(
      results, [](const auto& result) { return !result.not_expressible.empty(); }));
}

namespace {

std::string counts(const std::vector<ConformResult>& results) {
  const std::size_t different = num_different(results);
  const std::size_t without = num_not_expressible(results);
  return fmt::format("{} equal, {} differ{}",
                     results.size() - different - without,
                     different,
                     without > 0 ? fmt::format(", {} not expressible", without) : "");
}

/// A line of counts per version, where there are several; in the order in which they are met.
std::string counts_per_version(const std::vector<ConformResult>& results) {
  std::vector<std::pair<std::string, std::vector<ConformResult>>> versions;
  for (const auto& result : results) {
    const auto place =
        std::ranges::find(versions, result.version, [](const auto& one) { return one.first; });
    (place == versions.end() ? versions.emplace_back(result.version, std::vector<ConformResult>())
                             : *place)
        .second.push_back(result);
  }
  std::string text;
  for (const auto& [version, lines] : versions) {
    text += fmt::format("{:<26} {}\n", core::escaped(version), counts(lines));
  }
  return versions.size() > 1 ? text : "";
}

}  // namespace

std::string conform_table(const std::vector<ConformResult>& results) {
  std::string text;
  for (const auto& result : results) {
    const char* const verdict = !result.not_expressible.empty() ? "without"
                                : result.difference             ? "differs"
                                                                : "equal  ";
    text += fmt::format("{}  {:<36} {:<26} as {}\n",
                        verdict,
                        core::escaped(result.scenario),
                        core::escaped(result.version),
                        result.profile);
    if (!result.not_expressible.empty()) {
      text += fmt::format("         not expressible: {}\n", core::escaped(result.not_expressible));
    }
    if (result.difference) {
      text += fmt::format("         {}\n         recorded  {}\n         ours      {}\n",
                          core::escaped(result.difference->where),
                          core::escaped(result.difference->recorded),
                          result.difference->ours);
    }
  }
  return text + counts_per_version(results) + counts(results) + "\n";
}

std::string conform_json(const std::vector<ConformResult>& results) {
  document::JsonWriter json;
  json.begin_object();
  json.key("results").begin_array();
  for (const auto& result : results) {
    json.begin_object();
    json.member("file", result.file);
    json.member("scenario", result.scenario);
    json.member("version", result.version);
    json.member("profile", result.profile);
    json.member("equal", !result.difference.has_value() && result.not_expressible.empty());
    if (!result.not_expressible.empty()) {
      json.member("not_expressible", result.not_expressible);
    }
    if (result.difference) {
      json.key("difference").begin_object();
      json.member("where", result.difference->where);
      json.member("recorded", result.difference->recorded);
      json.member("ours", result.difference->ours);
      json.end_object();
    }
    json.end_object();
  }
  json.end_array();
  const std::size_t different = num_different(results);
  const std::size_t without = num_not_expressible(results);
  json.member("equal", results.size() - different - without);
  json.member("different", different);
  json.member("not_expressible", without);
  json.end_object();
  return json.text() + "\n";
}

}  // namespace ridgeline::report
