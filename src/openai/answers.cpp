#include "openai/answers.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "document/json_writer.hpp"
#include "openai/answer_text.hpp"
#include "openai/api.hpp"
#include "openai/api_version.hpp"
#include "openai/stream_events.hpp"
#include "openai/text/tokenizer.hpp"

namespace ridgeline::openai {
namespace {

/// The log probability of every token.
constexpr std::string_view kLogprob = "-0.25";

std::string quote(std::string_view text) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  json.value(text);
  return json.text();
}

std::string text_or_null(const std::string& text) {
  return text.empty() ? "null" : quote(text);
}

/// Up to the choices.
std::string answer_head(const StreamHead& head, std::string_view object) {
  return fmt::format(R"({{"id":{},"object":"{}","created":{},"model":{},"choices":[)",
                     quote(head.id),
                     object,
                     head.created,
                     quote(head.model));
}

std::string finish_members(const Choice& choice) {
  return fmt::format(R"("logprobs":{},"finish_reason":"{}","stop_reason":{})",
                     choice.logprobs,
                     choice.finish.reason,
                     choice.finish.stop ? quote(*choice.finish.stop) : "null");
}

std::string usage_members(const Usage& usage) {
  std::string text = fmt::format(R"("usage":{{"prompt_tokens":{},"total_tokens":{},)"
                                 R"("completion_tokens":{},"prompt_tokens_details":)",
                                 usage.prompt_tokens,
                                 usage.prompt_tokens + usage.completion_tokens,
                                 usage.completion_tokens);
  text += usage.cached_tokens ? fmt::format(R"({{"cached_tokens":{}}})", *usage.cached_tokens)
                              : std::string("null");
  return text + "}";
}

std::string message_json(const Choice& choice, ApiVersion version) {
  const bool is_new = version >= kTokenIdsInChoices;
  std::string text = R"({"role":"assistant",)";
  if (version < kReasoningRenamed) {
    text += R"("reasoning_content":)" + text_or_null(choice.reasoning) + ",";
  }
  text += R"("content":)" + (choice.tool_name.empty() ? quote(choice.text) : "null");
  if (is_new) {
    text += R"(,"refusal":null,"annotations":null,"audio":null,"function_call":null)";
  }
  if (!choice.tool_name.empty()) {
    text += fmt::format(R"(,"tool_calls":[{{"id":{},"type":"function","function":{{"name":{},)"
                        R"("arguments":{}}}}}])",
                        quote(choice.tool_id),
                        quote(choice.tool_name),
                        quote(choice.text));
  }
  if (version >= kReasoningRenamed) {
    text += R"(,"reasoning":)" + text_or_null(choice.reasoning);
  }
  return text + "}";
}

}  // namespace

std::string whole_answer(const StreamHead& head,
                         std::span<const Choice> choices,
                         const Usage& usage,
                         std::string_view kv_transfer_params) {
  const bool is_new = head.version >= kTokenIdsInChoices;
  const bool is_chat = head.api == Api::kChat;
  std::string text = answer_head(head, is_chat ? "chat.completion" : "text_completion");
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Choice& choice = choices[i];
    text += fmt::format(R"({}{{"index":{},"{}":{},{})",
                        i > 0 ? "," : "",
                        i,
                        is_chat ? "message" : "text",
                        is_chat ? message_json(choice, head.version) : quote(choice.text),
                        finish_members(choice));
    if (is_new) {
      text += R"(,"token_ids":)" + choice.token_ids;
    }
    if (!is_chat) {
      text += R"(,"prompt_logprobs":)" + choice.prompt_logprobs;
      text += is_new ? R"(,"prompt_token_ids":)" + choice.prompt_token_ids : std::string();
    }
    text += '}';
  }
  text += ']';
  if (is_new) {
    text += R"(,"service_tier":null,"system_fingerprint":null)";
  }
  text += "," + usage_members(usage);
  if (is_chat) {
    text += R"(,"prompt_logprobs":)" + (choices.empty() ? "null" : choices[0].prompt_logprobs);
    if (is_new) {
      text += R"(,"prompt_token_ids":)" + (choices.empty() ? "null" : choices[0].prompt_token_ids);
    }
    text += head.version >= kPromptText ? R"(,"prompt_text":null)" : "";
  }
  if (head.version >= kPriorityAccepted) {
    text += fmt::format(R"(,"kv_transfer_params":{})", kv_transfer_params);
  }
  return text + "}";
}

