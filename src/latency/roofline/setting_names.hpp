#pragma once

#include <span>
#include <string>
#include <string_view>

#include "document/document.hpp"

namespace ridgeline::latency::roofline {

/// What the original documents call a constant or switch of ours.
struct SettingAlias {
  std::string_view theirs;
  std::string_view ours;
  bool zero_is_one = false;  ///< They write 0 for "no correction".
  bool per_phase = false;    ///< Says too that each phase has its own bandwidth.
};
/// In the order of documentation.
[[nodiscard]] std::span<const SettingAlias> setting_aliases();

/// A constant or switch, found by any of its names in any case, as Go's JSON reads them.
struct SettingName {
  std::string key;        ///< Our name, or what was typed where nothing has that name.
  bool is_known = false;  ///< It is a constant or a switch.
  const SettingAlias* alias = nullptr;  ///< By which it was found.
};
[[nodiscard]] SettingName setting_name(std::string_view typed);

/// A value given under the documents' name, as ours takes it: 0 is 1 where they mean that, and a
/// mode left empty is the default one.
[[nodiscard]] document::Node own_value(const SettingName& name, const document::Node& value);

}  // namespace ridgeline::latency::roofline
