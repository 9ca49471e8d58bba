#include "cli/verb_command.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/arguments.hpp"
#include "verbs/request.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {
namespace {

TEST(VerbCommand, WordsBecomeKeysOfARequest) {
  const verbs::Verb& trace = *verbs::find_verb("trace");
  const std::vector<std::string> words = {
      "a.csv", "--block-size", "0", "--skip-bad-rows", "--svg", "x.svg"};
  const auto arguments = parse_arguments(words, opening_of(trace).flags);
  ASSERT_TRUE(arguments);
  verbs::Request request = request_of(trace, *arguments);
  EXPECT_EQ(request.take_file("a trace"), "a.csv");
  EXPECT_TRUE(request.take_bool("skip_bad_rows", false));
  EXPECT_EQ(request.take_integer("block_size", 7, 1, 9), 7);
  EXPECT_EQ(request.errors().front().field, "--block-size");
  EXPECT_FALSE(request.has("svg"));  // The command line opens the file itself.
}

TEST(VerbCommand, AVerbOffersItsKeysAsFlagsBeforeTheManners) {
  const Opening opening = opening_of(*verbs::find_verb("step"));
  const auto at = [&](const char* name) {
    return std::ranges::find(opening.flags, name, &FlagSpec::name) - opening.flags.begin();
  };
  EXPECT_LT(at("decode"), at("gpu"));
  EXPECT_LT(at("gpu"), at("output"));
  EXPECT_LT(at("output"), at("format"));
}

}  // namespace
}  // namespace ridgeline::cli
