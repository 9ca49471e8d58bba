#pragma once

#include <compare>
#include <cstdint>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::engine {

/// An image in a prompt: its place among the tokens. Equal contents are one image.
struct Image {
  std::int64_t offset = 0;
  std::int64_t tokens = 0;
  std::uint64_t content = 0;

  friend bool operator==(const Image&, const Image&) = default;
};

/// The part of a request that an engine computes alone: the prompt (its blocks stay until another
/// engine has read them), or the answer (KV of the prompt comes from elsewhere).
struct Leg {
  /// Leading prompt tokens whose KV another engine has computed, at most all of them.
  core::Tokens remote_tokens = {};
  /// That KV takes time to arrive: the request gets its blocks, waits without a seat, and goes on
  /// once finish_load() was called. Otherwise it is there at admission.
  bool loads = false;
  /// When it finishes, its blocks stay until release_blocks().
  bool holds_blocks = false;
  /// Every step that computes some of its prompt is reported as it is formed.
  bool reports_steps = false;
  /// The request was sent before: what an earlier attempt computed may be in the prefix cache.
  bool was_sent_before = false;
  /// So many times it is not known yet whether that KV exists: the request is passed over.
  std::int64_t unanswered = 0;
  /// It is a streaming session: behind each answer it waits, with its KV, for the next input.
  bool is_session = false;

  friend bool operator==(const Leg&, const Leg&) = default;
};

/// KV that is on its way to a request: from another engine, or one of the loads that a connector
/// has numbered, from 1. Of a request that was given up and sent again, there may be several of
/// those.
struct LoadId {
  LoadId(core::RequestId of, std::uint64_t which = 0)  // NOLINT(google-explicit-constructor)
      : request(of), number(which) {}

  core::RequestId request;
  std::uint64_t number;

  friend auto operator<=>(const LoadId&, const LoadId&) = default;
};

/// A request that loads has got its blocks: from now on its KV may be written into them.
struct LoadStart {
  core::RequestId request;
  core::Blocks blocks;  ///< To read: those of the prompt that the engine's own cache does not hold.
};

/// A step computes a part of a prompt whose leg reports its steps.
struct PrefillStep {
  core::RequestId request;
  core::Tokens before;   ///< Prompt tokens computed when the step begins ...
  core::Tokens through;  ///< ... and when it has ended.
  core::SimTime start;
  core::SimTime end;
};

/// Where an engine reports loads that may start, and steps of prompts that are sent meanwhile.
class LoadSink {
 public:
  virtual ~LoadSink() = default;
  /// At the instant of the scheduling that gave the blocks.
  virtual void on_load_start(const LoadStart& load, core::SimTime at) = 0;
  /// At the instant at which the step was formed.
  virtual void on_prefill_step(const PrefillStep& step, core::SimTime at) {
    static_cast<void>(step);
    static_cast<void>(at);
  }
};

}  // namespace ridgeline::engine
