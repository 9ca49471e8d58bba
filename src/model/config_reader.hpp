#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"

namespace ridgeline::model {

/// Largest sizes read from a config.json: far above every published network, and small enough that
/// no product of two counts overflows.
inline constexpr document::Range<std::int64_t> kLayers{1, 10'000};
inline constexpr document::Range<std::int64_t> kHeads{1, 1 << 16};
inline constexpr document::Range<std::int64_t> kWidth{1, 1 << 24};
inline constexpr document::Range<std::int64_t> kExperts{1, 1 << 16};
inline constexpr document::Range<std::int64_t> kPositions{1, std::int64_t{1} << 40};

/// Where the documents of the command line's --set say they stood.
inline constexpr std::string_view kCommandLine = "command line";

/// Reads the keys of a config.json and remembers which were asked for and where each value came
/// from. Problems are collected; a reader that met one gives 0 or the fallback and goes on.
class ConfigReader {
 public:
  using Provenance = std::vector<std::pair<std::string, std::string>>;

  ConfigReader(const document::Node& document, core::Errors& errors, Provenance& provenance);

  std::int64_t required_integer(std::string_view key, document::Range<std::int64_t> range);
  std::optional<std::int64_t> integer(std::string_view key, document::Range<std::int64_t> range);
  std::vector<std::int64_t> integers(std::string_view key, document::Range<std::int64_t> range);
  std::optional<std::string> string(std::string_view key);
  /// An absent boolean has the default of the network's family in Hugging Face transformers.
  bool boolean(std::string_view key, bool family_default);
  const document::Node* node(std::string_view key);
  /// Whether a reader has asked for the key yet.
  [[nodiscard]] bool was_asked(std::string_view key) const;
  /// How many of the document's keys were asked for.
  [[nodiscard]] std::int64_t num_read() const;
  /// The key was asked for, but its value was of no use: check_unread_keys names it.
  void not_understood(std::string_view key) { std::erase(asked_, key); }
  /// Whether the key is there at all, null included.
  [[nodiscard]] bool states(std::string_view key) const;

  void problem(std::string_view key, std::string message, std::string hint = {});
  /// Refuses a feature that this version cannot describe.
  void not_modelled(std::string_view key, std::string_view feature);
  /// Notes where a value came from that no key states.
  void derived(std::string_view key, std::string source);

  /// Refuses keys that the command line sets and no reader asked for. Call once, last.
  void finish();

  [[nodiscard]] std::string path_of(std::string_view key) const { return reader_.path_of(key); }
  [[nodiscard]] core::Errors& errors() { return errors_; }

 private:
  void asked(std::string_view key);

  const document::Node& document_;
  document::ObjectReader reader_;
  core::Errors& errors_;
  Provenance& provenance_;
  std::vector<std::string> asked_;
};

/// "data/models/llama-3.1-8b.json:7", or as much of it as is known.
std::string describe(const core::Location& where);

}  // namespace ridgeline::model
