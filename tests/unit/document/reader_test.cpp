#include "document/reader.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::document {
namespace {

/// A document and the problems that a reader found in it.
class Reader : public ::testing::Test {
 protected:
  ObjectReader reader(std::string_view yaml,
                      const std::string& path = "engine",
                      ObjectReader::Unknown unknown = ObjectReader::Unknown::kRefuse) {
    auto parsed = parse_yaml(yaml, "f");
    EXPECT_TRUE(parsed) << yaml;
    document_ = std::move(parsed).value_or(Node());
    return {document_, path, errors_, unknown};
  }
  [[nodiscard]] std::string problems() const {
    std::string text;
    for (const core::Error& error : errors_) {
      text += (text.empty() ? "" : "\n") + core::to_string(error);
    }
    return text;
  }

 private:
  Node document_;
  core::Errors errors_;
};

TEST_F(Reader, ReadsEveryKind) {
  auto read = reader(
      "{flag: true, count: 12, share: 0.5, name: x, mode: fast, ints: [1, 2], reals: [1, 2.5], "
      "size: 2KiB, map: {a: 1}}");
  const std::vector<std::string> modes = {"slow", "fast"};
  EXPECT_EQ(read.boolean("flag"), true);
  EXPECT_EQ(read.integer("count"), 12);
  EXPECT_EQ(read.real("share"), 0.5);
  EXPECT_EQ(read.string("name"), "x");
  EXPECT_EQ(read.choice("mode", modes), "fast");
  EXPECT_EQ(read.integers("ints"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(read.reals("reals"), (std::vector<double>{1.0, 2.5}));
  EXPECT_EQ(read.quantity("size", "bytes"), 2048.0);
  ASSERT_NE(read.node("map"), nullptr);
  EXPECT_TRUE(read.node("map")->is_map());
  read.finish();
  EXPECT_EQ(problems(), "");
}

TEST_F(Reader, TakesAbsentAndNullForNothing) {
  auto read = reader("{flag: null, map: ~}");
  EXPECT_EQ(read.boolean("flag"), std::nullopt);
  EXPECT_EQ(read.node("map"), nullptr);
  EXPECT_EQ(read.integer("count"), std::nullopt);
  EXPECT_EQ(read.quantity("size", "bytes"), std::nullopt);
  EXPECT_EQ(read.integers("ints"), std::nullopt);
  read.finish();
  EXPECT_EQ(problems(), "");
}

TEST_F(Reader, TakesAnIntegerForARealButNotTheReverse) {
  auto read = reader("a: 3\nb: 1e6\nc: 2.5\nd: 1e300\n");
  EXPECT_EQ(read.real("a"), 3.0);
  EXPECT_EQ(read.integer("b"), std::nullopt);
  EXPECT_EQ(read.integer("c"), std::nullopt);
  EXPECT_EQ(read.integer("d"), std::nullopt);
  EXPECT_EQ(problems(),
            "f:2:4: engine.b: expected an integer, found 1000000.0 (write 1000000)\n"
            "f:3:4: engine.c: expected an integer, found 2.5\n"
            "f:4:4: engine.d: expected an integer, found 1e+300");
}

TEST_F(Reader, SaysWhatItFoundAndExpected) {
  auto read = reader("a: x\nb: yes\nc: 3\nd: 1\ne: [1]\nf: 1\ng: {}\nh: 'off'\ni: true\n");
  EXPECT_EQ(read.integer("a"), std::nullopt);
  EXPECT_EQ(read.boolean("b"), std::nullopt);
  EXPECT_EQ(read.boolean("c"), std::nullopt);
  EXPECT_EQ(read.string("d"), std::nullopt);
  EXPECT_EQ(read.string("e"), std::nullopt);
  EXPECT_EQ(read.integers("f"), std::nullopt);
  EXPECT_EQ(read.quantity("g", "bytes"), std::nullopt);
  EXPECT_EQ(read.boolean("h"), std::nullopt);
  EXPECT_EQ(read.real("i"), std::nullopt);
  EXPECT_EQ(problems(),
            "f:1:4: engine.a: expected an integer, found \"x\"\n"
            "f:2:4: engine.b: expected true or false, found \"yes\" (write true)\n"
            "f:3:4: engine.c: expected true or false, found 3\n"
            "f:4:4: engine.d: expected text, found 1 (put it in quotes)\n"
            "f:5:4: engine.e: expected text, found a list\n"
            "f:6:4: engine.f: expected a list, found 1\n"
            "f:7:4: engine.g: expected a number with a unit, found a map\n"
            "f:8:4: engine.h: expected true or false, found \"off\" (write false)\n"
            "f:9:4: engine.i: expected a number, found true");
}

TEST_F(Reader, ChecksRangesInclusively) {
  auto read = reader("lowest: 1\nhighest: 256\nbelow: 0\nabove: 257\nnegative: -0.5\nmuch: 2\n");
  const Range<std::int64_t> range{1, 256};
  EXPECT_EQ(read.integer("lowest", range), 1);
  EXPECT_EQ(read.integer("highest", range), 256);
  EXPECT_EQ(read.integer("below", range), std::nullopt);
  EXPECT_EQ(read.integer("above", range), std::nullopt);
  EXPECT_EQ(read.real("negative", {.lowest = 0.0}), std::nullopt);
  EXPECT_EQ(read.real("much", {.highest = 1.5}), std::nullopt);
  EXPECT_EQ(problems(),
            "f:3:8: engine.below: 0 is out of range, expected 1 to 256\n"
            "f:4:8: engine.above: 257 is out of range, expected 1 to 256\n"
            "f:5:11: engine.negative: -0.5 is out of range, expected at least 0\n"
            "f:6:7: engine.much: 2 is out of range, expected at most 1.5");
}

TEST_F(Reader, NamesTheItemsOfLists) {
  auto read = reader("a: [1, x, 0, 2.5]\nb: [0.5, -1]\n");
  EXPECT_EQ(read.integers("a", {.lowest = 1}), std::nullopt);
  EXPECT_EQ(read.reals("b", {.lowest = 0.0}), std::nullopt);
  EXPECT_EQ(problems(),
            "f:1:8: engine.a[1]: expected an integer, found \"x\"\n"
            "f:1:11: engine.a[2]: 0 is out of range, expected at least 1\n"
            "f:1:14: engine.a[3]: expected an integer, found 2.5\n"
            "f:2:10: engine.b[1]: -1 is out of range, expected at least 0");
}

TEST_F(Reader, NamesTheChoices) {
  auto read = reader("a: FCFS\nb: shortest\n");
  const std::vector<std::string> policies = {"fcfs", "priority"};
  EXPECT_EQ(read.choice("a", policies), std::nullopt);
  EXPECT_EQ(read.choice("b", policies), std::nullopt);
  EXPECT_EQ(problems(),
            "f:1:4: engine.a: \"FCFS\" is unknown, expected one of: fcfs, priority (did you mean "
            "'fcfs'?)\n"
            "f:2:4: engine.b: \"shortest\" is unknown, expected one of: fcfs, priority");
}

TEST_F(Reader, NeedsUnitsOnQuantities) {
  auto read = reader("a: 80\nb: 250us\nc: 3 GiB\n");
  EXPECT_EQ(read.quantity("a", "seconds"), std::nullopt);
  EXPECT_EQ(read.quantity("b", "seconds"), 250e-6);
  EXPECT_EQ(read.quantity("c", "seconds"), std::nullopt);
  EXPECT_EQ(
      problems(),
      "f:1:4: engine.a: \"80\" has no unit, expected a time (ps, ns, us, ms, s, min, m, h, d)\n"
      "f:3:4: engine.c: \"3 GiB\" is bytes, expected a time (ps, ns, us, ms, s, min, m, h, d)");
}

TEST_F(Reader, NotesMissingKeysOnce) {
  auto read = reader("{c: x, d: null}");
  EXPECT_EQ(read.required_integer("a"), 0);
  EXPECT_EQ(read.required_real("b"), 0.0);
  EXPECT_EQ(read.required_integer("c"), 0);
  EXPECT_EQ(read.required_string("d"), "");
  EXPECT_EQ(read.required_quantity("e", "bytes"), 0.0);
  read.finish();
  // YAML does not tell an absent value from null: both stand where their key stands.
  EXPECT_EQ(problems(),
            "f:1:1: engine.a: is missing, expected an integer\n"
            "f:1:1: engine.b: is missing, expected a number\n"
            "f:1:5: engine.c: expected an integer, found \"x\"\n"
            "f:1:8: engine.d: is missing, expected text\n"
            "f:1:1: engine.e: is missing, expected a number with a unit");
}

TEST_F(Reader, ReturnsRequiredValues) {
  auto read = reader("{a: 4, b: 0.5, c: x, d: 1KiB}");
  EXPECT_EQ(read.required_integer("a", {1, 8}), 4);
  EXPECT_EQ(read.required_real("b"), 0.5);
  EXPECT_EQ(read.required_string("c"), "x");
  EXPECT_EQ(read.required_quantity("d", "bytes"), 1024.0);
  read.finish();
  EXPECT_EQ(problems(), "");
}

TEST_F(Reader, NotesUnknownKeysWithTheNearestAskedOne) {
  auto read = reader("blok_size: 16\nblock_size: 32\nzzz: 1\n'a b': 2\n");
  EXPECT_EQ(read.integer("block_size"), 32);
  EXPECT_EQ(read.integer("seed"), std::nullopt);
  read.finish();
  EXPECT_EQ(problems(),
            "f:1:1: engine.blok_size: unknown key (did you mean 'block_size'?)\n"
            "f:3:1: engine.zzz: unknown key (known: block_size, seed)\n"
            "f:4:1: engine.\"a b\": unknown key (known: block_size, seed)");
}

TEST_F(Reader, LeavesUnknownKeysAloneOnRequest) {
  auto read = reader("x: 1\ny: 2\ny: 3\na: 4\n", "model", ObjectReader::Unknown::kIgnore);
  EXPECT_EQ(read.integer("a"), 4);
  read.finish();
  EXPECT_EQ(problems(), "");
}

TEST_F(Reader, NotesDuplicatesOfAskedKeysWithBothPlaces) {
  auto read = reader("a: 1\nb: 2\na: 3\n  \na: 4\n", "", ObjectReader::Unknown::kIgnore);
  EXPECT_EQ(read.integer("a"), 1);
  EXPECT_EQ(read.integer("b"), 2);
  read.finish();
  EXPECT_EQ(problems(),
            "f:3:1: a: given twice, first at 1:1\n"
            "f:5:1: a: given twice, first at 3:1");
}

TEST_F(Reader, RefusesWhatIsNoMap) {
  auto read = reader("[1]");
  EXPECT_EQ(read.integer("a"), std::nullopt);
  EXPECT_EQ(read.required_integer("b"), 0);
  EXPECT_EQ(read.node("c"), nullptr);
  read.finish();
  EXPECT_EQ(problems(), "f:1:1: engine: expected a map, found a list");
}

TEST_F(Reader, NotesProblemsAtTheValueOrTheMap) {
  auto read = reader("a: 1\nb: 2\n", "");
  read.problem("b", "does not go with a", "drop one");
  read.problem("c", "is wanted");
  EXPECT_EQ(problems(), "f:2:4: b: does not go with a (drop one)\nf:1:1: c: is wanted");
}

TEST_F(Reader, TellsOnlySoManyProblemsOfASort) {
  std::string yaml;
  for (int i = 0; i < 1000; ++i) {
    yaml += "unknown_" + std::to_string(i) + ": 1\n";
  }
  yaml += "list: [" + std::string(2000, 'x') + "]\n";
  std::string items;
  for (int i = 0; i < 1000; ++i) {
    items += "x, ";
  }
  auto read = reader(yaml + "items: [" + items + "]\n");
  EXPECT_EQ(read.integers("items"), std::nullopt);
  EXPECT_EQ(read.integers("list"), std::nullopt);
  read.finish();
  const std::string text = problems();
  // 20 items, 1 list, 20 unknown keys and the count of the other 980.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 20 + 1 + 20);
  EXPECT_TRUE(text.ends_with("f:1:1: engine: 980 more unknown keys")) << text;
}

TEST_F(Reader, NamesPlainAndOddKeys) {
  const auto read = reader("{}", "engine");
  EXPECT_EQ(read.path_of("block_size"), "engine.block_size");
  EXPECT_EQ(read.path_of("a.b"), "engine.\"a.b\"");
  EXPECT_EQ(read.path_of("\x1B"), "engine.\"\\x1b\"");
  EXPECT_EQ(read.path_of(""), "engine.\"\"");
  EXPECT_EQ(reader("{}", "").path_of("seed"), "seed");
}

}  // namespace
}  // namespace ridgeline::document
