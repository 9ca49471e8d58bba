// vLLM's offloading connector, step by step.
#include "lab/conform/offload.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "engine/probe_extras.hpp"
#include "engine/profiles.hpp"
#include "lab/conform/recording.hpp"
#include "support/probe_run.hpp"

namespace ridgeline::conform {
namespace {

using core::RequestId;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Offload, AStoredPromptIsLoadedAndWaitedFor) {
  const engine::Profile profile = *engine::find_profile("0.33");
  Recording recording;
  recording.offload = Recording::Offload{.chunks = 8, .load_steps = 2};
  recording.options = test::tiny_options("0.33");
  recording.options.enable_prefix_caching = true;
  recording.options.kv_transfer = recording.options.kv_connector = true;
  for (std::uint32_t id = 0; id < 2; ++id) {
    recording.entries.push_back(
        {.name = std::to_string(id), .request = test::tiny_request(id, 9, 1, 7)});
  }
  const auto probe = engine::make_reference_probe(recording.options);
  auto& extras = dynamic_cast<engine::ProbeExtras&>(*probe);
  Offload offload(recording, profile);
  extras.connect(offload);

  const auto step = [&] {
    const auto formed = probe->schedule();
    return std::pair(formed, offload.note_step(formed, *probe, extras));
  };
  probe->add(recording.entries[0].request, {});
  const auto [first, stored] = step();
  ASSERT_EQ(stored.stores.size(), 1U);
  EXPECT_THAT(stored.stores.front().chunks, ElementsAre(0, 1));
  probe->update(std::vector<std::int64_t>{1});
  EXPECT_THAT(offload.end_step(), IsEmpty());
  EXPECT_TRUE(offload.is_idle());
  // What the GPU had is gone: the next one loads both chunks.
  EXPECT_TRUE(extras.reset_prefix_cache(false));
  probe->add(recording.entries[1].request, {});
  const auto [second, loaded] = step();
  EXPECT_THAT(second.scheduled, IsEmpty());
  ASSERT_EQ(loaded.loads.size(), 1U);
  EXPECT_THAT(loaded.loads.front().chunks, ElementsAre(0, 1));
  EXPECT_THAT(extras.parked(), ElementsAre(RequestId(1)));
  EXPECT_THAT(offload.end_step(), IsEmpty());
  EXPECT_THAT(offload.end_step(), ElementsAre(RequestId(1)));
  extras.finish_load(RequestId(1));
  const auto [third, nothing] = step();
  ASSERT_EQ(third.scheduled.size(), 1U);
  EXPECT_EQ(third.scheduled.front().tokens, 1);
}

}  // namespace
}  // namespace ridgeline::conform
