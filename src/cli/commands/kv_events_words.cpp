#include "cli/commands/kv_events_words.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "serve/event_socket.hpp"

namespace ridgeline::cli {
namespace {

using document::Node;

/// Reads the keys of the object; notes every problem.
class ConfigReader {
 public:
  core::Result<std::optional<serve::KvEventsConfig>> read(const Node& object) {
    for (const Node::Member& member : object.members()) {
      read(member.key, member.value);
    }
    if (publisher_ && *publisher_ != "zmq" && *publisher_ != "null") {
      refuse("publisher", fmt::format("found '{}', expected zmq or null", *publisher_));
    }
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    const bool is_wanted = is_enabled_ && publisher_ != "null";
    return is_wanted ? std::optional(std::move(config_)) : std::nullopt;
  }

 private:
  void refuse(std::string_view key, std::string message, std::string hint = {}) {
    errors_.push_back(usage_error(
        fmt::format("--kv-events-config.{}", key), std::move(message), std::move(hint)));
  }

  void number(std::string_view key, const Node& value, std::int64_t& to) {
    constexpr std::int64_t kMost = 10'000'000;
    if (value.kind() != Node::Kind::kInteger || value.as_integer() < 0 ||
        value.as_integer() > kMost) {
      refuse(key, fmt::format("found {}, expected a number from 0 to {}", value.describe(), kMost));
      return;
    }
    to = value.as_integer();
  }

  template <class Text>
  void text(std::string_view key, const Node& value, Text& to) {
    if (value.is_string()) {
      to = value.as_string();
    } else if (!value.is_null()) {
      refuse(key, fmt::format("found {}, expected a text", value.describe()));
    }
  }

  void read(std::string_view key, const Node& value) {
    std::int64_t unused = 0;
    if (key == "enable_kv_cache_events") {
      if (value.kind() == Node::Kind::kBool) {
        is_enabled_ = value.as_bool();
      } else {
        refuse(key, fmt::format("found {}, expected true or false", value.describe()));
      }
    } else if (key == "publisher") {
      text(key, value, publisher_);
    } else if (key == "endpoint") {
      text(key, value, config_.endpoint);
    } else if (key == "replay_endpoint") {
      text(key, value, config_.replay_endpoint);
    } else if (key == "topic") {
      text(key, value, config_.topic);
    } else if (key == "buffer_steps") {
      number(key, value, config_.buffer_steps);
    } else if (key == "hwm") {
      number(key, value, config_.hwm);
    } else if (key == "max_queue_size") {
      number(key, value, unused);  // Between two threads of vLLM; here there is one.
    } else {
      refuse(key,
             "unknown key",
             "enable_kv_cache_events, publisher, endpoint, replay_endpoint, topic, buffer_steps, "
             "hwm, max_queue_size");
    }
  }

  serve::KvEventsConfig config_;
  bool is_enabled_ = false;
  std::optional<std::string> publisher_;
  core::Errors errors_;
};

}  // namespace

core::Result<std::optional<serve::KvEventsConfig>> read_kv_events(std::string_view json) {
  const auto parsed = document::parse_json(json, "--kv-events-config");
  if (!parsed || !parsed->is_map()) {
    return core::fail(usage_error("--kv-events-config",
                                  fmt::format("found '{}', expected an object in JSON", json),
                                  R"('{"enable_kv_cache_events": true, "publisher": "zmq"}')"));
  }
  return ConfigReader().read(*parsed);
}

}  // namespace ridgeline::cli
