#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::model {

/// Keys of ours in a configuration document, beside those of Hugging Face.
inline constexpr std::string_view kNameKey = "_name";        ///< Name in the catalogue.
inline constexpr std::string_view kSourceKey = "_source";    ///< Page the facts come from.
inline constexpr std::string_view kHfIdKey = "_hf_id";       ///< Hugging Face id.
inline constexpr std::string_view kAliasesKey = "_aliases";  ///< Other names and ids.
inline constexpr std::string_view kBaseKey = "_base";  ///< Another entry, for members left out.
inline constexpr std::string_view kGenerationKey = "_generation";  ///< As generation_config.json.

/// Reads `path`, a config.json or the folder that holds it. The files named alike beside it are
/// read too (a file of another name has those of a folder without a config.json):
/// generation_config.json becomes `_generation`, and hf_quant_config.json (ModelOpt's) becomes
/// `quantization_config` where the config has none. A nested text_config is lifted.
core::Result<document::Node> read_hf_document(const std::string& path);

/// Multimodal networks keep the decoder's keys in `text_config`: gives one flat map, in which those
/// win over the outer ones, but for `model_type`. Other documents come back as they are.
document::Node lift_text_config(const document::Node& document);

/// `document`, a map, with one more member.
document::Node with_member(const document::Node& document,
                           std::string_view key,
                           document::Node value);

}  // namespace ridgeline::model
