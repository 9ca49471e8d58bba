#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"
#include "model/config_reader.hpp"
#include "model/families/families.hpp"

namespace ridgeline::model {

/// Looks at every key of a config.json that the family's reader did not ask for. A key that changes
/// the network is refused by name, unless its value says that the feature is absent (null, false,
/// 0, nothing in it) or the family implies it (Family::implied). A key that is known to change
/// neither size nor speed is passed over. What is left is returned: keys that this version does not
/// know. Call after all readers.
[[nodiscard]] std::vector<std::string> check_unread_keys(const document::Node& document,
                                                         const Family& family,
                                                         ConfigReader& config);

/// Values of keys that are read by no family and that this version does not know: `architectures`
/// that no family is named after, kinds of rotary positions.
[[nodiscard]] std::vector<std::string> unknown_values(const document::Node& document);

/// Whether a config.json may be that of a decoder: not where its `architectures` end in other heads
/// ("BertForMaskedLM"), or where it embeds token types as BERT does.
[[nodiscard]] bool generates_text(const document::Node& document);

}  // namespace ridgeline::model
