#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::scenario {

/// How many drafts are accepted where a scenario does not say it: what was published.
struct PublishedAcceptance {
  std::vector<double> given_previous = {};  ///< EngineOptions::draft_acceptance.
  double tokens = 0.0;                      ///< Tokens of a verification, its own included ...
  double lowest = 0.0;                      ///< ... and at the ends of the curves whose mean it is.
  double highest = 0.0;
  std::string networks = {};  ///< Whose curves they are.
};

/// The mean of the network's own curves in data/drafts/acceptance.yaml, or of all curves of such
/// drafts where it has none; beyond the longest curve no further draft is accepted. Nothing
/// for a method without curves.
[[nodiscard]] std::optional<PublishedAcceptance> published_acceptance(std::string_view method,
                                                                      std::string_view network,
                                                                      std::int64_t drafts);
/// Whether there is a curve for the method.
[[nodiscard]] bool has_published_acceptance(std::string_view method);

}  // namespace ridgeline::scenario
