#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "document/document.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/marks.hpp"
#include "report/format.hpp"

namespace ridgeline::report::figures {
namespace {

constexpr std::string_view kGib = "_gib";

/// "kv cache" of "kv_cache_gib".
std::string part_name(std::string_view key) {
  std::string name(key.substr(0, key.size() - kGib.size()));
  for (char& c : name) {
    c = c == '_' ? ' ' : c;
  }
  return name;
}

}  // namespace

Figure gpu_memory(const document::Node& result) {
  constexpr double kLeft = 0.0;
  constexpr double kRight = kPictureWidth;
  constexpr double kTop = 6.0;
  constexpr double kBottom = 34.0;
  constexpr double kRowHeight = 19.0;
  constexpr double kColumnWidth = 240.0;
  constexpr std::size_t kColumns = 4;
  constexpr std::array<std::string_view, 6> kColours = {"fa", "fc", "fg", "fd", "ff", "fb"};
  Figure figure{.id = "memory",
                .title = "What lies in the memory of one GPU, in GiB",
                .caption =
                    "Of what the driver calls usable. Activations are the peak of the engine's "
                    "profile run, CUDA graphs an estimate.",
                .head = {"", "GiB", "share"}};
  const document::Node* const memory = result.find("gpu_memory");
  const double usable = number_at(result, "gpu_memory.usable_gib");
  if (memory == nullptr || usable <= 0.0) {
    return figure;
  }
  const std::size_t parts = memory->members().size() - 1;
  const std::size_t rows = (parts - 1) / kColumns + 1;
  Canvas canvas(kRight, kBottom + 12.0 + kRowHeight * static_cast<double>(rows));
  double x = kLeft;
  std::size_t number = 0;
  for (const auto& member : memory->members()) {
    if (member.key == "usable_gib" || !member.value.is_number()) {
      continue;
    }
    const double gib = member.value.as_real();
    const bool is_rest = member.key == "free_gib" || member.key == "other_gib";
    const std::string_view colour = is_rest ? "fe" : kColours[number % kColours.size()];
    const std::string text = fmt::format("{} {} GiB", part_name(member.key), significant(gib));
    const double to = x + (kRight - kLeft) * gib / usable;
    canvas.bar({.x = x, .y = kTop}, {.x = to, .y = kBottom}, colour, text);
    x = to;
    const double key_x = kLeft + kColumnWidth * static_cast<double>(number % kColumns);
    const std::size_t row = number / kColumns;
    const double key_y = kBottom + 22.0 + kRowHeight * static_cast<double>(row);
    canvas.bar({.x = key_x, .y = key_y - 10.0}, {.x = key_x + 12.0, .y = key_y}, colour);
    canvas.text({.x = key_x + 16.0, .y = key_y}, "start", "", text);
    figure.description += (number == 0 ? "" : ", ") + text;
    figure.rows.push_back({part_name(member.key), significant(gib), percent(gib / usable)});
    ++number;
  }
  canvas.bar({.x = kLeft + 0.5, .y = kTop}, {.x = kRight - 0.5, .y = kBottom}, "frame");
  figure.draw(canvas);
  return figure;
}

}  // namespace ridgeline::report::figures
