#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "document/parameter.hpp"
#include "scenario/options.hpp"

namespace ridgeline::scenario {

/// Parameters that something named has: the settings of an engine, the knobs of a policy.
struct NamedTable {
  std::string_view name;
  std::span<const document::Parameter> parameters;
};

/// "maxTTFTPenaltyMs" and "cache_threshold" as a flag: "max-ttft-penalty-ms", "cache-threshold".
[[nodiscard]] std::string flag_word(std::string_view name);

/// An option of `section` for each parameter of the tables, which outlive it; one that several
/// tables have is one option, whose `unset` names the default of each: "sglang: 1".
class NamedOptions {
 public:
  NamedOptions(std::string_view section, std::span<const NamedTable> tables, SlotIn slot);

  [[nodiscard]] const std::vector<Option>& all() const { return options_; }

 private:
  struct Texts {
    const document::Parameter* parameter = nullptr;
    std::string path = {};
    std::string flag = {};
    std::string unset = {};
    std::string example = {};
  };

  std::deque<Texts> texts_;  ///< That the options refer to.
  std::vector<Option> options_;
};

}  // namespace ridgeline::scenario
