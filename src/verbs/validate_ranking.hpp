#pragma once

#include <string>

#include "evidence/validate/ranking.hpp"
#include "report/palette.hpp"

namespace ridgeline::verbs {

/// A table per confidence, group by group, and how well the picks' certainty holds.
[[nodiscard]] std::string ranking_text(const evidence::validate::Ranking& ranking,
                                       const report::TextStyle& style);
/// The ranking as Markdown.
[[nodiscard]] std::string ranking_markdown(const evidence::validate::Ranking& ranking);

}  // namespace ridgeline::verbs
