#include "evidence/validate/measured_files.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/validate/deployment.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/evidence_limits.hpp"
#include "evidence/validate/validate.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// Whether two names are of one file, or of two with the same bytes.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code failed;  // a file that cannot be looked at is another's error
  if (std::filesystem::equivalent(a, b, failed)) {
    return true;
  }
  const auto is_file = [&](const std::string& path) {
    return std::filesystem::is_regular_file(path, failed);
  };
  if (!is_file(a) || !is_file(b) ||
      std::filesystem::file_size(a, failed) != std::filesystem::file_size(b, failed)) {
    return false;
  }
  const auto first = document::read_file(a, kMostFileBytes);
  const auto second = document::read_file(b, kMostFileBytes);
  return first && second && *first == *second;
}

/// One measurement that is given twice would count twice.
core::Errors given_twice(const std::vector<std::string>& paths) {
  core::Errors errors;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (same_file(paths[i], paths[j])) {
        errors.push_back({.message = fmt::format("'{}' holds the same records as '{}', expected "
                                                 "each file once",
                                                 paths[i],
                                                 paths[j]),
                          .where = {.file = "command line"}});
        break;
      }
    }
  }
  return errors;
}

}  // namespace

core::Result<std::vector<Evidence>> read_files(const std::vector<std::string>& paths,
                                               const std::vector<scenario::Override>& overrides) {
  std::vector<Evidence> records;
  core::Errors errors = given_twice(paths);
  if (paths.empty()) {
    errors.push_back({.message = "found no file, expected measured runs",
                      .where = {.file = "command line"},
                      .hint = "experiments.jsonl, or a benchmark's result"});
  }
  for (const auto& path : paths) {
    auto read = read_evidence(path);
    if (read) {
      std::ranges::move(*read, std::back_inserter(records));
    } else {
      errors.insert(errors.end(), read.error().begin(), read.error().end());
    }
  }
  for (auto& record : records) {
    if (auto doubt = doubt_of_network(record, overrides)) {
      record.doubts.push_back(std::move(*doubt));
    }
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return records;
}

}  // namespace ridgeline::evidence::validate
