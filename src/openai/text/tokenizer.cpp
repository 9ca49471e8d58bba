#include "openai/text/tokenizer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "openai/text/splitter.hpp"

namespace ridgeline::text {
namespace {

std::size_t first_byte(std::string_view text) {
  return static_cast<unsigned char>(text.front());
}

/// Bytes of the character that a text begins with.
std::size_t character_size(std::string_view text) {
  std::size_t size = 1;
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) {
    ++size;
  }
  return size;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// Symbols of a part in a list, joined pair by pair: the pair of the lowest rank first, and of
/// equal ones the leftmost.
class Merger {
 public:
  using Merges = std::unordered_map<std::uint64_t, TokenizerRules::Merge>;

  Merger(const std::vector<std::uint32_t>& ids, const Merges& merges) : merges_(merges) {
    symbols_.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      symbols_.push_back({.id = ids[i], .before = i == 0 ? kNone : i - 1, .next = i + 1});
    }
    for (std::size_t i = 0; i + 1 < symbols_.size(); ++i) {
      consider(i);
    }
  }

  template <class Take>
  void run(Take take) {
    while (!candidates_.empty()) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      join(best);
    }
    for (std::size_t i = 0; i < symbols_.size(); i = symbols_[i].next) {
      take(symbols_[i].id);
    }
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  struct Symbol {
    std::uint32_t id = 0;
    std::size_t before = kNone;
    std::size_t next = 0;
    bool is_joined = false;  ///< Part of the one before it.
  };
  struct Candidate {
    std::uint32_t rank = 0;
    std::size_t at = 0;
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::uint32_t id = 0;

    bool operator>(const Candidate& other) const {
      return std::tie(rank, at) > std::tie(other.rank, other.at);
    }
  };

  /// The symbol there with the next one.
  void consider(std::size_t at) {
    const std::size_t next = symbols_[at].next;
    if (next >= symbols_.size()) {
      return;
    }
    const std::uint32_t left = symbols_[at].id;
    const std::uint32_t right = symbols_[next].id;
    if (const auto merge = merges_.find(pair_key(left, right)); merge != merges_.end()) {
      candidates_.push({.rank = merge->second.rank,
                        .at = at,
                        .left = left,
                        .right = right,
                        .id = merge->second.id});
    }
  }

  void join(const Candidate& best) {
    Symbol& left = symbols_[best.at];
    const std::size_t next = left.next;
    if (left.is_joined || left.id != best.left || next >= symbols_.size() ||
        symbols_[next].id != best.right) {
      return;  // One of them was joined with another.
    }
    left.id = best.id;
    left.next = symbols_[next].next;
    symbols_[next].is_joined = true;
    if (left.next < symbols_.size()) {
      symbols_[left.next].before = best.at;
    }
    if (left.before != kNone) {
      consider(left.before);
    }
    consider(best.at);
  }

  const Merges& merges_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates_;
};

/// What a text's symbols are before any merge.
std::vector<std::uint32_t> symbols_of(std::string_view part, const TokenizerRules& rules) {
  std::vector<std::uint32_t> ids;
  ids.reserve(part.size());
  bool is_behind_unknown = false;
  while (!part.empty()) {
    const std::size_t size =
        rules.symbols == TokenizerRules::Symbols::kBytes ? 1 : character_size(part);
    const std::string_view symbol = part.substr(0, size);
    part.remove_prefix(size);
    if (const auto found = rules.vocabulary.find(symbol); found != rules.vocabulary.end()) {
      ids.push_back(found->second);
    } else if (rules.byte_tokens) {
      for (const char c : symbol) {
        ids.push_back((*rules.byte_tokens)[static_cast<unsigned char>(c)]);
      }
    } else {
      if (rules.unknown && !(rules.fuses_unknown && is_behind_unknown)) {
        ids.push_back(*rules.unknown);
      }
      is_behind_unknown = true;
      continue;
    }
    is_behind_unknown = false;
  }
  return ids;
}

}  // namespace

Tokenizer::Tokenizer(TokenizerRules rules) : rules_(std::move(rules)) {
  for (const auto& [text, token] : rules_.added) {
    added_lengths_[first_byte(text)].push_back(text.size());
  }
  for (std::vector<std::size_t>& lengths : added_lengths_) {
    std::ranges::sort(lengths, std::greater<>());
    const auto repeated = std::ranges::unique(lengths);
    lengths.erase(repeated.begin(), repeated.end());
  }
}

std::string_view Tokenizer::text_of(std::int64_t id) const {
  return id >= 0 && id < std::ssize(rules_.texts)
             ? std::string_view(rules_.texts[static_cast<std::size_t>(id)])
             : std::string_view();
}

void Tokenizer::cut(std::string_view text, std::vector<Token>& tokens) const {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const TokenizerRules::Added* found = nullptr;
    std::size_t length = 0;
    for (const std::size_t size : added_lengths_[static_cast<unsigned char>(text[at])]) {
      const auto added =
          size <= text.size() - at ? rules_.added.find(text.substr(at, size)) : rules_.added.end();
      if (added != rules_.added.end()) {
        found = &added->second;
        length = size;
        break;
      }
    }
    if (found == nullptr) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (found->takes_blanks_before && end > begin && is_blank(text[end - 1])) {
      --end;
    }
    cut_section(text.substr(begin, end - begin), begin == 0, tokens);
    add(found->id, tokens);
    begin = at + length;
    while (found->takes_blanks_behind && begin < text.size() && is_blank(text[begin])) {
      ++begin;
    }
    at = begin;
  }
  cut_section(text.substr(begin), begin == 0, tokens);
}

void Tokenizer::cut_section(std::string_view text,
                            bool is_first,
                            std::vector<Token>& tokens) const {
  if (text.empty()) {
    return;
  }
  std::string changed;
  const bool has_prefix =
      !rules_.prefix.empty() && (is_first || !rules_.is_prefix_of_first_alone) &&
      (rules_.is_prefix_unconditional ||
       !(text.starts_with(rules_.prefix) || (rules_.replaces_blanks && text.starts_with(' '))));
  if (rules_.replaces_blanks || has_prefix) {
    changed = has_prefix ? rules_.prefix : "";
    changed.reserve(text.size() + text.size() / 2);
    for (const char c : text) {
      if (c == ' ' && rules_.replaces_blanks) {
        changed += kBlankSymbol;
      } else {
        changed += c;
      }
    }
    text = changed;
  }
  std::vector<std::string_view> parts = {text};
  std::vector<std::string_view> finer;
  for (const Splitter& splitter : rules_.splitters) {
    finer.clear();
    for (const std::string_view part : parts) {
      splitter.split(part, finer);
    }
    parts.swap(finer);
  }
  for (const std::string_view part : parts) {
    cut_part(part, tokens);
  }
}

void Tokenizer::cut_part(std::string_view part, std::vector<Token>& tokens) const {
  if (rules_.takes_whole_words) {
    if (const auto whole = rules_.vocabulary.find(part); whole != rules_.vocabulary.end()) {
      add(whole->second, tokens);
      return;
    }
  }
  Merger(symbols_of(part, rules_), rules_.merges).run([&](std::uint32_t id) { add(id, tokens); });
}

}  // namespace ridgeline::text
