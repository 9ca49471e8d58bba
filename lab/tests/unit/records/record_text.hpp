#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"
#include "lab/records/experiment_records.hpp"
#include "lab/records/request_log.hpp"

/// Records as text, and what was read of them.
namespace ridgeline::records {

/// What is read of a record, its limits checked.
inline Evidence read_record(const std::string& text) {
  RequestLogs logs(".");
  auto evidence = read_experiment(document::parse_json(text, "own.jsonl").value(), logs);
  check_limits(evidence);
  return evidence;
}

/// With `to` in place of the first `from`, which must be there.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// The setting of the scenario that a record states; empty: none.
inline std::string stated(const Evidence& evidence, std::string_view path) {
  for (const auto& [known, text] : evidence.stated) {
    if (known == path) {
      return text;
    }
  }
  return "";
}

}  // namespace ridgeline::records
