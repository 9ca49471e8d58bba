#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "observe/prompts.hpp"
#include "workload/source.hpp"

/// What an interrupted measurement left to do.
namespace ridgeline::observe {

/// A workload in 32 hexadecimal digits: its first 10,000 requests. `source` is used up.
[[nodiscard]] std::string workload_digest(workload::Source& source);

/// What a record says of the measurement that it is of.
struct Earlier {
  std::string workload_digest;
  std::string target;
  std::string model;
  Endpoint endpoint = Endpoint::kCompletions;
  PromptForm form = PromptForm::kWords;
  Overhead overhead;
  std::uint64_t salt = 0;
  bool natural_output = false;
  std::int32_t last_stage = 0;
  core::SimTime end;                 ///< End of its last answer.
  std::size_t whole_bytes = 0;       ///< Bytes of the file's lines that are not cut short.
  std::set<std::uint64_t> answered;  ///< Requests of no session that have an answer, by id.
  /// Turns of sessions that have one: those that are whole need not be sent again.
  std::map<std::uint64_t, std::set<std::int32_t>> answered_turns;

  /// Forgets the sessions that lack an answer: they start anew. `source` is used up.
  void forget_unfinished_sessions(workload::Source& source);
  [[nodiscard]] bool has(const domain::Request& request) const;
};
/// Fails where the file is no record; a last line that is cut short is left out.
[[nodiscard]] core::Result<Earlier> read_earlier(const std::string& path);

}  // namespace ridgeline::observe
