#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "openai/api.hpp"
#include "openai/api_error.hpp"
#include "openai/api_version.hpp"
#include "openai/other_requests.hpp"
#include "openai/prompt_builder.hpp"
#include "openai/request.hpp"
#include "scenario/deployment.hpp"
#include "serve/emulator.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/routes/routes.hpp"

namespace ridgeline::serve {
namespace {

template <class Parse>
void generate_as(Emulator& emulator,
                 net::Connection& connection,
                 const net::HttpRequest& request,
                 openai::Api api,
                 Parse parse) {
  if (!is_json(emulator, connection, request)) {
    return;
  }
  auto wanted = parse(request.body, emulator.settings().version, emulator.settings().limits);
  if (!wanted) {
    emulator.answer_error(connection, wanted.error(), {}, api);
    return;
  }
  emulator.generate(connection, request, std::move(*wanted));
}

/// The events of a response that was begun as a stream in the background, from the one behind
/// `starting_after` on.
void stream_kept_response(Emulator& emulator,
                          net::Connection& connection,
                          const net::HttpRequest& request) {
  constexpr std::int64_t kMostEvents = 1'000'000'000;  // No response has more.
  const auto after =
      core::parse_whole<std::int64_t>(query_value(request.query, "starting_after", "-1"));
  if (!after || *after < -1) {
    emulator.answer_error(connection,
                          openai::bad_request("starting_after: Input should be a valid integer",
                                              "query.starting_after"));
    return;
  }
  const std::string_view id = part_of("/v1/responses/*", request.path).value();
  if (!emulator.follow_response(id, connection, std::min(*after, kMostEvents) + 1)) {
    emulator.answer_error(connection, openai::refused(fmt::format("Unknown response_id: {}", id)));
  }
}

}  // namespace

void answer_completions(Emulator& emulator,
                        net::Connection& connection,
                        const net::HttpRequest& request) {
  generate_as(emulator, connection, request, openai::Api::kCompletions, openai::parse_completion);
}

void answer_chat(Emulator& emulator, net::Connection& connection, const net::HttpRequest& request) {
  generate_as(emulator, connection, request, openai::Api::kChat, openai::parse_chat);
}

void answer_responses(Emulator& emulator,
                      net::Connection& connection,
                      const net::HttpRequest& request) {
  generate_as(emulator, connection, request, openai::Api::kResponses, openai::parse_response);
}

void answer_kept_response(Emulator& emulator,
                          net::Connection& connection,
                          const net::HttpRequest& request) {
  constexpr int kOk = 200;
  const auto found = emulator.responses().find(part_of("/v1/responses/*", request.path).value(),
                                               emulator.settings().version);
  if (!found) {
    emulator.answer_error(connection, found.error());
    return;
  }
  if (is_true(query_value(request.query, "stream", "false"))) {
    stream_kept_response(emulator, connection, request);
    return;
  }
  emulator.answer(connection, kOk, net::kJsonType, (*found)->body);
}

void cancel_response(Emulator& emulator,
                     net::Connection& connection,
                     const net::HttpRequest& request) {
  constexpr int kOk = 200;
  const openai::ApiVersion version = emulator.settings().version;
  const std::string_view id = part_of("/v1/responses/*/cancel", request.path).value();
  const auto found = emulator.responses().find(id, version);
  if (!found) {
    emulator.answer_error(connection, found.error());
    return;
  }
  const auto cancelled = emulator.cancel_response(id);
  if (!cancelled) {
    emulator.answer_error(connection,
                          openai::invalid_response_request(
                              "Cannot cancel a synchronous response.", "response_id", version));
    return;
  }
  emulator.answer(connection, kOk, net::kJsonType, *cancelled);
}

void answer_messages(Emulator& emulator,
                     net::Connection& connection,
                     const net::HttpRequest& request) {
  generate_as(emulator, connection, request, openai::Api::kMessages, openai::parse_message);
}

/// SageMaker's: a chat or a completion, whichever the body is.
void answer_invocations(Emulator& emulator,
                        net::Connection& connection,
                        const net::HttpRequest& request) {
  if (!is_json(emulator, connection, request)) {
    return;
  }
  for (const auto parse : {openai::parse_chat, openai::parse_completion}) {
    if (auto wanted =
            parse(request.body, emulator.settings().version, emulator.settings().limits)) {
      emulator.generate(connection, request, std::move(*wanted));
      return;
    }
  }
  emulator.answer_error(
      connection,
      openai::refused("Cannot find suitable handler for request. Expected one of: "
                      "['ChatCompletionRequest', 'CompletionRequest']"));
}

/// What a model that generates cannot do. vLLM hands the error out as an answer, with status 200.
void refuse_pooling(Emulator& emulator,
                    net::Connection& connection,
                    const net::HttpRequest& request) {
  constexpr int kOk = 200;
  if (!is_json(emulator, connection, request)) {
    return;
  }
  const std::string_view path = request.path;
  const std::string_view api = path.ends_with("/embeddings") ? "Embeddings"
                               : path.ends_with("/score")    ? "Score"
                               : path.ends_with("/rerank")   ? "Rerank (Score)"
                               : path == "/classify"         ? "Classification"
                                                             : "Pooling";
  emulator.answer(
      connection,
      kOk,
      net::kJsonType,
      openai::error_body(openai::refused(fmt::format("The model does not support {} API", api)),
                         emulator.settings().version));
}

void count_tokens(Emulator& emulator,
                  net::Connection& connection,
                  const net::HttpRequest& request) {
  const auto wanted = read_json(emulator, connection, request, [&](std::string_view body) {
    return openai::parse_message_to_count(body, emulator.settings().version);
  });
  if (!wanted) {
    return;
  }
  constexpr int kOk = 200;
  openai::PromptBuilder builder(
      emulator.resolved().deployment->engine.block_size, 0, emulator.settings().tokenizer.get());
  openai::add_chat(builder,
                   wanted->messages,
                   wanted->tools_text,
                   emulator.settings().chat_tokens,
                   true,
                   emulator.settings().image_tokens,
                   [](std::string_view) { return std::nullopt; });
  emulator.answer(connection,
                  kOk,
                  net::kJsonType,
                  fmt::format(R"({{"input_tokens":{}}})", builder.tokens().value()));
}

}  // namespace ridgeline::serve
