#pragma once

#include <cstdint>
#include <memory>

#include "core/units.hpp"
#include "domain/prompt.hpp"
#include "workload/item.hpp"

namespace ridgeline::workload {

/// What the prompt of a conversation holds, as it grows turn by turn. Its prompts share what they
/// have in common, and so do copies of it that go on in different ways.
class Conversation {
 public:
  /// `space` tells its contents from those of other conversations.
  explicit Conversation(std::uint64_t space) : space_(space) {}

  /// Text that other conversations hold too, such as a system prompt.
  void add_shared(std::uint64_t content, core::Tokens length) { add(content, length); }
  /// Text of its own: what the user writes, or a tool returns.
  void add_own(core::Tokens length) { add(content_of(space_, ++count_), length); }
  /// The answer of the group's item at `place`.
  void add_answer(std::uint32_t place, core::Tokens length) { add(output_of(place), length); }
  /// Goes on as one of several copies of the same beginning, whose own texts differ by `number`.
  void branch(std::uint64_t number) { space_ = content_of(space_, number); }
  /// Starts over with an empty context.
  void clear() {
    prompt_ = {};
    history_.reset();
    length_ = core::Tokens(0);
  }
  /// Keeps the first `length` tokens.
  void cut(core::Tokens length);

  [[nodiscard]] const domain::Prompt& prompt() const { return prompt_; }
  [[nodiscard]] core::Tokens length() const { return length_; }

 private:
  void add(std::uint64_t content, core::Tokens length);
  void append_to_history(const domain::Segment& segment);

  std::uint64_t space_;
  std::uint64_t count_ = 0;
  /// What prompt_ begins with; copies of the conversation may have added to it.
  std::shared_ptr<domain::History> history_;
  domain::Prompt prompt_;
  core::Tokens length_ = core::Tokens(0);
};

}  // namespace ridgeline::workload
