// The always-on checks of the fast engine, each made to fail on purpose by a caller that breaks its
// precondition. The handler of faults throws, as a host process would install it.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/fault.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/engine.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "engine/vllm/fast/block_ids.hpp"
#include "engine/vllm/fast/block_size.hpp"
#include "engine/vllm/fast/decode_set.hpp"
#include "engine/vllm/fast/fast_engine.hpp"
#include "engine/vllm/fast/finish_ring.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"
#include "support/linear_model.hpp"
#include "support/probe_run.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::engine::vllm::fast {
namespace {

class FailedChecks : public testing::Test, protected PrefixCache::Keyed {
 protected:
  FailedChecks() : before_(core::set_fault_handler(throw_fault)) {}
  ~FailedChecks() override { core::set_fault_handler(before_); }

  static void throw_fault(const core::Fault& fault) {
    throw std::logic_error(std::string(fault.text));
  }

  /// The text of the fault that an action ends with; empty where it ends without one.
  template <class Action>
  static std::string fault_of(const Action& action) {
    try {
      action();
    } catch (const std::logic_error& fault) {
      return fault.what();
    }
    return "";
  }

 private:
  [[nodiscard]] std::int64_t keyed_blocks(PrefixCache::Owner /*owner*/) const override { return 0; }

  core::FaultHandler before_;
};

TEST_F(FailedChecks, FinishRing) {
  FinishRing ring;
  ring.add(0, 5);
  ring.remove(0);
  EXPECT_THAT(fault_of([&] { ring.remove(0); }),
              testing::HasSubstr("a request is not in its batch's list"));
  ring.advance(100'000);
  EXPECT_THAT(fault_of([&] { ring.add(1, 99'999 - 4096); }),
              testing::HasSubstr("a request ends in a past batch"));
  EXPECT_THAT(fault_of([&] { ring.advance(5); }), testing::HasSubstr("batch numbers ascend"));
  EXPECT_THAT(fault_of([&] { static_cast<void>(ring.next_end(5)); }),
              testing::HasSubstr("from a batch within the ring"));
}

TEST_F(FailedChecks, DecodeSet) {
  DecodeSet decodes(core::Tokens(16));
  decodes.add(7);
  EXPECT_THAT(fault_of([&] { decodes.remove(8); }),
              testing::HasSubstr("a decode leaves with a base it did not have"));
}

TEST_F(FailedChecks, BlockSize) {
  EXPECT_THAT(fault_of([] { static_cast<void>(BlockSize(core::Tokens(0))); }),
              testing::HasSubstr("a KV block holds at least one token"));
}

TEST_F(FailedChecks, BlockIds) {
  BlockIds ids(2, 0);
  EXPECT_THAT(fault_of([&] { ids.take_first(1); }),
              testing::HasSubstr("a row of the free list has an id for each block"));
  EXPECT_THAT(fault_of([&] { ids.take_last(0); }),
              testing::HasSubstr("an extent has an id for each block"));
  EXPECT_THAT(fault_of([&] { ids.give(0, 1); }), testing::HasSubstr("gets blocks just taken"));
  ids.take_first(0);
  ids.give(0, 1);
  EXPECT_THAT(fault_of([&] { ids.put_back(0, 0, 2, false, false); }),
              testing::HasSubstr("a request gives back blocks it has"));
  EXPECT_THAT(fault_of([&] { ids.take_back(0, 0, 2); }),
              testing::HasSubstr("a request takes back what it left"));
}

TEST_F(FailedChecks, PrefixCache) {
  PrefixCache cache({.num_gpu_blocks = core::Blocks(5), .block_size = core::Tokens(4)}, *this);
  EXPECT_THAT(fault_of([&] { cache.allocate(5); }), testing::HasSubstr("blocks taken are free"));
  EXPECT_THAT(fault_of([&] { cache.give(0, 1); }), testing::HasSubstr("block ids are kept"));
  EXPECT_THAT(fault_of([&] { static_cast<void>(cache.chain(0)); }),
              testing::HasSubstr("a chain that was taken"));
  EXPECT_THAT(fault_of([&] { static_cast<void>(cache.owner_of(0)); }),
              testing::HasSubstr("an extent that grows has an owner"));
  const PrefixCache::ChainIndex chain = cache.take_chain();
  cache.drop_chain(chain);
  EXPECT_THAT(fault_of([&] { cache.drop_chain(chain); }), testing::HasSubstr("prefix cache: "));
  PrefixCache::Table table;
  PrefixCache::begin_own_table(table);
  cache.allocate(2);
  EXPECT_THAT(fault_of([&] { cache.release_own(table, 0, 2, 3, {}, false); }),
              testing::HasSubstr("only blocks held have keys"));
  EXPECT_THAT(fault_of([&] { cache.release_own(table, 0, 3, 0, {}, false); }),
              testing::HasSubstr("free blocks are within the pool"));
  EXPECT_THAT(fault_of([&] {
                PrefixCache({.num_gpu_blocks = core::Blocks(0), .block_size = core::Tokens(4)},
                            *this);
              }),
              testing::HasSubstr("the pool has its null block"));
}

TEST_F(FailedChecks, FastProbe) {
  test::ProbeRun run(make_fast_probe(test::tiny_options("0.11")));
  EXPECT_THAT(fault_of([&] { static_cast<void>(run->update({})); }),
              testing::HasSubstr("a batch ends that is in flight"));
  EXPECT_THAT(fault_of([&] { run->add(test::tiny_request(0, 8, 1), core::Tokens(4)); }),
              testing::HasSubstr("KV from elsewhere without kv_transfer"));
}

/// A step-time model whose steps end before they begin.
test::LinearModel backwards() {
  return test::LinearModel({.step = core::Duration::microseconds(-1000), .affine = false});
}

TEST_F(FailedChecks, FastEngine) {
  const EngineOptions options = test::tiny_options("0.11");
  const HostTime host;
  const auto engine_of = [&](const test::LinearModel& model, test::RecordingSink& sink) {
    return make_engine({.options = options, .model = model, .host = host, .sink = sink}, true);
  };
  const core::SimTime first = core::SimTime::at(core::Duration::microseconds(500));
  const test::LinearModel model;
  test::RecordingSink sink;
  const auto engine = engine_of(model, sink);
  engine->submit(test::tiny_request(0, 8, 4), first);
  EXPECT_THAT(fault_of([&] { engine->submit(test::tiny_request(1, 8, 4), core::SimTime()); }),
              testing::HasSubstr("request submitted in the past"));
  EXPECT_THAT(
      fault_of([&] { engine->submit(test::tiny_request(1, 8, 4), core::SimTime::never()); }),
      testing::HasSubstr("request submitted after the horizon"));
  EXPECT_THAT(fault_of([&] { engine->abort(core::RequestId(0), core::SimTime()); }),
              testing::HasSubstr("request aborted in the past"));
  EXPECT_THAT(fault_of([&] { static_cast<void>(engine->state(core::SimTime::never())); }),
              testing::HasSubstr("state asked for an instant not reached"));
  const test::LinearModel wrong = backwards();
  const auto broken = engine_of(wrong, sink);
  broken->submit(test::tiny_request(0, 8, 4), first);
  EXPECT_THAT(fault_of([&] { broken->advance(core::SimTime::never(), false, 100); }),
              testing::HasSubstr("a step takes no negative time"));
}

}  // namespace
}  // namespace ridgeline::engine::vllm::fast
