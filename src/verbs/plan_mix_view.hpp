#pragma once

#include <string>
#include <vector>

#include "plan/mix_plan.hpp"
#include "report/palette.hpp"
#include "verbs/plan_view.hpp"

namespace ridgeline::verbs {

/// A mix on one screen: its pools, what each serves and how sure that is, and what one deployment
/// for all classes would cost, and the files that were written.
[[nodiscard]] std::string mix_table(const plan::MixAnswer& answer,
                                    const report::TextStyle& style,
                                    const std::vector<std::string>& files = {});

/// What a pool of a mix serves, as "100 % of chat, 20 % of documents".
[[nodiscard]] std::string served_text(const plan::MixAnswer& answer, const plan::MixPool& pool);

}  // namespace ridgeline::verbs
