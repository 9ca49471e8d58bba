#include "cli/commands/serve_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/kv_events_words.hpp"
#include "cli/common.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/sha256.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "openai/api_version.hpp"
#include "openai/prompt_builder.hpp"
#include "openai/text/chat_tokens.hpp"
#include "openai/text/tokenizer.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "serve/fault.hpp"
#include "serve/settings.hpp"

namespace ridgeline::cli {
namespace {

std::optional<double> parse_real(std::string_view text) {
  const auto number = core::parse_whole<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

/// Reads flags into settings; notes every problem.
class SettingsReader {
 public:
  SettingsReader(const Arguments& arguments, const scenario::Resolved& resolved)
      : arguments_(arguments), resolved_(resolved) {}

  core::Result<serve::Settings> read() {
    refuse_tls();
    read_address();
    read_names();
    read_answers();
    read_limits();
    read_switches();
    read_faults();
    read_kv_events_flag();
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    return std::move(settings_);
  }

 private:
  void refuse(std::string_view flag, std::string message, std::string hint = {}) {
    errors_.push_back(usage_error(fmt::format("--{}", flag), std::move(message), std::move(hint)));
  }

  void refuse_tls() {
    for (const FlagSpec& flag : arguments_.ignored) {
      if (flag.name.starts_with("--ssl-") || flag.name == "--enable-ssl-refresh") {
        refuse(flag.name.substr(2), "this server speaks HTTP alone", "TLS by a proxy in front");
      }
    }
  }

  void integer(std::string_view flag, std::int64_t lowest, std::int64_t highest, auto& value) {
    const GivenFlag* const given = arguments_.find(flag);
    if (given == nullptr) {
      return;
    }
    const auto number = core::parse_whole<std::int64_t>(given->value);
    if (!number || *number < lowest || *number > highest) {
      refuse(flag,
             fmt::format(
                 "found '{}', expected a number from {} to {}", given->value, lowest, highest));
      return;
    }
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>>) {
      value = static_cast<std::remove_cvref_t<decltype(value)>>(*number);
    } else {
      value = static_cast<typename std::remove_cvref_t<decltype(value)>::value_type>(*number);
    }
  }

  void real(std::string_view flag, double lowest, double highest, double& value) {
    const GivenFlag* const given = arguments_.find(flag);
    if (given == nullptr) {
      return;
    }
    const auto number = parse_real(given->value);
    if (!number || !(*number >= lowest && *number <= highest)) {
      refuse(flag,
             fmt::format(
                 "found '{}', expected a number from {} to {}", given->value, lowest, highest));
      return;
    }
    value = *number;
  }

  std::optional<core::Duration> time(std::string_view flag, std::string_view text) {
    const auto seconds = document::parse_quantity(text, "seconds");
    const auto exact = seconds ? core::Duration::from_seconds(*seconds) : std::nullopt;
    if (!exact) {
      refuse(flag, fmt::format("found '{}', expected a time such as 30s or 500ms", text));
    }
    return exact;
  }

  void read_address() {
    serve::net::Address& address = settings_.address;
    constexpr std::int64_t kMostPort = 65535;
    address.host = arguments_.value("host", address.host);
    integer("port", 0, kMostPort, address.port);
    address.uds = arguments_.value("uds");
    if (!address.uds.empty() && (arguments_.has("host") || arguments_.has("port"))) {
      refuse("uds", "stands beside --host or --port", "one of them");
    }
    for (const std::string& key : arguments_.values("api-key")) {
      settings_.api_keys.push_back(core::sha256(key));
    }
    if (const char* const key = std::getenv("VLLM_API_KEY");
        settings_.api_keys.empty() && key != nullptr && *key != '\0') {
      settings_.api_keys.push_back(core::sha256(key));
    }
    integer("admin-port", 0, kMostPort, settings_.admin_port);
    constexpr double kSlowest = 0.001;
    constexpr double kFastest = 100'000.0;
    real("speed", kSlowest, kFastest, settings_.speed);
  }

  void read_names() {
    const scenario::Deployment& deployment = *resolved_.deployment;
    const std::string& id = deployment.network.hf_id;
    settings_.root = id.empty() ? deployment.section.model : id;
    for (const std::string& names : arguments_.values("served-model-name")) {
      std::string_view rest = names;
      while (!rest.empty()) {
        const std::size_t end = rest.find(' ');
        if (const std::string_view name = rest.substr(0, end); !name.empty()) {
          settings_.model_names.emplace_back(name);
        }
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
      }
    }
    if (settings_.model_names.empty()) {
      settings_.model_names.push_back(settings_.root);
    }
    const std::string& engine = deployment.section.engine.version;
    settings_.version = openai::ApiVersion::parse(engine);
    const std::size_t at = engine.find('@');
    settings_.version_text = at == std::string::npos ? engine : engine.substr(at + 1);
    if (std::ranges::count(settings_.version_text, '.') == 1) {
      settings_.version_text += ".0";
    }
    settings_.chat_tokens = text::chat_tokens_of(settings_.root);
    if (const GivenFlag* const given = arguments_.find("chat-tokens")) {
      read_chat_tokens(given->value);
    }
    for (const std::string& modules : arguments_.values("lora-modules")) {
      std::string_view rest = modules;
      while (!rest.empty()) {
        const std::size_t end = rest.find(' ');
        const std::string_view module = rest.substr(0, end);
        if (const std::size_t equals = module.find('='); !module.empty()) {
          if (equals == std::string_view::npos || equals == 0) {
            refuse("lora-modules", fmt::format("found '{}', expected NAME=PATH", module));
          }
          settings_.adapters.emplace_back(module.substr(0, equals));
        }
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
      }
    }
  }

  void read_chat_tokens(const std::string& text) {
    std::array<std::int64_t, 3> numbers{};
    std::string_view rest = text;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const char* const end = rest.data() + rest.size();
      const auto read = std::from_chars(rest.data(), end, numbers[i]);
      const bool is_last = i + 1 == numbers.size();
      if (read.ec != std::errc() || numbers[i] < 0 || numbers[i] > 10'000 ||
          (is_last ? read.ptr != end : read.ptr == end || *read.ptr != ',')) {
        refuse("chat-tokens", fmt::format("found '{}', expected FIXED,PER_MESSAGE,START", text));
        return;
      }
      rest = is_last ? std::string_view() : std::string_view(read.ptr + 1, end);
    }
    settings_.chat_tokens = {.fixed = numbers[0], .per_message = numbers[1], .start = numbers[2]};
  }

