#include "verbs/batch_text.hpp"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"

namespace ridgeline::verbs {
namespace {

/// Far above what an engine can run in one step; keeps every sum far from overflow.
constexpr std::int64_t kMostTokens = 100'000'000;
constexpr std::int64_t kMostSequences = 65'536;

std::optional<std::int64_t> count(std::string_view text,
                                  std::int64_t lowest,
                                  std::int64_t highest) {
  const auto value = core::parse_whole<std::int64_t>(text);
  return value && *value >= lowest && *value <= highest ? value : std::nullopt;
}

/// One item without its count, and the count.
struct Repeated {
  std::string_view item;
  std::optional<std::int64_t> times;
};

Repeated split_count(std::string_view text) {
  const auto x = text.find('x');
  if (x == std::string_view::npos) {
    return {.item = text, .times = 1};
  }
  return {.item = text.substr(0, x), .times = count(text.substr(x + 1), 1, kMostSequences)};
}

class BatchParser {
 public:
  void decodes(std::string_view text) {
    each(text, [&](std::string_view item) {
      const auto [context_text, times] = split_count(item);
      const auto context = count(context_text, 0, kMostTokens);
      if (!context || !times) {
        problem("--decode", item, "CTX or CTXxCOUNT, whole numbers", "--decode 700x32");
        return;
      }
      add(found.decodes, core::Tokens(*context), *times);
    });
  }

  void prefills(std::string_view text, bool samples) {
    each(text, [&](std::string_view item) {
      const auto [chunk_text, times] = split_count(item);
      const auto plus = chunk_text.find('+');
      const auto past = count(chunk_text.substr(0, plus), 0, kMostTokens);
      const auto fresh = plus == std::string_view::npos
                             ? std::nullopt
                             : count(chunk_text.substr(plus + 1), 1, kMostTokens);
      if (!past || !fresh || !times) {
        problem("--prefill", item, "PAST+NEW or PAST+NEWxCOUNT, whole numbers", "--prefill 0+2048");
        return;
      }
      add(found.prefills,
          domain::PrefillChunk{
              .past = core::Tokens(*past), .new_tokens = core::Tokens(*fresh), .samples = samples},
          *times);
    });
  }

  BatchText found;
  core::Errors errors;

 private:
  template <class Use>
  static void each(std::string_view text, Use use) {
    while (!text.empty()) {
      const auto comma = text.find(',');
      use(text.substr(0, comma));
      text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    }
  }

  template <class T>
  void add(std::vector<T>& list, const T& item, std::int64_t times) {
    sequences_ += times;
    if (sequences_ > kMostSequences) {
      if (!too_many_) {
        errors.push_back({.field = "step",
                          .message = fmt::format("more than {} sequences", kMostSequences),
                          .where = {.file = "command line"}});
      }
      too_many_ = true;
      return;
    }
    list.insert(list.end(), static_cast<std::size_t>(times), item);
  }

  void problem(std::string field,
               std::string_view found_text,
               std::string_view expected,
               std::string hint) {
    errors.push_back({.field = std::move(field),
                      .message = fmt::format("found \"{}\", expected {}", found_text, expected),
                      .where = {.file = "command line"},
                      .hint = std::move(hint)});
  }

  std::int64_t sequences_ = 0;
  bool too_many_ = false;
};

}  // namespace

domain::StepBatch BatchText::batch() const {
  return {.num_decodes = static_cast<std::int64_t>(decodes.size()),
          .decode_context = std::accumulate(decodes.begin(), decodes.end(), core::Tokens(0)),
          .decode_lengths = decodes,
          .prefills = prefills};
}

core::Result<BatchText> parse_batch(std::string_view decode,
                                    std::string_view prefill,
                                    bool samples) {
  BatchParser parser;
  parser.decodes(decode);
  parser.prefills(prefill, samples);
  if (parser.errors.empty() && parser.found.decodes.empty() && parser.found.prefills.empty()) {
    parser.errors.push_back({.field = "step",
                             .message = "nothing to price: give --decode, --prefill or both",
                             .where = {.file = "command line"},
                             .hint = "--decode 700x32 --prefill 0+2048"});
  }
  if (!parser.errors.empty()) {
    return core::fail(std::move(parser.errors));
  }
  return std::move(parser.found);
}

BatchText with_drafts(BatchText text, std::int64_t drafts) {
  if (drafts > 0) {
    for (const core::Tokens context : text.decodes) {
      text.prefills.push_back({.past = context,
                               .new_tokens = core::Tokens(1 + drafts),
                               .samples = true,
                               .drafts = drafts});
    }
    text.decodes.clear();
  }
  return text;
}

}  // namespace ridgeline::verbs
