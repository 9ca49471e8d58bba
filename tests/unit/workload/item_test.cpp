#include "workload/item.hpp"

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::workload {
namespace {

TEST(MakeNew, LeavesNothingOfAnItem) {
  Item item{.arrival = core::Duration::seconds(1),
            .input_tokens = core::Tokens(2),
            .output_tokens = core::Tokens(3),
            .starts_group = false,
            .delay = core::Duration::seconds(4),
            .parents = {0, 1},
            .prompt = {{.content = 5, .length = core::Tokens(1)}},
            .reasoning_tokens = core::Tokens(6),
            .session = 7,
            .turn = 8,
            .priority = 9,
            .slo_class = 10,
            .tenant = 11,
            .model = 12,
            .adapter = 13,
            .images = 14,
            .audios = 15,
            .videos = 16,
            .image_tokens = core::Tokens(17),
            .audio_tokens = core::Tokens(18),
            .video_tokens = core::Tokens(19),
            .stage = 20};
  make_new(item);
  EXPECT_EQ(item, Item());
}

}  // namespace
}  // namespace ridgeline::workload
