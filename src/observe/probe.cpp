#include "observe/probe.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "observe/http_client.hpp"
#include "observe/metrics_page.hpp"
#include "observe/prompts.hpp"
#include "observe/run_clock.hpp"

namespace ridgeline::observe {
namespace {

constexpr int kHttpOk = 200;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr core::Duration kLookTimeout = core::Duration::seconds(10);
/// A server may have to load before its first answer.
constexpr core::Duration kProbeTimeout = core::Duration::seconds(120);
/// A prompt has no more; what says so is no count of it.
constexpr std::int64_t kMostUsageTokens = 100'000'000;
constexpr std::int64_t kFewWords = 64;
constexpr std::int64_t kManyWords = 128;

std::optional<document::Node> document_of(const HttpAnswer& answer) {
  if (answer.status != kHttpOk || !answer.problem.empty()) {
    return std::nullopt;
  }
  auto node = document::parse_json(answer.body, "answer", document::NonFinite::kReadAsNull);
  return node && node->is_map() ? std::optional(std::move(*node)) : std::nullopt;
}

std::string text_in(const document::Node& node, std::string_view key) {
  const document::Node* found = node.find(key);
  return found != nullptr && found->is_string() ? found->as_string() : std::string();
}

std::optional<std::int64_t> integer_in(const document::Node* node, std::string_view key) {
  const document::Node* found = node == nullptr ? nullptr : node->find(key);
  return found != nullptr && found->kind() == document::Node::Kind::kInteger &&
                 found->as_integer() >= 0 && found->as_integer() <= kMostUsageTokens
             ? std::optional(found->as_integer())
             : std::nullopt;
}

std::vector<std::string> models_of(const document::Node& node) {
  std::vector<std::string> models;
  const document::Node* data = node.find("data");
  if (data != nullptr && data->is_list()) {
    for (const document::Node& model : data->items()) {
      if (std::string id = text_in(model, "id"); !id.empty()) {
        models.push_back(std::move(id));
      }
    }
  }
  return models;
}

/// Messages, or raw prompts, of so many words each; every other message is the assistant's.
class Probe {
 public:
  Probe(HttpClient& client, const RunClock& clock, const PromptMaker::Options& options)
      : client_(client), clock_(clock), options_(options), maker_(options) {}

  /// The tokens that the server counts; nothing: it does not say.
  std::optional<std::int64_t> count(const std::vector<std::int64_t>& words) {
    if (tokenizes_) {
      const auto answer =
          ask(client_,
              clock_,
              {.path = "/tokenize", .body = body(words, false), .timeout = kProbeTimeout});
      const auto node = document_of(answer);
      if (const auto tokens = integer_in(node ? &*node : nullptr, "count")) {
        return tokens;
      }
      tokenizes_ = false;
    }
    const auto answer = ask(client_,
                            clock_,
                            {.path = std::string(path_of(options_.endpoint)),
                             .body = body(words, true),
                             .timeout = kProbeTimeout});
    const auto node = document_of(answer);
    if (!node) {
      problem_ = answer.problem.empty()
                     ? fmt::format("HTTP {}: {}", answer.status, core::quote(answer.body))
                     : answer.problem;
      return std::nullopt;
    }
    const auto tokens = integer_in(node->find("usage"), "prompt_tokens");
    problem_ = tokens ? "" : "its answers have no usage that counts a prompt";
    return tokens;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  std::string body(const std::vector<std::int64_t>& words, bool generates) {
    /// Contents that no workload has.
    constexpr std::uint64_t kFirstContent = std::uint64_t{3} << 61U;
    document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
    json.begin_object().member("model", options_.model);
    if (options_.endpoint == Endpoint::kChat) {
      json.key("messages").begin_array();
      for (std::size_t i = 0; i < words.size(); ++i) {
        json.begin_object()
            .member("role", i % 2 == 0 ? "user" : "assistant")
            .member("content", maker_.words(kFirstContent + ++contents_, words[i]))
            .end_object();
      }
      json.end_array();
    } else {
      json.member("prompt", maker_.words(kFirstContent + ++contents_, words.front()));
    }
    if (generates) {
      json.member("max_tokens", 1).member("temperature", 0);
    }
    json.end_object();
    return json.text();
  }

  HttpClient& client_;
  const RunClock& clock_;
  const PromptMaker::Options& options_;
  PromptMaker maker_;
  bool tokenizes_ = true;
  std::uint64_t contents_ = 0;
  std::string problem_;
};

}  // namespace

core::Result<ServerFacts> look_at_server(HttpClient& client,
                                         const RunClock& clock,
                                         const Target& target) {
  const auto fail = [&](std::string message, std::string hint) {
    return core::fail(core::Error{.field = target.text,
                                  .message = std::move(message),
                                  .where = {.file = "command line"},
                                  .hint = std::move(hint)});
  };
  ServerFacts facts;
  const auto models = ask(client, clock, {.path = "/v1/models", .timeout = kLookTimeout});
  if (models.status == 0) {
    return fail(fmt::format("GET {}/v1/models: {}",
                            target.socket.empty() ? target.base_url() : target.text,
                            models.problem),
                "is the server up?");
  }
  if (models.status == kUnauthorized || models.status == kForbidden) {
    return fail(fmt::format("GET /v1/models: HTTP {}: the server wants another key", models.status),
                "OPENAI_API_KEY, or --api-key-file FILE");
  }
  if (const auto node = document_of(models)) {
    facts.models = models_of(*node);
  }
  if (const auto node =
          document_of(ask(client, clock, {.path = "/version", .timeout = kLookTimeout}))) {
    facts.version = text_in(*node, "version");
  }
  facts.metrics = look_at_metrics(client, clock);
  return facts;
}

ServerMetrics look_at_metrics(HttpClient& client, const RunClock& clock) {
  const auto page = ask(client, clock, {.path = "/metrics", .timeout = kLookTimeout});
  return page.status == kHttpOk && page.problem.empty() ? read_metrics(page.body) : ServerMetrics();
}

PromptCounts count_prompts(HttpClient& client,
                           const RunClock& clock,
                           const PromptMaker::Options& options,
                           bool has_turns) {
  PromptCounts counts;
  Probe probe(client, clock, options);
  const auto few = probe.count({kFewWords});
  const auto many = few ? probe.count({kManyWords}) : std::nullopt;
  if (!few || !many) {
    counts.problem = probe.problem();
    return counts;
  }
  counts.tokens_per_word =
      static_cast<double>(*many - *few) / static_cast<double>(kManyWords - kFewWords);
  counts.overhead.first = std::max<std::int64_t>(0, *few - kFewWords);
  if (has_turns && options.endpoint == Endpoint::kChat) {
    if (const auto three = probe.count({kFewWords, kFewWords, kFewWords})) {
      counts.overhead.each_message =
          std::max<std::int64_t>(0, (*three - 3 * kFewWords - counts.overhead.first) / 2);
    }
  }
  return counts;
}

}  // namespace ridgeline::observe
