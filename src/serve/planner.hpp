#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.hpp"
#include "openai/api_error.hpp"
#include "openai/prompt_builder.hpp"
#include "openai/request.hpp"
#include "serve/generation.hpp"
#include "serve/generations.hpp"
#include "serve/settings.hpp"

namespace ridgeline::serve {

/// What a plan depends on besides the request.
struct PlanFacts {
  std::int64_t max_model_len = 0;
  std::int64_t vocabulary = 0;  ///< Tokens of the network's.
  core::Tokens block_size;
  std::int64_t first_id = 0;  ///< Id of the engine's next request.
  double unix_seconds = 0.0;
  std::string request_id;    ///< X-Request-Id, or empty.
  std::uint64_t random = 0;  ///< For an id where the client gives none.
  std::string adapter;       ///< That the model's name means, or empty.
  /// Prompts share blocks with those of the same number alone: it counts how often the cache was
  /// lost. The log of arrivals holds what follows from it, so that a replay loses it too.
  std::uint64_t cache_epoch = 0;
};

/// A request for a generation made into what is asked of the engine, and what its client gets.
struct Plan {
  Generation generation;
  std::vector<EngineRequest> requests;
  bool is_estimate = false;  ///< Some prompt was not counted exactly.
};

/// Fails with vLLM's answers: too long, tools without a parser, a schema that is not emulated.
[[nodiscard]] openai::ApiResult<Plan> make_plan(const openai::GenerationRequest& wanted,
                                                const Settings& settings,
                                                const PlanFacts& facts,
                                                const openai::FindAnswer& find_answer);

/// How many tokens an answer gets, within what its client asked for: the settings' distribution,
/// drawn from (seed, number of the request).
[[nodiscard]] std::int64_t drawn_length(const Settings& settings,
                                        std::uint64_t request,
                                        std::int64_t limit,
                                        bool is_limit_stated);

}  // namespace ridgeline::serve
