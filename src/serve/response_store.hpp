#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "openai/api_error.hpp"
#include "openai/api_version.hpp"
#include "openai/request.hpp"
#include "serve/generation.hpp"

namespace ridgeline::serve {

/// A response that is kept.
struct KeptResponse {
  std::string body;  ///< As its client gets it: JSON.
  /// The chat up to and with its answer; what a later response goes on from.
  std::vector<openai::Message> messages;
  /// What its events follow from, where it was streamed in the background.
  std::shared_ptr<const Generation> stream = {};
};

/// Responses that clients may ask for again, by their ids: vLLM's with
/// VLLM_ENABLE_RESPONSES_API_STORE. vLLM keeps all for ever; here the oldest are forgotten.
class ResponseStore {
 public:
  /// `is_enabled`: else it keeps nothing. `most_bytes`: of all texts together.
  explicit ResponseStore(bool is_enabled, std::size_t most_bytes = kMostAnswerBytes)
      : is_enabled_(is_enabled), most_bytes_(most_bytes) {}

  [[nodiscard]] bool is_enabled() const { return is_enabled_; }
  /// In the place of one that has this id.
  void keep(const std::string& id, KeptResponse response);
  /// Fails in vLLM's words where there is none, or where it is no id of a response.
  [[nodiscard]] openai::ApiResult<const KeptResponse*> find(std::string_view id,
                                                            openai::ApiVersion version) const;
  /// Checks what a response asks of the store, and puts the messages of the response that it goes
  /// on from before its own, once: a second call changes nothing. Fails in vLLM's words.
  [[nodiscard]] openai::ApiResult<void> join(openai::GenerationRequest& wanted,
                                             openai::ApiVersion version) const;
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  bool is_enabled_;
  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::string, KeptResponse> kept_;
  std::deque<std::string> order_;  ///< Ids, the oldest first.
};

}  // namespace ridgeline::serve
