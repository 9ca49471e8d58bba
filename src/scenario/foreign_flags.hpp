#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "document/document.hpp"
#include "document/embedded_file.hpp"

namespace ridgeline::scenario {

/// data/flags, compiled into the binary.
[[nodiscard]] std::span<const document::EmbeddedFile> flag_files();

/// (0, 15): a version's first two numbers, as flags come and go with.
using Version = std::pair<int, int>;
/// "0.15.1", "vllm@0.15".
[[nodiscard]] std::optional<Version> parse_version(std::string_view text);

/// Pairs of words: one of the file's left side, and the one it stands for.
using WordPairs = std::vector<std::pair<std::string, std::string>>;

/// How a deployment states one option of the section `engine`: a row of `options` in a file of
/// data/flags; vllm.yaml says what each member means.
struct StatedOption {
  std::string option = {};      ///< "engine.max_num_seqs"
  std::string flag = {};        ///< "max-num-seqs"; empty: a variable.
  std::string short_flag = {};  ///< "tp", or empty.
  std::string member = {};      ///< Dotted key in the flag's JSON, or empty.
  std::string variable = {};    ///< "VLLM_USE_FLASHINFER_SAMPLER"; empty: a flag.
  WordPairs values = {};        ///< Our word, and the variable's for it; empty: the same.
  std::optional<Version> since = {};
  std::string before = {};  ///< What versions before `since` call the member, or empty.
  std::optional<Version> until = {};
  bool always = false;
  bool is_lenient =
      false;  ///< A launch's value that is none of ours is passed over with a warning.
  std::optional<document::Node> otherwise = {};

  [[nodiscard]] bool is_in(Version version) const {
    return (!since || *since <= version) && (!until || version <= *until);
  }
};

/// A flag of another program that people type here.
struct ForeignFlag {
  enum class Answer { kMeans, kRefused, kIgnored };
  std::string name = {};        ///< Without dashes: "swap-space".
  std::string short_name = {};  ///< "cc", or empty.
  Answer answer = Answer::kMeans;
  std::string text = {};   ///< Our flag, or what is said in its place.
  std::string takes = {};  ///< How its value is called; empty: none is taken, or what ours takes.
  std::string unit = {};   ///< Stands behind its value here.
  WordPairs values = {};   ///< Its words, and ours.

  /// Takes all words up to the next flag.
  [[nodiscard]] bool takes_many() const { return takes.ends_with("..."); }
  /// Our word for one of its own; another stays as it is.
  [[nodiscard]] std::string our_word(const std::string& value) const;
};

/// A flag of a server's own parser that states no option: a name of `launches`.
struct LaunchFlag {
  enum class Takes { kNone, kOne, kMany, kMaybe };
  std::string name = {};
  Takes takes = Takes::kOne;
  std::string answer = {};  ///< "silent", "warned"; data/flags/vllm.yaml says which there are.
  std::string means = {};   ///< With `answer` empty: the flag, member or option that it is.
  std::vector<std::string> unless = {};  ///< Values with which a refused one is none.
  std::string why = {};  ///< Why it is refused, where no ForeignFlag of that name says it.
  std::optional<Version> since = {};
  std::optional<Version> until = {};
};

/// Environment variables of a launch, as patterns: "VLLM_*", "VLLM_USE_V1=0".
struct LaunchVariables {
  std::vector<std::string> engines;   ///< Those that engines read.
  std::vector<std::string> silent;    ///< Those among them that change no time.
  std::vector<std::string> modelled;  ///< Those that say what holds here anyway.
  std::vector<std::string> refused;
};

struct ForeignProgram {
  std::string title = {};  ///< "SGLang", of a server that deployments run.
  std::string verb = {};   ///< The only verb on which its flags are read; empty: all.
  /// Whether --no-NAME turns a switch off; else its flag is left out.
  bool turns_off = false;
  std::vector<StatedOption> options = {};  ///< As a deployment has them, in its order.
  std::vector<ForeignFlag> flags = {};     ///< With the names of `options` that are not ours.
  std::vector<LaunchFlag> launches = {};   ///< Flags of launches that state no option.

  [[nodiscard]] const ForeignFlag* find(std::string_view flag) const;
  /// The row of an option by its path, or null.
  [[nodiscard]] const StatedOption* stated(std::string_view option) const;
};

/// Files of data/flags, whose flags are read in this order.
inline constexpr std::array<std::string_view, 6> kForeignPrograms = {
    "vllm", "sglang", "trtllm", "vllm-bench", "inference-sim", "aiconfigurator"};
/// Flags of one of them. Its file is read at the first call.
[[nodiscard]] const ForeignProgram& foreign_program(std::string_view name);

/// Which environment variables of a launch are named.
[[nodiscard]] const LaunchVariables& launch_variables();

/// What is said of flags that are refused or ignored, in the order of `ridgeline help coming-from`.
[[nodiscard]] std::vector<std::string> foreign_answers(ForeignFlag::Answer answer);

}  // namespace ridgeline::scenario
