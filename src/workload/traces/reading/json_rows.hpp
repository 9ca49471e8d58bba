#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "workload/traces/format.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"

namespace ridgeline::workload {

/// Reads one flat JSON object a line: looks up the keys that a format needs, each required once,
/// and reads over the others.
class JsonRowParser : public RowParser {
 public:
  /// At most 32 keys.
  explicit JsonRowParser(std::span<const std::string_view> required) : required_(required) {}

  RowStatus row(const TraceLine& line, TraceRow& row) final;

 protected:
  /// Reads the value of the required key of that number.
  virtual bool member(JsonCursor& json, std::size_t key, TraceRow& row) = 0;
  /// Reads or skips the value of another key.
  virtual bool other(JsonCursor& json, std::string_view key, TraceRow& row) {
    static_cast<void>(key);
    static_cast<void>(row);
    return json.skip();
  }
  /// After the last member of a sound row.
  virtual bool finish(const TraceLine& line, TraceRow& row) {
    static_cast<void>(line);
    static_cast<void>(row);
    return true;
  }

 private:
  std::span<const std::string_view> required_;
};

}  // namespace ridgeline::workload
