#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"

namespace ridgeline::workload {

/// The scalar values of an object and of those within it, by dotted path ("info.timings.start"),
/// as pieces of the text; false is as absent as null. Lists are left out, but for lists of {"key":
/// ..., "value": {...}}, which OpenTelemetry writes for maps.
class JsonRecord {
 public:
  /// Takes one value from the walk; false when it is no sound JSON.
  bool read(JsonCursor& json);
  /// Takes the members of one object under a name, beside what was read before.
  bool read_under(JsonCursor& json, const std::string& path);

  /// The first of these paths that is there and not null.
  [[nodiscard]] std::optional<std::string_view> find(
      std::initializer_list<std::string_view> paths) const;
  [[nodiscard]] bool empty() const { return values_.empty(); }
  /// Where the object begins that was read last: for problems of the whole of it.
  [[nodiscard]] std::string_view place() const { return place_; }
  void clear() { values_.clear(); }

  /// Each reads the value of the first path that is there; false when none is, or when it is a
  /// problem (then noted at `line`, of which the record is a part).
  bool tokens(const TraceLine& line,
              std::initializer_list<std::string_view> paths,
              core::Tokens& value,
              std::int64_t lowest = 1) const;
  bool seconds(const TraceLine& line,
               std::initializer_list<std::string_view> paths,
               core::Duration& value) const;

 private:
  bool add(JsonCursor& json, const std::string& path, int depth);
  bool add_list(JsonCursor& json, const std::string& path, int depth);

  std::map<std::string, std::string_view, std::less<>> values_;
  std::string_view place_;
};

/// Times since an epoch ("1716345600.123456" s) become times since the first one.
class EpochClock {
 public:
  /// Exact decimals of so many digits after the point: seconds (0) to nanoseconds (9).
  bool read(const TraceLine& line,
            std::string_view column,
            std::string_view text,
            const TimeUnit& unit,
            core::Duration& since_first);

 private:
  std::optional<std::int64_t> first_second_;
};

}  // namespace ridgeline::workload