  void read_answers() {
    const std::string answer = arguments_.value("answer", "words");
    if (answer == "echo") {
      settings_.answer = serve::AnswerKind::kEcho;
    } else if (answer != "words") {
      settings_.answer = serve::AnswerKind::kFile;
      read_answer_file(answer);
    }
    if (const std::string file = arguments_.value("tokenizer", "words"); file != "words") {
      read_tokenizer_file(file);
    }
    settings_.output_len = resolved_.workload.section.output_len;
    const std::string path = arguments_.value("path", "full");
    static const std::array<std::string, 2> kPaths = {"full", "server"};
    if (std::ranges::find(kPaths, path) == kPaths.end()) {
      errors_.push_back(bad_choice("path", path, kPaths));
    }
    settings_.has_full_path = path != "server";
    constexpr std::int64_t kMost = 1'000'000;
    integer("bos-tokens", 0, kMost, settings_.bos_tokens);
    integer("image-tokens", 0, kMost, settings_.image_tokens);
    integer("stream-interval", 1, kMost, settings_.stream_interval);
    integer("max-logprobs", -1, kMost, settings_.limits.logprobs);
    real("reasoning-share", 0.0, 1.0, settings_.reasoning_share);
    if (settings_.reasoning_share > 0.0 && !arguments_.has("reasoning-parser")) {
      refuse("reasoning-share", "has no effect without --reasoning-parser");
    }
    settings_.seed = static_cast<std::uint64_t>(resolved_.run.seed);
  }

  void read_tokenizer_file(const std::string& path) {
    auto tokenizer = text::Tokenizer::open(path);
    if (!tokenizer) {
      for (core::Error& error : tokenizer.error()) {
        error.field = fmt::format("--tokenizer{}{}", error.field.empty() ? "" : ": ", error.field);
        if (error.where.file.empty()) {
          error.where.file = "command line";
        }
        errors_.push_back(std::move(error));
      }
      return;
    }
    settings_.tokenizer = std::move(*tokenizer);
    if (!arguments_.has("bos-tokens")) {
      settings_.begin_ids = settings_.tokenizer->begin();
    }
  }

