#include "engine/acceptance.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine {
namespace {

double acceptance_of(const EngineOptions& options, std::int64_t draft) {
  const auto& curve = options.draft_acceptance;
  return curve.empty() ? 0.0 : curve[std::min(static_cast<std::size_t>(draft), curve.size() - 1)];
}

}  // namespace

std::int64_t accepted_drafts(const EngineOptions& options,
                             core::RequestId request,
                             std::int64_t draw,
                             std::int64_t drafts) {
  constexpr int kIdBits = 32;
  core::RngStream stream(
      options.acceptance_seed,
      0,
      "draft acceptance",
      (std::uint64_t{request.value()} << kIdBits) | static_cast<std::uint32_t>(draw));
  for (std::int64_t draft = 0; draft < drafts; ++draft) {
    if (stream.uniform() >= acceptance_of(options, draft)) {
      return draft;
    }
  }
  return drafts;
}

double expected_tokens(const EngineOptions& options, std::int64_t drafts) {
  double expected = 1.0;
  double all_before = 1.0;
  for (std::int64_t draft = 0; draft < drafts; ++draft) {
    all_before *= acceptance_of(options, draft);
    expected += all_before;
  }
  return expected;
}

}  // namespace ridgeline::engine
