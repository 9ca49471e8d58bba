#include "lab/pages/conform.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
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

std::string conform_table(const std::vector<ConformResult>& results) {
  std::string text;
  for (const auto& result : results) {
    text += fmt::format("{}  {:<36} {:<26} as {}\n",
                        result.difference ? "differs" : "equal  ",
                        core::escaped(result.scenario),
                        core::escaped(result.version),
                        result.profile);
    if (result.difference) {
      text += fmt::format("         {}\n         recorded  {}\n         ours      {}\n",
                          core::escaped(result.difference->where),
                          core::escaped(result.difference->recorded),
                          result.difference->ours);
    }
  }
  const std::size_t different = num_different(results);
  return text + fmt::format("{} equal, {} differ\n", results.size() - different, different);
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
    json.member("equal", !result.difference.has_value());
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
  json.member("equal", results.size() - different);
  json.member("different", different);
  json.end_object();
  return json.text() + "\n";
}

}  // namespace ridgeline::report
