#include "serve/routes/routes.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "openai/api_error.hpp"
#include "openai/api_version.hpp"
#include "serve/emulator.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/http_parser.hpp"

namespace ridgeline::serve {

std::span<const Route> routes() {
  static constexpr auto kRoutes = std::to_array<Route>({
      {"GET", "/health", answer_health},
      {"GET", "/ping", answer_health},
      {"POST", "/ping", answer_health},
      {"GET", "/version", answer_version},
      {"GET", "/load", answer_load},
      {"GET", "/metrics", answer_metrics},
      {"GET", "/metrics/", answer_metrics},
      {"GET", "/v1/models", answer_models},
      {"POST", "/v1/completions", answer_completions},
      {"POST", "/v1/chat/completions", answer_chat},
      {"POST", "/v1/responses", answer_responses, RouteOf::kAll, openai::kResponsesRoutes},
      {"GET", "/v1/responses/*", answer_kept_response, RouteOf::kAll, openai::kResponsesRoutes},
      {"POST", "/v1/responses/*/cancel", cancel_response, RouteOf::kAll, openai::kResponsesRoutes},
      {"POST", "/v1/messages", answer_messages, RouteOf::kAll, openai::kMessagesRoutes},
      {"POST", "/v1/messages/count_tokens", count_tokens, RouteOf::kAll, openai::kCountsTokens},
      {"POST", "/invocations", answer_invocations},
      {"POST", "/v1/embeddings", refuse_pooling, RouteOf::kAll, {}, openai::kPoolingLeft},
      {"POST", "/pooling", refuse_pooling, RouteOf::kAll, {}, openai::kPoolingLeft},
      {"POST", "/classify", refuse_pooling, RouteOf::kAll, {}, openai::kPoolingLeft},
      {"POST", "/score", refuse_pooling, RouteOf::kAll, {}, openai::kPoolingLeft},
      {"POST", "/v1/score", refuse_pooling, RouteOf::kAll, {}, openai::kPoolingLeft},
      {"POST", "/rerank", refuse_pooling, RouteOf::kAll, {}, openai::kPoolingLeft},
      {"POST", "/v1/rerank", refuse_pooling, RouteOf::kAll, {}, openai::kPoolingLeft},
      {"POST", "/v2/rerank", refuse_pooling, RouteOf::kAll, {}, openai::kPoolingLeft},
      {"POST", "/tokenize", answer_tokenize},
      {"POST", "/detokenize", answer_detokenize},
      {"POST", "/v1/load_lora_adapter", load_adapter, RouteOf::kAdapterUpdates},
      {"POST", "/v1/unload_lora_adapter", unload_adapter, RouteOf::kAdapterUpdates},
      {"POST", "/sleep", answer_sleep, RouteOf::kDevMode},
      {"POST", "/wake_up", answer_wake_up, RouteOf::kDevMode},
      {"GET", "/is_sleeping", answer_is_sleeping, RouteOf::kDevMode},
      {"POST", "/pause", answer_pause, RouteOf::kDevMode, openai::kPauses},
      {"POST", "/resume", answer_resume, RouteOf::kDevMode, openai::kPauses},
      {"GET", "/is_paused", answer_is_paused, RouteOf::kDevMode, openai::kPauses},
      {"POST", "/reset_prefix_cache", reset_prefix_cache, RouteOf::kDevMode},
      {"POST", "/reset_mm_cache", reset_other_cache, RouteOf::kDevMode},
      {"POST", "/reset_encoder_cache", reset_other_cache, RouteOf::kDevMode, openai::kPauses},
      {"GET", "/server_info", answer_server_info, RouteOf::kDevMode},
      {"POST", "/collective_rpc", call_workers, RouteOf::kDevMode, openai::kCallsWorkers},
  });
  return kRoutes;
}

std::optional<std::string_view> part_of(std::string_view of_table, std::string_view path) {
  const std::size_t star = of_table.find('*');
  if (star == std::string_view::npos) {
    return of_table == path ? std::optional(std::string_view()) : std::nullopt;
  }
  const std::string_view behind = of_table.substr(star + 1);
  if (!path.starts_with(of_table.substr(0, star)) || path.size() <= star + behind.size() ||
      !path.ends_with(behind)) {
    return std::nullopt;
  }
  const std::string_view part = path.substr(star, path.size() - star - behind.size());
  return part.find('/') == std::string_view::npos ? std::optional(part) : std::nullopt;
}

std::vector<std::string_view> query_values(std::string_view query, std::string_view key) {
  std::vector<std::string_view> values;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(part.size() == query.size() ? part.size() : part.size() + 1);
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos && part.substr(0, equals) == key) {
      values.push_back(part.substr(equals + 1));
    }
  }
  return values;
}

std::string_view query_value(std::string_view query,
                             std::string_view key,
                             std::string_view otherwise) {
  const auto values = query_values(query, key);
  return values.empty() ? otherwise : values.back();
}

bool is_true(std::string_view text) {
  return text == "true" || text == "True" || text == "1";
}

bool is_json(Emulator& emulator, net::Connection& connection, const net::HttpRequest& request) {
  std::string_view type = request.header("content-type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) {
    type.remove_suffix(1);
  }
  const auto is_same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  };
  if (std::ranges::equal(type, net::kJsonType, is_same)) {
    return true;
  }
  emulator.answer_error(
      connection,
      openai::bad_request("Unsupported Media Type: Only 'application/json' is allowed"));
  return false;
}

}  // namespace ridgeline::serve