std::string logprobs_json(const AnswerText& text,
                          std::int64_t first,
                          std::int64_t last,
                          std::int64_t top,
                          bool is_chat,
                          std::int64_t offset,
                          std::string_view echoed) {
  const auto token_at = [&](std::int64_t i) {
    std::string token;
    text.append(i, token);
    return token;
  };
  std::string all;
  if (is_chat) {
    all = R"({"content":[)";
    for (std::int64_t i = first; i < last; ++i) {
      const std::string token = token_at(i);
      std::string bytes;
      for (const char c : token) {
        bytes += fmt::format("{}{}", bytes.empty() ? "" : ",", static_cast<unsigned char>(c));
      }
      const std::string entry =
          fmt::format(R"("token":{},"logprob":{},"bytes":[{}])", quote(token), kLogprob, bytes);
      all += fmt::format(R"({}{{{},"top_logprobs":[)", i > first ? "," : "", entry);
      for (std::int64_t k = 0; k < top; ++k) {
        all += fmt::format("{}{{{}}}", k > 0 ? "," : "", entry);
      }
      all += "]}";
    }
    return all + "]}";
  }
  std::string offsets;
  std::string logprobs;
  std::string tokens;
  std::string tops;
  const auto add = [&](std::string_view token, bool is_known) {
    const char* const comma = tokens.empty() ? "" : ",";
    offsets += fmt::format("{}{}", comma, offset);
    offset += std::ssize(token);
    logprobs += fmt::format("{}{}", comma, is_known ? kLogprob : "null");
    tops += top > 0 && is_known ? fmt::format("{}{{{}:{}}}", comma, quote(token), kLogprob)
                                : fmt::format("{}null", comma);
    tokens += comma + quote(token);
  };
  const AnswerText prompt = AnswerText::of_text(echoed, text.tokenizer());
  for (std::int64_t i = 0; i < prompt.length().value_or(0); ++i) {
    std::string token;
    prompt.append(i, token);
    add(token, !tokens.empty());
  }
  for (std::int64_t i = first; i < last; ++i) {
    add(token_at(i), true);
  }
  return fmt::format(R"({{"text_offset":[{}],"token_logprobs":[{}],"tokens":[{}],)"
                     R"("top_logprobs":[{}]}})",
                     offsets,
                     logprobs,
                     tokens,
                     tops);
}

std::string prompt_logprobs_json(std::span<const std::uint32_t> tokens,
                                 const text::Tokenizer* tokenizer) {
  std::string all = "[";
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i == 0) {
      all += "null";
      continue;
    }
    const std::string word = word_of(tokens[i], tokenizer);
    all += fmt::format(R"(,{{"{}":{{"logprob":{},"rank":1,"decoded_token":{}}}}})",
                       tokens[i],
                       kLogprob,
                       word.empty() ? "null" : quote(word));
  }
  return all + "]";
}

std::string prompt_token_ids_json(std::span<const std::uint32_t> tokens) {
  return fmt::format("[{}]", fmt::join(tokens, ","));
}

std::string token_ids_json(const AnswerText& text, std::int64_t first, std::int64_t last) {
  std::string all = "[";
  for (std::int64_t i = first; i < last; ++i) {
    all += fmt::format("{}{}", i > first ? "," : "", text.token_id(i));
  }
  return all + "]";
}

std::string models_answer(std::span<const ModelCard> models, std::int64_t created) {
  std::string text = R"({"object":"list","data":[)";
  const char* comma = "";
  for (const ModelCard& model : models) {
    text += fmt::format(
        R"({}{{"id":{},"object":"model","created":{},"owned_by":"vllm","root":{},"parent":{},)"
        R"("max_model_len":{},"permission":[{{"id":"modelperm-ridgeline","object":)"
        R"("model_permission","created":{},"allow_create_engine":false,"allow_sampling":true,)"
        R"("allow_logprobs":true,"allow_search_indices":false,"allow_view":true,)"
        R"("allow_fine_tuning":false,"organization":"*","group":null,"is_blocking":false}}]}})",
        comma,
        quote(model.id),
        created,
        quote(model.root),
        model.parent ? quote(*model.parent) : "null",
        model.parent ? std::string("null") : fmt::format("{}", model.max_model_len),
        created);
    comma = ",";
  }
  return text + "]}";
}

std::string tokenize_answer(std::span<const std::int64_t> tokens,
                            const std::optional<std::vector<std::string>>& strings,
                            std::int64_t max_model_len) {
  std::string texts = "null";
  if (strings) {
    texts = "[";
    for (std::size_t i = 0; i < strings->size(); ++i) {
      texts += (i > 0 ? "," : "") + quote((*strings)[i]);
    }
    texts += "]";
  }
  return fmt::format(R"({{"count":{},"max_model_len":{},"tokens":[{}],"token_strs":{}}})",
                     tokens.size(),
                     max_model_len,
                     fmt::join(tokens, ","),
                     texts);
}

std::string detokenize_answer(std::string_view prompt) {
  return fmt::format(R"({{"prompt":{}}})", quote(prompt));
}

}  // namespace ridgeline::openai
