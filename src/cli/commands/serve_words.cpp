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
#include "core/result.hpp"
#include "core/sha256.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "openai/api_version.hpp"
#include "openai/prompt_builder.hpp"
#include "scenario/deployment.hpp"
#include "scenario/options.hpp"
#include "scenario/resolve.hpp"
#include "serve/fault.hpp"
#include "serve/settings.hpp"
#include "text/chat_tokens.hpp"

namespace ridgeline::cli {
namespace {

using Takes = FlagSpec::Takes;

std::optional<double> parse_real(std::string_view text) {
  double number = 0.0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end && std::isfinite(number) ? std::optional(number)
                                                                            : std::nullopt;
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
    errors_.push_back({.field = fmt::format("--{}", flag),
                       .message = std::move(message),
                       .where = {.file = "command line"},
                       .hint = std::move(hint)});
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
    std::int64_t number = 0;
    const char* const end = given->value.data() + given->value.size();
    const auto read = std::from_chars(given->value.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end || number < lowest || number > highest) {
      refuse(flag,
             fmt::format(
                 "found '{}', expected a number from {} to {}", given->value, lowest, highest));
      return;
    }
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>>) {
      value = static_cast<std::remove_cvref_t<decltype(value)>>(number);
    } else {
      value = static_cast<typename std::remove_cvref_t<decltype(value)>::value_type>(number);
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

namespace {

std::vector<FlagSpec> answer_flags() {
  return {
      {.name = "host", .value = "ADDRESS", .help = "Where to listen [127.0.0.1]"},
      {.name = "port", .value = "N", .help = "Its port; 0: any that is free [8000]"},
      {.name = "uds", .value = "PATH", .help = "A UNIX socket instead"},
      {.name = "served-model-name",
       .repeatable = true,
       .many = true,
       .value = "NAME",
       .help = "Names of the model; the first is in answers [its Hugging Face id]"},
      {.name = "api-key",
       .repeatable = true,
       .value = "KEY",
       .help = "Asked of clients under /v1 [VLLM_API_KEY, else none]"},
      {.name = "listen",
       .value = "one|each",
       .help = "One port for all instances, or one for each, for a gateway in front [one]"},
      {.name = "speed", .value = "FACTOR", .help = "Simulated seconds in a second [1]"},
      {.name = "path",
       .value = "full|server",
       .help = "When tokens leave: when run says that a client sees them, or when the server is "
               "done with them [full]"},
      {.name = "answer",
       .value = "words|echo|FILE",
       .help = "The text of answers: words, the prompt's own, or lines of "
               "{\"prompt\": ..., \"answer\": ...} [words]"},
      {.name = "output-len",
       .value = "LENGTH",
       .help = "Length of answers whose client does not force it [what it asks for at most; mean "
               "256 where it names no limit]"},
      {.name = "chat-tokens",
       .value = "FIXED,PER_MESSAGE,START",
       .help = "Special tokens of the chat template [the family's]"},
      {.name = "bos-tokens", .value = "N", .help = "Special tokens before a completion's text [0]"},
      {.name = "image-tokens", .value = "N", .help = "Tokens of an image [576]"},
      {.name = "stream-interval", .value = "N", .help = "Tokens in an event, after the first [1]"},
      {.name = "max-logprobs",
       .value = "N",
       .help = "Most logprobs that a request may ask for; -1: any number [20]"},
  };
}

std::vector<FlagSpec> limit_flags() {
  return {
      {.name = "max-connections", .value = "N", .help = "Others get 503 [16384]"},
      {.name = "max-waiting",
       .value = "N",
       .help = "Requests in the queue beyond which others get 429; 0: no limit [0]"},
      {.name = "max-body", .value = "SIZE", .help = "Of a request [32MiB]"},
      {.name = "write-timeout",
       .value = "TIME",
       .help = "How long a client may take none of its answer [120s]"},
      {.name = "shutdown-timeout",
       .value = "TIME",
       .help = "What answers under way get after SIGTERM [30s]"},
      {.name = "startup-time", .value = "TIME", .help = "Before it /health answers 503 [0s]"},
      {.name = "arrival-log",
       .value = "FILE.jsonl",
       .help = "Every request with its time, for replay --trace"},
      {.name = "admin-port",
       .value = "N",
       .help = "A port of loopback for GET /state, PUT /faults and PUT /drain [none]"},
      {.name = "request-fault",
       .repeatable = true,
       .value = "kind=KIND,share=P,...",
       .help = "Strikes a share of the requests (error, stall, disconnect) or the server (die)"},
      {.name = "allow-fault-headers",
       .takes = Takes::kNothing,
       .help = "A request with X-Return-Error: N gets N"},
  };
}

std::vector<FlagSpec> vllm_flags() {
  return {
      {.name = "lora-modules",
       .repeatable = true,
       .many = true,
       .value = "NAME=PATH",
       .help = "Adapters, served under their names"},
      {.name = "kv-events-config",
       .value = "JSON",
       .help = "Tells over ZeroMQ which blocks the prefix cache has: enable_kv_cache_events, "
               "endpoint, replay_endpoint, topic and more, as vLLM takes them; * is --host"},
      {.name = "enable-auto-tool-choice",
       .takes = Takes::kNothing,
       .help = "Answers call tools where the client leaves it open"},
      {.name = "tool-call-parser", .value = "NAME", .help = "Any: tools can be called"},
      {.name = "reasoning-parser", .value = "NAME", .help = "Any, for --reasoning-share"},
      {.name = "reasoning-share",
       .value = "SHARE",
       .help = "Of a chat's answer, that is reasoning [0]"},
      {.name = "enable-request-id-headers",
       .takes = Takes::kNothing,
       .help = "X-Request-Id comes back"},
      {.name = "enable-force-include-usage",
       .takes = Takes::kNothing,
       .help = "Usage in every event"},
      {.name = "enable-prompt-tokens-details",
       .takes = Takes::kNothing,
       .help = "Usage says how many prompt tokens were cached"},
      {.name = "enable-server-load-tracking",
       .takes = Takes::kNothing,
       .help = "/load counts answers under way"},
  };
}

}  // namespace

std::vector<FlagSpec> serve_flags() {
  std::vector<FlagSpec> flags = answer_flags();
  for (auto& more : {limit_flags(), vllm_flags()}) {
    flags.insert(flags.end(), more.begin(), more.end());
  }
  return flags;
}

std::vector<FlagSpec> all_serve_flags() {
  std::vector<FlagSpec> flags = serve_flags();
  const auto is_of_workload = [](std::string_view flag) {
    const auto option = std::ranges::find(scenario::options(), flag, &scenario::Option::flag);
    return option != scenario::options().end() && option->path.starts_with("workload.");
  };
  for (FlagSpec& flag : scenario_flags(ScenarioPart::kWhole)) {
    const bool is_own = std::ranges::find(flags, flag.name, &FlagSpec::name) != flags.end();
    if (!is_own && !is_of_workload(flag.meaning.empty() ? flag.name : flag.meaning)) {
      flags.push_back(std::move(flag));
    }
  }
  return flags;
}

namespace {

/// A value of the section as the flag of the same name takes it; nothing for maps.
std::optional<std::string> flag_text(const document::Node& node) {
  using Kind = document::Node::Kind;
  switch (node.kind()) {
    case Kind::kString:
      return node.as_string();
    case Kind::kBool:
      return node.as_bool() ? "true" : "false";
    case Kind::kInteger:
    case Kind::kReal:
      return node.describe();
    case Kind::kMap: {
      // A fault, as --request-fault writes it.
      std::string text;
      for (const document::Node::Member& member : node.members()) {
        const auto value = member.value.is_map() ? std::nullopt : flag_text(member.value);
        if (!value) {
          return std::nullopt;
        }
        text += fmt::format("{}{}={}", text.empty() ? "" : ",", member.key, *value);
      }
      return text;
    }
    case Kind::kNull:
    case Kind::kList:
      break;
  }
  return std::nullopt;
}

/// Adds one key of the section to the flags, unless the command line gave it.
void add_key(const document::Node::Member& member, Arguments& arguments, core::Errors& errors) {
  const auto refuse = [&](std::string message) {
    errors.push_back({.field = fmt::format("serve.{}", member.key),
                      .message = std::move(message),
                      .where = member.where});
  };
  std::string flag = member.key == "faults" ? "request-fault" : member.key;
  std::ranges::replace(flag, '_', '-');
  const auto specs = serve_flags();
  const auto spec = std::ranges::find(specs, flag, &FlagSpec::name);
  if (spec == specs.end()) {
    refuse("unknown key: the section takes the flags of `serve`, with _ for -");
    return;
  }
  if (arguments.has(flag) || member.value.is_null()) {
    return;
  }
  const bool is_list = member.value.is_list();
  if (is_list && !spec->repeatable) {
    refuse("found a list, expected one value");
    return;
  }
  const std::vector<document::Node> one = {member.value};
  for (const document::Node& item : is_list ? member.value.items() : one) {
    const auto text = flag_text(item);
    if (!text || (item.is_map() && flag != "request-fault")) {
      refuse(fmt::format("found {}, expected a value", item.describe()));
      return;
    }
    if (spec->takes == FlagSpec::Takes::kNothing && *text != "true" && *text != "false") {
      refuse(fmt::format("found {}, expected true or false", item.describe()));
      return;
    }
    if (spec->takes != FlagSpec::Takes::kNothing || *text == "true") {
      arguments.flags.push_back({.name = flag, .value = *text, .typed = "serve." + member.key});
    }
  }
}

}  // namespace

core::Result<void> add_serve_section(Arguments& arguments) {
  if (arguments.positionals.empty()) {
    return {};
  }
  // What else is wrong with the file is said where the scenario is read.
  const auto file = document::read_document(arguments.positionals.front());
  const document::Node* const section = file ? file->find("serve") : nullptr;
  core::Errors errors;
  if (section != nullptr && !section->is_null()) {
    if (!section->is_map()) {
      errors.push_back({.field = "serve",
                        .message = fmt::format("found {}, expected a map", section->describe()),
                        .where = section->where()});
    } else {
      for (const document::Node::Member& member : section->members()) {
        add_key(member, arguments, errors);
      }
    }
  }
  return errors.empty() ? core::Result<void>() : core::fail(std::move(errors));
}

core::Result<serve::Settings> serve_settings(const Arguments& arguments,
                                             const scenario::Resolved& resolved) {
  return SettingsReader(arguments, resolved).read();
}

}  // namespace ridgeline::cli
