#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/kv_events.hpp"
#include "openai/answer_text.hpp"
#include "openai/api_version.hpp"
#include "serve/event_socket.hpp"
#include "serve/msgpack.hpp"

namespace ridgeline::serve {

/// The tokens of a request, so that events can list those of its blocks.
struct TokenIds {
  std::shared_ptr<const std::vector<std::uint32_t>> prompt;
  openai::AnswerText answer;
  std::string adapter;  ///< Empty: none.
  core::LoraId lora;

  /// Id of the token at a position; behind the prompt, of the answer's.
  [[nodiscard]] std::uint64_t at(std::int64_t position) const;
};

/// The events of one instance as vLLM writes them (vllm/distributed/kv_events.py): each batch
/// [time, [event, ...], rank], each event an array that begins with its name.
class KvEventWriter final : public engine::KvEventSink {
 public:
  struct Facts {
    core::Tokens block_size;
    openai::ApiVersion version;
    std::int64_t rank = 0;
  };
  using FindTokens = std::function<const TokenIds*(core::RequestId)>;
  using UnixTime = std::function<double(core::SimTime)>;
  using Publish = std::function<void(std::string batch)>;
  /// `find` gives the tokens of a request that is inside, `unix_of` the time of day of an instant.
  KvEventWriter(const Facts& facts, FindTokens find, UnixTime unix_of, Publish publish);

  void on_stored(const engine::StoredBlocks& blocks) override;
  void on_removed(std::uint64_t hash) override;
  /// Also where the server's cache is lost: what goes of it afterwards makes no event.
  void on_cleared() override;
  void on_step_end(core::SimTime end) override;

 private:
  [[nodiscard]] bool names_medium() const { return facts_.version >= kMedium; }
  [[nodiscard]] bool names_adapter() const { return facts_.version >= kAdapterName; }

  /// Since when events name the memory that holds a block, and a block's adapter.
  static constexpr openai::ApiVersion kMedium{.minor = 11, .patch = 0};
  static constexpr openai::ApiVersion kAdapterName{.minor = 15, .patch = 0};

  Facts facts_;
  FindTokens find_;
  UnixTime unix_of_;
  Publish publish_;
  MsgpackWriter events_;  ///< Since the last step.
  std::size_t num_events_ = 0;
  std::unordered_map<std::uint64_t, std::int64_t> told_;  ///< Blocks that are there, by hash.
};

/// A publisher for each instance of a server.
class KvEvents final : public engine::KvEventSinks {
 public:
  /// Opens publishers for `instances` instances, numbered from `first` on. Fails as
  /// EventSocket::open().
  [[nodiscard]] static core::Result<std::unique_ptr<KvEvents>> open(
      const KvEventsConfig& config,
      KvEventWriter::Facts facts,
      std::int64_t first,
      std::int64_t instances,
      std::string_view host,
      const KvEventWriter::UnixTime& unix_of);

  [[nodiscard]] engine::KvEventSink& of(core::InstanceId instance) override;
  /// A request has come, and one has ended.
  void begin(core::RequestId id, TokenIds tokens) { tokens_[id.value()] = std::move(tokens); }
  void end(core::RequestId id) { tokens_.erase(id.value()); }
  /// What was cached is found no more, in any instance.
  void clear();
  void answer_replays();
  /// Where each of them publishes.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  KvEvents() = default;
  struct Publisher {
    std::unique_ptr<EventSocket> socket;
    std::unique_ptr<KvEventWriter> writer;
  };
  std::unordered_map<core::RequestId::Rep, TokenIds> tokens_;  ///< Tokens of the requests inside.
  std::vector<Publisher> publishers_;                          ///< By instance.
};

}  // namespace ridgeline::serve
