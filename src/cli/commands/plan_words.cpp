#include "cli/commands/plan_words.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/flag_rewriter.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "scenario/foreign_flags.hpp"

namespace ridgeline::cli {
namespace {

const scenario::ForeignProgram& aiconfigurator() {
  return scenario::foreign_program("aiconfigurator");
}

class AIConfiguratorWords final : FlagRewriter {
 public:
  AIConfiguratorWords(Arguments& arguments, core::Errors& errors)
      : FlagRewriter(arguments, errors) {}

  void run() {
    take_input();
    for (const scenario::ForeignFlag& theirs : aiconfigurator().flags) {
      if (const auto flag = take(theirs.name)) {
        put(*flag, theirs.text, theirs.our_word(flag->value) + theirs.unit);
      }
    }
  }

 private:
  void put(const GivenFlag& flag, std::string_view name, std::string value) {
    if (const GivenFlag* other = find(name)) {
      problem(flag.typed, fmt::format("says the same as {}: give one of them", other->typed));
      return;
    }
    arguments_.flags.push_back(
        {.name = std::string(name), .value = std::move(value), .typed = flag.typed});
  }

  /// Its --isl counts the prefix, ours what comes behind it.
  void take_input() {
    const auto isl = take("isl");
    if (!isl) {
      return;
    }
    const GivenFlag* prefix = find("prefix");
    std::int64_t whole = 0;
    std::int64_t shared = 0;
    const bool are_numbers =
        read(isl->value, whole) && (prefix == nullptr || read(prefix->value, shared));
    if (prefix == nullptr) {
      put(*isl, "input-len", isl->value);
    } else if (!are_numbers || shared >= whole) {
      problem(isl->typed,
              fmt::format("found \"{}\" with a prefix of \"{}\": expected a longer prompt",
                          isl->value,
                          prefix->value));
    } else {
      put(*isl, "input-len", fmt::format("{}", whole - shared));
    }
  }

  static bool read(const std::string& text, std::int64_t& out) {
    const auto number = core::parse_whole<std::int64_t>(text);
    out = number.value_or(out);
    return number.has_value();
  }
};

}  // namespace

std::vector<FlagSpec> aiconfigurator_flags() {
  std::vector<FlagSpec> flags;
  for (const scenario::ForeignFlag& flag : aiconfigurator().flags) {
    flags.push_back({.name = flag.name, .value = flag.takes.empty() ? "VALUE" : flag.takes});
  }
  return flags;
}

void take_aiconfigurator_words(Arguments& arguments, core::Errors& errors) {
  AIConfiguratorWords(arguments, errors).run();
}

}  // namespace ridgeline::cli
