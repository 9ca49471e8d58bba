#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::conform {

/// The keys that a comparison reads of a recorded result. All others are refused: what is not
/// compared must not be called equal.
struct ResultForm {
  std::span<const std::string_view> record;   ///< Keys of an iteration in `trace`.
  std::span<const std::string_view> totals;   ///< Keys of the whole run.
  std::span<const std::string_view> request;  ///< Keys of a request in `per_request`.
};

/// Whether a result states some decisions of a run alone, as those derived by hand do: no totals
/// and no table of requests. Its records may leave keys out, and it may end while requests are
/// inside.
[[nodiscard]] bool is_excerpt(const document::Node& result);

/// Notes what of a list of results could not be compared: nothing in it, keys that are not of the
/// form, requests without a row or rows without a request, and excerpts where no `derivation` of
/// the recording says what they show. Without problems each result is a map with the lists versions
/// and trace, of maps.
void check_results(const document::Node& recording,
                   const document::Node& results,
                   const ResultForm& form,
                   core::Errors& errors);

}  // namespace ridgeline::conform
