#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.hpp"
#include "openai/text/splitter.hpp"

namespace ridgeline::text {

/// A token, with the text that it stands for: some bytes of a character where a character is
/// several tokens. Valid as long as the tokenizer.
struct Token {
  std::int64_t id = 0;
  std::string_view text;
};

/// What stands for a blank in SentencePiece's vocabularies.
inline constexpr std::string_view kBlankSymbol = "\u2581";

/// So that a map of texts is asked without a copy of the text.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

/// What a file tokenizer.json says, read by tokenizer_file.cpp.
struct TokenizerRules {
  /// How texts become the symbols that merges begin with.
  enum class Symbols : std::uint8_t {
    kBytes,       ///< Byte-level BPE: GPT-2, Llama 3, Qwen, DeepSeek-V3.
    kCharacters,  ///< SentencePiece's BPE: Llama 2, Gemma. A blank is U+2581.
  };
  struct Merge {
    std::uint32_t rank = 0;
    std::uint32_t id = 0;
  };
  /// A token that is found in texts before they are cut.
  struct Added {
    std::int64_t id = 0;
    bool takes_blanks_before = false;
    bool takes_blanks_behind = false;
  };

  Symbols symbols = Symbols::kBytes;
  bool replaces_blanks = false;  ///< By U+2581, before anything else.
  /// What is put before a text that does not begin with it; or before its first part alone.
  std::string prefix = {};
  bool is_prefix_unconditional = false;
  bool is_prefix_of_first_alone = false;
  std::vector<Splitter> splitters = {};  ///< One after the other.
  /// The text of a vocabulary's token: its bytes, or as the file writes it.
  TextMap<std::uint32_t> vocabulary = {};
  /// By the ids of both sides (pair_key).
  std::unordered_map<std::uint64_t, Merge> merges = {};
  bool takes_whole_words = false;  ///< A part that is a token is that token.
  std::optional<std::uint32_t> unknown = {};
  bool fuses_unknown = false;
  std::optional<std::array<std::uint32_t, 256>> byte_tokens = {};  ///< For what has none.
  TextMap<Added> added = {};
  std::vector<std::int64_t> begin = {};  ///< Tokens that stand before every text.
  std::vector<std::string> texts = {};   ///< Text of every token, by id.
};

[[nodiscard]] constexpr std::uint64_t pair_key(std::uint32_t left, std::uint32_t right) {
  return std::uint64_t{left} << 32U | right;
}

/// Cuts texts into the tokens of a network, as its file tokenizer.json says: byte-level BPE and
/// SentencePiece's BPE with byte fallback. Texts are taken as they are where the file asks for
/// Unicode's normal form C, which nearly all have.
class Tokenizer {
 public:
  explicit Tokenizer(TokenizerRules rules);

  /// Reads a file, or the tokenizer.json of a folder. Fails where it cannot be read, and with its
  /// name where it holds what is not known here.
  [[nodiscard]] static core::Result<std::shared_ptr<const Tokenizer>> open(const std::string& path);

  /// Adds the tokens of a text: those of added tokens too, none at its beginning.
  void cut(std::string_view text, std::vector<Token>& tokens) const;
  /// What stands before every text.
  [[nodiscard]] const std::vector<std::int64_t>& begin() const { return rules_.begin; }
  /// The text of a token; empty for others.
  [[nodiscard]] std::string_view text_of(std::int64_t id) const;

 private:
  void cut_section(std::string_view text, bool is_first, std::vector<Token>& tokens) const;
  void cut_part(std::string_view part, std::vector<Token>& tokens) const;
  void add(std::int64_t id, std::vector<Token>& tokens) const {
    tokens.push_back({.id = id, .text = text_of(id)});
  }

  TokenizerRules rules_;
  /// Lengths of added tokens by their first byte, the longest first.
  std::array<std::vector<std::size_t>, 256> added_lengths_;
};

/// Reads the text of a file tokenizer.json. `file`: its name in errors.
[[nodiscard]] core::Result<TokenizerRules> read_tokenizer(std::string_view json,
                                                          const std::string& file);

}  // namespace ridgeline::text
