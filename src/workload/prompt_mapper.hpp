#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "domain/prompt.hpp"

namespace ridgeline::workload {

/// Gives the contents of prompts other names. What prompts share is renamed once: those that come
/// one after the other and go on from the same history share what becomes of it as well.
class PromptMapper {
 public:
  struct Name {
    std::uint64_t content = 0;
    bool is_lasting = true;  ///< Every later prompt gives the same segment the same name.
  };

  /// Replaces the content of each segment by what `rename(content)` says, a Name.
  template <class Rename>
  void apply(domain::Prompt& prompt, Rename&& rename) {
    std::vector<domain::Segment> own;
    std::size_t shared = prompt.num_shared();
    if (shared > 0) {
      shared = map_history(prompt.history(), shared, rename);
      // From the first name that does not last, the segments are the prompt's own.
      for (std::size_t i = shared; i < prompt.num_shared(); ++i) {
        own.push_back(renamed((*prompt.history())[i], rename));
      }
    }
    if (own.empty()) {
      own = std::move(prompt.own());
      for (domain::Segment& segment : own) {
        segment = renamed(segment, rename);
      }
    } else {
      for (const domain::Segment& segment : prompt.own()) {
        own.push_back(renamed(segment, rename));
      }
    }
    prompt = shared > 0 ? domain::Prompt(mapped_, shared) : domain::Prompt();
    prompt.own() = std::move(own);
  }

 private:
  template <class Rename>
  static domain::Segment renamed(const domain::Segment& segment, Rename&& rename) {
    return {.content = rename(segment.content).content, .length = segment.length};
  }

  /// Renames as many of the first `count` segments as have names that last; how many.
  template <class Rename>
  std::size_t map_history(const std::shared_ptr<const domain::History>& history,
                          std::size_t count,
                          Rename&& rename) {
    if (history != source_) {
      source_ = history;
      mapped_ = std::make_shared<domain::History>();
    }
    while (mapped_->size() < count) {
      const domain::Segment segment = (*history)[mapped_->size()];
      const Name name = rename(segment.content);
      if (!name.is_lasting) {
        return mapped_->size();
      }
      mapped_->append({.content = name.content, .length = segment.length});
    }
    return count;
  }

  std::shared_ptr<const domain::History> source_;
  std::shared_ptr<domain::History> mapped_;
};

}  // namespace ridgeline::workload
