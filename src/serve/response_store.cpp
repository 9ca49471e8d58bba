#include "serve/response_store.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "openai/api_error.hpp"
#include "openai/api_version.hpp"
#include "openai/request.hpp"
#include "serve/generation.hpp"

namespace ridgeline::serve {
namespace {

using openai::ApiResult;
using openai::ApiVersion;

std::size_t size_of(const KeptResponse& response) {
  std::size_t bytes = sizeof(KeptResponse) + response.body.size();
  bytes += response.stream == nullptr ? 0 : sizeof(Generation);
  for (const openai::Message& message : response.messages) {
    bytes += sizeof(openai::Message) + message.role.size() + message.text.size();
  }
  return bytes;
}

}  // namespace

void ResponseStore::keep(const std::string& id, KeptResponse response) {
  if (!is_enabled_) {
    return;
  }
  const auto [found, is_new] = kept_.try_emplace(id);
  if (is_new) {
    order_.push_back(id);
  } else {
    bytes_ -= size_of(found->second);
  }
  found->second = std::move(response);
  bytes_ += size_of(found->second);
  while (bytes_ > most_bytes_) {
    const auto oldest = kept_.find(order_.front());
    bytes_ -= size_of(oldest->second);
    kept_.erase(oldest);
    order_.pop_front();
  }
}

ApiResult<const KeptResponse*> ResponseStore::find(std::string_view id, ApiVersion version) const {
  if (!id.starts_with("resp_")) {
    return tl::unexpected(openai::invalid_response_request(
        fmt::format("Invalid 'response_id': '{}'. Expected an ID that begins with 'resp'.", id),
        "response_id",
        version));
  }
  const auto found = kept_.find(std::string(id));
  if (found == kept_.end()) {
    auto error = openai::invalid_response_request(
        fmt::format("Response with id '{}' not found.", id), "response_id", version);
    error.status = 404;
    return tl::unexpected(std::move(error));
  }
  return &found->second;
}

ApiResult<void> ResponseStore::join(openai::GenerationRequest& wanted, ApiVersion version) const {
  if (wanted.response.is_background && !is_enabled_) {
    return tl::unexpected(openai::invalid_response_request(
        "This vLLM engine does not support `store=True` and therefore does not support the "
        "background mode. To enable these features, set the environment variable "
        "`VLLM_ENABLE_RESPONSES_API_STORE=1` when launching the vLLM server.",
        "background",
        version));
  }
  const auto id = std::exchange(wanted.response.previous, std::nullopt);
  if (!id) {
    return {};
  }
  const auto earlier = find(*id, version);
  if (!earlier) {
    return tl::unexpected(earlier.error());
  }
  // New instructions stand before all that was said, the new input behind it.
  const auto place = wanted.messages.begin() + (wanted.response.has_instructions ? 1 : 0);
  wanted.messages.insert(place, (*earlier)->messages.begin(), (*earlier)->messages.end());
  return {};
}

}  // namespace ridgeline::serve
