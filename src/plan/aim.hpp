#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::plan {

/// The load that a question with `maximize` leaves open: the most of it is found.
enum class LoadToFind : std::uint8_t {
  kClients,  ///< Clients of a closed loop, each with one request at a time.
  kRate      ///< Requests per second, however long answers take.
};

/// Reads `maximize: throughput`, and which load is to be found for it: the rate where the question
/// has one (a number in a file, a trace, `--request-rate auto`), else the number of clients. What
/// stands in their place is taken out of `overrides`, and a load put there that searches replace.
/// Nothing, with a problem noted, for another word and for a flag that states the load.
[[nodiscard]] std::optional<LoadToFind> read_aim(const document::Node& word,
                                                 const document::Node& base,
                                                 std::vector<scenario::Override>& overrides,
                                                 core::Errors& errors);

}  // namespace ridgeline::plan
