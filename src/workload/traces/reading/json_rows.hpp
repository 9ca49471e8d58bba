#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/json_layout.hpp"
#include "workload/traces/reading/quick_batch.hpp"
#include "workload/traces/reading/quick_row.hpp"

namespace ridgeline::workload {

/// Reads one flat JSON object a line: looks up the keys that a format needs, each required once,
/// and reads over the others.
class JsonRowParser : public RowParser {
 public:
  /// At most 32 keys; `values` says of the first keys what they mean.
  explicit JsonRowParser(std::span<const std::string_view> required,
                         std::span<const QuickValue> values = {})
      : required_(required), values_(values) {}

  RowStatus row(const TraceLine& line, TraceRow& row) final;
  const char* quick_row(const char* at, const char* end, TraceRow& row) final;
  const char* quick_rows(const char* at,
                         const char* end,
                         core::Duration earliest,
                         QuickBatch& batch) final {
    return layouts_.read_rows(at, end, earliest, batch);
  }

 protected:
  /// Reads the value of the required key of that number.
  virtual bool member(JsonCursor& json, std::size_t key, TraceRow& row) = 0;
  /// Reads or skips the value of another key.
  virtual bool other(JsonCursor& json, std::string_view key, TraceRow& row) {
    static_cast<void>(key);
    static_cast<void>(row);
    return json.skip();
  }
  /// What the value of such a key is.
  [[nodiscard]] virtual QuickValue other_value(std::string_view key) const {
    static_cast<void>(key);
    return {};
  }
  /// Before the first member; clears what `other` fills.
  virtual void start(TraceRow& row) { static_cast<void>(row); }
  /// After the last member of a sound row that says more than a QuickRow; `line` may lack a text
  /// where the row came the quick way (a problem then makes it be read the other way).
  virtual bool finish(const TraceLine& line, TraceRow& row) {
    static_cast<void>(line);
    static_cast<void>(row);
    return true;
  }

 private:
  static constexpr std::uint32_t kOtherKey = ~std::uint32_t{0};

  [[nodiscard]] QuickValue value_of(std::size_t key) const {
    return key < values_.size() ? values_[key] : QuickValue{};
  }

  std::span<const std::string_view> required_;
  std::span<const QuickValue> values_;
  JsonLayouts layouts_;
  std::string unnamed_;
  core::Errors unheard_;
};

}  // namespace ridgeline::workload
