#include "model/config_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"

namespace ridgeline::model {

ConfigReader::ConfigReader(const document::Node& document,
                           core::Errors& errors,
                           Provenance& provenance)
    : document_(document),
      reader_(document, "model", errors, document::ObjectReader::Unknown::kIgnore),
      errors_(errors),
      provenance_(provenance) {}

void ConfigReader::asked(std::string_view key) {
  asked_.emplace_back(key);
  const document::Node* value = document_.find(key);
  const bool about_the_file = key.starts_with('_');
  if (value != nullptr && !value->is_null() && !about_the_file) {
    provenance_.emplace_back(key, describe(value->where()));
  }
}

std::int64_t ConfigReader::required_integer(std::string_view key,
                                            document::Range<std::int64_t> range) {
  asked(key);
  return reader_.required_integer(key, range);
}

std::optional<std::int64_t> ConfigReader::integer(std::string_view key,
                                                  document::Range<std::int64_t> range) {
  asked(key);
  return reader_.integer(key, range);
}

std::vector<std::int64_t> ConfigReader::integers(std::string_view key,
                                                 document::Range<std::int64_t> range) {
  asked(key);
  return reader_.integers(key, range).value_or(std::vector<std::int64_t>{});
}

std::optional<std::string> ConfigReader::string(std::string_view key) {
  asked(key);
  return reader_.string(key);
}

bool ConfigReader::boolean(std::string_view key, bool family_default) {
  asked(key);
  const std::optional<bool> value = reader_.boolean(key);
  if (!value) {
    derived(key, fmt::format("default of the family: {}", family_default));
  }
  return value.value_or(family_default);
}

const document::Node* ConfigReader::node(std::string_view key) {
  asked(key);
  return reader_.node(key);
}

bool ConfigReader::was_asked(std::string_view key) const {
  return std::find(asked_.begin(), asked_.end(), key) != asked_.end();
}

std::int64_t ConfigReader::num_read() const {
  const auto& members = document_.members();
  return std::count_if(members.begin(), members.end(), [&](const document::Node::Member& member) {
    return was_asked(member.key);
  });
}

bool ConfigReader::states(std::string_view key) const {
  return document_.find(key) != nullptr;
}

void ConfigReader::problem(std::string_view key, std::string message, std::string hint) {
  reader_.problem(key, std::move(message), std::move(hint));
}

void ConfigReader::not_modelled(std::string_view key, std::string_view feature) {
  problem(key, fmt::format("{} is not modelled yet", feature));
}

void ConfigReader::derived(std::string_view key, std::string source) {
  provenance_.emplace_back(key, std::move(source));
}

void ConfigReader::finish() {
  reader_.finish();
  for (const document::Node::Member& member : document_.members()) {
    const bool from_command_line =
        member.where.file == kCommandLine || member.value.where().file == kCommandLine;
    if (!from_command_line || std::find(asked_.begin(), asked_.end(), member.key) != asked_.end()) {
      continue;
    }
    const std::optional<std::string> near = document::nearest(member.key, asked_);
    errors_.push_back({.code = core::ErrorCode::kUsage,
                       .field = path_of(member.key),
                       .message = "no such value in this network's configuration",
                       .where = member.value.where(),
                       .hint = near ? fmt::format("did you mean '{}'?", *near) : std::string()});
  }
}

std::string describe(const core::Location& where) {
  const std::string file = where.file.empty() ? "input" : where.file;
  return where.line > 0 ? fmt::format("{}:{}", file, where.line) : file;
}

}  // namespace ridgeline::model