  /// Lines {"prompt": "...", "answer": "..."}.
  void read_answer_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
      refuse("answer",
             fmt::format("found '{}', expected words, echo, or a file that can be read", path));
      return;
    }
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      const auto parsed = document::parse_json(line, path);
      const document::Node* const prompt = parsed ? parsed->find("prompt") : nullptr;
      const document::Node* const answer = parsed ? parsed->find("answer") : nullptr;
      if (prompt == nullptr || answer == nullptr || !prompt->is_string() || !answer->is_string()) {
        errors_.push_back({.field = "--answer",
                           .message = "expected an object with the texts 'prompt' and 'answer'",
                           .where = {.file = path, .line = number}});
        return;
      }
      settings_.answers[openai::hash_text(prompt->as_string())] = answer->as_string();
    }
  }

  void read_limits() {
    constexpr std::int64_t kMostConnections = 1'000'000;
    constexpr std::int64_t kMost = 1'000'000'000;
    integer("max-connections", 1, kMostConnections, settings_.loop.max_connections);
    integer("max-waiting", 0, kMost, settings_.max_waiting);
    if (const GivenFlag* const given = arguments_.find("max-body")) {
      const auto bytes = document::parse_quantity(given->value, "bytes");
      constexpr double kLeast = 1024.0;
      constexpr double kLargest = 1024.0 * 1024.0 * 1024.0;
      if (!bytes || !(*bytes >= kLeast && *bytes <= kLargest)) {
        refuse("max-body",
               fmt::format("found '{}', expected a size from 1KiB to 1GiB", given->value));
      } else {
        settings_.loop.limits.body_bytes = static_cast<std::uint64_t>(*bytes);
      }
    }
    if (const GivenFlag* const given = arguments_.find("write-timeout")) {
      if (const auto wait = time("write-timeout", given->value)) {
        settings_.loop.patience.write = std::chrono::seconds(
            std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(wait->to_seconds())), 1));
      }
    }
    if (const GivenFlag* const given = arguments_.find("shutdown-timeout")) {
      settings_.shutdown_timeout =
          time("shutdown-timeout", given->value).value_or(settings_.shutdown_timeout);
    }
    if (const GivenFlag* const given = arguments_.find("startup-time")) {
      settings_.startup_time = time("startup-time", given->value);
    }
    if (const GivenFlag* const given = arguments_.find("arrival-log")) {
      settings_.arrival_log = given->value;
    }
  }

  void read_switches() {
    const auto is_set = [](const char* name) {
      const char* const value = std::getenv(name);
      return value != nullptr && std::string_view(value) == "1";
    };
    settings_.echoes_request_ids = arguments_.has("enable-request-id-headers");
    settings_.forces_usage = arguments_.has("enable-force-include-usage");
    settings_.shows_cached_tokens = arguments_.has("enable-prompt-tokens-details");
    settings_.tracks_load = arguments_.has("enable-server-load-tracking");
    settings_.has_auto_tools = arguments_.has("enable-auto-tool-choice");
    settings_.has_tool_parser = arguments_.has("tool-call-parser");
    settings_.heeds_fault_headers = arguments_.has("allow-fault-headers");
    settings_.has_dev_mode = is_set("VLLM_SERVER_DEV_MODE");
    settings_.updates_adapters = is_set("VLLM_ALLOW_RUNTIME_LORA_UPDATING");
    settings_.keeps_responses = is_set("VLLM_ENABLE_RESPONSES_API_STORE");
    const bool serves_adapters = !settings_.adapters.empty() || settings_.updates_adapters;
    const std::int64_t most = resolved_.deployment->engine.max_loras;
    settings_.max_loras = serves_adapters ? std::max<std::int64_t>(most, 1) : most;
  }

  void read_kv_events_flag() {
    const GivenFlag* const given = arguments_.find("kv-events-config");
    if (given == nullptr) {
      return;
    }
    auto config = read_kv_events(given->value);
    if (!config) {
      errors_.insert(errors_.end(), config.error().begin(), config.error().end());
      return;
    }
    const std::string& engine = resolved_.deployment->section.engine.version;
    if (*config && !engine.starts_with("vllm")) {
      refuse("kv-events-config",
             fmt::format("found {}, expected vLLM", engine),
             "--engine-version vllm");
    }
    settings_.kv_events = std::move(*config);
  }

  /// --request-fault kind=error,share=0.01,status=429,retry-after=1
  void read_faults() {
    for (const std::string& text : arguments_.values("request-fault")) {
      std::vector<std::pair<std::string, std::string>> parts;
      std::string_view rest = text;
      while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        const std::string_view part = rest.substr(0, comma);
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        const std::size_t equals = std::min(part.find('='), part.size());
        parts.emplace_back(part.substr(0, equals), part.substr(std::min(equals + 1, part.size())));
      }
      std::string wrong;
      if (const auto fault = serve::read_fault(parts, wrong)) {
        settings_.faults.push_back(*fault);
      } else {
        refuse("request-fault",
               fmt::format("found '{}' in '{}'", wrong, text),
               std::string(serve::kFaultExamples));
      }
    }
  }

  const Arguments& arguments_;
  const scenario::Resolved& resolved_;
  serve::Settings settings_;
  core::Errors errors_;
};

}  // namespace

core::Result<serve::Settings> serve_settings(const Arguments& arguments,
                                             const scenario::Resolved& resolved) {
  return SettingsReader(arguments, resolved).read();
}

}  // namespace ridgeline::cli
