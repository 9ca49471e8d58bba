#include "metrics/operations_summary.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ridgeline::metrics {

std::string FaultSummary::name() const {
  return instance       ? fmt::format("{} of {}", kind, *instance)
         : host         ? fmt::format("{} of host {}", kind, *host)
         : is_of_fabric ? fmt::format("{} of the fabric", kind)
                        : kind;
}

bool FaultSummary::lasted_in(double begin_s, double end_s) const {
  return at_s <= end_s && (!over_s || (*over_s > at_s && *over_s > begin_s));
}

std::string OperationsSummary::faults_in(double begin_s, double end_s) const {
  constexpr std::size_t kMostNamed = 3;  // A warning is a line.
  std::vector<std::string> names;
  std::size_t others = 0;
  double covered_until = begin_s;
  double covered = 0.0;
  for (const FaultSummary& fault : faults) {  // In order of time.
    if (!fault.lasted_in(begin_s, end_s)) {
      continue;
    }
    const double from = std::max(fault.at_s, covered_until);
    const double to = std::min(fault.over_s.value_or(end_s), end_s);
    covered += std::max(to - from, 0.0);
    covered_until = std::max(covered_until, to);
    if (names.size() == kMostNamed) {
      ++others;
      continue;
    }
    names.push_back(
        fault.over_s
            ? fmt::format("{} from {:.4g} s to {:.4g} s", fault.name(), fault.at_s, *fault.over_s)
            : fmt::format("{} from {:.4g} s on", fault.name(), fault.at_s));
  }
  if (covered < (end_s - begin_s) / 2.0) {
    return {};
  }
  const std::string more = others > 0 ? fmt::format(" and {} more", others) : "";
  return fmt::format("{}{}", fmt::join(names, ", "), more);
}

}  // namespace ridgeline::metrics
