#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "document/reader.hpp"

namespace ridgeline::document {
namespace {

/// Longer words are not slips of the hand, and the distance costs the product of two lengths.
constexpr std::size_t kLongestWord = 64;
/// One slip in so many letters still leaves a word recognisable.
constexpr std::size_t kLettersPerSlip = 3;

/// ASCII lower case, and one sign for the three that people mix up.
std::string folded(std::string_view word) {
  std::string out(word);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    } else if (c == '-' || c == ' ') {
      c = '_';
    }
  }
  return out;
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other
/// (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    last[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, substitution});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) {
        current[j] = std::min(current[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, current);
  }
  return last[b.size()];
}

/// A word of so many letters that a candidate begins with is its beginning on purpose.
constexpr std::size_t kShortestBeginning = 4;

bool is_beginning(std::string_view wanted, std::string_view candidate) {
  return wanted.size() >= kShortestBeginning && candidate.starts_with(wanted);
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.empty() || word.size() > kLongestWord) {
    return std::nullopt;
  }
  const std::string wanted = folded(word);
  // Hands seldom miss a word's first letter: of equally near ones, that with the same wins.
  using Rank = std::tuple<bool, std::size_t, bool>;
  const std::string* best = nullptr;
  Rank best_rank;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongestWord) {
      continue;
    }
    const std::size_t longer = std::max(candidate.size(), word.size());
    const std::string known = folded(candidate);
    const std::size_t distance = edit_distance(wanted, known);
    const std::size_t allowed = std::max<std::size_t>(longer / kLettersPerSlip, 1);
    const bool begins = is_beginning(wanted, known);
    const bool is_near = begins || (distance <= allowed && distance < longer);
    const Rank rank(!begins, distance, known.front() != wanted.front());
    if (is_near && (best == nullptr || rank < best_rank)) {
      best = &candidate;
      best_rank = rank;
    }
  }
  return best == nullptr ? std::nullopt : std::optional<std::string>(*best);
}

}  // namespace ridgeline::document
