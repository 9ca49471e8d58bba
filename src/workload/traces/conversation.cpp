#include "workload/traces/conversation.hpp"

#include "core/units.hpp"

namespace ridgeline::workload {

void Conversation::cut(core::Tokens length) {
  while (length_ > length) {
    const core::Tokens surplus = length_ - length;
    auto& last = prompt_.back();
    if (last.length <= surplus) {
      length_ -= last.length;
      prompt_.pop_back();
    } else {
      last.length -= surplus;
      length_ = length;
    }
  }
}

}  // namespace ridgeline::workload
