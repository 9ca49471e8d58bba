#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/time.hpp"
#include "document/document.hpp"
#include "document/parameter.hpp"
#include "scenario/scenario.hpp"
#include "scenario/speculation.hpp"
#include "workload/options.hpp"

namespace ridgeline::scenario {

/// The place of a value that a policy or an engine names in a table of its own
/// (Option::named_kind).
struct NamedSlot {
  std::vector<document::NamedValue>* values;
  std::string_view name;
};

/// Where an option's value lives; its type is the option's kind, and an optional one may stay
/// unset.
using Slot = std::variant<std::string*,
                          std::optional<std::string>*,
                          std::int64_t*,
                          std::optional<std::int64_t>*,
                          std::optional<double>*,
                          bool*,
                          std::optional<bool>*,
                          std::optional<core::Duration>*,
                          std::optional<workload::Length>*,
                          std::optional<SpeculativeConfig>*,
                          std::optional<document::Node>*,  ///< For the section's own file to read.
                          NamedSlot>;

/// Finds an option's slot in the part of a scenario that the option belongs to, whichever object of
/// that kind it is: a second deployment is filled through the same table.
using SlotIn = std::variant<Slot (*)(DeploymentSection&),
                            Slot (*)(DeploymentSection&, std::string_view key),
                            Slot (*)(WorkloadSection&),
                            Slot (*)(RunSettings&),
                            Slot (*)(RunSettings&, std::string_view key)>;

/// One line of the table that drives reading YAML, the flags, help, the JSON Schema, the effective
/// configuration and provenance.
struct Option {
  /// How a flag gives the value.
  enum class Shape : std::uint8_t {
    kOne,    ///< `--seed 1`
    kPairs,  ///< A map, `--scorer NAME=VALUE` once per member.
    kItems,  ///< A list, the flag once per item.
  };

  std::string_view path;       ///< "engine.max_num_seqs"
  std::string_view flag;       ///< "max-num-seqs"
  std::string_view unit = {};  ///< "tokens"; empty for plain numbers and words.
  double lowest = 0.0;         ///< Numbers: the inclusive range.
  double highest = 0.0;
  std::span<const std::string_view> choices = {};  ///< Words: what is allowed; empty: anything.
  std::string_view unset = {};  ///< What holds when it is not given; empty: see the default.
  std::string_view help;
  std::string_view example;
  Shape shape = Shape::kOne;
  std::string_view named_kind = {};  ///< kind() of a value in a NamedSlot.
  SlotIn slot;

  /// "engine", "cluster.router"; empty at the top.
  [[nodiscard]] std::string_view section() const;
  [[nodiscard]] std::string_view key() const;  ///< "max_num_seqs"
  [[nodiscard]] bool is_switch() const;        ///< A yes or no.
  /// "integer", "number", "true or false", "text", "duration", "integer or distribution", "map",
  /// "list".
  [[nodiscard]] std::string_view kind() const;
  /// The built-in value, or what is said in `unset`.
  [[nodiscard]] std::string default_text() const;
  /// "1 to 65536", the choices, or nothing.
  [[nodiscard]] std::string range_text() const;
};

/// The unit of a text that is "2" or "25%", and in a file also a number.
inline constexpr std::string_view kCountOrShare = "number or %";

/// An upper bound for times: core::Duration ends at 106 days.
inline constexpr double kMaxSeconds = 9'000'000;
/// The shortest time from one reading, decision or check to the next. A run takes a step for each:
/// below it one would seem to hang.
inline constexpr double kMinIntervalSeconds = 0.001;

[[nodiscard]] std::span<const Option> options();
/// The option of that path, or nullptr.
[[nodiscard]] const Option* find_option(std::string_view path);

/// The keys of the sections directly below a section ("" is the top), in the table's order.
[[nodiscard]] std::vector<std::string> sections_below(std::string_view section);

/// The key of a section that a plain word in the section's place stands for: "version" of `engine`,
/// "name" of sections that have it; empty where there is none.
[[nodiscard]] std::string_view naming_key(std::string_view section);

/// The slot of an option in a whole scenario.
[[nodiscard]] Slot slot_of(const Option& option, Scenario& scenario);
/// The slot of an option in one deployment; nothing for an option of the workload or of the run.
[[nodiscard]] std::optional<Slot> slot_of(const Option& option, DeploymentSection& deployment);

/// The value of an option in a scenario as a node (null when unset), and as text for people.
[[nodiscard]] document::Node value_node(const Option& option, const Scenario& scenario);
[[nodiscard]] std::string value_text(const Option& option, const Scenario& scenario);
/// A node on one line, for people.
[[nodiscard]] std::string flow_text(const document::Node& node);

/// The JSON Schema (draft 2020-12) of a scenario document, generated from the table.
[[nodiscard]] document::Node scenario_schema();
/// The JSON Schema of a flat map of options, each by its flag with underscores, with its path,
/// kind, unit, range and default: what a binding of another language is generated from.
[[nodiscard]] document::Node options_schema();

}  // namespace ridgeline::scenario
