#include "scenario/rank_share.hpp"

#include <algorithm>
#include <cstdint>

#include "core/check.hpp"

namespace ridgeline::scenario {
namespace {

/// a * b / c, exact where a * b passes 64 bits; rounded down.
std::int64_t scaled(std::int64_t a, std::int64_t b, std::int64_t c) {
  return a / c * b + a % c * b / c;
}

std::int64_t shared(std::int64_t whole, std::int64_t by) {
  return whole / by + (whole % by > 0 ? 1 : 0);
}

}  // namespace

RankShare::RankShare(std::int64_t ranks, const WholeLoad& load)
    : ranks_(ranks), loaded_(ranks), requests_(load.requests) {
  RIDGELINE_CHECK(ranks >= 1, "a deployment without ranks");
  const std::int64_t busy = std::min(load.clients.value_or(ranks), load.requests.value_or(ranks));
  loaded_ = std::clamp<std::int64_t>(busy, 1, ranks);
  whole_ = loaded_;
  if (ranks > 1 && load.closed_loop && load.clients) {
    // Clients beyond the requests never send.
    whole_ =
        std::max<std::int64_t>(1, std::min(*load.clients, load.requests.value_or(*load.clients)));
    part_ = shared(whole_, ranks);
  }
}

std::int64_t RankShare::clients(std::int64_t whole) const {
  return shared(whole, loaded_);
}

std::int64_t RankShare::requests(std::int64_t whole) const {
  const std::int64_t down = scaled(whole, part_, whole_);
  // Rounded up: the rank is the first to get one.
  return number(down) < whole ? down + 1 : down;
}

double RankShare::rate(double whole) const {
  return whole * static_cast<double>(part_) / static_cast<double>(whole_);
}

std::int64_t RankShare::number(std::int64_t n) const {
  return scaled(n, whole_, part_);
}

double RankShare::times() const {
  if (requests_ && *requests_ > 0) {
    return static_cast<double>(*requests_) / static_cast<double>(requests(*requests_));
  }
  return static_cast<double>(whole_) / static_cast<double>(part_);
}

}  // namespace ridgeline::scenario
