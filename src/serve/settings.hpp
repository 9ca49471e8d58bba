#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.hpp"
#include "core/sha256.hpp"
#include "core/time.hpp"
#include "openai/api_version.hpp"
#include "openai/request.hpp"
#include "openai/text/chat_tokens.hpp"
#include "openai/text/tokenizer.hpp"
#include "serve/event_socket.hpp"
#include "serve/fault.hpp"
#include "serve/net/event_loop.hpp"
#include "serve/net/listener.hpp"
#include "workload/options.hpp"

namespace ridgeline::serve {

/// What the text of answers is.
enum class AnswerKind : std::uint8_t { kWords, kEcho, kFile };

/// How a server answers, beside what its scenario says.
struct Settings {
  net::Address address;
  std::vector<std::string> model_names;  ///< At least one; the first is shown in answers.
  std::string root;                      ///< What the first one's card calls its root.
  openai::ApiVersion version;
  std::string version_text;            ///< "0.15.0"
  std::vector<core::Sha256> api_keys;  ///< Hashes; empty: none is asked for.
  std::optional<int> admin_port;       ///< Port of the admin's routes, on loopback.
  double speed = 1.0;
  bool has_full_path = true;  ///< Tokens come when `run` says that a client sees them.
  AnswerKind answer = AnswerKind::kWords;
  /// Answers by the hash of their prompt's text (openai::hash_text); kFile.
  std::unordered_map<std::uint64_t, std::string> answers = {};
  std::optional<workload::Length> output_len;
  /// Null: texts are cut into pieces (text::Pieces).
  std::shared_ptr<const text::Tokenizer> tokenizer = nullptr;
  text::ChatTokens chat_tokens;
  std::int64_t bos_tokens = 0;  ///< Before a completion, unless the tokenizer says which.
  std::vector<std::int64_t> begin_ids = {};  ///< The tokenizer's, before a completion's text.
  std::int64_t image_tokens = 576;
  std::int64_t max_waiting = 0;  ///< 0: no limit.
  std::int64_t stream_interval = 1;
  openai::RequestLimits limits = {};  ///< Limits of a body.
  bool echoes_request_ids = false;    ///< --enable-request-id-headers
  bool forces_usage = false;          ///< --enable-force-include-usage
  bool shows_cached_tokens = false;   ///< --enable-prompt-tokens-details
  bool tracks_load = false;           ///< --enable-server-load-tracking
  bool has_auto_tools = false;        ///< --enable-auto-tool-choice
  bool has_tool_parser = false;       ///< --tool-call-parser
  bool has_dev_mode = false;          ///< VLLM_SERVER_DEV_MODE
  bool updates_adapters = false;      ///< VLLM_ALLOW_RUNTIME_LORA_UPDATING
  bool keeps_responses = false;       ///< VLLM_ENABLE_RESPONSES_API_STORE
  bool heeds_fault_headers = false;
  double reasoning_share = 0.0;  ///< Share of an answer's tokens, with --reasoning-parser.
  std::int64_t max_loras = 0;    ///< 0: no adapters.
  std::vector<std::string> adapters = {};
  std::vector<Fault> faults = {};
  std::optional<core::Duration> startup_time;  ///< Before it /health says 503.
  core::Duration shutdown_timeout = core::Duration::seconds(30);
  std::optional<std::string> arrival_log;
  /// Gets what is to be said while the server runs; may be empty.
  std::function<void(const core::Warning&)> warn = {};
  std::optional<KvEventsConfig> kv_events;
  std::int64_t first_instance =
      0;  ///< The number of its first instance among those of all servers.
  net::LoopOptions loop = {};
  std::uint64_t seed = 0;
};

}  // namespace ridgeline::serve
