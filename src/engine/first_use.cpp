#include "engine/first_use.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::engine {

FirstUse::FirstUse(const FirstUseStalls& stalls) : stalls_(stalls) {
  if (stalls_.warm > stalls_.above) {
    look(stalls_.warm);
  }
}

core::Duration FirstUse::look(core::Tokens tokens) {
  std::int64_t start = std::max<std::int64_t>(1, stalls_.above.value());
  std::int64_t range = 0;
  const std::int64_t count = tokens.value() - 1;
  for (; count >= 2 * start; start *= 2) {
    range += stalls_.ranges;
  }
  range += std::max<std::int64_t>(0, count - start) * stalls_.ranges / start;
  const auto index = static_cast<std::size_t>(range);
  if (index >= used_.size()) {
    used_.resize(index + 1);
  }
  const bool is_first = !used_[index];
  used_[index] = true;
  return is_first ? stalls_.stall : core::Duration();
}

}  // namespace ridgeline::engine
