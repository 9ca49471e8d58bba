#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ridgeline::sweep {

/// A sweep as a scheduler is to run it.
struct Submission {
  std::vector<std::string> words;  ///< Behind `ridgeline sweep run`: the file and flags.
  std::string store;               ///< The folder of results, on storage that all machines share.
  std::string digest;
  std::int64_t points = 0;
  std::int64_t shards = 1;
};

/// A scheduler that we write scripts for.
struct SubmitEngine {
  std::string_view name;
  std::string_view summary;
  std::string (*write)(const Submission& submission);
};

/// slurm first.
[[nodiscard]] std::span<const SubmitEngine> submit_engines();
/// By name; unknown ones are answered with the nearest.
[[nodiscard]] core::Result<const SubmitEngine*> find_submit_engine(const std::string& name);

}  // namespace ridgeline::sweep
