#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deploy/flags.hpp"
#include "document/document.hpp"
#include "scenario/foreign_flags.hpp"
#include "scenario/options.hpp"

namespace ridgeline::deploy {

/// What a name of a command line is.
struct FlagMeaning {
  const scenario::StatedOption* row = nullptr;
  const scenario::LaunchFlag* flag = nullptr;
  const scenario::Option* option = nullptr;  ///< By its path, without a row.
  std::string member = {};                   ///< A key of the flag's JSON, dotted.

  [[nodiscard]] bool is_one(const FlagMeaning& other) const {
    return row == other.row && flag == other.flag && option == other.option &&
           member == other.member;
  }
};

/// All names of an engine's flags.
class FlagNames {
 public:
  explicit FlagNames(std::string_view engine);

  [[nodiscard]] const scenario::ForeignProgram& program() const { return program_; }
  /// Whether the flag of an option does more than the option says.
  [[nodiscard]] bool is_partly_read(const std::string& name) const {
    return partly_.contains(name);
  }

  /// The meanings of all names that begin so; one where a name is that whole.
  [[nodiscard]] std::vector<std::pair<std::string, FlagMeaning>> find(
      const std::string& name) const;
  [[nodiscard]] std::vector<std::string> all() const;

 private:
  void add(const std::string& name, FlagMeaning meaning) { all_.emplace(name, std::move(meaning)); }

  const scenario::ForeignProgram& program_;
  std::map<std::string, FlagMeaning> all_;
  std::set<std::string> partly_;
};

/// Those of "vllm", "sglang" or "tensorrt-llm".
[[nodiscard]] const FlagNames& flag_names(std::string_view engine);

/// A name with dashes for underscores, as engines take both.
[[nodiscard]] std::string with_dashes(std::string_view name);

/// Whether an engine's server has a flag of that name, without dashes.
[[nodiscard]] bool is_launch_flag(std::string_view engine, std::string_view name);

/// The members of an engine's file of flags (--config) as words of its command line.
[[nodiscard]] std::vector<Word> words_of_config(std::string_view engine,
                                                const document::Node& file);

}  // namespace ridgeline::deploy
