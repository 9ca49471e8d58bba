#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "deploy/script.hpp"
#include "deploy/targets.hpp"

namespace ridgeline::deploy {

/// The servers that a script starts, each by itself; problems are noted. Commands in the words of
/// others (`bash -c`, `docker run IMAGE bash -c`) are read into the script as well.
[[nodiscard]] std::vector<ServerFound> servers_of_script(Script& script, core::Errors& errors);

/// A container, as `docker run` and Compose start it.
struct Container {
  Word image;
  std::vector<Word> words;      ///< Entry point, where one is stated, and arguments.
  std::vector<Word> variables;  ///< "NAME=VALUE"
  std::optional<std::int64_t> gpus = {};
  bool has_entrypoint = false;
  Values given = {};  ///< Variables from outside, for scripts in its words.
};
/// The servers that a container starts: none where its image is no engine's and its words are no
/// launch.
[[nodiscard]] std::vector<ServerFound> servers_of_container(const Container& container,
                                                            Script& script,
                                                            core::Errors& errors);

}  // namespace ridgeline::deploy
