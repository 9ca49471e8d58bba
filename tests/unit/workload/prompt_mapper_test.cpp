#include "workload/prompt_mapper.hpp"

#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "domain/prompt.hpp"

namespace ridgeline::workload {
namespace {

using domain::Prompt;

domain::Segment segment(std::uint64_t content) {
  return {.content = content, .length = core::Tokens(8)};
}

TEST(PromptMapper, NamesWhatIsSharedOnce) {
  auto history = std::make_shared<domain::History>();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    history->append(segment(i));
  }
  int asked = 0;
  const auto rename = [&](std::uint64_t content) -> PromptMapper::Name {
    ++asked;
    return {.content = content + 10};
  };
  PromptMapper mapper;
  Prompt first(history, 2);
  first.push_back(segment(7));
  mapper.apply(first, rename);
  EXPECT_EQ(first, Prompt({segment(11), segment(12), segment(17)}));
  Prompt second(history, 3);
  mapper.apply(second, rename);
  EXPECT_EQ(second, Prompt({segment(11), segment(12), segment(13)}));
  EXPECT_EQ(second.history(), first.history());
  EXPECT_EQ(asked, 4) << "two and one of its own, and then the third";
}

TEST(PromptMapper, AsksAgainForNamesThatDoNotLast) {
  auto history = std::make_shared<domain::History>();
  history->append(segment(1));
  history->append(segment(2));
  history->append(segment(3));
  bool known = false;
  const auto rename = [&](std::uint64_t content) -> PromptMapper::Name {
    return content == 2 && !known ? PromptMapper::Name{.content = 50, .is_lasting = false}
                                  : PromptMapper::Name{.content = content + 10};
  };
  PromptMapper mapper;
  Prompt first(history, 3);
  mapper.apply(first, rename);
  EXPECT_EQ(first, Prompt({segment(11), segment(50), segment(13)}));
  known = true;
  Prompt second(history, 3);
  mapper.apply(second, rename);
  EXPECT_EQ(second, Prompt({segment(11), segment(12), segment(13)}));
}

}  // namespace
}  // namespace ridgeline::workload
