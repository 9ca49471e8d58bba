#include "deploy/script.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "deploy/marks.hpp"

namespace ridgeline::deploy {
namespace {

/// Each command on a line, its words in brackets; "?" before one that is not decided.
std::string commands_of(const std::string& text, const Values& given = {}) {
  core::Errors errors;
  const Script script = read_script(text, {.file = "x.sh"}, given, errors);
  EXPECT_TRUE(errors.empty());
  std::string all;
  for (const ScriptCommand& command : script.commands) {
    all += command.condition.empty() ? "" : "?";
    for (const Word& word : command.words) {
      all += "[" + shown(word.text) + "]";
    }
    all += "\n";
  }
  return all;
}

TEST(Script, SplitsCommandsIntoWords) {
  EXPECT_EQ(commands_of("# one\nA=1 b 'c d' \\\n  \"e\\\"f\" & g;h > f 2>&1 | tee x\n"),
            "[b][c d][e\"f]\n[g]\n[h]\n[tee][x]\n");
  EXPECT_EQ(commands_of("run --a> log\r\n$ next \\\r\n  --b\r\n"), "[run][--a]\n[next][--b]\n");
  EXPECT_EQ(commands_of("run <MODEL> --tp <n>\n"), "[run][<MODEL>][--tp][<n>]\n");
}

TEST(Script, NotesAQuoteWithoutItsEnd) {
  core::Errors errors;
  static_cast<void>(read_script("echo 'x\n", {.file = "x.sh"}, {}, errors));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors.front().where.column, 6);
}

/// What is wrong with a script, a line each.
std::string errors_of(const std::string& text) {
  core::Errors errors;
  static_cast<void>(read_script(text, {.file = "x.sh"}, {}, errors));
  std::string all;
  for (const core::Error& error : errors) {
    all += std::to_string(error.where.line) + ": " + error.message + "\n";
  }
  return all;
}

TEST(Script, BrokenSyntaxIsNamedOnce) {
  EXPECT_EQ(errors_of("\nfor i in 1 2\ndo\nrun\n"),
            "2: the command that begins here has no 'done'\n");
  EXPECT_EQ(errors_of("if a; then\nif b; then\nrun\n"),
            "2: the command that begins here has no 'fi'\n");
  EXPECT_EQ(errors_of("run\nfi\nfi\n"), "2: 'fi' closes nothing\n");
  EXPECT_EQ(errors_of("run\n}\n"), "2: '}' closes nothing\n");
  EXPECT_EQ(errors_of("for i in 1; do run; fi; done\n"), "1: 'fi' closes nothing\n");
  EXPECT_EQ(errors_of("echo done fi }\ncase x in (x) run;; esac\n"), "");
}

TEST(Script, NestingHasALimit) {
  const auto nested = [](int count, const std::string& open, const std::string& close) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text.insert(0, open);
      text += close;
    }
    return text;
  };
  const std::string expected = "1: more than 100 commands or expansions stand in one another\n";
  EXPECT_EQ(errors_of("echo " + nested(20'000, "$(", ")")), expected);
  EXPECT_EQ(errors_of("run ${A:-" + nested(20'000, "${A:-", "}") + "}"), expected);
  EXPECT_EQ(errors_of("cat > f <<EOF\n" + nested(20'000, "${A:-", "}") + "\nEOF\n"), expected);
  EXPECT_EQ(errors_of(nested(20'000, "( ", "")), expected);
  EXPECT_EQ(errors_of("echo " + nested(90, "$(", ")")), "");
}

TEST(Script, ABackslashBeforeBlanksEndsTheCommand) {
  core::Errors errors;
  const Script script = read_script("run a \\ \n  --b\n", {.file = "x.sh"}, {}, errors);
  EXPECT_EQ(script.commands.front().words.size(), 2U);
  EXPECT_EQ(script.warnings.size(), 2U);
}

TEST(Script, VariablesAreExpanded) {
  EXPECT_EQ(commands_of("TP=4\nARGS=\"--tp $TP --x\"\nrun $ARGS \"$ARGS\" ${N:-8} ${TP:+set}\n"),
            "[run][--tp][4][--x][--tp 4 --x][8][set]\n");
  EXPECT_EQ(commands_of("A=(run 'a b')\nA+=(--c)\n\"${A[@]}\" ${#A[@]}\n"), "[run][a b][--c][3]\n");
  EXPECT_EQ(commands_of("M=/models/Qwen.tar.gz\nrun ${M##*/} ${M%%.*} ${M//e/E}\n"),
            "[run][Qwen.tar.gz][/models/Qwen][/modEls/QwEn.tar.gz]\n");
  EXPECT_EQ(commands_of("run $((TP * 2 + 1))\n", {{"TP", "4"}}), "[run][9]\n");
  EXPECT_EQ(commands_of("declare -A M=([a:1]=5)\nK=a\nrun ${M[$K:1]:-3} ${M[b]:-3}\n"),
            "[run][5][3]\n");
}

TEST(Script, OutputsOfTestsAndEchoAreKnown) {
  const std::string text =
      "X=$([[ \"$ISL\" == 1024 ]] && echo 0.5 || echo 0.1)\nrun $X $(seq 0 2)\n";
  EXPECT_EQ(commands_of(text, {{"ISL", "1024"}}), "[run][0.5][0][1][2]\n");
  EXPECT_EQ(commands_of(text, {{"ISL", "8192"}}), "[run][0.1][0][1][2]\n");
  EXPECT_EQ(commands_of("run $(basename /a/b) $(dirname /a/b) $(ls | wc)\n"),
            "[run][b][/a][$(ls | wc)]\n");
}

TEST(Script, EndsWithExit) {
  core::Errors errors;
  EXPECT_EQ(read_script("echo a\nexit 1\nrun\n", {}, {}, errors).exit_line, 2);
  EXPECT_EQ(commands_of("for a in \"$@\"; do X=$a; done\nrun $X\n"), "[run][$X]\n");
}

TEST(Script, WhatHasNoValueKeepsItsName) {
  core::Errors errors;
  const Script script =
      read_script("run $MODEL --tp $TP$(nproc) --len $((ISL + 1))\n", {}, {}, errors);
  const auto& words = script.commands.front().words;
  EXPECT_THAT(unknowns_in(words[1].text), testing::ElementsAre("MODEL"));
  EXPECT_THAT(unknowns_in(words[3].text), testing::ElementsAre("TP", "$(nproc)"));
  EXPECT_THAT(unknowns_in(words[5].text), testing::ElementsAre("ISL"));
  EXPECT_THAT(unknowns_in("<MODEL>"), testing::ElementsAre("<MODEL>"));
  EXPECT_EQ(shown(words[3].text), "$TP$(nproc)");
}

TEST(Script, KnownConditionsAreDecided) {
  const std::string text =
      "if [ \"$X\" = y ]; then run a; elif [[ $X -gt 2 && -n $X ]]; then run b; else run c; fi\n";
  EXPECT_EQ(commands_of(text, {{"X", "y"}}), "[run][a]\n");
  EXPECT_EQ(commands_of(text, {{"X", "3"}}), "[run][b]\n");
  EXPECT_EQ(commands_of(text, {{"X", "1"}}), "[run][c]\n");
  EXPECT_EQ(commands_of("case $X in a|b) run 1;; *) run 2;; esac\n", {{"X", "b"}}), "[run][1]\n");
  EXPECT_EQ(commands_of("[ $X = 1 ] && run a || run b\n", {{"X", "2"}}), "[run][b]\n");
}

TEST(Script, OtherConditionsLeaveTheirVariablesWithoutAValue) {
  core::Errors errors;
  const Script script = read_script(
      "A=1\nB=2\nif [ \"$X\" = y ]; then A=3; B=2; exit_code=0; fi\nrun $A $B\n", {}, {}, errors);
  EXPECT_THAT(unknowns_in(script.commands.back().words[1].text), testing::ElementsAre("A"));
  EXPECT_EQ(script.commands.back().words[2].text, "2");
  EXPECT_THAT(script.reasons.at("A"), testing::HasSubstr("if [ \"$X\" = y ]"));
  EXPECT_EQ(commands_of("if [ -z \"$X\" ]; then exit 1; fi\nrun a\n"), "[run][a]\n");
  EXPECT_EQ(commands_of("if [ -f x ]; then run a; fi\n"), "?[run][a]\n");
}

TEST(Script, LoopsAreUnrolled) {
  EXPECT_EQ(commands_of("for i in {0..1}; do run $i $((8000+i)) & done\n"),
            "[run][0][8000]\n[run][1][8001]\n");
  EXPECT_EQ(commands_of("for i in a{1,2} {1..0}; do run $i; done\n"),
            "[run][a1]\n[run][a2]\n[run][1]\n[run][0]\n");
  EXPECT_EQ(commands_of("for i in {0..64}; do run $i; done\n"), "?[run][$i]\n");
  EXPECT_EQ(commands_of("for i in {a..d}; do run $i; done\n"), "?[run][$i]\n");
  EXPECT_EQ(commands_of("for i in *.txt; do run $i; done\n"), "?[run][$i]\n");
  EXPECT_EQ(commands_of("for ((i=0; i<2; i++)); do run $i; done\n"), "[run][0]\n[run][1]\n");
  EXPECT_EQ(commands_of("for x in $LIST; do run $x; done\n"), "?[run][$x]\n");
  EXPECT_EQ(commands_of("while ! ready; do sleep 1; done\nrun\n"), "?[sleep][1]\n[run]\n");
  EXPECT_EQ(commands_of("f() { f; }\nf\nfor ((;;)); do run; done\n").empty(), false);
}

TEST(Script, AValueFromOutsideStandsForACommand) {
  const std::string text = "export TP=$(nvidia-smi -L | wc -l)\nrun -tp $TP\n";
  EXPECT_EQ(commands_of(text), "[run][-tp][$TP]\n");
  EXPECT_EQ(commands_of(text, {{"TP", "2"}}), "[run][-tp][2]\n");
  EXPECT_EQ(commands_of("TP=4\nrun $TP\n", {{"TP", "2"}}), "[run][4]\n");
}

TEST(Script, RoundsAreLeft) {
  const std::string begin = "for i in 1 2 3; do ";
  EXPECT_EQ(commands_of(begin + "[ $i = 2 ] && continue; run $i; done\n"), "[run][1]\n[run][3]\n");
  EXPECT_EQ(commands_of(begin + "if [ $i = 2 ]; then break; fi; run $i; done\nrun\n"),
            "[run][1]\n[run]\n");
  EXPECT_EQ(commands_of("for ((i=0; i<3; i++)); do ((i == 1)) && continue; run $i; done\n"),
            "[run][0]\n[run][2]\n");
  EXPECT_EQ(commands_of("for i in 1 2; do run $i; [ -f x ] && continue; run b; done\nrun c\n"),
            "[run][1]\n?[run][b]\n[run][2]\n?[run][b]\n[run][c]\n");
  EXPECT_EQ(commands_of("for i in 1 2; do run $i; [ -f x ] && break; done\nrun c\n"),
            "[run][1]\n?[run][2]\n[run][c]\n");
  EXPECT_EQ(commands_of("while a; do [ -f x ] && break; done\nbreak\nrun c\n"), "[run][c]\n");
}

TEST(Script, FunctionsAreReadWhereTheyAreCalled) {
  EXPECT_EQ(commands_of("serve() { run \"$1\" \"${@:2}\"; }\n"), "");
  EXPECT_EQ(commands_of("serve() {\n  local m=$1; shift\n  run $m \"$@\"\n}\nserve a b 'c d'\n"),
            "[run][a][b][c d]\n");
}

TEST(Script, HereDocumentsAreFilesOrScripts) {
  core::Errors errors;
  const Script script = read_script(
      "N=3\ncat > c.yaml <<EOF\nmax: $N\nEOF\ncat <<'EOF' > d\n$N\nEOF\nbash <<EOF\nrun $N\nEOF\n",
      {},
      {},
      errors);
  EXPECT_EQ(script.files.at("c.yaml"), "max: 3\n");
  EXPECT_EQ(script.files.at("d"), "$N\n");
  EXPECT_EQ(script.commands[2].words.front().text, "run");
}

TEST(Script, AnythingEnds) {
  core::Errors errors;
  for (const char* text :
       {"(((((", "if", "case x in", "for", "${", "a=(", "f() {", "<<", "$((", "}"}) {
    static_cast<void>(read_script(text, {}, {}, errors));
  }
  static_cast<void>(read_script(std::string(10'000, '('), {}, {}, errors));
  static_cast<void>(read_script("f() { f; f; }\nf\n", {}, {}, errors));
}

}  // namespace
}  // namespace ridgeline::deploy
