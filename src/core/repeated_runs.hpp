#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/run_columns.hpp"

namespace ridgeline::core {

/// Runs that may come again, each once with how often it came: where a server has little to do,
/// most requests are served alone and in the same time, token by token. A table with one place for
/// each hash, so that a run costs a look; one that finds another in its place puts it out. Turns
/// itself off where runs seldom come again.
class RepeatedRuns {
 public:
  /// Whether it still is of use.
  [[nodiscard]] bool is_on() const { return on_; }

  /// Takes in short runs (ShortRuns) and gives back those that they put out, each with all its
  /// repeats: as many at most. When it turns off, what it holds stays.
  void exchange(const RunColumns& more, RunColumns& out) {
    if (places_.empty()) {
      places_.resize(kPlaces);
    }
    out.size = 0;
    std::int64_t again = 0;
    for (std::size_t i = 0; i < more.size; ++i) {
      const std::int64_t first = more.first[i];
      const std::int64_t growth = more.growth[i];
      const std::int64_t count = more.count[i];
      const std::int64_t repeat = more.repeat[i];
      Place& place = places_[place_of(first, count, repeat)];
      if (place.first == first && place.growth == growth && place.count == count &&
          place.repeat == repeat && place.repeats <= kMostRepeats - repeat) {
        place.repeats += repeat;
        ++again;
        continue;
      }
      out.put(place.first, place.growth, place.count, place.repeats);
      out.size += place.repeats > 0 ? 1 : 0;
      place = {
          .first = first, .growth = growth, .count = count, .repeat = repeat, .repeats = repeat};
    }
    watch(static_cast<std::int64_t>(more.size), again);
  }

  /// Calls visit(runs) for what it holds.
  template <class Visitor>
  void for_each_block(Visitor&& visit) const {
    RunColumns block;
    for (const Place& place : places_) {
      if (place.repeats > 0) {
        block.add(place.first, place.growth, place.count, place.repeats);
      }
      if (block.full()) {
        visit(static_cast<const RunColumns&>(block));
        block.size = 0;
      }
    }
    visit(static_cast<const RunColumns&>(block));
  }
  [[nodiscard]] std::size_t size() const {
    std::size_t size = 0;
    for (const Place& place : places_) {
      size += place.repeats > 0 ? 1 : 0;
    }
    return size;
  }

 private:
  struct Place {
    std::int64_t first = 0;
    std::int64_t growth = 0;
    std::int64_t count = 0;
    std::int64_t repeat = 0;   ///< Each time.
    std::int64_t repeats = 0;  ///< In all.
  };
  static constexpr int kPlaceBits = 12;
  static constexpr std::size_t kPlaces = std::size_t{1} << kPlaceBits;
  static constexpr std::int64_t kMostRepeats = std::int64_t{1} << ShortRuns::kRepeatBits;
  /// How many runs it watches itself for, and which share must have come again.
  static constexpr std::int64_t kWatched = 2048;
  static constexpr std::int64_t kLeastShare = 4;  ///< One in so many.

  static std::size_t place_of(std::int64_t first, std::int64_t count, std::int64_t repeat) {
    // 2^64 divided by the golden ratio, whose multiples' upper bits are spread evenly.
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
    const std::uint64_t key = static_cast<std::uint64_t>(first) ^
                              (static_cast<std::uint64_t>(count) << ShortRuns::kValueBits) ^
                              (static_cast<std::uint64_t>(repeat) << (64 - ShortRuns::kCountBits));
    return static_cast<std::size_t>((key * kOdd) >> (64 - kPlaceBits));
  }
  void watch(std::int64_t more, std::int64_t again) {
    seen_ += more;
    again_ += again;
    if (seen_ >= kWatched) {
      on_ = again_ >= seen_ / kLeastShare;
      seen_ = 0;
      again_ = 0;
    }
  }

  bool on_ = true;
  std::int64_t seen_ = 0;
  std::int64_t again_ = 0;
  std::vector<Place> places_;
};

}  // namespace ridgeline::core
