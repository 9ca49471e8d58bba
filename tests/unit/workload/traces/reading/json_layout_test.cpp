#include "workload/traces/reading/json_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "workload/item.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/quick_number.hpp"
#include "workload/traces/reading/quick_row.hpp"

namespace ridgeline::workload {
namespace {

/// Learns objects with the keys "in" (input tokens) and others, which are handed on as text.
class LayoutReader {
 public:
  void learn(const std::string& text) {
    const std::string file = "t";
    const TraceLine line(text, file, 1, errors_);
    JsonCursor json(line);
    layouts_.start(line);
    std::string_view key;
    for (json.enter('{'); json.next_key(key);) {
      const char* const begin = json.rest().data();
      json.skip();
      const bool is_input = key == "in";
      layouts_.member(is_input ? 1 : 2,
                      key,
                      {.kind = is_input ? QuickKind::kInputTokens : QuickKind::kOther},
                      begin,
                      json.place());
    }
    layouts_.learn();
  }

  /// How many bytes of a text and what lies behind it were taken; -1 for none.
  std::ptrdiff_t read(const std::string& text) {
    const std::string memory = text + std::string(kQuickSlack, ' ');
    seen_.clear();
    const char* const end = layouts_.read(
        memory.data(),
        memory.data() + text.size(),
        item_,
        [&] { ++attempts_; },
        [&](JsonCursor& json, std::uint32_t key, std::string_view name) {
          std::string_view value;
          EXPECT_EQ(key, 2U);
          const bool sound = json.scalar(name, value);
          seen_ += std::string(name) + "=" + std::string(value) + ";";
          return sound;
        });
    return end == nullptr ? -1 : end - memory.data();
  }

  [[nodiscard]] const std::string& seen() const { return seen_; }
  [[nodiscard]] std::int64_t input() const { return item_.input_tokens.value(); }
  [[nodiscard]] int attempts() const { return attempts_; }

 private:
  core::Errors errors_;
  JsonLayouts layouts_;
  Item item_;
  std::string seen_;
  int attempts_ = 0;
};

TEST(JsonLayouts, KnowNothingAtFirst) {
  LayoutReader reader;
  EXPECT_EQ(reader.read("{\"in\":5}\n"), -1);
  EXPECT_EQ(reader.attempts(), 0);
}

TEST(JsonLayouts, ReadLinesLikeOnesBefore) {
  LayoutReader reader;
  reader.learn(R"({"in": 5, "name": "x"})");
  const std::string text = "{\"in\": 1234, \"name\": \"longer\"}\n";
  EXPECT_EQ(reader.read(text + "more"), static_cast<std::ptrdiff_t>(text.size()));
  EXPECT_EQ(reader.input(), 1234);
  EXPECT_EQ(reader.seen(), "name=longer;");
}

TEST(JsonLayouts, DeclineOtherLines) {
  LayoutReader reader;
  reader.learn(R"({"in": 5, "name": "x"})");
  for (const std::string text : {
           "{\"in\":5, \"name\": \"x\"}\n",          // another blank
           "{\"name\": \"x\", \"in\": 5}\n",         // another order
           "{\"in\": 05, \"name\": \"x\"}\n",        // no JSON number
           "{\"in\": 5, \"name\": \"x\"} 1\n",       // more behind it
           "{\"in\": 5, \"name\": \"x\"\n",          // less
           "{\"in\": 5, \"name\": [1]}\n",           // a value that its reader does not take
           "{\"in\": 5, \"name\": \"\xC3\x9C\"}\n",  // beyond ASCII: to be looked at closely
           "{\"in\": 5, \"name\": \"x\"}",           // no end of the line in sight
       }) {
    EXPECT_EQ(reader.read(text), -1) << text;
  }
}

TEST(JsonLayouts, KeepSeveralLayouts) {
  LayoutReader reader;
  reader.learn(R"({"in":1})");
  reader.learn(R"({"in":1,"a":2})");
  EXPECT_EQ(reader.read("{\"in\":7,\"a\":8}\n"), 15);
  EXPECT_EQ(reader.seen(), "a=8;");
  EXPECT_EQ(reader.attempts(), 2);
  // The layout that fitted last is tried first.
  EXPECT_EQ(reader.read("{\"in\":7,\"a\":8}\n"), 15);
  EXPECT_EQ(reader.attempts(), 3);
  EXPECT_EQ(reader.read("{\"in\":9}\n"), 9);
  EXPECT_EQ(reader.input(), 9);
}

}  // namespace
}  // namespace ridgeline::workload
