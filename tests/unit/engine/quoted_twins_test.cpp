// A prompt that quotes another request's answer before that is given: both twins find every block.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/probe_run.hpp"

namespace ridgeline {
namespace {

/// Tokens that each request found, by its id.
std::vector<std::int64_t> found(std::vector<domain::Request> requests, test::Twin twin) {
  auto options = test::tiny_options("0.9");
  options.block_size = core::Tokens(1);
  options.enable_prefix_caching = true;
  // The last comes when the others have ended.
  requests.back().arrival = core::SimTime::at(core::Duration::seconds(1));
  auto run = test::run_engine(options, test::LinearModel(), {}, requests, twin);
  std::ranges::sort(run.sink.requests, {}, &domain::RequestRecord::id);
  std::vector<std::int64_t> tokens;
  for (const domain::RequestRecord& record : run.sink.requests) {
    tokens.push_back(record.cached_tokens.value());
  }
  return tokens;
}

// Request 0 states text 7 (4 tokens), the own token of request 1 and 3 tokens of its answer, which
// request 1 then computes beside it, and 4 more. Request 2 states all of that.
TEST(QuotedTwins, FindAnAnswerThatWasQuotedBeforeItWasGiven) {
  const core::RequestId quoted(1);
  const auto quoting = [&](std::uint32_t id, std::int64_t answer, std::int64_t prompt) {
    auto request = test::tiny_request(id, prompt, 30);
    request.prompt = {{7, core::Tokens(4)},
                      {domain::unique_content(quoted), core::Tokens(1)},
                      {domain::output_content(quoted), core::Tokens(answer)}};
    return request;
  };
  auto answers = test::tiny_request(1, 5, 8);
  answers.prompt = {{7, core::Tokens(4)}};
  for (const auto twin : {test::Twin::kReference, test::Twin::kStepping, test::Twin::kJumping}) {
    // The last of 5 prompt tokens is computed again; the last token of an answer never is.
    EXPECT_THAT(found({quoting(0, 3, 10), answers, quoting(2, 8, 15)}, twin),
                testing::ElementsAre(0, 4, 5 + 7));
  }
}

}  // namespace
}  // namespace ridgeline
