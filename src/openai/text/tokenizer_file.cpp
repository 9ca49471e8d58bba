// The file tokenizer.json of Hugging Face's tokenizers 0.21: its keys, and which kinds of each are
// known here.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <simdjson.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "openai/text/splitter.hpp"
#include "openai/text/tokenizer.hpp"

namespace ridgeline::text {
namespace {

using simdjson::dom::element;

/// GPT-2's expression, which ByteLevel cuts by where a file gives none of its own.
constexpr std::string_view kByteLevelExpression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
/// Ids beyond it are no file's: the largest vocabularies have some 300,000 tokens.
constexpr std::int64_t kMostTokens = 4'000'000;
constexpr std::size_t kBytes = 256;
/// Larger than any published: Gemma 3's has 33 MB.
constexpr std::size_t kMostFileBytes = std::size_t{256} * 1024 * 1024;

std::string utf8(std::uint32_t point) {
  if (point < 0x80U) {
    return {static_cast<char>(point)};
  }
  return {static_cast<char>(0xC0U | point >> 6U), static_cast<char>(0x80U | (point & 0x3FU))};
}

/// The characters that stand for bytes in byte-level vocabularies (bytes_to_unicode of GPT-2):
/// printable bytes for themselves, the others from U+0100 on.
TextMap<char> make_byte_characters() {
  TextMap<char> characters;
  std::uint32_t next = 0x100;
  for (std::uint32_t byte = 0; byte < kBytes; ++byte) {
    const bool is_printable =
        (byte > 0x20U && byte < 0x7FU) || (byte > 0xA0U && byte != 0xADU && byte <= 0xFFU);
    characters[utf8(is_printable ? byte : next++)] = static_cast<char>(byte);
  }
  return characters;
}

/// The bytes that a byte-level token stands for; nothing where it is none.
std::optional<std::string> decode_bytes(std::string_view token) {
  static const TextMap<char> kCharacters = make_byte_characters();
  std::string bytes;
  while (!token.empty()) {
    const std::size_t size = static_cast<unsigned char>(token.front()) < 0x80U ? 1 : 2;
    const auto found = kCharacters.find(token.substr(0, size));
    if (found == kCharacters.end()) {
      return std::nullopt;
    }
    bytes += found->second;
    token.remove_prefix(std::min(size, token.size()));
  }
  return bytes;
}

/// "<0x0A>": how SentencePiece's vocabularies name a byte.
std::optional<unsigned> named_byte(std::string_view token) {
  constexpr std::size_t kLength = 6;
  if (token.size() != kLength || !token.starts_with("<0x") || !token.ends_with('>')) {
    return std::nullopt;
  }
  unsigned byte = 0;
  for (const char c : token.substr(3, 2)) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && !(c >= 'A' && c <= 'F')) {
      return std::nullopt;
    }
    byte = byte * 16 + static_cast<unsigned>(is_digit ? c - '0' : c - 'A' + 10);
  }
  return byte;
}

/// Empty where it is no text, or not there.
std::string_view text_of_element(simdjson::simdjson_result<element> found) {
  std::string_view text;
  return found.get(text) == simdjson::SUCCESS ? text : std::string_view();
}

std::string_view text_at(element of, std::string_view key) {
  return text_of_element(of[key]);
}

bool flag_at(element of, std::string_view key, bool otherwise = false) {
  bool flag = otherwise;
  return of[key].get(flag) == simdjson::SUCCESS ? flag : otherwise;
}

/// The value of a key; nothing where it is not there or null.
std::optional<element> part_at(element of, std::string_view key) {
  element part;
  if (of[key].get(part) != simdjson::SUCCESS || part.is_null()) {
    return std::nullopt;
  }
  return part;
}

