#include "cluster/sent_contents.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"

namespace ridgeline::cluster {
namespace {

domain::Request beginning_with(std::uint64_t content) {
  domain::Request request;
  request.prompt_tokens = core::Tokens(100);
  request.prompt = {{.content = content, .length = core::Tokens(60)},
                    {.content = 9, .length = core::Tokens(40)}};
  return request;
}

TEST(SentContents, AnInstanceMayHoldWhatItWasSent) {
  SentContents sent(100);
  EXPECT_FALSE(sent.may_hold(beginning_with(7), core::InstanceId(70)));
  sent.note(beginning_with(7), core::InstanceId(70));
  EXPECT_TRUE(sent.may_hold(beginning_with(7), core::InstanceId(70)));
  EXPECT_FALSE(sent.may_hold(beginning_with(7), core::InstanceId(6)));
  EXPECT_FALSE(sent.may_hold(beginning_with(8), core::InstanceId(70)));
}

TEST(SentContents, WhatIsARequestsOwnMayBeAnywhere) {
  SentContents sent(2);
  const core::RequestId other(3);
  EXPECT_TRUE(sent.may_hold(domain::Request(), core::InstanceId(1)));
  EXPECT_TRUE(sent.may_hold(beginning_with(domain::unique_content(other)), core::InstanceId(1)));
  EXPECT_TRUE(sent.may_hold(beginning_with(domain::output_content(other)), core::InstanceId(1)));
}

}  // namespace
}  // namespace ridgeline::cluster
