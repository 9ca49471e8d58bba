#include "workload/traces/json_layout.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "workload/traces/fields.hpp"
#include "workload/traces/quick_row.hpp"

namespace ridgeline::workload {

void JsonLayouts::start(const TraceLine& line) {
  learning_.pieces.clear();
  at_ = line.text().data();
  line_end_ = at_ + line.text().size();
}

void JsonLayouts::member(std::uint32_t key,
                         std::string_view name,
                         const QuickValue& value,
                         const char* begin,
                         const char* end) {
  if (layouts_.size() < kMostLayouts) {
    learning_.pieces.push_back(
        {.text = std::string(at_, begin), .value = value, .key = key, .name = std::string(name)});
    at_ = end;
  }
}

void JsonLayouts::learn() {
  if (layouts_.size() < kMostLayouts) {
    learning_.end = std::string(at_, line_end_);
    layouts_.push_back(std::move(learning_));
    learning_ = {};
  }
}

}  // namespace ridgeline::workload
