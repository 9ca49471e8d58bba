#include "model/catalogue.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "support/paths.hpp"

namespace ridgeline::model {
namespace {

using testing::HasSubstr;

ModelSpec find(const std::string& name) {
  const auto spec = find_model(name);
  EXPECT_TRUE(spec.has_value()) << core::to_string(spec.error().front());
  return spec.value_or(ModelSpec{});
}

/// What a network's own publication says of its size: `_published` of its file, with the source.
struct Published {
  std::string name;
  ModelSpec spec;
  document::Node facts;

  [[nodiscard]] std::optional<double> number(const char* key) const {
    const document::Node* node = facts.find(key);
    return node == nullptr ? std::nullopt : std::optional(node->as_real());
  }
};

std::vector<Published> published_sizes() {
  std::vector<Published> all;
  for (const std::string& name : catalogue_names()) {
    const auto document = find_model_document(name);
    if (const document::Node* facts = document->find("_published")) {
      all.push_back({.name = name, .spec = find(name), .facts = *facts});
    }
  }
  return all;
}

TEST(Catalogue, PublishedSizesNameTheirSources) {
  EXPECT_GE(published_sizes().size(), 60U);
  for (const Published& network : published_sizes()) {
    EXPECT_FALSE(network.facts.find("source")->as_string().empty()) << network.name;
    EXPECT_NE(network.facts.find("looked_up"), nullptr) << network.name;
  }
}

TEST(Catalogue, TotalsAreThePublishedOnes) {
  for (const Published& network : published_sizes()) {
    double total = total_parameters(network.spec);
    if (network.facts.find("with_draft") != nullptr) {
      total += total_parameters(draft_network(network.spec).value_or(ModelSpec{}));
    }
    if (const auto exact = network.number("parameters")) {
      EXPECT_EQ(total, *exact) << network.name;
    } else {
      const double rounded = *network.number("parameters_b");
      const double half_a_digit = network.number("rounded_to_b").value_or(0.0) / 2.0;
      EXPECT_NEAR(total / 1e9, rounded, std::max(0.005 * rounded, half_a_digit)) << network.name;
    }
  }
}

TEST(Catalogue, ActiveParametersAreThePublishedOnes) {
  for (const Published& network : published_sizes()) {
    const auto active = network.number("active_b");
    if (!active) {
      continue;
    }
    const ModelSpec& spec = network.spec;
    const auto matrix = static_cast<double>(spec.vocab_size * spec.hidden_size) / 1e9;
    const double left_out =
        matrix * static_cast<double>(network.facts.find("active_without")->items().size());
    // 2 %, or half a unit where a page prints whole thousands of millions; one decimal may have
    // been cut off rather than rounded (DeepSeek-V2-Lite's 2.45 is printed as 2.4).
    const bool whole = *active == static_cast<double>(static_cast<int>(*active));
    EXPECT_NEAR(active_parameters(spec) / 1e9 - left_out,
                *active,
                std::max(0.02 * *active, whole ? 0.5 : 0.06))
        << network.name;
  }
}

TEST(Catalogue, KvBytesPerTokenByHand) {
  const auto kv = [](const std::string& name, std::int64_t ranks) {
    return kv_bytes_per_token_per_rank(find(name), {.tensor_parallel_size = ranks}).value();
  };
  // keys and values x layers x KV heads x head dimension x bytes
  EXPECT_EQ(kv("llama-2-7b", 1), 2.0 * 32 * 32 * 128 * 2);        // every head its own
  EXPECT_EQ(kv("llama-3.1-8b", 1), 2.0 * 32 * 8 * 128 * 2);       // 128 KiB
  EXPECT_EQ(kv("llama-3.1-70b", 1), 2.0 * 80 * 8 * 128 * 2);      // 320 KiB
  EXPECT_EQ(kv("llama-3.1-70b-fp8", 1), 2.0 * 80 * 8 * 128 * 1);  // FP8 cache
  EXPECT_EQ(kv("mistral-nemo-12b", 1), 2.0 * 40 * 8 * 128 * 2);   // 128, not 5120 / 32 = 160
  EXPECT_EQ(kv("qwen2.5-7b", 1), 2.0 * 28 * 4 * 128 * 2);
  EXPECT_EQ(kv("qwen3-30b-a3b", 1), 2.0 * 48 * 4 * 128 * 2);
  EXPECT_EQ(kv("llama-4-scout-fp8", 1), 2.0 * 48 * 8 * 128 * 2);  // 16-bit cache
  EXPECT_EQ(kv("llama-3.1-8b", 4), 2.0 * 32 * 2 * 128 * 2);       // 2 heads a rank
  EXPECT_EQ(kv("llama-3.1-8b", 16), 2.0 * 32 * 1 * 128 * 2);      // a copy on every second rank
}

TEST(Catalogue, Fp8WeightsTakeAByteWhereTheyAreFp8) {
  // lm_head and embeddings 2*128256*8192 and norms (2*80 + 1)*8192 in two bytes, the rest of
  // 70,553,706,496 in one.
  const double sixteen_bit = 2.0 * 128256 * 8192 + 161.0 * 8192;
  EXPECT_EQ(weight_bytes_per_rank(find("llama-3.1-70b-fp8"), {}).value(),
            70'553'706'496.0 + sixteen_bit);
  // Scout: experts and shared expert 48 layers x 17 x 3*5120*8192 in one byte.
  const double total = total_parameters(find("llama-4-scout-fp8"));
  EXPECT_EQ(weight_bytes_per_rank(find("llama-4-scout-fp8"), {}).value(),
            2 * total - 48.0 * 17 * 3 * 5120 * 8192);
}

TEST(Catalogue, EveryEntryReadsAndSaysWhereItComesFrom) {
  ASSERT_EQ(catalogue_names().size(), catalogue_files().size());
  for (const std::string& name : catalogue_names()) {
    const ModelSpec spec = find(name);
    EXPECT_EQ(spec.name, name);
    EXPECT_THAT(spec.hf_id, HasSubstr("/"));
    EXPECT_THAT(
        spec.provenance,
        testing::Contains(testing::Pair("model", testing::StartsWith("https://huggingface.co/"))));
    EXPECT_THAT(spec.provenance,
                testing::Contains(testing::Pair("hidden_size", HasSubstr("data/models/"))));
    EXPECT_TRUE(check_sharding(spec, {.tensor_parallel_size = 2}).has_value()) << name;
    EXPECT_THAT(spec.unread_keys, testing::IsEmpty()) << name;
  }
}

TEST(Catalogue, NetworksOfAWidthAreFoundByTheirText) {
  for (const std::string& name : catalogue_names()) {
    const std::string width = "\"hidden_size\": " + std::to_string(find(name).hidden_size);
    EXPECT_THAT(catalogue_names_with(width), testing::Contains(name));
  }
  EXPECT_THAT(catalogue_names_with("no such text"), testing::IsEmpty());
}

TEST(Catalogue, NoNameMeansTwoNetworks) {
  std::map<std::string, std::string> owner;
  for (const document::EmbeddedFile& file : catalogue_files()) {
    const auto document = document::parse_json(file.text, std::string(file.name));
    ASSERT_TRUE(document.has_value());
    std::set<std::string> names = {std::string(file.name.substr(0, file.name.size() - 5)),
                                   document->find("_hf_id")->as_string()};
    for (const document::Node& alias : document->find("_aliases")->items()) {
      names.insert(alias.as_string());
    }
    for (const std::string& name : names) {
      EXPECT_EQ(find(name).name + ".json", file.name) << name;
      EXPECT_TRUE(owner.emplace(name, file.name).second) << name;
    }
  }
}

TEST(Catalogue, NamesAreFoundInAnyCaseAndWithoutTheirOrganisation) {
  EXPECT_EQ(find("Llama-3.1-8B").name, "llama-3.1-8b");
  EXPECT_EQ(find("META-LLAMA/LLAMA-3.1-8B-INSTRUCT").name, "llama-3.1-8b");
  EXPECT_EQ(find("Llama-4-Scout-17B-16E-Instruct-FP8-dynamic").name, "llama-4-scout-fp8");
  EXPECT_EQ(find("Qwen/Qwen2.5-7B-Instruct").name, "qwen2.5-7b");
  EXPECT_EQ(find("mistralai/Mistral-Nemo-Instruct-2407").name, "mistral-nemo-12b");
  EXPECT_EQ(find("01-ai/Yi-34B").name, "yi-34b");
}

TEST(Catalogue, UnknownNamesGiveTheNearest) {
  const auto wrong = find_model("llama-3.1-8");
  ASSERT_FALSE(wrong.has_value());
  ASSERT_EQ(wrong.error().size(), 1U);
  EXPECT_EQ(wrong.error().front().field, "model");
  EXPECT_THAT(wrong.error().front().message,
              HasSubstr("\"llama-3.1-8\" is neither a network of the catalogue nor a path"));
  EXPECT_THAT(wrong.error().front().hint, HasSubstr("llama-3.1-8b"));
  EXPECT_FALSE(find_model("").has_value());
  EXPECT_THAT(find_model("/no/such/folder/anywhere").error().front().hint,
              HasSubstr("config.json"));
}

TEST(Catalogue, SamplingDefaultsAreTheNetworks) {
  EXPECT_EQ(find("qwen2.5-7b").sampling,
            (SamplingDefaults{.top_p = 0.8, .top_k = 20, .repetition_penalty = 1.05}));
  EXPECT_EQ(find("qwen3-14b").sampling, (SamplingDefaults{.top_p = 0.95, .top_k = 20}));
  EXPECT_EQ(find("llama-3.1-70b").sampling, (SamplingDefaults{.top_p = 0.9}));
  EXPECT_FALSE(find("mistral-nemo-12b").sampling.truncates());
}

void expect_same_network(const ModelSpec& ours, const ModelSpec& theirs) {
  EXPECT_EQ(ours.family, theirs.family);
  EXPECT_EQ(ours.hidden_size, theirs.hidden_size);
  EXPECT_EQ(ours.vocab_size, theirs.vocab_size);
  EXPECT_EQ(ours.max_position, theirs.max_position);
  EXPECT_EQ(ours.tied_embeddings, theirs.tied_embeddings);
  EXPECT_EQ(ours.layers, theirs.layers);
  EXPECT_EQ(ours.precision, theirs.precision);
}

const std::string kFolder = test::shared_dir().string() + "/models/";

/// Ours beside the published file, "<file>_config.json".
constexpr std::pair<const char*, const char*> kPairs[] = {
    {"llama-2-7b", "inference-sim--llama-2-7b-hf"},
    {"llama-3.1-8b", "inference-sim--llama-3.1-8b-instruct"},
    {"llama-3.1-8b", "meta-llama--Meta-Llama-3.1-8B"},
    {"llama-3.1-70b", "inference-sim--llama-3.1-70b-instruct"},
    {"llama-3.1-70b", "meta-llama--Meta-Llama-3.1-70B"},
    {"llama-3.1-70b-fp8", "nvidia--Llama-3.1-70B-Instruct-FP8"},
    {"llama-3.1-405b", "meta-llama--Meta-Llama-3.1-405B"},
    {"codellama-34b", "inference-sim--codellama-34b-instruct-hf"},
    {"yi-34b", "inference-sim--yi-34b"},
    {"mistral-nemo-12b", "inference-sim--mistral-nemo-instruct-2407"},
    {"mixtral-8x7b", "inference-sim--mixtral-8x7b-v0.1"},
    {"mixtral-8x7b", "mistralai--Mixtral-8x7B-v0.1"},
    {"mixtral-8x22b", "mistralai--Mixtral-8x22B-v0.1"},
    {"qwen2.5-7b", "inference-sim--qwen2.5-7b-instruct"},
    {"qwen3-0.6b", "Qwen--Qwen3-0.6B"},
    {"qwen3-8b", "Qwen--Qwen3-8B"},
    {"qwen3-14b", "inference-sim--qwen3-14b"},
    {"qwen3-32b", "Qwen--Qwen3-32B"},
    {"qwen3-32b-fp8", "Qwen--Qwen3-32B-FP8"},
    {"qwen3-30b-a3b", "inference-sim--qwen3-30b-a3b"},
    {"qwen3-30b-a3b", "Qwen--Qwen3-30B-A3B"},
    {"qwen3-30b-a3b-fp8", "Qwen--Qwen3-30B-A3B-FP8"},
    {"qwen3-235b-a22b", "Qwen--Qwen3-235B-A22B"},
    {"qwen3-235b-a22b-fp8", "Qwen--Qwen3-235B-A22B-FP8"},
    {"qwen3-coder-480b-a35b", "Qwen--Qwen3-Coder-480B-A35B-Instruct"},
    {"llama-4-scout", "meta-llama--Llama-4-Scout-17B-16E-Instruct"},
    {"llama-4-scout-fp8", "inference-sim--llama-4-scout-17b-16e-instruct-fp8-dynamic"},
    {"llama-4-maverick", "meta-llama--Llama-4-Maverick-17B-128E-Instruct"},
};

TEST(Catalogue, EqualsThePublishedFiles) {
  if (!std::filesystem::exists(kFolder)) {
    GTEST_SKIP() << "no published config.json files at " << kFolder;
  }
  for (const auto& [name, file] : kPairs) {
    SCOPED_TRACE(file);
    const auto theirs = read_hf_config(kFolder + file + "_config.json");
    ASSERT_TRUE(theirs.has_value()) << core::to_string(theirs.error().front());
    expect_same_network(find(name), *theirs);
  }
}

TEST(Catalogue, EveryPublishedFileIsReadOrRefusedInOneLine) {
  if (!std::filesystem::exists(kFolder)) {
    GTEST_SKIP() << "no published config.json files at " << kFolder;
  }
  int read = 0;
  int refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string path = entry.path().string();
    if (!path.ends_with("_config.json") || path.ends_with("_hf_quant_config.json")) {
      continue;
    }
    const auto spec = read_hf_config(path);
    if (spec) {
      ++read;
      EXPECT_GT(total_parameters(*spec), 1e8) << path;
      EXPECT_THAT(spec->unread_keys, testing::IsEmpty()) << path;
      continue;
    }
    ++refused;
    for (const core::Error& error : spec.error()) {
      EXPECT_THAT(error.message, HasSubstr("not modelled yet")) << path;
      EXPECT_EQ(core::to_string(error).find('\n'), std::string::npos) << path;
    }
  }
  EXPECT_GE(read, 80);
  EXPECT_LE(10 * refused, read + refused);
}

}  // namespace
}  // namespace ridgeline::model
