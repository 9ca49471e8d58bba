#pragma once

#include <span>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::domain {

/// What a step gave one request: its token, and the drafts before it that were accepted.
struct TokenEvent {
  core::RequestId request;
  core::Tokens tokens;  ///< At least one.

  friend bool operator==(const TokenEvent&, const TokenEvent&) = default;
};

/// Where an engine reports tokens as they come out, for servers and dashboards. An engine with such
/// a sink takes every step by itself; its records are the same with and without.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  /// A step ended at `end` and gave these requests tokens, in ascending order of their ids. Called
  /// once for every step that gives tokens, in the order of steps, and before the records of the
  /// requests that end with it. The tokens of a request sum to its record's output_tokens.
  virtual void on_tokens(core::SimTime end, std::span<const TokenEvent> events) = 0;
};

/// Where an engine reports first tokens, for a gateway that counts prompts. Costs a run no jumps.
class FirstTokenSink {
 public:
  virtual ~FirstTokenSink() = default;
  /// The step that ended at `at` gave this request its first token. Before the record of the
  /// request.
  virtual void on_first_token(core::RequestId id, core::SimTime at) = 0;
};

}  // namespace ridgeline::domain