/// Calls `take` with a part, or with each of a Sequence's.
template <class Take>
void each_part(element part, std::string_view list, Take take) {
  simdjson::dom::array parts;
  if (text_at(part, "type") != "Sequence" || part[list].get(parts) != simdjson::SUCCESS) {
    take(part);
    return;
  }
  for (const element one : parts) {
    take(one);
  }
}

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  core::Result<TokenizerRules> read(std::string_view json) {
    simdjson::dom::parser parser;
    element root;
    if (const auto code = parser.parse(json.data(), json.size()).get(root);
        code != simdjson::SUCCESS) {
      refuse("", simdjson::error_message(code));
    } else if (const auto model = part_at(root, "model"); !model) {
      refuse("model", "is missing: expected a file tokenizer.json");
    } else {
      read_all(root, *model);
    }
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    return std::move(rules_);
  }

 private:
  void refuse(std::string_view field, std::string message) {
    errors_.push_back(
        {.field = std::string(field), .message = std::move(message), .where = {.file = file_}});
  }
  void refuse_kind(std::string_view field, std::string_view kind, std::string_view known) {
    refuse(field, fmt::format("found '{}', which is not known here, expected {}", kind, known));
  }

  void read_all(element root, element model) {
    const std::string_view kind = text_at(model, "type");
    if (kind != "BPE" && !(kind.empty() && part_at(model, "merges"))) {
      refuse_kind("model.type", kind, "BPE");
      return;
    }
    for (const std::string_view key :
         {"continuing_subword_prefix", "end_of_word_suffix", "dropout"}) {
      if (const auto part = part_at(model, key);
          part && !(part->is_string() && text_at(model, key).empty())) {
        refuse(fmt::format("model.{}", key), "is set, which is not known here");
      }
    }
    rules_.symbols = TokenizerRules::Symbols::kCharacters;
    if (const auto part = part_at(root, "normalizer")) {
      each_part(*part, "normalizers", [&](element one) { read_normalizer(one); });
    }
    if (const auto part = part_at(root, "pre_tokenizer")) {
      each_part(*part, "pretokenizers", [&](element one) { read_pre_tokenizer(one); });
    }
    if (errors_.empty()) {
      read_vocabulary(model);
      read_merges(model);
      read_added(root);
    }
    if (const auto part = part_at(root, "post_processor")) {
      each_part(*part, "processors", [&](element one) { read_post_processor(one); });
    }
  }

  void read_normalizer(element one) {
    const std::string_view kind = text_at(one, "type");
    if (kind == "NFC") {
      return;
    }
    if (kind == "Prepend") {
      rules_.prefix = text_at(one, "prepend");
      rules_.is_prefix_unconditional = true;
      return;
    }
    const auto pattern = part_at(one, "pattern");
    if (kind == "Replace" && pattern && text_at(*pattern, "String") == " " &&
        text_at(one, "content") == kBlankSymbol) {
      rules_.replaces_blanks = true;
      return;
    }
    refuse_kind("normalizer", kind, "NFC, Prepend, or Replace of blanks by U+2581");
  }

  void add_splitter(std::string_view expression, SplitBehavior behavior, bool is_inverted = false) {
    auto splitter = Splitter::make(expression, behavior, is_inverted);
    if (splitter) {
      rules_.splitters.push_back(std::move(*splitter));
      return;
    }
    for (const core::Error& error : splitter.error()) {
      errors_.push_back(error);
      errors_.back().field = "pre_tokenizer";
      errors_.back().where = {.file = file_};
    }
  }

  void read_pre_tokenizer(element one) {
    const std::string_view kind = text_at(one, "type");
    if (kind == "ByteLevel") {
      rules_.symbols = TokenizerRules::Symbols::kBytes;
      if (flag_at(one, "add_prefix_space", true)) {
        rules_.prefix = " ";
      }
      if (flag_at(one, "use_regex", true)) {
        add_splitter(kByteLevelExpression, SplitBehavior::kIsolated);
      }
    } else if (kind == "Split") {
      read_split(one);
    } else if (kind == "Digits") {
      add_splitter(flag_at(one, "individual_digits") ? R"(\p{N})" : R"(\p{N}+)",
                   SplitBehavior::kIsolated);
    } else if (kind == "Metaspace") {
      read_metaspace(one);
    } else {
      refuse_kind("pre_tokenizer", kind, "ByteLevel, Split, Digits or Metaspace");
    }
  }

  void read_split(element one) {
    static constexpr std::array<std::pair<std::string_view, SplitBehavior>, 4> kBehaviors = {{
        {"Isolated", SplitBehavior::kIsolated},
        {"Removed", SplitBehavior::kRemoved},
        {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
        {"MergedWithNext", SplitBehavior::kMergedWithNext},
    }};
    const std::string_view name = text_at(one, "behavior");
    const auto* const behavior =
        std::ranges::find(kBehaviors, name, &std::pair<std::string_view, SplitBehavior>::first);
    const auto pattern = part_at(one, "pattern");
    if (behavior == kBehaviors.end() || !pattern) {
      refuse_kind("pre_tokenizer.behavior",
                  name,
                  "Isolated, Removed, MergedWithPrevious or MergedWithNext, with a pattern");
      return;
    }
    const std::string_view literal = text_at(*pattern, "String");
    add_splitter(
        literal.empty() ? std::string(text_at(*pattern, "Regex")) : literal_expression(literal),
        behavior->second,
        flag_at(one, "invert"));
  }

  void read_metaspace(element one) {
    if (text_at(one, "replacement") != kBlankSymbol) {
      refuse_kind("pre_tokenizer.replacement", text_at(one, "replacement"), "U+2581");
      return;
    }
    rules_.replaces_blanks = true;
    const std::string_view scheme = text_at(one, "prepend_scheme");
    const bool has_prefix = scheme.empty() ? flag_at(one, "add_prefix_space", true)
                                           : scheme == "always" || scheme == "first";
    rules_.prefix = has_prefix ? kBlankSymbol : "";
    rules_.is_prefix_of_first_alone = scheme == "first";
    if (flag_at(one, "split", true)) {
      add_splitter(kBlankSymbol, SplitBehavior::kMergedWithNext);
    }
  }

  void set_text(std::int64_t id, std::string text) {
    if (std::ssize(rules_.texts) <= id) {
      rules_.texts.resize(static_cast<std::size_t>(id) + 1);
    }
    rules_.texts[static_cast<std::size_t>(id)] = std::move(text);
  }

  /// The text that a token of the vocabulary stands for.
  [[nodiscard]] std::string text_of(std::string_view token) const {
    if (const auto byte = named_byte(token)) {
      return {static_cast<char>(*byte)};
    }
    std::string text;
    while (!token.empty()) {
      const bool is_blank = token.starts_with(kBlankSymbol);
      text += is_blank ? ' ' : token.front();
      token.remove_prefix(is_blank ? kBlankSymbol.size() : 1);
    }
    return text;
  }

  void read_vocabulary(element model) {
    simdjson::dom::object vocabulary;
    if (model["vocab"].get(vocabulary) != simdjson::SUCCESS) {
      refuse("model.vocab", "is missing");
      return;
    }
    const bool has_bytes = rules_.symbols == TokenizerRules::Symbols::kBytes;
    rules_.vocabulary.reserve(vocabulary.size());
    for (const auto member : vocabulary) {
      std::int64_t id = 0;
      if (member.value.get(id) != simdjson::SUCCESS || id < 0 || id >= kMostTokens) {
        refuse("model.vocab", fmt::format("'{}' has no id from 0 to {}", member.key, kMostTokens));
        return;
      }
      auto bytes = has_bytes ? decode_bytes(member.key) : std::nullopt;
      set_text(id, has_bytes ? bytes.value_or(std::string(member.key)) : text_of(member.key));
      if (!has_bytes || bytes) {
        rules_.vocabulary[has_bytes ? std::move(*bytes) : std::string(member.key)] =
            static_cast<std::uint32_t>(id);
      }
    }
    rules_.takes_whole_words = flag_at(model, "ignore_merges");
    rules_.fuses_unknown = flag_at(model, "fuse_unk");
    if (const auto found = rules_.vocabulary.find(text_at(model, "unk_token"));
        found != rules_.vocabulary.end()) {
      rules_.unknown = found->second;
    }
    if (flag_at(model, "byte_fallback")) {
      read_byte_tokens();
    }
  }

  /// Used only where all are there.
  void read_byte_tokens() {
    std::array<std::uint32_t, kBytes> ids{};
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
      const auto found = rules_.vocabulary.find(fmt::format("<0x{:02X}>", byte));
      if (found == rules_.vocabulary.end()) {
        return;
      }
      ids[byte] = found->second;
    }
    rules_.byte_tokens = ids;
  }

  /// The id of a token as merges name it.
  [[nodiscard]] std::optional<std::uint32_t> id_of(std::string_view token) const {
    const bool has_bytes = rules_.symbols == TokenizerRules::Symbols::kBytes;
    const auto bytes = has_bytes ? decode_bytes(token) : std::string(token);
    const auto found = bytes ? rules_.vocabulary.find(*bytes) : rules_.vocabulary.end();
    return found == rules_.vocabulary.end() ? std::nullopt : std::optional(found->second);
  }

  void read_merges(element model) {
    simdjson::dom::array merges;
    if (model["merges"].get(merges) != simdjson::SUCCESS) {
      refuse("model.merges", "is missing");
      return;
    }
    rules_.merges.reserve(merges.size());
    std::uint32_t rank = 0;
    for (const element one : merges) {
      std::string_view left;
      std::string_view right;
      simdjson::dom::array sides;
      if (one.get(left) == simdjson::SUCCESS) {
        const std::size_t blank = std::min(left.find(' '), left.size());
        right = left.substr(std::min(blank + 1, left.size()));
        left = left.substr(0, blank);
      } else if (one.get(sides) == simdjson::SUCCESS && sides.size() == 2) {
        left = text_of_element(sides.at(0));
        right = text_of_element(sides.at(1));
      }
      const auto left_id = id_of(left);
      const auto right_id = id_of(right);
      const auto joined = id_of(std::string(left) + std::string(right));
      if (!left_id || !right_id || !joined) {
        refuse("model.merges",
               fmt::format("number {}: '{}' and '{}' are not two tokens that make a third",
                           rank + 1,
                           left,
                           right));
        return;
      }
      // For a pair that stands there twice the last rank counts, as in the library.
      rules_.merges[pair_key(*left_id, *right_id)] = {.rank = rank, .id = *joined};
      ++rank;
    }
  }

  void read_added(element root) {
    simdjson::dom::array tokens;
    if (root["added_tokens"].get(tokens) != simdjson::SUCCESS) {
      return;
    }
    for (const element token : tokens) {
      const std::string_view content = text_at(token, "content");
      std::int64_t id = 0;
      if (content.empty() || token["id"].get(id) != simdjson::SUCCESS || id < 0 ||
          id >= kMostTokens) {
        refuse("added_tokens", fmt::format("'{}' has no text, or no id", content));
        return;
      }
      if (flag_at(token, "single_word")) {
        refuse("added_tokens",
               fmt::format("'{}' is a single_word, which is not known here", content));
        return;
      }
      set_text(id, std::string(content));
      rules_.added[std::string(content)] = {.id = id,
                                            .takes_blanks_before = flag_at(token, "lstrip"),
                                            .takes_blanks_behind = flag_at(token, "rstrip")};
    }
  }

  void read_post_processor(element one) {
    const std::string_view kind = text_at(one, "type");
    if (kind == "ByteLevel") {
      return;
    }
    simdjson::dom::array single;
    if (kind != "TemplateProcessing" || one["single"].get(single) != simdjson::SUCCESS) {
      refuse_kind("post_processor", kind, "ByteLevel or TemplateProcessing");
      return;
    }
    bool is_behind_text = false;
    for (const element piece : single) {
      const auto special = part_at(piece, "SpecialToken");
      if (!special) {
        is_behind_text = true;
        continue;
      }
      const std::string_view name = text_at(*special, "id");
      simdjson::dom::array ids;
      if (is_behind_text || one["special_tokens"][name]["ids"].get(ids) != simdjson::SUCCESS) {
        refuse("post_processor",
               fmt::format("'{}' stands behind a text, or has no ids: not known here", name));
        return;
      }
      for (const element id : ids) {
        std::int64_t number = 0;
        if (id.get(number) == simdjson::SUCCESS) {
          rules_.begin.push_back(number);
        }
      }
    }
  }

  std::string file_;
  TokenizerRules rules_;
  core::Errors errors_;
};

}  // namespace

core::Result<TokenizerRules> read_tokenizer(std::string_view json, const std::string& file) {
  return Reader(file).read(json);
}

core::Result<std::shared_ptr<const Tokenizer>> Tokenizer::open(const std::string& path) {
  std::error_code none;
  const std::string file =
      std::filesystem::is_directory(path, none) ? path + "/tokenizer.json" : path;
  if (!std::filesystem::exists(file, none)) {
    return core::fail({.message = fmt::format("found '{}', expected a file tokenizer.json", path)});
  }
  const auto json = document::read_file(file, kMostFileBytes);
  if (!json) {
    return tl::unexpected(json.error());
  }
  auto rules = read_tokenizer(*json, file);
  if (!rules) {
    return tl::unexpected(rules.error());
  }
  return std::make_shared<const Tokenizer>(std::move(*rules));
}

}  // namespace ridgeline::text
