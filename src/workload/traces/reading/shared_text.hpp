#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "domain/prompt.hpp"

namespace ridgeline::workload {

/// What was written for the histories that prompts share, piece by piece, so that the next prompt
/// of a conversation copies it. Memory is bounded: now and then all of it is given up.
class SharedText {
 public:
  /// Appends the first `count` pieces of a history to `text`; `write(i, text)` appends piece i
  /// where it is not known yet.
  template <class Write>
  void append(const std::shared_ptr<const domain::History>& history,
              std::size_t count,
              std::string& text,
              Write&& write) {
    if (size_ > kMostBytes) {
      known_.clear();
      size_ = 0;
    }
    Known& known = known_[history.get()];
    known.history = history;  // Kept, so that no other history comes to stand where it stands.
    const std::size_t copied = std::min(count, known.ends.size());
    text.append(known.text, 0, copied > 0 ? known.ends[copied - 1] : 0);
    for (std::size_t i = copied; i < count; ++i) {
      const std::size_t before = text.size();
      write(i, text);
      known.text.append(text, before);
      known.ends.push_back(known.text.size());
      size_ += text.size() - before + sizeof(known.ends.back());
    }
  }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  struct Known {
    std::shared_ptr<const domain::History> history;
    std::string text;
    std::vector<std::size_t> ends;  ///< End of each piece in the text.
  };
  std::unordered_map<const domain::History*, Known> known_;
  std::size_t size_ = 0;
};

}  // namespace ridgeline::workload
