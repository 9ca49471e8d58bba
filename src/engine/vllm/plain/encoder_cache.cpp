#include "engine/vllm/plain/encoder_cache.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "engine/leg.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

std::int64_t tokens_read_ahead(const EngineOptions& options) {
  if (options.num_speculative_tokens == 0 || options.draft_method != DraftMethod::kEagle) {
    return 0;
  }
  return options.drafts_read_ahead ? options.num_speculative_tokens : 1;
}

}  // namespace

EncoderCache::EncoderCache(const EngineOptions& options)
    : profile_(options.profile),
      keeps_whole_(options.disable_chunked_mm_input),
      read_ahead_(tokens_read_ahead(options)),
      most_(options.encoder_budget),
      free_(options.encoder_cache),
      reclaimable_(options.encoder_cache) {}

void EncoderCache::begin_step() {
  budget_ = most_;
  encoded_.clear();
}

/// Whether a chunk up to `end` may not have a part of the image, and has.
bool EncoderCache::is_split(const Image& image, std::int64_t computed, std::int64_t end) const {
  const bool begins_before =
      computed < image.offset || (profile_.keeps_first_images_whole && computed == image.offset);
  return keeps_whole_ && begins_before && end < image.offset + image.tokens;
}

/// Tokens of a chunk that ends before an image which has no room.
std::int64_t EncoderCache::tokens_before(const Image& image,
                                         std::int64_t computed,
                                         std::int64_t tokens) const {
  const std::int64_t ahead = profile_.ignores_read_ahead_of_images ? 0 : read_ahead_;
  return std::min(tokens, std::max<std::int64_t>(image.offset - computed - ahead, 0));
}

ImagePlan EncoderCache::plan(PromptImages& images, std::int64_t computed, std::int64_t tokens) {
  ImagePlan plan{.tokens = tokens};
  const std::int64_t read = computed + tokens + read_ahead_;
  std::int64_t budget = budget_;
  std::int64_t planned = 0;
  std::set<std::uint64_t> contents;
  for (std::size_t i = 0; i < images.list.size(); ++i) {
    const Image& image = images.list[i];
    if (image.offset + image.tokens <= computed || image.offset >= read) {
      continue;
    }
    const bool splits = is_split(image, computed, computed + plan.tokens);
    if (!(splits && profile_.keeps_cached_images_whole)) {
      if (contents.contains(image.content)) {
        plan.repeated.push_back(i);
        continue;
      }
      if (hold(images, i)) {
        continue;
      }
    }
    if (splits) {
      plan.tokens = std::max<std::int64_t>(image.offset - computed - read_ahead_, 0);
      break;
    }
    if (!make_room(image.tokens, budget, planned)) {
      plan.tokens = tokens_before(image, computed, plan.tokens);
      break;
    }
    if (image.offset >= (profile_.encodes_read_ahead ? read : computed + plan.tokens)) {
      continue;
    }
    planned += image.tokens;
    budget -= image.tokens;
    contents.insert(image.content);
    plan.encoded.push_back(i);
  }
  return plan;
}

void EncoderCache::take(PromptImages& images, const ImagePlan& plan) {
  for (const std::size_t place : plan.encoded) {
    const Image& image = images.list[place];
    entries_[image.content].size = image.tokens;
    entries_[image.content].users.insert(images.owner);
    images.held.insert(place);
    free_ -= image.tokens;
    reclaimable_ -= image.tokens;
    budget_ -= image.tokens;
    RIDGELINE_CHECK(free_ >= 0 && reclaimable_ >= 0, "an image was planned without room");
  }
  if (profile_.holds_images_at_once) {
    for (const std::size_t place : plan.repeated) {
      hold(images, place);
    }
  }
  if (!plan.encoded.empty()) {
    encoded_.emplace_back(images.owner, plan.encoded);
  }
}

void EncoderCache::withdraw(PromptImages& images) {
  const auto place = std::ranges::find(
      encoded_, images.owner, &std::pair<core::RequestId, std::vector<std::size_t>>::first);
  if (place != encoded_.end()) {
    for (const std::size_t i : place->second) {
      budget_ += images.list[i].tokens;
    }
    encoded_.erase(place);
  }
  release(images);
}

/// Whether the image is there; the request holds it from now on.
bool EncoderCache::hold(PromptImages& images, std::size_t place) {
  const auto entry = entries_.find(images.list[place].content);
  if (entry == entries_.end()) {
    return false;
  }
  if (entry->second.users.empty()) {
    std::erase(idle_, entry->first);
    reclaimable_ -= entry->second.size;
  }
  entry->second.users.insert(images.owner);
  images.held.insert(place);
  return true;
}

/// Whether there is room for an image beside those planned; idle ones give way.
bool EncoderCache::make_room(std::int64_t size, std::int64_t budget, std::int64_t planned) {
  if (size > budget || size + planned > reclaimable_) {
    return false;
  }
  while (size + planned > free_) {
    const auto oldest = entries_.find(idle_.front());
    free_ += oldest->second.size;
    entries_.erase(oldest);
    idle_.pop_front();
  }
  return true;
}

void EncoderCache::release_read(PromptImages& images, std::int64_t read) {
  const std::int64_t ahead = profile_.ignores_read_ahead_of_images ? 0 : read_ahead_;
  const std::vector<std::size_t> held(images.held.begin(), images.held.end());
  for (const std::size_t place : held) {
    if (images.list[place].offset + images.list[place].tokens + ahead <= read) {
      release(images, place);
    }
  }
}

void EncoderCache::release(PromptImages& images) {
  const std::vector<std::size_t> held(images.held.begin(), images.held.end());
  for (const std::size_t place : held) {
    release(images, place);
  }
}

void EncoderCache::release(PromptImages& images, std::size_t place) {
  images.held.erase(place);
  const std::uint64_t content = images.list[place].content;
  const auto entry = entries_.find(content);
  const bool is_held_elsewhere =
      profile_.keeps_repeated_images && std::ranges::any_of(images.held, [&](std::size_t other) {
        return images.list[other].content == content;
      });
  if (entry == entries_.end() || is_held_elsewhere ||
      entry->second.users.erase(images.owner) == 0) {
    return;
  }
  if (entry->second.users.empty()) {
    idle_.push_back(content);
    reclaimable_ += entry->second.size;
  }
}

}  // namespace ridgeline::engine::vllm::plain
