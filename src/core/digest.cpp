#include "core/digest.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <xxhash.h>

#include "core/check.hpp"

namespace ridgeline::core {
namespace {

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};
using StateHandle = std::unique_ptr<XXH3_state_t, FreeState>;

StateHandle make_state() {
  StateHandle state(XXH3_createState());
  RIDGELINE_CHECK(state != nullptr, "out of memory");
  return state;
}

}  // namespace

struct Digest::State {
  StateHandle hash = make_state();
};

Digest::Digest() : state_(std::make_unique<State>()) {
  RIDGELINE_CHECK(XXH3_128bits_reset(state_->hash.get()) == XXH_OK, "xxHash refused to start");
}
Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::flush() {
  RIDGELINE_CHECK(XXH3_128bits_update(state_->hash.get(), buffer_.data(), used_) == XXH_OK,
                  "xxHash failed");
  used_ = 0;
}

void Digest::add(std::string_view text) {
  add(text.size());
  add(std::as_bytes(std::span(text)));
}

void Digest::add(std::span<const std::byte> bytes) {
  flush();
  RIDGELINE_CHECK(XXH3_128bits_update(state_->hash.get(), bytes.data(), bytes.size()) == XXH_OK,
                  "xxHash failed");
}

std::string Digest::hex() const {
  const StateHandle state = make_state();
  XXH3_copyState(state.get(), state_->hash.get());
  RIDGELINE_CHECK(XXH3_128bits_update(state.get(), buffer_.data(), used_) == XXH_OK,
                  "xxHash failed");
  const XXH128_hash_t value = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", value.high64, value.low64);
}

}  // namespace ridgeline::core
