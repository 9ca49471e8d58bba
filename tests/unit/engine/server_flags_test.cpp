#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "document/parameter.hpp"
#include "engine/engine_plan.hpp"
#include "engine/schedulers.hpp"

namespace ridgeline::engine {
namespace {

/// A flag cannot be a setting and be answered too: the setting would win, and the row be dead.
TEST(ServerFlags, AreNoSettingsOfTheirEngine) {
  for (const SchedulerEntry& entry : schedulers()) {
    if (entry.own == nullptr) {
      continue;
    }
    for (const auto table : {entry.own->refused_flags(), entry.own->flags_without_effect()}) {
      EXPECT_FALSE(table.empty()) << entry.name;
      for (const ServerFlags& row : table) {
        const std::string names = " " + std::string(row.names) + " ";
        EXPECT_FALSE(row.answer.empty());
        for (const document::Parameter& setting : entry.own->settings) {
          std::string flag(setting.name);
          std::ranges::replace(flag, '_', '-');
          EXPECT_EQ(names.find(" " + flag + " "), std::string::npos) << flag;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline::engine
