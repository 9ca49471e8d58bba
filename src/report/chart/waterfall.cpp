#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/marks.hpp"
#include "report/format.hpp"

namespace ridgeline::report::figures {
namespace {

/// One bar of the picture.
struct Life {
  const document::Node* story;
  std::string_view group;
};

double at(const document::Node& story, std::string_view key) {
  return number_at(story, key);
}

/// The slowest of each list, and every so many of the sample, slowest first.
std::vector<Life> chosen(const document::Node& result) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kLists = {
      {{"worst_ttft", "longest TTFT"},
       {"worst_tpot", "longest TPOT"},
       {"worst_e2e", "longest E2E"}}};
  constexpr std::size_t kOfEach = 8;
  std::vector<Life> lives;
  for (const auto& [key, group] : kLists) {
    const auto* const list = at_path(result, fmt::format("series.requests.{}", key));
    for (std::size_t i = 0; list != nullptr && i < std::min(kOfEach, list->items().size()); ++i) {
      lives.push_back({.story = &list->items()[i], .group = group});
    }
  }
  if (const auto* const sample = at_path(result, "series.requests.sample")) {
    std::vector<Life> all;
    for (const document::Node& story : sample->items()) {
      all.push_back({.story = &story, .group = "some of all requests"});
    }
    std::ranges::stable_sort(all, [](const Life& a, const Life& b) {
      return at(*a.story, "e2e_ms") > at(*b.story, "e2e_ms");
    });
    const std::size_t stride = all.size() / kOfEach + 1;
    for (std::size_t i = 0; i < all.size(); i += stride) {
      lives.push_back(all[i]);
    }
  }
  return lives;
}

constexpr double kRow = 15.0;
constexpr double kGroupHead = 20.0;
constexpr double kLeft = 150.0;
constexpr double kTop = 24.0;

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kLifeParts = {
    {{"on the way", "fe"}, {"queued", "fb"}, {"prefill", "fg"}, {"decode", "fa"}, {"back", "fe"}}};

/// Milliseconds from the arrival to the ends of the parts.
std::array<double, kLifeParts.size() + 1> edges_of(const document::Node& story) {
  constexpr double kMs = 1000.0;
  const double arrival = at(story, "arrival_s");
  return {0.0,
          (at(story, "queued_s") - arrival) * kMs,
          (at(story, "first_scheduled_s") - arrival) * kMs,
          (at(story, "first_token_s") - arrival) * kMs,
          (at(story, "last_token_s") - arrival) * kMs,
          at(story, "e2e_ms")};
}

void draw_part_keys(Canvas& canvas) {
  double x = kLeft;
  for (const auto& [name, css_class] : kLifeParts) {
    canvas.bar({.x = x, .y = 6.0}, {.x = x + 12.0, .y = 15.0}, css_class);
    canvas.text({.x = x + 16.0, .y = 15.0}, "start", "quiet", name);
    x += 96.0;
  }
}

void draw_life(const document::Node& story, const Scale& x, double y, Canvas& canvas) {
  const auto edges = edges_of(story);
  canvas.text(
      {.x = kLeft - 8.0, .y = y + 10.0},
      "end",
      "quiet",
      fmt::format("#{}{}", at(story, "id"), at(story, "preemptions") > 0.0 ? " preempted" : ""));
  for (std::size_t i = 0; i < kLifeParts.size(); ++i) {
    canvas.bar({.x = x.pixel(edges[i]), .y = y},
               {.x = x.pixel(edges[i + 1]), .y = y + kRow - 3.0},
               kLifeParts[i].second,
               fmt::format("{} {} ms", kLifeParts[i].first, significant(edges[i + 1] - edges[i])));
  }
  canvas.text({.x = x.pixel(edges.back()) + 4.0, .y = y + 10.0},
              "start",
              "quiet",
              significant(edges.back()));
}

std::vector<std::string> row_of(const document::Node& story) {
  const auto edges = edges_of(story);
  const auto count = [&](std::string_view key) {
    return grouped(static_cast<std::int64_t>(at(story, key)));
  };
  return {fmt::format("{}", at(story, "id")),
          significant(at(story, "arrival_s")),
          significant(edges[2] - edges[1]),
          significant(edges[3] - edges[2]),
          significant(edges[4] - edges[3]),
          count("input_tokens"),
          count("output_tokens"),
          count("preemptions")};
}

}  // namespace

Figure waterfall(const document::Node& result) {
  Figure figure{.id = "requests",
                .title = "What happened to single requests, ms from their arrival",
                .caption =
                    "On the way to the engine's queue, in the queue, prompt computed (to the "
                    "first token), answer generated, the last token on its way back. A preempted "
                    "request waits and computes "
                    "again within its answer.",
                .head = {"request",
                         "arrival s",
                         "queue ms",
                         "to first token ms",
                         "answer ms",
                         "tokens in",
                         "tokens out",
                         "preempted"}};
  const std::vector<Life> lives = chosen(result);
  if (lives.empty()) {
    return figure;
  }
  double longest = 0.0;
  double height = kTop + kRow * static_cast<double>(lives.size());
  std::string_view group;
  for (const Life& life : lives) {
    longest = std::max(longest, edges_of(*life.story).back());
    height += group == life.group ? 0.0 : kGroupHead;
    group = life.group;
  }
  Canvas canvas(960.0, height + 44.0);
  const Scale x = Scale::from_zero(longest, kLeft, 880.0);
  draw_part_keys(canvas);
  double y = kTop;
  group = {};
  for (const Life& life : lives) {
    if (life.group != group) {
      group = life.group;
      y += kGroupHead;
      canvas.text({.x = 4.0, .y = y - 6.0}, "start", "strong", group);
    }
    draw_life(*life.story, x, y, canvas);
    figure.rows.push_back(row_of(*life.story));
    y += kRow;
  }
  canvas.axis_below(x, y + 4.0, kTop, "ms from arrival");
  figure.draw(canvas);
  figure.description =
      fmt::format("{} requests; the longest takes {} ms.", lives.size(), significant(longest));
  return figure;
}

}  // namespace ridgeline::report::figures
