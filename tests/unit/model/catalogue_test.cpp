#include "model/catalogue.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/document.hpp"
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

struct Published {
  const char* name;
  double parameters;
};

/// "Model size" of each network's Hugging Face page, in full: the number of elements in its
/// safetensors files (of Qwen3-0.6B, 1.7B and 4B and Llama 3.2 without the copy of the tied
/// embedding).
constexpr Published kPublished[] = {
    {"llama-2-7b", 6'738'415'616},
    {"llama-2-13b", 13'015'864'320},
    {"llama-2-70b", 68'976'648'192},
    {"llama-3-8b", 8'030'261'248},
    {"llama-3.1-8b", 8'030'261'248},
    {"llama-3.1-70b", 70'553'706'496},
    {"llama-3.1-405b", 405'853'388'800},
    {"llama-3.2-1b", 1'235'814'400},
    {"llama-3.2-3b", 3'212'749'824},
    {"codellama-34b", 33'743'970'304},
    {"yi-6b", 6'061'035'520},
    {"yi-34b", 34'388'917'248},
    {"mistral-7b", 7'248'023'552},
    {"mistral-nemo-12b", 12'247'782'400},
    {"mixtral-8x7b", 46'702'792'704},
    {"mixtral-8x22b", 140'620'634'112},
    {"qwen2-7b", 7'615'616'512},
    {"qwen2.5-7b", 7'615'616'512},
    {"qwen2.5-14b", 14'770'033'664},
    {"qwen2.5-32b", 32'763'876'352},
    {"qwen2.5-72b", 72'706'203'648},
    {"qwen3-0.6b", 596'049'920},
    {"qwen3-1.7b", 1'720'574'976},
    {"qwen3-4b", 4'022'468'096},
    {"qwen3-8b", 8'190'735'360},
    {"qwen3-14b", 14'768'307'200},
    {"qwen3-32b", 32'762'123'264},
    {"qwen3-30b-a3b", 30'532'122'624},
    {"qwen3-235b-a22b", 235'093'634'560},
    {"qwen3-coder-480b-a35b", 480'154'875'392},
};

TEST(Catalogue, ParametersAreThePublishedOnes) {
  for (const Published& network : kPublished) {
    EXPECT_EQ(total_parameters(find(network.name)), network.parameters) << network.name;
  }
}

/// What an active figure leaves out.
enum class Without : std::uint8_t { kNothing, kEmbedding, kEmbeddingAndHead };

/// Thousands of millions, as the networks' pages and reports print them.
struct PublishedRounded {
  const char* name;
  double total;
  double active;  ///< 0: none is published.
  Without without;
};

// Model cards and technical reports: DeepSeek-V3 (arXiv:2412.19437) "671B total, 37B activated",
// the drafting layer's 14B apart; V4 "284B/13B", "1.6T/49B"; Kimi K2 "1T/32B"; GLM-5 "744B/40B";
// MiniMax M2.5 "229B/10B"; Qwen3.5 and Qwen3-Next by name and safetensors; MiMo-V2-Flash
// "309B/15B"; Gemma 4 "25.2B (3.8B active)" and "30.7B" with a vision tower of 0.55B beside;
// Nemotron 3 Nano "31.6B, 3.2B active (3.6B with embeddings)", Super "120B/12B", Ultra "550B/55B";
// gpt-oss (arXiv:2508.10925, table 1) "116.83B/5.13B" and "20.91B/3.61B", the embedding not active;
// Step-3.5-Flash, whose sizes 3.7 has, "196B/11B"; Llama 4 "108.64B", "401.58B" on the pages, 17B
// active; Mixtral 12.9B and 39B; Qwen3 3.3B, 22B, 35B; GLM-4.5-Air "106B/12B" (106.85 in its files
// less the drafting layer), GLM-4.6 "355B/32B"; Qwen3-VL-2B and 8B as their safetensors.
constexpr PublishedRounded kRounded[] = {
    {"deepseek-v2-lite", 15.7, 2.4, Without::kEmbedding},
    {"deepseek-v3", 671, 37, Without::kNothing},
    {"deepseek-r1", 671, 37, Without::kNothing},
    {"deepseek-v4-flash", 284, 13, Without::kEmbedding},
    {"deepseek-v4-pro", 1573, 49, Without::kEmbedding},
    {"kimi-k2", 1026, 32, Without::kEmbedding},
    {"glm-5", 744, 40, Without::kEmbeddingAndHead},
    {"minimax-m2.5", 228.7, 10, Without::kEmbedding},
    {"qwen3-next-80b-a3b", 79.7, 3, Without::kEmbeddingAndHead},
    {"qwen3.5-27b", 27.4, 0, Without::kNothing},
    {"qwen3.5-122b-a10b", 122.6, 10, Without::kNothing},
    {"qwen3.5-397b-a17b", 397, 17, Without::kNothing},
    {"mimo-v2-flash", 309, 15, Without::kEmbedding},
    {"gemma-4-26b-a4b", 25.2 + 0.57, 3.8, Without::kNothing},
    {"gemma-4-31b", 30.7 + 0.57, 0, Without::kNothing},
    {"nemotron-3-nano-30b-a3b", 31.6, 3.6, Without::kNothing},
    {"nemotron-3-super-120b-a12b-fp8", 120.6, 12.7, Without::kNothing},
    {"nemotron-3-ultra-550b-a55b", 550, 55, Without::kEmbedding},
    {"nemotron-h-56b", 56.3, 0, Without::kNothing},
    {"gpt-oss-120b", 116.83, 5.13, Without::kEmbedding},
    {"gpt-oss-20b", 20.91, 3.61, Without::kEmbedding},
    {"step-3.7-flash", 196, 11, Without::kNothing},
    {"llama-4-scout", 108.64, 17, Without::kNothing},
    {"llama-4-maverick", 401.58, 17, Without::kNothing},
    {"mixtral-8x7b", 46.7, 12.9, Without::kNothing},
    {"mixtral-8x22b", 140.6, 39, Without::kNothing},
    {"qwen3-30b-a3b", 30.5, 3.3, Without::kNothing},
    {"qwen3-235b-a22b", 235.1, 22, Without::kNothing},
    {"qwen3-coder-480b-a35b", 480.2, 35, Without::kNothing},
    {"glm-4.5-air", 106.85, 12, Without::kEmbeddingAndHead},
    {"glm-4.6", 353, 32, Without::kEmbeddingAndHead},
    {"qwen3-vl-2b", 2.127, 0, Without::kNothing},
    {"qwen3-vl-8b", 8.767, 0, Without::kNothing},
    {"gemma-2-9b", 9.24, 0, Without::kNothing},
    {"gemma-2-27b", 27.23, 0, Without::kNothing},
    {"gemma-3-12b", 12.19, 0, Without::kNothing},
    {"gemma-3-27b", 27.43, 0, Without::kNothing},
    {"phi-4", 14.66, 0, Without::kNothing},
    {"phi-3-mini-4k", 3.82, 0, Without::kNothing},
    {"granite-3.1-8b", 8.17, 0, Without::kNothing},
};

TEST(Catalogue, TotalsAreWithinHalfAPercentOfThePublished) {
  for (const PublishedRounded& network : kRounded) {
    EXPECT_NEAR(total_parameters(find(network.name)) / 1e9, network.total, 0.005 * network.total)
        << network.name;
  }
}

TEST(Catalogue, ActiveParametersAreThePublishedOnes) {
  for (const PublishedRounded& network : kRounded) {
    if (network.active == 0) {
      continue;
    }
    const ModelSpec spec = find(network.name);
    const auto matrix = static_cast<double>(spec.vocab_size * spec.hidden_size) / 1e9;
    const double left_out = matrix * static_cast<double>(network.without);
    // 2 %, or half a unit where a page prints whole thousands of millions; one decimal may have
    // been cut off rather than rounded (DeepSeek-V2-Lite's 2.45 is printed as 2.4).
    const bool whole = network.active == static_cast<double>(static_cast<int>(network.active));
    EXPECT_NEAR(active_parameters(spec) / 1e9 - left_out,
                network.active,
                std::max(0.02 * network.active, whole ? 0.5 : 0.06))
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
                testing::Contains(
                    testing::Pair("hidden_size", HasSubstr("data/models/" + name + ".json"))));
    EXPECT_TRUE(check_sharding(spec, {.tensor_parallel_size = 2}).has_value()) << name;
  }
}

TEST(Catalogue, NoNameMeansTwoNetworks) {
  std::map<std::string, std::string> owner;
  for (const core::EmbeddedFile& file : catalogue_files()) {
    const auto document = core::parse_json(file.text, std::string(file.name));
    ASSERT_TRUE(document.has_value());
    std::set<std::string> names = {std::string(file.name.substr(0, file.name.size() - 5)),
                                   document->find("_hf_id")->as_string()};
    for (const core::Node& alias : document->find("_aliases")->items()) {
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
