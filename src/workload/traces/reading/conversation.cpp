#include "workload/traces/reading/conversation.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/units.hpp"
#include "domain/prompt.hpp"

namespace ridgeline::workload {
namespace {

/// Segments that a prompt may hold apart from its history before they get one of their own: few
/// enough to be copied by each prompt, and enough for the copying of the history to be rare.
constexpr std::size_t kMostOwnSegments = 32;

}  // namespace

void Conversation::add(std::uint64_t content, core::Tokens length) {
  if (length.value() <= 0) {
    return;
  }
  const domain::Segment segment{.content = content, .length = length};
  length_ += length;
  // Where another copy has gone on from here, the history is not this one's to add to.
  const bool is_at_end = history_ == nullptr || history_->size() == prompt_.num_shared();
  if (is_at_end && prompt_.own().empty()) {
    append_to_history(segment);
    return;
  }
  prompt_.push_back(segment);
  if (prompt_.own().size() == kMostOwnSegments) {
    auto whole = std::make_shared<domain::History>();
    for (const domain::Segment& one : prompt_) {
      whole->append(one);
    }
    history_ = std::move(whole);
    prompt_ = domain::Prompt(history_, history_->size());
  }
}

void Conversation::append_to_history(const domain::Segment& segment) {
  if (history_ == nullptr) {
    history_ = std::make_shared<domain::History>();
  }
  history_->append(segment);
  prompt_ = domain::Prompt(history_, history_->size());
}

void Conversation::cut(core::Tokens length) {
  while (length_ > length) {
    const core::Tokens surplus = length_ - length;
    domain::Segment last = prompt_.back();
    prompt_.pop_back();
    if (last.length <= surplus) {
      length_ -= last.length;
    } else {
      last.length -= surplus;
      prompt_.push_back(last);
      length_ = length;
    }
  }
}

}  // namespace ridgeline::workload
