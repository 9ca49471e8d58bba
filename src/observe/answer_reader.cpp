#include "observe/answer_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "openai/sse_parser.hpp"

namespace ridgeline::observe {
namespace {

constexpr int kOk = 200;
/// Bytes of the body of a refusal.
constexpr std::size_t kMostRefusalBytes = 4096;
/// Tokens, and events, of one answer.
constexpr std::int64_t kMostTokens = 100'000'000;
/// Bytes of an answer's text, where it is kept.
constexpr std::size_t kMostTextBytes = std::size_t{256} << 20U;
/// Bytes of a server's message that goes into the record.
constexpr std::size_t kMostMessageBytes = 300;

const document::Node* member(const document::Node* node, std::string_view key) {
  const document::Node* found = node == nullptr ? nullptr : node->find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::string text_of(const document::Node* node) {
  return node != nullptr && node->is_string() ? node->as_string() : std::string();
}

/// What may be a number of tokens.
std::optional<std::int64_t> count_of(const document::Node* node) {
  if (node == nullptr || node->kind() != document::Node::Kind::kInteger || node->as_integer() < 0 ||
      node->as_integer() > kMostTokens) {
    return std::nullopt;
  }
  return node->as_integer();
}

core::Result<document::Node> parse(std::string_view text) {
  return document::parse_json(text, "answer", document::NonFinite::kReadAsNull);
}

/// A message of the server's on one line.
std::string one_line(std::string_view text) {
  std::string line(text.substr(0, kMostMessageBytes));
  line.resize(core::valid_utf8_prefix(line));
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  return core::escaped(line);
}

/// What a document says went wrong: {"error": {"message": ...}}, older {"object": "error",
/// "message": ...}, {"error": "text"}, FastAPI's {"detail": ...}.
std::string message_of(const document::Node& node) {
  const document::Node* error = member(&node, "error");
  for (const document::Node* found :
       {member(error, "message"), error, member(&node, "message"), member(&node, "detail")}) {
    if (found != nullptr && found->is_string()) {
      return found->as_string();
    }
  }
  return "an error without a message";
}

}  // namespace

bool AnswerReader::take(int status,
                        std::string_view content_type,
                        std::string_view bytes,
                        core::SimTime read) {
  if (status != kOk) {
    refusal_.append(
        bytes.substr(0, kMostRefusalBytes - std::min(refusal_.size(), kMostRefusalBytes)));
    return true;
  }
  if (!content_type.starts_with("text/event-stream")) {
    fail(fmt::format("content type {}, expected text/event-stream",
                     core::quote(content_type.empty() ? "none" : content_type)));
    return false;
  }
  const bool sound =
      parser_.feed(bytes, [&](const openai::SseEvent& event) { on_event(event, read); });
  if (!sound) {
    fail(parser_.problem());
  }
  return answer_.error.empty();
}

void AnswerReader::end(int status, std::string_view problem, core::SimTime at) {
  answer_.end = at;
  if (status == kOk && answer_.error.empty()) {
    const core::SimTime last = answer_.last_event.value_or(at);
    parser_.end([&](const openai::SseEvent& event) { on_event(event, last); });
  }
  if (!answer_.error.empty()) {
    return;
  }
  if (!problem.empty() && answer_.ended != StreamEnd::kDone) {
    fail(one_line(problem));
  } else if (status != kOk) {
    const auto node = parse(refusal_);
    fail(fmt::format("HTTP {}: {}", status, one_line(node ? message_of(*node) : refusal_)));
  } else if (!answer_.first_event) {
    fail("an answer without an event that holds a choice");
  } else if (answer_.ended != StreamEnd::kDone && answer_.finish_reason.empty()) {
    fail("the stream ended before the answer did");
  }
}

void AnswerReader::fail(std::string error) {
  if (answer_.error.empty()) {
    answer_.error = std::move(error);
    answer_.ended = StreamEnd::kError;
  }
}

/// The server's counts. False: one of them is none.
bool AnswerReader::take_counts(const document::Node& usage) {
  const document::Node* const details = member(&usage, "prompt_tokens_details");
  for (const auto& [node, key, count] :
       {std::tuple(&usage, "prompt_tokens", &answer_.prompt_tokens),
        std::tuple(&usage, "completion_tokens", &answer_.completion_tokens),
        std::tuple(details, "cached_tokens", &answer_.cached_tokens)}) {
    const document::Node* const found = member(node, key);
    *count = count_of(found);
    if (found != nullptr && found->is_number() &&
        !(found->as_real() >= 0.0 && found->as_real() <= kMostTokens)) {
      fail(fmt::format("usage: {} is {:g}, expected 0 to {}", key, found->as_real(), kMostTokens));
      return false;
    }
  }
  return true;
}

void AnswerReader::on_event(const openai::SseEvent& event, core::SimTime read) {
  if (answer_.ended != StreamEnd::kClose) {
    return;  // Behind [DONE], or an error.
  }
  if (event.data == "[DONE]") {
    answer_.ended = StreamEnd::kDone;
    return;
  }
  const auto node = parse(event.data);
  if (!node || !node->is_map()) {
    fail(fmt::format("an event that is no JSON object: {}", core::quote(event.data)));
    return;
  }
  if (member(&*node, "error") != nullptr || event.type == "error") {
    answer_.error_code = static_cast<int>(
        std::min<std::int64_t>(count_of(member(member(&*node, "error"), "code")).value_or(0), 999));
    fail(one_line(message_of(*node)));
    return;
  }
  if (const document::Node* usage = member(&*node, "usage");
      usage != nullptr && !take_counts(*usage)) {
    return;
  }
  const document::Node* choices = member(&*node, "choices");
  if (choices == nullptr || !choices->is_list() || choices->items().empty()) {
    return;
  }
  if (!answer_.first_event) {
    answer_.request_id = one_line(text_of(member(&*node, "id")));
  }
  take_choice(choices->items().front(), read);
}

/// What the first choice of an event says.
void AnswerReader::take_choice(const document::Node& choice, core::SimTime read) {
  const document::Node* delta = member(&choice, "delta");
  std::string text = text_of(delta == nullptr ? member(&choice, "text") : member(delta, "content"));
  for (const std::string_view key : {"reasoning", "reasoning_content"}) {
    text = text.empty() ? text_of(member(delta, key)) : text;
  }
  const std::string reason = text_of(member(&choice, "finish_reason"));
  if (!text.empty() && !answer_.first_text) {
    answer_.first_text = read;
  }
  if (!reason.empty()) {
    answer_.finish_reason = one_line(reason);
  }
  if (answer_.events >= kMostTokens || answer_.text.size() + text.size() > kMostTextBytes) {
    fail("an answer without an end");
    return;
  }
  if (keep_text_) {
    answer_.text += text;
  }
  const bool names_role =
      member(delta, "role") != nullptr && text.empty() && reason.empty() && answer_.events == 0;
  // Some servers name the role as the request comes, long before its first token.
  if (answer_.events == 0) {
    answer_.first_event = read;
  }
  if (!names_role) {
    if (answer_.events > 0) {
      answer_.gaps.push_back(read - *answer_.last_event);
      answer_.coalesced += read == *answer_.last_event ? 1 : 0;
    }
    ++answer_.events;
  }
  answer_.last_event = read;
}

}  // namespace ridgeline::observe
