#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/parse.hpp"
#include "openai/answer_form.hpp"
#include "openai/api_error.hpp"
#include "openai/token_requests.hpp"
#include "scenario/deployment.hpp"
#include "serve/emulator.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/routes/routes.hpp"

namespace ridgeline::serve {
namespace {

/// Answers with an error and false where the query names no mode.
bool read_mode(Emulator& emulator,
               net::Connection& connection,
               std::string_view query,
               std::string_view usual,
               PauseMode& mode) {
  const std::string_view text = query_value(query, "mode", usual);
  mode = text == "wait" ? PauseMode::kWait : text == "keep" ? PauseMode::kKeep : PauseMode::kAbort;
  if (text == "abort" || text == "wait" || text == "keep") {
    return true;
  }
  emulator.answer_error(
      connection, openai::bad_request("mode: expected 'abort', 'wait' or 'keep'", "query.mode"));
  return false;
}

void answer_empty(Emulator& emulator, net::Connection& connection) {
  constexpr int kOk = 200;
  emulator.answer(connection, kOk, {}, {});
}

void answer_json(Emulator& emulator, net::Connection& connection, std::string_view json) {
  constexpr int kOk = 200;
  emulator.answer(connection, kOk, net::kJsonType, json);
}

}  // namespace

void answer_sleep(Emulator& emulator,
                  net::Connection& connection,
                  const net::HttpRequest& request) {
  constexpr int kDeepest = 2;
  const auto level = core::parse_whole<int>(query_value(request.query, "level", "1"));
  if (!level || *level < 1 || *level > kDeepest) {
    emulator.answer_error(connection, openai::bad_request("level: expected 1 or 2", "query.level"));
    return;
  }
  PauseMode mode = PauseMode::kAbort;
  if (read_mode(emulator, connection, request.query, "abort", mode)) {
    emulator.sleep(connection, mode, *level);
  }
}

void answer_wake_up(Emulator& emulator,
                    net::Connection& connection,
                    const net::HttpRequest& request) {
  const auto tags = query_values(request.query, "tags");
  bool weights = tags.empty();
  bool kv_cache = tags.empty();
  for (const std::string_view tag : tags) {
    weights = weights || tag == "weights";
    kv_cache = kv_cache || tag == "kv_cache";
  }
  emulator.wake_up(weights, kv_cache);
  answer_empty(emulator, connection);
}

void answer_is_sleeping(Emulator& emulator,
                        net::Connection& connection,
                        const net::HttpRequest& /*request*/) {
  answer_json(emulator, connection, fmt::format(R"({{"is_sleeping":{}}})", emulator.is_sleeping()));
}

void answer_pause(Emulator& emulator,
                  net::Connection& connection,
                  const net::HttpRequest& request) {
  PauseMode mode = PauseMode::kAbort;
  const bool waits = is_true(query_value(request.query, "wait_for_inflight_requests", "false"));
  if (read_mode(emulator, connection, request.query, waits ? "wait" : "abort", mode)) {
    const bool clears = is_true(query_value(request.query, "clear_cache", "true"));
    emulator.pause(connection, mode, clears && mode != PauseMode::kKeep, R"({"status":"paused"})");
  }
}

void answer_resume(Emulator& emulator,
                   net::Connection& connection,
                   const net::HttpRequest& /*request*/) {
  emulator.resume();
  answer_json(emulator, connection, R"({"status":"resumed"})");
}

void answer_is_paused(Emulator& emulator,
                      net::Connection& connection,
                      const net::HttpRequest& /*request*/) {
  answer_json(emulator, connection, fmt::format(R"({{"is_paused":{}}})", emulator.is_paused()));
}

void reset_prefix_cache(Emulator& emulator,
                        net::Connection& connection,
                        const net::HttpRequest& /*request*/) {
  emulator.lose_cache();
  answer_empty(emulator, connection);
}

/// Caches of images and encoders hold nothing here: images cost their tokens.
void reset_other_cache(Emulator& emulator,
                       net::Connection& connection,
                       const net::HttpRequest& /*request*/) {
  answer_empty(emulator, connection);
}

/// A method of every worker. There are none here: what calls them finds one that all have and that
/// does nothing, and vLLM's answer to any other. Both follow its sources from memory.
void call_workers(Emulator& emulator,
                  net::Connection& connection,
                  const net::HttpRequest& request) {
  const auto method = openai::parse_worker_call(request.body);
  if (!method) {
    emulator.answer_error(connection, method.error());
    return;
  }
  if (*method != "check_health") {
    emulator.answer_error(
        connection,
        {.status = 500,
         .type = "InternalServerError",
         .message = fmt::format("Call to collective_rpc method failed: 'Worker' object has no "
                                "attribute '{}'",
                                *method),
         .param = std::nullopt});
    return;
  }
  const auto& engine = emulator.resolved().deployment->section.engine;
  const auto workers =
      static_cast<std::size_t>(engine.tensor_parallel_size * engine.pipeline_parallel_size);
  const std::vector<std::string_view> results(workers, "null");
  answer_json(emulator, connection, fmt::format(R"({{"results":[{}]}})", fmt::join(results, ",")));
}

void answer_server_info(Emulator& emulator,
                        net::Connection& connection,
                        const net::HttpRequest& request) {
  const scenario::Deployment& deployment = *emulator.resolved().deployment;
  const auto& stated = deployment.section.engine;
  const auto& engine = deployment.engine;
  const bool is_json = query_value(request.query, "config_format", "text") == "json";
  const auto truth = [&](bool flag) -> std::string_view {
    return is_json ? (flag ? "true" : "false") : (flag ? "True" : "False");
  };
  std::string text;
  const auto add = [&](std::string_view key, const std::string& value) {
    text += is_json ? fmt::format(R"({}"{}":{})", text.empty() ? "" : ",", key, value)
                    : fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
  };
  const std::string& root = emulator.settings().root;
  add("model", is_json ? openai::json_quoted(root) : fmt::format("'{}'", root));
  add("max_seq_len", fmt::format("{}", engine.max_model_len.value()));
  add("tensor_parallel_size", fmt::format("{}", stated.tensor_parallel_size));
  add("pipeline_parallel_size", fmt::format("{}", stated.pipeline_parallel_size));
  add("data_parallel_size", fmt::format("{}", stated.data_parallel_size));
  add("block_size", fmt::format("{}", engine.block_size.value()));
  add("num_gpu_blocks", fmt::format("{}", engine.num_gpu_blocks.value()));
  add("enable_prefix_caching", std::string(truth(engine.enable_prefix_caching)));
  add("seed", fmt::format("{}", emulator.settings().seed));
  answer_json(emulator,
              connection,
              fmt::format(R"({{"vllm_config":{}}})",
                          is_json ? "{" + text + "}" : openai::json_quoted(text)));
}

}  // namespace ridgeline::serve
