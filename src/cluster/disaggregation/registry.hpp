#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cluster/disaggregation/decider.hpp"
#include "cluster/disaggregation/deciders/deciders.hpp"
#include "core/result.hpp"

namespace ridgeline::disaggregation {

/// One rule that says which prompts are computed apart, by name.
struct DeciderEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view source;  ///< The system and version that it is taken from.
  std::unique_ptr<Decider> (*make)(const DeciderParameters&);
  /// Its values where none are given, and which of them it reads.
  DeciderParameters defaults = {};
  bool reads_non_cached_tokens = false;
  bool reads_min_prompt_tokens = false;
  bool reads_uncached_share = false;
};

/// When a request's two legs are sent.
enum class LegOrder : std::uint8_t {
  kDecodeFirst,   ///< The decode instance is chosen first; it gets its leg after the prefill.
  kPrefillFirst,  ///< The decode instance is chosen when the prefill has ended.
};

/// Which leg's first token the client sees first: kTransfer: the prefill's, once the KV has moved.
enum class FirstToken : std::uint8_t { kPrefill, kDecode, kTransfer };

/// When KV is sent, and by which side.
enum class TransferMode : std::uint8_t {
  kAfterPrefill,  ///< The decode instance reads it once the prompt is computed and it has blocks.
  /// Both legs are sent at once. The prompt is computed once the decode instance has blocks for it,
  /// and the prefill instance writes the KV there when it is done.
  kPush,
  kLayerWise,  ///< As kPush, but each layer of a step is sent as soon as the step has passed it.
};

/// How one system serves a request on two instances.
struct SystemEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  LegOrder order = LegOrder::kDecodeFirst;
  FirstToken first_token = FirstToken::kDecode;
  std::string_view decider;  ///< Where none is named.
  TransferMode mode = TransferMode::kAfterPrefill;
};

[[nodiscard]] std::span<const DeciderEntry> deciders();
[[nodiscard]] std::span<const SystemEntry> systems();  ///< The first is the default.
/// The entry of that name, else an error that names the nearest. The error has no field.
[[nodiscard]] core::Result<const DeciderEntry*> find_decider(const std::string& name);
[[nodiscard]] core::Result<const SystemEntry*> find_system(const std::string& name);

}  // namespace ridgeline::disaggregation
