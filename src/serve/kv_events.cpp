#include "serve/kv_events.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "engine/kv_events.hpp"
#include "serve/event_socket.hpp"

namespace ridgeline::serve {

std::uint64_t TokenIds::at(std::int64_t position) const {
  const std::int64_t behind = position - std::ssize(*prompt);
  return behind < 0 ? (*prompt)[static_cast<std::size_t>(position)]
                    : static_cast<std::uint64_t>(answer.token_id(behind));
}

KvEventWriter::KvEventWriter(const Facts& facts, FindTokens find, UnixTime unix_of, Publish publish)
    : facts_(facts),
      find_(std::move(find)),
      unix_of_(std::move(unix_of)),
      publish_(std::move(publish)) {}

void KvEventWriter::on_stored(const engine::StoredBlocks& blocks) {
  ++num_events_;
  // A sequence of seven or so values: fields that a version does not have are left out at the end.
  constexpr std::size_t kFields = 6;
  events_.array(kFields + (names_medium() ? 1 : 0) + (names_adapter() ? 1 : 0));
  events_.text("BlockStored");
  events_.array(blocks.hashes.size());
  for (const std::uint64_t hash : blocks.hashes) {
    events_.number(hash);
    ++told_[hash];
  }
  if (blocks.parent) {
    events_.number(*blocks.parent);
  } else {
    events_.nil();
  }
  const TokenIds* const tokens = find_(blocks.request);
  const std::int64_t begin = blocks.first * facts_.block_size.value();
  const std::int64_t count = std::ssize(blocks.hashes) * facts_.block_size.value();
  events_.array(static_cast<std::size_t>(count));
  for (std::int64_t i = begin; i < begin + count; ++i) {
    events_.number(tokens == nullptr ? 0 : tokens->at(i));
  }
  events_.number(static_cast<std::uint64_t>(facts_.block_size.value()));
  const bool has_adapter = tokens != nullptr && !tokens->adapter.empty();
  if (has_adapter) {
    events_.number(std::uint64_t{tokens->lora.value()} + 1);  // vLLM counts them from 1.
  } else {
    events_.nil();
  }
  if (names_medium()) {
    events_.text("GPU");
  }
  if (names_adapter()) {
    if (has_adapter) {
      events_.text(tokens->adapter);
    } else {
      events_.nil();
    }
  }
}

void KvEventWriter::on_removed(std::uint64_t hash) {
  const auto found = told_.find(hash);
  if (found == told_.end()) {
    return;  // It was cleared before.
  }
  if (--found->second == 0) {
    told_.erase(found);
  }
  ++num_events_;
  constexpr std::size_t kFields = 2;
  events_.array(kFields + (names_medium() ? 1 : 0));
  events_.text("BlockRemoved");
  events_.array(1);
  events_.number(hash);
  if (names_medium()) {
    events_.text("GPU");
  }
}

void KvEventWriter::on_cleared() {
  told_.clear();
  ++num_events_;
  events_.array(1);
  events_.text("AllBlocksCleared");
}

void KvEventWriter::on_step_end(core::SimTime end) {
  if (num_events_ == 0) {
    return;
  }
  constexpr std::size_t kFields = 3;
  MsgpackWriter batch;
  batch.array(kFields);
  batch.real(unix_of_(end));
  batch.array(num_events_);
  batch.raw(events_.bytes());
  batch.number(static_cast<std::uint64_t>(facts_.rank));
  events_.clear();
  num_events_ = 0;
  publish_(batch.bytes());
}

core::Result<std::unique_ptr<KvEvents>> KvEvents::open(const KvEventsConfig& config,
                                                       KvEventWriter::Facts facts,
                                                       std::int64_t first,
                                                       std::int64_t instances,
                                                       std::string_view host,
                                                       const KvEventWriter::UnixTime& unix_of) {
  std::unique_ptr<KvEvents> all(new KvEvents());
  for (std::int64_t i = 0; i < instances; ++i) {
    auto socket = EventSocket::open(config, first + i, host);
    if (!socket) {
      return core::fail(socket.error());
    }
    facts.rank = first + i;
    auto writer = std::make_unique<KvEventWriter>(
        facts,
        [own = all.get()](core::RequestId id) -> const TokenIds* {
          const auto found = own->tokens_.find(id.value());
          return found == own->tokens_.end() ? nullptr : &found->second;
        },
        unix_of,
        [out = socket->get()](std::string batch) { out->publish(std::move(batch)); });
    all->publishers_.push_back({.socket = std::move(*socket), .writer = std::move(writer)});
  }
  return all;
}

engine::KvEventSink& KvEvents::of(core::InstanceId instance) {
  return *publishers_.at(instance.value()).writer;
}

void KvEvents::clear() {
  for (const Publisher& publisher : publishers_) {
    publisher.writer->on_cleared();
  }
}

void KvEvents::answer_replays() {
  for (const Publisher& publisher : publishers_) {
    publisher.socket->answer_replays();
  }
}

std::vector<std::string> KvEvents::names() const {
  std::vector<std::string> names;
  for (const Publisher& publisher : publishers_) {
    names.push_back(publisher.socket->name());
  }
  return names;
}

}  // namespace ridgeline::serve
