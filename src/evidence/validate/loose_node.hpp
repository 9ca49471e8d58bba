#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"

/// Published records are read as they are: a key of the wrong kind is absent, not an error, because
/// one odd record must not keep a thousand others from being scored.
namespace ridgeline::evidence::validate {

/// A member, or nullptr. Null counts as absent.
[[nodiscard]] const document::Node* member_at(const document::Node& node, std::string_view key);
[[nodiscard]] std::optional<double> number_at(const document::Node& node, std::string_view key);
/// A number above 0, as all that is measured is. What is there and is none goes to `odd`, named by
/// `before` and its key: "ttft_ms.mean is -3, expected a number above 0".
[[nodiscard]] std::optional<double> positive_at(const document::Node& node,
                                                std::string_view key,
                                                std::string_view before,
                                                std::vector<std::string>& odd);
/// The member at a path of keys, "a.b.c", or nullptr; null counts as none.
[[nodiscard]] const document::Node* member_at_path(const document::Node& node,
                                                   std::string_view path);
[[nodiscard]] std::optional<double> number_at_path(const document::Node& node,
                                                   std::string_view path);
/// The items of a list; none for anything else.
[[nodiscard]] std::span<const document::Node> items_at(const document::Node& node,
                                                       std::string_view key);
/// A whole number within 0 and 2^53; a real one is rounded to the nearest.
[[nodiscard]] std::optional<std::int64_t> count_at(const document::Node& node,
                                                   std::string_view key);
[[nodiscard]] std::optional<bool> truth_at(const document::Node& node, std::string_view key);
/// Text, or a number as text; empty when absent.
[[nodiscard]] std::string text_at(const document::Node& node, std::string_view key);
/// Whether the text holds the word, both in any case.
[[nodiscard]] bool mentions(std::string_view text, std::string_view word);

}  // namespace ridgeline::evidence::validate
