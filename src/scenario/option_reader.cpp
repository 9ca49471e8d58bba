#include "scenario/option_reader.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/parameter.hpp"
#include "document/reader.hpp"
#include "scenario/length.hpp"
#include "scenario/options.hpp"
#include "scenario/refused_settings.hpp"
#include "scenario/speculation.hpp"
#include "scenario/time_value.hpp"
#include "scenario/token_count.hpp"
#include "workload/options.hpp"

namespace ridgeline::scenario {

namespace {

document::Range<std::int64_t> integer_range(const Option& option) {
  return {static_cast<std::int64_t>(option.lowest), static_cast<std::int64_t>(option.highest)};
}

/// Puts the value of one option, where the document has it, into its slot.
class SlotReader {
 public:
  SlotReader(const Option& option, document::ObjectReader& reader, core::Errors& errors)
      : option_(option), reader_(reader), errors_(errors) {}

  void operator()(std::string* slot) const { assign(text(), slot); }
  void operator()(std::optional<std::string>* slot) const { assign(text(), slot); }
  void operator()(std::int64_t* slot) const { assign(integer(), slot); }
  void operator()(std::optional<std::int64_t>* slot) const { assign(integer(), slot); }
  void operator()(std::optional<double>* slot) const { assign(real(), slot); }
  void operator()(bool* slot) const { assign(reader_.boolean(option_.key()), slot); }
  void operator()(std::optional<bool>* slot) const { assign(reader_.boolean(option_.key()), slot); }
  void operator()(std::optional<core::Duration>* slot) const { assign(duration(), slot); }
  void operator()(std::optional<workload::Length>* slot) const {
    const document::Node* node = reader_.node(option_.key());
    if (node != nullptr && !node->is_null()) {
      assign(read_length(*node, reader_.path_of(option_.key()), errors_), slot);
    }
  }
  void operator()(std::optional<SpeculativeConfig>* slot) const {
    const document::Node* node = reader_.node(option_.key());
    if (node != nullptr && !node->is_null()) {
      assign(read_speculative(*node, reader_.path_of(option_.key()), errors_), slot);
    }
  }
  void operator()(std::optional<document::Node>* slot) const {
    const document::Node* node = reader_.node(option_.key());
    if (node == nullptr || node->is_null()) {
      return;
    }
    const bool is_choice =
        node->is_string() &&
        std::ranges::find(option_.choices, node->as_string()) != option_.choices.end();
    const bool fits = is_choice || (option_.kind() == "list" ? node->is_list() : node->is_map());
    if (fits) {
      *slot = *node;
    } else {
      reader_.problem(option_.key(),
                      fmt::format("expected a {}, found {}", option_.kind(), node->describe()),
                      std::string(option_.example));
    }
  }
  void operator()(const NamedSlot& slot) const {
    const document::Node* node = reader_.node(option_.key());
    if (node == nullptr || node->is_null()) {
      return;
    }
    const std::string_view kind = option_.kind();
    const bool fits = kind == "integer"         ? integer().has_value()
                      : kind == "number"        ? real().has_value()
                      : kind == "true or false" ? reader_.boolean(option_.key()).has_value()
                                                : text().has_value();
    if (fits) {
      std::erase_if(*slot.values,
                    [&](const document::NamedValue& value) { return value.name == slot.name; });
      slot.values->push_back({.name = std::string(slot.name), .value = *node});
    }
  }

 private:
  template <class Value, class SlotType>
  static void assign(std::optional<Value> value, SlotType* slot) {
    if (!value) {
      return;
    }
    if constexpr (std::is_same_v<SlotType, std::optional<Value>>) {
      *slot = std::move(value);
    } else {
      *slot = std::move(*value);
    }
  }

  [[nodiscard]] std::optional<std::string> text() const {
    if (option_.choices.empty()) {
      const document::Node* const node =
          option_.unit == kCountOrShare ? reader_.node(option_.key()) : nullptr;
      if (node != nullptr && node->kind() == document::Node::Kind::kInteger) {
        return fmt::format("{}", node->as_integer());
      }
      auto text = reader_.string(option_.key());
      if (text && text->empty()) {
        reader_.problem(option_.key(), "is empty");
        text.reset();
      }
      return text;
    }
    const document::Node* const node = reader_.node(option_.key());
    if (node != nullptr && node->is_string()) {
      if (const auto reason = refused_choice(option_.path, node->as_string())) {
        reader_.problem(option_.key(), std::string(*reason));
        return std::nullopt;
      }
    }
    const std::vector<std::string> choices(option_.choices.begin(), option_.choices.end());
    return reader_.choice(option_.key(), choices);
  }
  [[nodiscard]] std::optional<std::int64_t> integer() const {
    const document::Node* node = option_.unit == "tokens" ? reader_.node(option_.key()) : nullptr;
    if (node == nullptr || !node->is_string()) {
      return reader_.integer(option_.key(), integer_range(option_));
    }
    const auto tokens = parse_token_count(node->as_string());
    if (!tokens) {
      reader_.problem(option_.key(),
                      fmt::format("expected an integer, found {}", node->describe()),
                      "tokens, or thousands of them: 16384, 16K, 16.4k");
    } else if (const auto range = integer_range(option_);
               *tokens < range.lowest || *tokens > range.highest) {
      reader_.problem(
          option_.key(),
          fmt::format(
              "{} is out of range, expected {} to {}", *tokens, range.lowest, range.highest));
    } else {
      return tokens;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<double> real() const {
    const std::size_t before = errors_.size();
    const auto value = reader_.real(option_.key(), {option_.lowest, option_.highest});
    const document::Node* const node = reader_.node(option_.key());
    if (errors_.size() > before && node->is_string() && errors_.back().hint.empty()) {
      errors_.back().hint = fmt::format("a number without a unit: {}", option_.example);
    }
    return value;
  }
  /// "60s"; unless it is a latency target, also a bare number of seconds.
  [[nodiscard]] std::optional<core::Duration> duration() const {
    const document::Node* node = reader_.node(option_.key());
    if (node == nullptr || node->is_null()) {
      return std::nullopt;
    }
    const auto seconds =
        option_.unit == kLatencyTarget ? target_seconds(*node) : time_seconds(*node);
    if (!seconds) {
      const core::Error& error = seconds.error().front();
      reader_.problem(option_.key(), error.message, error.hint);
      return std::nullopt;
    }
    const auto duration = core::Duration::from_seconds(*seconds);
    if (!duration || *seconds < option_.lowest || *seconds > option_.highest) {
      reader_.problem(option_.key(),
                      fmt::format("{} is out of range, expected {}s to {}s",
                                  flow_text(*node),
                                  option_.lowest,
                                  option_.highest));
      return std::nullopt;
    }
    return duration;
  }

  const Option& option_;
  document::ObjectReader& reader_;
  core::Errors& errors_;
};

}  // namespace

void read_option(const Option& option,
                 Slot slot,
                 document::ObjectReader& reader,
                 core::Errors& errors) {
  std::visit(SlotReader(option, reader, errors), slot);
}

}  // namespace ridgeline::scenario
