#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"

namespace ridgeline::workload {

/// One request as a file or a generator states it: everything that some format can say of a
/// request. What becomes of it in a run is a domain::Request (workload/replay.hpp).
///
/// Items come in groups: an item that starts a group, and those after it that wait for members of
/// the group (the turns of a session, the calls of an agent). Inside a group, items are named by
/// their place in it, from 0, and stand after those that they wait for. Groups come in the order in
/// which they start.
struct Item {
  static constexpr core::Duration kEndless = core::Duration::max();

  /// Not before this time since the start of its stage.
  core::Duration arrival = {};
  core::Tokens input_tokens;
  core::Tokens output_tokens;
  /// What the client asks for at most, where that is more; 0: output_tokens.
  core::Tokens limit_tokens = {};
  /// How long after it was sent the client cancels it.
  core::Duration patience = kEndless;

  bool starts_group = true;
  /// How long after the last of `parents` has its answer the request is sent.
  core::Duration delay = {};
  /// Places in the group of those whose answers it waits for.
  std::vector<std::uint32_t> parents;

  /// What the prompt holds, as domain::Request::prompt. A content is below 2^62, or output_of().
  domain::Prompt prompt;

  core::Tokens reasoning_tokens;  ///< Part of output_tokens.
  std::int32_t session = -1;      ///< Numbered from 0 in the stream; -1: none.
  std::int32_t turn = 0;          ///< In the session, from 0.
  std::int32_t priority = 0;      ///< Lower is better (vLLM).
  std::int32_t slo_class = -1;    ///< In the stream's labels, like the next three; -1: none.
  std::int32_t tenant = -1;
  std::int32_t model = -1;
  std::int32_t adapter = -1;
  std::int32_t images = 0;
  std::int32_t audios = 0;
  std::int32_t videos = 0;
  core::Tokens image_tokens;  ///< Part of input_tokens, like the next two.
  core::Tokens audio_tokens;
  core::Tokens video_tokens;
  std::int32_t rank = -1;  ///< As domain::Request::rank.
  std::int32_t stage = 0;  ///< In the stream's stages.

  friend bool operator==(const Item&, const Item&) = default;
};

/// Makes an item as new, but for the room that its lists have.
inline void make_new(Item& item) {
  item.arrival = {};
  item.input_tokens = {};
  item.output_tokens = {};
  item.limit_tokens = {};
  item.patience = Item::kEndless;
  item.starts_group = true;
  item.delay = {};
  item.parents.clear();
  item.prompt.clear();
  item.reasoning_tokens = {};
  item.session = -1;
  item.turn = 0;
  item.priority = 0;
  item.rank = -1;
  item.slo_class = -1;
  item.tenant = -1;
  item.model = -1;
  item.adapter = -1;
  item.images = 0;
  item.audios = 0;
  item.videos = 0;
  item.image_tokens = {};
  item.audio_tokens = {};
  item.video_tokens = {};
  item.stage = 0;
}

/// The content of what the item at `place` in the same group generates.
[[nodiscard]] constexpr std::uint64_t output_of(std::uint32_t place) {
  return (std::uint64_t{1} << 63) | place;
}
[[nodiscard]] constexpr bool is_output(std::uint64_t content) {
  return (content >> 63) != 0;
}

/// Contents that a file or a generator may hand out lie below this.
inline constexpr std::uint64_t kContentLimit = std::uint64_t{1} << 62;

/// A content made from a name and a number, spread over the range of contents.
[[nodiscard]] std::uint64_t content_of(std::uint64_t space, std::uint64_t number);

/// Texts by number: SLO classes, tenants, models, adapters.
class Labels {
 public:
  /// The number of a text, a new one if need be; -1 for the empty text.
  std::int32_t intern(std::string_view text);
  [[nodiscard]] const std::string& name(std::int32_t number) const;
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  std::map<std::string, std::int32_t, std::less<>> numbers_;
  std::vector<std::string> names_;
  std::int32_t last_ = -1;  ///< Rows in a row tend to say the same.
};

/// A part of a stream with a rule for when its groups may start. Stages follow each other in the
/// stream.
struct Stage {
  /// Groups in flight at once; the others wait. 0: no limit.
  std::int64_t max_concurrency = 0;
  /// How long the place of a group stays empty after it has ended.
  core::Duration think = {};
  /// The stage starts when every group before it has ended, and `pause` later; else at time zero.
  bool after_previous = false;
  core::Duration pause = {};
  /// With max_concurrency: no group is sent at or after it.
  std::optional<core::Duration> end = {};

  friend bool operator==(const Stage&, const Stage&) = default;
};

}  // namespace ridgeline::workload
