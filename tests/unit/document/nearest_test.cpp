#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "document/reader.hpp"

namespace ridgeline::document {
namespace {

std::string near(std::string_view word, const std::vector<std::string>& candidates) {
  return nearest(word, candidates).value_or("(none)");
}

TEST(Nearest, ForgivesOneSlipInThreeLetters) {
  const std::vector<std::string> names = {"block_size", "max_num_seqs", "seed"};
  EXPECT_EQ(near("blok_size", names), "block_size");    // a letter missing
  EXPECT_EQ(near("block_sizee", names), "block_size");  // one too many
  EXPECT_EQ(near("block_szie", names), "block_size");   // neighbours swapped
  EXPECT_EQ(near("sede", names), "seed");               // neighbours swapped: one slip
  EXPECT_EQ(near("num_seqs", names), "max_num_seqs");   // 4 letters missing of 12
  EXPECT_EQ(near("um_seqs", names), "(none)");          // 5 of 12
  EXPECT_EQ(near("temperature", names), "(none)");
}

TEST(Nearest, MindsNeitherCaseNorDashes) {
  EXPECT_EQ(near("Max-Num-Seqs", {"max_num_seqs"}), "max_num_seqs");
  EXPECT_EQ(near("gib", {"GB", "GiB"}), "GiB");
}

TEST(Nearest, PrefersTheNearestAndThenTheFirst) {
  EXPECT_EQ(near("input_len", {"output_len", "input_lens"}), "input_lens");
  EXPECT_EQ(near("abcx", {"abcy", "abcz"}), "abcy");
  EXPECT_EQ(near("h10", {"a10", "h100"}), "h100") << "a first letter is seldom the slip";
}

TEST(Nearest, PrefersWhatTheWordBegins) {
  EXPECT_EQ(near("llama-3.3", {"llama-3-8b", "llama-3.3-70b"}), "llama-3.3-70b");
  EXPECT_EQ(near("llama-3.3", {"llama-3.3-70b-instruct", "llama-3.3-70b", "llama-3-8b"}),
            "llama-3.3-70b");
  EXPECT_EQ(near("ser", {"seed", "serving_times"}), "(none)") << "three letters may begin anything";
}

TEST(Nearest, NeverReplacesTheWholeWord) {
  EXPECT_EQ(near("a", {"b"}), "(none)");
  EXPECT_EQ(near("tp", {"pp"}), "pp");
  EXPECT_EQ(near("", {"a", ""}), "(none)");
  EXPECT_EQ(near("x", {}), "(none)");
}

TEST(Nearest, GivesUpOnVeryLongWords) {
  const std::string name(64, 'x');
  EXPECT_EQ(near(name, {name}), name);
  EXPECT_EQ(near(name + "x", {name}), "(none)");
  EXPECT_EQ(near(name, {name + "x"}), "(none)");
}

}  // namespace
}  // namespace ridgeline::document
