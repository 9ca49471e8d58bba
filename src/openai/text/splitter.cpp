#include "openai/text/splitter.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/system_library.hpp"
#include "core/text.hpp"

namespace ridgeline::text {
namespace {

// Constants of pcre2.h (PCRE2 10.42).
constexpr std::uint32_t kUcp = 0x0002'0000;
constexpr std::uint32_t kUtf = 0x0008'0000;
constexpr std::uint32_t kNoUtfCheck = 0x4000'0000;
constexpr std::uint32_t kJitComplete = 1;

/// Steps of one match, so that no expression of a file holds the server.
constexpr std::uint32_t kMostSteps = 1'000'000;

/// Functions of pcre2.h, by their names there without "pcre2_" and "_8".
struct Pcre2 {
  core::SystemLibrary library{"libpcre2-8.so.0", "libpcre2-8-0", "tokenizer files need"};
  void* (*compile)(const unsigned char*,
                   std::size_t,
                   std::uint32_t options,
                   int* error,
                   std::size_t* at,
                   void*) = nullptr;
  int (*jit_compile)(void*, std::uint32_t options) = nullptr;
  void (*code_free)(void*) = nullptr;
  void* (*match_data_create)(const void*, void*) = nullptr;
  void (*match_data_free)(void*) = nullptr;
  void* (*match_context_create)(void*) = nullptr;
  int (*set_match_limit)(void*, std::uint32_t) = nullptr;
  int (*match)(const void*,
               const unsigned char*,
               std::size_t,
               std::size_t start,
               std::uint32_t options,
               void* data,
               void* context) = nullptr;
  std::size_t* (*get_ovector_pointer)(void*) = nullptr;
  int (*get_error_message)(int, unsigned char*, std::size_t) = nullptr;
};

Pcre2 load() {
  Pcre2 pcre2;
  core::SystemLibrary& library = pcre2.library;
  library.find("pcre2_compile_8", pcre2.compile);
  library.find("pcre2_jit_compile_8", pcre2.jit_compile);
  library.find("pcre2_code_free_8", pcre2.code_free);
  library.find("pcre2_match_data_create_from_pattern_8", pcre2.match_data_create);
  library.find("pcre2_match_data_free_8", pcre2.match_data_free);
  library.find("pcre2_match_context_create_8", pcre2.match_context_create);
  library.find("pcre2_set_match_limit_8", pcre2.set_match_limit);
  library.find("pcre2_match_8", pcre2.match);
  library.find("pcre2_get_ovector_pointer_8", pcre2.get_ovector_pointer);
  library.find("pcre2_get_error_message_8", pcre2.get_error_message);
  return pcre2;
}

const Pcre2& library() {
  static const Pcre2 kPcre2 = load();
  return kPcre2;
}

/// Limits of every match; made once, and never ended.
void* match_context() {
  static void* const kContext = [] {
    void* const context = library().match_context_create(nullptr);
    library().set_match_limit(context, kMostSteps);
    return context;
  }();
  return kContext;
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string error_text(int error) {
  constexpr std::size_t kLongest = 256;
  std::array<unsigned char, kLongest> text{};
  library().get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

/// Makes parts of matches and of what stands between them.
class PartTaker {
 public:
  PartTaker(std::string_view text, SplitBehavior behavior, std::vector<std::string_view>& parts)
      : text_(text), behavior_(behavior), parts_(parts), pending_(text.size()) {}

  /// What comes next, from front to back.
  void take(std::size_t begin, std::size_t end, bool is_match) {
    if (begin == end) {
      return;
    }
    const std::string_view part = text_.substr(begin, end - begin);
    const bool is_behind_match = std::exchange(was_match_, is_match);
    if (!is_match) {
      parts_.push_back(text_.substr(std::min(pending_, begin), end - std::min(pending_, begin)));
      pending_ = text_.size();
    } else if (behavior_ == SplitBehavior::kMergedWithNext) {
      end_pending(begin);
      pending_ = begin;
    } else if (behavior_ == SplitBehavior::kMergedWithPrevious && !is_behind_match) {
      parts_.back() = {parts_.back().data(), parts_.back().size() + part.size()};
    } else if (behavior_ != SplitBehavior::kRemoved) {
      parts_.push_back(part);
    }
  }
  void end() { end_pending(text_.size()); }

 private:
  void end_pending(std::size_t end) {
    if (pending_ < end) {
      parts_.push_back(text_.substr(pending_, end - pending_));
    }
  }

  std::string_view text_;
  SplitBehavior behavior_;
  std::vector<std::string_view>& parts_;
  std::size_t pending_;    ///< Where a match begins that belongs to the next part.
  bool was_match_ = true;  ///< The part before; at the beginning there is none to add to.
};

}  // namespace

core::Result<Splitter> Splitter::make(std::string_view expression,
                                      SplitBehavior behavior,
                                      bool is_inverted) {
  if (auto loaded = library().library.check(); !loaded) {
    return tl::unexpected(loaded.error());
  }
  int error = 0;
  std::size_t at = 0;
  std::shared_ptr<void> code(
      library().compile(bytes_of(expression), expression.size(), kUtf | kUcp, &error, &at, nullptr),
      [](void* made) { library().code_free(made); });
  if (code == nullptr) {
    return core::fail({.message = fmt::format("the regular expression \"{}\" cannot be read at its "
                                              "character {}: {}",
                                              expression,
                                              at + 1,
                                              error_text(error))});
  }
  // Without it (a system that lets no code be made) matches take longer.
  static_cast<void>(library().jit_compile(code.get(), kJitComplete));
  return Splitter(std::move(code), behavior, is_inverted);
}

void Splitter::split(std::string_view text, std::vector<std::string_view>& parts) const {
  PartTaker taker(text, behavior_, parts);
  if (core::valid_utf8_prefix(text) < text.size()) {
    taker.take(0, text.size(), false);
    return;
  }
  const std::unique_ptr<void, void (*)(void*)> data(
      library().match_data_create(code_.get(), nullptr), library().match_data_free);
  const std::size_t* const found = library().get_ovector_pointer(data.get());
  std::size_t done = 0;
  std::size_t from = 0;
  while (from < text.size() && library().match(code_.get(),
                                               bytes_of(text),
                                               text.size(),
                                               from,
                                               kNoUtfCheck,
                                               data.get(),
                                               match_context()) >= 0) {
    const std::size_t begin = found[0];
    const std::size_t end = found[1];
    if (begin >= end || begin < done) {  // Empty: on from the next character.
      for (++from; from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0U) == 0x80U;
           ++from) {
      }
      continue;
    }
    taker.take(done, begin, is_inverted_);
    taker.take(begin, end, !is_inverted_);
    done = end;
    from = end;
  }
  taker.take(done, text.size(), is_inverted_);
  taker.end();
}

std::string literal_expression(std::string_view text) {
  std::string expression;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80U) {
      expression +=
          fmt::format("\\x{{{:x}}}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      expression += c;
    }
  }
  return expression;
}

}  // namespace ridgeline::text
