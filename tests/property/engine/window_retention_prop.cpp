// Which prefixes networks of windows and full attention find, against a model that knows no blocks
// but what they hold: requests one after the other, and room for all of them.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "engine/vllm/plain/content.hpp"
#include "random_scenario.hpp"
#include "support/probe_run.hpp"

namespace ridgeline {
namespace {

using Interval = std::optional<core::Tokens>;
using Prefixes = std::map<std::int64_t, std::uint64_t>;  ///< A request's, by their last block.

/// The rule of prefix_cache_retention_interval, word by word.
class Model {
 public:
  explicit Model(const engine::EngineOptions& options)
      : size_(options.block_size.value()),
        interval_(options.prefix_cache_retention_interval),
        needed_(core::ceil_div(options.cache_groups.back().sliding_window - core::Tokens(1),
                               options.block_size)) {}

  /// Tokens that the request finds; all of it is then computed.
  std::int64_t run(const domain::Request& request) {
    const std::int64_t prompt = request.prompt_tokens.value();
    const std::int64_t computed = prompt + request.output_tokens.value() - 1;
    const Prefixes prefixes = prefixes_of(request, computed / size_);
    const std::int64_t aligned = (prompt - 1) / size_;
    std::int64_t junction = 0;
    while (junction < aligned && full_.contains(prefixes.at(junction))) {
      ++junction;
    }
    std::int64_t hit = junction;
    while (!is_hit(prefixes, hit)) {
      --hit;
    }
    std::set<std::int64_t> ends = {aligned, junction};
    // The last multiple counts that is not reached.
    const std::int64_t step = interval_.value_or(core::Tokens(0)).value();
    for (std::int64_t end = 0; step > 0 && end < computed + step; end += step) {
      ends.insert(end / size_);
    }
    for (std::int64_t block = hit; block < std::ssize(prefixes); ++block) {
      full_.insert(prefixes.at(block));
      if (!interval_ || std::ranges::any_of(ends, [&](std::int64_t end) {
            return block < end && block >= end - needed_;
          })) {
        window_.insert(prefixes.at(block));
      }
    }
    return hit * size_;
  }

 private:
  [[nodiscard]] Prefixes prefixes_of(const domain::Request& request, std::int64_t blocks) const {
    const engine::vllm::plain::TokenSequence tokens(request);
    Prefixes prefixes;
    std::uint64_t hash = 0;
    for (std::int64_t i = 0; i < blocks * size_; ++i) {
      hash = engine::vllm::plain::chain(hash, tokens[i]);
      if ((i + 1) % size_ == 0) {
        prefixes[i / size_] = hash;
      }
    }
    return prefixes;
  }
  [[nodiscard]] bool is_hit(const Prefixes& prefixes, std::int64_t end) const {
    for (std::int64_t block = std::max<std::int64_t>(end - needed_, 0); block < end; ++block) {
      if (!window_.contains(prefixes.at(block))) {
        return false;
      }
    }
    return true;
  }

  std::int64_t size_;
  Interval interval_;
  std::int64_t needed_;
  std::set<std::uint64_t> full_;
  std::set<std::uint64_t> window_;
};

std::vector<std::int64_t> hits(const engine::EngineOptions& options,
                               const std::vector<domain::Request>& requests) {
  test::ProbeRun run(engine::make_fast_probe(options));
  std::vector<std::int64_t> found = run.hits(requests);
  RC_ASSERT(run->num_free_blocks() == options.num_gpu_blocks.value() - 1);
  return found;
}

RC_GTEST_PROP(WindowRetention, FindsWhatTheRuleKeeps, ()) {
  using rc::gen::element;
  using rc::gen::inRange;
  auto options = test::tiny_options("0.29");
  options.enable_prefix_caching = true;
  options.block_size = core::Tokens(*element<std::int64_t>(1, 4, 16));
  options.max_num_batched_tokens = core::Tokens(*inRange<std::int64_t>(1, 80));
  options.max_model_len = core::Tokens(2000);
  options.num_gpu_blocks = core::Blocks(100'000);
  options.cache_groups = {{}, {.sliding_window = core::Tokens(*inRange<std::int64_t>(2, 40))}};
  auto requests = test::random_requests({});
  for (domain::Request& request : requests) {
    request.lora = {};
    request.max_tokens = request.output_tokens;
  }
  const auto dense = hits(options, requests);
  const auto check = [&](Interval interval) {
    options.prefix_cache_retention_interval = interval;
    const auto found = hits(options, requests);
    Model model(options);
    bool differs = false;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      RC_ASSERT(found[i] == model.run(requests[i]));
      RC_ASSERT(found[i] <= dense[i]);
      differs = differs || found[i] < dense[i];
    }
    return differs;
  };
  RC_ASSERT(!check(std::nullopt));
  RC_CLASSIFY(check(core::Tokens(0)), "finds less");
  RC_CLASSIFY(check(core::Tokens(*inRange<std::int64_t>(1, 60))), "finds less with an interval");
}

}  // namespace
}  // namespace ridgeline
