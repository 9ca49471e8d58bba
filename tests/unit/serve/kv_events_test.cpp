// KV events as bytes: MessagePack, vLLM's arrays, and no events of what was lost before.
#include "serve/kv_events.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "openai/answer_text.hpp"
#include "openai/api_version.hpp"

namespace ridgeline::serve {
namespace {

struct Told {
  explicit Told(std::string_view version) {
    tokens.prompt = std::make_shared<const std::vector<std::uint32_t>>(
        std::vector<std::uint32_t>{1, 2, 3, 128, 256, 70000});
    tokens.answer = openai::AnswerText::of_pieces({" the", " and"});
    writer = std::make_unique<KvEventWriter>(
        KvEventWriter::Facts{.block_size = core::Tokens(2),
                             .version = openai::ApiVersion::parse(version),
                             .rank = 3},
        [this](core::RequestId id) { return id == core::RequestId(7) ? &tokens : nullptr; },
        [](core::SimTime) { return 2.0; },
        [this](std::string batch) { batches.push_back(std::move(batch)); });
  }

  TokenIds tokens;
  std::vector<std::string> batches;
  std::unique_ptr<KvEventWriter> writer;
};

/// [2.0, [...], 3] with so many events.
std::string batch_of(char events, std::string_view bytes) {
  return std::string("\x93\xcb\x40\x00\x00\x00\x00\x00\x00\x00", 10) + events + std::string(bytes) +
         "\x03";
}

TEST(KvEvents, AreArraysAsTheVersionHasThem) {
  const std::vector<std::uint64_t> hashes = {0x0102030405060708, 9};
  Told old("vllm@0.10");
  old.writer->on_stored({.request = core::RequestId(7), .first = 2, .hashes = hashes, .parent = 5});
  old.writer->on_removed(9);
  old.writer->on_step_end(core::SimTime());
  ASSERT_EQ(old.batches.size(), 1U);
  const std::int64_t first = old.tokens.answer.token_id(0);
  const std::int64_t second = old.tokens.answer.token_id(1);
  ASSERT_GE(first, 256);
  ASSERT_LT(second, 65536);
  const auto id = [](std::int64_t number) {
    return std::string("\xcd") + static_cast<char>(number / 256) +
           static_cast<char>(static_cast<unsigned char>(number % 256));
  };
  const std::string stored = std::string("\x96\xab") + "BlockStored" +
                             std::string("\x92\xcf\x01\x02\x03\x04\x05\x06\x07\x08\x09", 11) +
                             "\x05" + std::string("\x94\xcd\x01\x00\xce\x00\x01\x11\x70", 9) +
                             id(first) + id(second) + "\x02\xc0";
  EXPECT_EQ(old.batches[0], batch_of('\x92', stored + "\x92\xac" + "BlockRemoved" + "\x91\x09"));

  Told fresh("vllm@0.20");
  fresh.tokens.adapter = "a";
  fresh.tokens.lora = core::LoraId(0);
  const std::vector<std::uint64_t> one = {300};
  fresh.writer->on_stored(
      {.request = core::RequestId(7), .first = 0, .hashes = one, .parent = std::nullopt});
  fresh.writer->on_step_end(core::SimTime());
  ASSERT_EQ(fresh.batches.size(), 1U);
  EXPECT_EQ(fresh.batches[0],
            batch_of('\x91',
                     std::string("\x98\xab") + "BlockStored" + "\x91\xcd\x01\x2c" + "\xc0" +
                         "\x92\x01\x02" + "\x02\x01\xa3" + "GPU" + "\xa1" + "a"));
}

TEST(KvEvents, AStepWithoutChangesTellsNothing) {
  Told told("vllm@0.15");
  told.writer->on_step_end(core::SimTime());
  EXPECT_TRUE(told.batches.empty());
}

TEST(KvEvents, WhatWasClearedDoesNotGoAgain) {
  Told told("vllm@0.15");
  const std::vector<std::uint64_t> hashes = {4, 5};
  told.writer->on_stored(
      {.request = core::RequestId(7), .first = 0, .hashes = hashes, .parent = std::nullopt});
  told.writer->on_step_end(core::SimTime());
  told.writer->on_cleared();
  told.writer->on_removed(4);
  told.writer->on_step_end(core::SimTime());
  ASSERT_EQ(told.batches.size(), 2U);
  EXPECT_EQ(told.batches[1], batch_of('\x91', std::string("\x91\xb0") + "AllBlocksCleared"));
}

}  // namespace
}  // namespace ridgeline::serve
