#include "cli/arguments.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"

namespace ridgeline::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Takes = FlagSpec::Takes;

const std::vector<FlagSpec>& specs() {
  static const std::vector<FlagSpec> kSpecs = {
      {.name = "max-num-seqs", .value = "N"},
      {.name = "output", .repeatable = true, .letter = 'o', .value = "FILE"},
      {.name = "no-jump", .takes = Takes::kNothing},
      {.name = "enable-prefix-caching", .takes = Takes::kTruth},
      {.name = "tensor-parallel-size", .value = "N"},
      {.name = "tp", .value = "N", .meaning = "tensor-parallel-size"},
      {.name = "roofline", .takes = Takes::kRefused, .help = "not in this version"},
  };
  return kSpecs;
}

core::Result<Arguments> parse(const std::vector<std::string>& words) {
  return parse_arguments(words, specs());
}

std::vector<std::string> problems(const std::vector<std::string>& words) {
  std::vector<std::string> lines;
  const auto parsed = parse(words);
  if (!parsed) {
    for (const auto& error : parsed.error()) {
      lines.push_back(error.field + ": " + error.message +
                      (error.hint.empty() ? "" : " | " + error.hint));
    }
  }
  return lines;
}

TEST(ParseArguments, ReadsEveryForm) {
  const auto parsed = parse({"scenario.yaml",
                             "--max-num-seqs",
                             "4",
                             "--no-jump",
                             "-o",
                             "a.json",
                             "-ob.csv",
                             "--output=c.md",
                             "--enable-prefix-caching",
                             "--tp=2",
                             "more"});
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->positionals, ElementsAre("scenario.yaml", "more"));
  EXPECT_EQ(parsed->value("max-num-seqs"), "4");
  EXPECT_TRUE(parsed->has("no-jump"));
  EXPECT_THAT(parsed->values("output"), ElementsAre("a.json", "b.csv", "c.md"));
  EXPECT_EQ(parsed->value("enable-prefix-caching"), "true");
  EXPECT_EQ(parsed->value("tensor-parallel-size"), "2");
  EXPECT_FALSE(parsed->has("tp"));
  EXPECT_EQ(parsed->value("seed", "7"), "7");
}

TEST(ParseArguments, TruthsHaveANegation) {
  EXPECT_EQ(parse({"--no-enable-prefix-caching"})->value("enable-prefix-caching"), "false");
  EXPECT_EQ(parse({"--enable-prefix-caching=false"})->value("enable-prefix-caching"), "false");
  EXPECT_THAT(problems({"--no-enable-prefix-caching=true"}),
              ElementsAre(HasSubstr("takes no value")));
  EXPECT_THAT(problems({"--enable-prefix-caching", "--no-enable-prefix-caching"}),
              ElementsAre(HasSubstr(
                  "given twice: first \"true\" (as --enable-prefix-caching), then \"false\"")));
}

TEST(ParseArguments, ValuesMayBeNegativeNumbersButNotEmpty) {
  EXPECT_EQ(parse({"--max-num-seqs", "-3"})->value("max-num-seqs"), "-3");
  EXPECT_EQ(parse({"--max-num-seqs", "-.5"})->value("max-num-seqs"), "-.5");
  EXPECT_EQ(parse({"--max-num-seqs", "-"})->value("max-num-seqs"), "-");
  EXPECT_THAT(problems({"--max-num-seqs="}), ElementsAre(HasSubstr("is empty, expected N")));
  EXPECT_THAT(problems({"--max-num-seqs", ""}), ElementsAre(HasSubstr("is empty, expected N")));
  EXPECT_EQ(parse({"--max-num-seqs=--x"})->value("max-num-seqs"), "--x");
}

TEST(ParseArguments, TwoDashesEndTheFlags) {
  const auto parsed = parse({"--", "--no-jump", "-x"});
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->positionals, ElementsAre("--no-jump", "-x"));
}

TEST(ParseArguments, ALoneDashIsAWord) {
  EXPECT_THAT(parse({"-"})->positionals, ElementsAre("-"));
}

TEST(ParseArguments, NotesEveryProblem) {
  EXPECT_THAT(problems({"--max-num-seq",
                        "4",
                        "--roofline",
                        "--no-jump=1",
                        "-z",
                        "--tp",
                        "1",
                        "--tp",
                        "2",
                        "--max-num-seqs"}),
              ElementsAre("--max-num-seq: no such flag | did you mean --max-num-seqs?",
                          "--roofline: not in this version",
                          "--no-jump: takes no value, found \"1\"",
                          HasSubstr("-z: no such flag"),
                          "--tp: given twice: first \"1\", then \"2\"",
                          "--max-num-seqs: a value is missing | --max-num-seqs N"));
}

TEST(ParseArguments, AFlagIsNoValue) {
  EXPECT_THAT(problems({"--max-num-seqs", "--no-jump"}),
              ElementsAre(HasSubstr("a value is missing")));
  EXPECT_THAT(problems({"--max-num-seqs", "-o", "x"}),
              ElementsAre(HasSubstr("a value is missing")));
}

TEST(ParseArguments, AnAliasAndItsMeaningAreOneFlag) {
  EXPECT_THAT(problems({"--tensor-parallel-size", "1", "--tp", "2"}),
              ElementsAre(HasSubstr("--tp: given twice: first \"1\" (as --tensor-parallel-size)")));
}

TEST(BadChoice, OffersTheNearest) {
  const std::vector<std::string> choices = {"fast", "reference"};
  const auto error = bad_choice("engine-core", "refrence", choices);
  EXPECT_EQ(error.field, "--engine-core");
  EXPECT_THAT(error.message, HasSubstr("fast, reference"));
  EXPECT_EQ(error.hint, "did you mean reference?");
}

}  // namespace
}  // namespace ridgeline::cli
