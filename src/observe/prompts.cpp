#include "observe/prompts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "document/json_writer.hpp"
#include "domain/prompt.hpp"
#include "domain/request.hpp"
#include "openai/text/words.hpp"

namespace ridgeline::observe {
namespace {

/// Ids that every tokenizer of the field has, and none of them for something special: Llama 2, with
/// the smallest table, has 32,000.
constexpr std::uint64_t kFirstTokenId = 1000;
constexpr std::uint64_t kTokenIds = 30'000;

/// The segments of a prompt, and what is left over of its length as one more.
std::vector<domain::Segment> parts_of(const domain::Request& request) {
  std::vector<domain::Segment> parts;
  std::int64_t held = 0;
  for (const auto& segment : request.prompt) {
    parts.push_back(segment);
    held += segment.length.value();
  }
  if (held < request.prompt_tokens.value()) {
    parts.push_back({.content = domain::unique_content(request.id),
                     .length = request.prompt_tokens - core::Tokens(held)});
  }
  return parts;
}

std::int64_t count_answers(const std::vector<domain::Segment>& parts, const Answers& answers) {
  return std::ranges::count_if(parts, [&](const domain::Segment& part) {
    return is_answer(part.content) && answers.contains(answered_request(part.content));
  });
}

/// Ends in what does not join the next word to the last one.
void end_word(std::string& text) {
  if (!text.empty() && text.back() != ' ' && text.back() != '\n') {
    text += ' ';
  }
}

}  // namespace

void PromptMaker::append_words(std::string& text, std::uint64_t content, std::int64_t count) const {
  for (std::int64_t i = 0; i < count; ++i) {
    end_word(text);
    text += text::word(domain::History::key_in(options_.salt, content, i));
  }
}

std::string PromptMaker::words(std::uint64_t content, std::int64_t count) const {
  std::string text;
  append_words(text, content, count);
  return text;
}

bool PromptMaker::is_shorter_than_overhead(const domain::Request& request) const {
  return options_.form == PromptForm::kWords &&
         request.prompt_tokens.value() <= options_.overhead.first;
}

std::vector<PromptMaker::Message> PromptMaker::messages(const domain::Request& request,
                                                        const Answers& answers) const {
  const auto parts = parts_of(request);
  const bool chat = options_.endpoint == Endpoint::kChat;
  const std::int64_t more = chat ? 2 * count_answers(parts, answers) : 0;
  std::int64_t left = request.prompt_tokens.value() - options_.overhead.first -
                      more * options_.overhead.each_message;
  left = std::max<std::int64_t>(left, 1);
  std::vector<Message> messages(1);
  for (const auto& part : parts) {
    const std::int64_t count = std::min(part.length.value(), left);
    const auto answer =
        is_answer(part.content) ? answers.find(answered_request(part.content)) : answers.end();
    if (answer == answers.end()) {
      if (messages.back().is_answer) {
        messages.emplace_back();
      }
      append_words(messages.back().text, part.content, count);
    } else if (chat) {
      messages.push_back({.is_answer = true, .text = answer->second});
    } else {
      if (!answer->second.starts_with(' ')) {
        end_word(messages.back().text);
      }
      messages.back().text += answer->second;
    }
    left -= count;
  }
  return messages;
}

std::vector<std::int64_t> PromptMaker::token_ids(const domain::Request& request) const {
  std::vector<std::int64_t> ids;
  ids.reserve(static_cast<std::size_t>(request.prompt_tokens.value()));
  for (const auto& part : parts_of(request)) {
    for (std::int64_t i = 0; i < part.length.value(); ++i) {
      const std::uint64_t drawn = domain::History::key_in(options_.salt, part.content, i);
      ids.push_back(static_cast<std::int64_t>(kFirstTokenId + drawn % kTokenIds));
    }
  }
  return ids;
}

std::string PromptMaker::body(const domain::Request& request, const Answers& answers) const {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  json.begin_object().member("model", options_.model);
  if (options_.form == PromptForm::kTokens) {
    json.key("prompt").begin_array();
    for (const std::int64_t id : token_ids(request)) {
      json.value(id);
    }
    json.end_array();
  } else if (options_.endpoint == Endpoint::kCompletions) {
    json.member("prompt", messages(request, answers).front().text);
  } else {
    json.key("messages").begin_array();
    for (const Message& message : messages(request, answers)) {
      json.begin_object()
          .member("role", message.is_answer ? "assistant" : "user")
          .member("content", message.text)
          .end_object();
    }
    json.end_array();
  }
  const std::int64_t length = std::min(request.output_tokens, request.max_tokens).value();
  if (options_.natural_output) {
    json.member("max_tokens", request.max_tokens.value());
  } else {
    json.member("max_tokens", length).member("min_tokens", length).member("ignore_eos", true);
  }
  if (request.priority != 0) {
    json.member("priority", request.priority);
  }
  json.member("temperature", 0)
      .member("stream", true)
      .key("stream_options")
      .begin_object()
      .member("include_usage", true)
      .end_object()
      .end_object();
  return json.text();
}

}  // namespace ridgeline::observe
