#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace ridgeline::serve {

/// vLLM's --kv-events-config, with its defaults (vllm/config/kv_events.py).
struct KvEventsConfig {
  std::string endpoint = "tcp://*:5557";
  std::optional<std::string> replay_endpoint = {};
  std::int64_t buffer_steps = 10'000;  ///< Batches that are kept to be sent again.
  std::int64_t hwm = 100'000;          ///< Batches that wait for a slow subscriber; more are lost.
  std::string topic = {};
};

/// The endpoint of one of several publishers: as vLLM's data-parallel ranks have them, the port of
/// `tcp` so much higher, and the other kinds with "_dpN" behind; `*` is `host`.
[[nodiscard]] std::string endpoint_of(std::string_view endpoint,
                                      std::int64_t number,
                                      std::string_view host);

/// Publishes batches over ZeroMQ as vLLM's ZmqEventPublisher does: a PUB socket with messages of
/// three frames (topic, sequence number, batch), and where it is wanted a ROUTER socket that sends
/// again what a subscriber missed. libzmq is loaded when the first one opens.
class EventSocket {
 public:
  /// Fails where libzmq is not there, or an address cannot be taken. An endpoint with `*` or "::",
  /// of "ipc:" or of "inproc:" is bound, any other one connected to, as vLLM does.
  [[nodiscard]] static core::Result<std::unique_ptr<EventSocket>> open(const KvEventsConfig& config,
                                                                       std::int64_t number,
                                                                       std::string_view host);
  EventSocket(const EventSocket&) = delete;
  EventSocket& operator=(const EventSocket&) = delete;
  ~EventSocket();

  void publish(std::string batch);
  /// Answers what subscribers have asked for on the replay socket. Does not block.
  void answer_replays();
  /// "tcp://127.0.0.1:5557": with the port that was taken.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  EventSocket() = default;
  void replay(std::string_view client, std::uint64_t from);

  void* context_ = nullptr;
  void* publisher_ = nullptr;
  void* router_ = nullptr;
  std::string name_;
  std::string topic_;
  std::uint64_t next_ = 0;  ///< Sequence number.
  std::size_t kept_most_ = 0;
  std::deque<std::string> kept_ = {};  ///< The last batches; the newest has number next_ - 1.
};

}  // namespace ridgeline::serve
