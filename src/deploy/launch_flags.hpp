#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "deploy/flags.hpp"
#include "document/document.hpp"
#include "scenario/foreign_flags.hpp"

namespace ridgeline::deploy {

/// The command line of an engine's server.
struct LaunchWords {
  std::string_view engine = "vllm";  ///< "sglang", "tensorrt-llm"
  std::vector<Word> words;           ///< Behind the command; the network may be among them.
  std::vector<Word> variables = {};  ///< "NAME=VALUE"
  std::optional<scenario::Version> version = {};              ///< The engine's, where it is known.
  const std::map<std::string, std::string>* files = nullptr;  ///< For --config.
  bool needs_acceptance = false;  ///< Drafts without an acceptance are a problem.
  bool has_statement = false;     ///< The file states beside the flags what they do not say.
};

/// A flag or variable that is not in the scenario.
struct LaunchNote {
  std::string what;  ///< "--attention-backend FLASHINFER"
  std::string why;
  core::Location where;
};

/// What a command line gives.
struct LaunchOptions {
  Word network = {};
  OptionNodes options = {};
  std::string role = {};       ///< "prefill", "decode", or empty.
  std::string connector = {};  ///< That hands KV on to other servers, without a role.
  std::int64_t nodes = 1;      ///< That share the replica.
  bool is_part = false;        ///< A rank of a replica that another command begins.
  std::vector<LaunchNote> not_modelled = {};
  std::vector<LaunchNote> ignored = {};  ///< Flags of little effect.
  std::vector<LaunchNote> unknown = {};  ///< Names without a value, by the flag that they decide.
  std::optional<scenario::Version> since = {};  ///< The first release that has all its flags.
};

/// Reads a command line by the engine's file in data/flags: names by any unique beginning, the last
/// of several values. Problems are noted.
[[nodiscard]] LaunchOptions read_launch(const LaunchWords& launch, core::Errors& errors);

}  // namespace ridgeline::deploy
