#include "report/validation_start.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

using evidence::validate::Figure;
using evidence::validate::kFigureNames;
using evidence::validate::kNumFigures;
using evidence::validate::Level;
using evidence::validate::ScoredRecord;
using evidence::validate::Validation;

/// One part of a start as texts; "-" where it is not predicted.
struct Part {
  std::string name;
  std::string measured;
  std::string predicted = "-";
  std::string error = "-";
};

/// What was measured of a start; nothing of other records.
std::vector<Part> parts_of(const ScoredRecord& record) {
  std::vector<Part> parts;
  for (std::size_t i = 0; record.evidence.is_start && i < kNumFigures; ++i) {
    const auto figure = static_cast<Figure>(i);
    const auto& measured = record.evidence.measured.at(figure, Level::kMean);
    if (!measured) {
      continue;
    }
    Part part{.name = kFigureNames[i], .measured = significant(*measured)};
    if (const auto error = record.error_pct(figure, Level::kMean)) {
      part.predicted = significant(*record.prediction->figures.at(figure, Level::kMean));
      part.error = fmt::format("{:+.1f}", *error);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

std::string starts_text(const Validation& validation, const TextStyle& style) {
  std::string text;
  for (const auto& record : validation.records) {
    const auto parts = parts_of(record);
    if (!parts.empty()) {
      text += fmt::format("  {}\n", printable(record.evidence.id, style.ascii));
    }
    for (const auto& part : parts) {
      text += fmt::format(
          "    {:<24} {:>12} {:>12} {:>9}\n", part.name, part.measured, part.predicted, part.error);
    }
  }
  return text.empty() ? text
                      : fmt::format("\n{:<28} {:>12} {:>12} {:>9}\n",
                                    "starts of servers",
                                    "measured",
                                    "predicted",
                                    "error, %") +
                            text;
}

std::string starts_markdown(const Validation& validation) {
  std::string text;
  for (const auto& record : validation.records) {
    for (const auto& part : parts_of(record)) {
      text += fmt::format("| {} | {} | {} | {} | {} |\n",
                          markdown_cell(record.evidence.id),
                          part.name,
                          part.measured,
                          part.predicted,
                          part.error);
    }
  }
  return text.empty()
             ? text
             : "\n## Starts of servers\n\n| record | part | measured | predicted | error, % |\n"
               "|---|---|---|---|---|\n" +
                   text;
}

}  // namespace ridgeline::report
