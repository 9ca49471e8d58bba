#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "engine/leg.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine::vllm::plain {

/// The images of one request, and which of its places hold their image in the cache.
struct PromptImages {
  core::RequestId owner;
  std::vector<Image> list;
  std::set<std::size_t> held = {};
};

/// What a chunk has of images: which are encoded in its step, as far as there is room for them.
struct ImagePlan {
  std::int64_t tokens = 0;  ///< The chunk, which ends before an image that has no room.
  std::vector<std::size_t> encoded = {};
  std::vector<std::size_t> repeated = {};  ///< Other places of those images.
};

/// vLLM's encoder cache: embeddings of images, shared by content, until all requests that read them
/// have done so; then the oldest give way first. A step encodes so many embeddings at most.
/// Source: v1/core/encoder_cache_manager.py and Scheduler._try_schedule_encoder_inputs.
class EncoderCache {
 public:
  explicit EncoderCache(const EngineOptions& options);

  void begin_step();
  /// What a chunk of so many tokens behind those computed may have. Images that are there are held
  /// for the request, and others give way, whether or not the plan is carried out.
  [[nodiscard]] ImagePlan plan(PromptImages& images, std::int64_t computed, std::int64_t tokens);
  void take(PromptImages& images, const ImagePlan& plan);
  /// A request leaves the step that is being formed, and holds no image any more.
  void withdraw(PromptImages& images);
  /// Gives up the images that end within the first `read` tokens.
  void release_read(PromptImages& images, std::int64_t read);
  void release(PromptImages& images);
  /// What the step being formed encodes, by request.
  using Encoded = std::vector<std::pair<core::RequestId, std::vector<std::size_t>>>;
  [[nodiscard]] const Encoded& encoded() const { return encoded_; }

 private:
  struct Entry {
    std::int64_t size = 0;
    std::set<core::RequestId> users = {};
  };
  [[nodiscard]] bool is_split(const Image& image, std::int64_t computed, std::int64_t end) const;
  [[nodiscard]] std::int64_t tokens_before(const Image& image,
                                           std::int64_t computed,
                                           std::int64_t tokens) const;
  bool hold(PromptImages& images, std::size_t place);
  [[nodiscard]] bool make_room(std::int64_t size, std::int64_t budget, std::int64_t planned);
  void release(PromptImages& images, std::size_t place);

  Profile profile_;
  bool keeps_whole_;         ///< disable_chunked_mm_input.
  std::int64_t read_ahead_;  ///< Tokens behind a chunk that drafting reads.
  std::int64_t most_;        ///< Embeddings encoded in a step.
  std::int64_t budget_ = 0;  ///< Left of them.
  std::int64_t free_;
  std::int64_t reclaimable_;  ///< Free, or of images that no request holds.
  std::map<std::uint64_t, Entry> entries_;
  std::deque<std::uint64_t> idle_;  ///< Images that no request holds, the oldest first.
  Encoded encoded_;
};

}  // namespace ridgeline::engine::vllm::plain
