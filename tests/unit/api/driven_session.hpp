#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "ridgeline.h"

namespace ridgeline::api {

inline constexpr const char* kDeployment = R"({"model": "llama-3.1-8b", "gpu": "h100"})";

struct CAnswer {
  int code = 0;
  std::string json;
  document::Node tree;
};

inline CAnswer taken(int code, rl_result* result) {
  std::size_t n = 0;
  CAnswer answer{.code = code, .json = rl_json(result, &n), .tree = {}};
  rl_free(result);
  auto tree = document::parse_json(answer.json, "answer");
  EXPECT_TRUE(tree);
  answer.tree = *tree;
  return answer;
}

/// A session by the C interface.
class Driven {
 public:
  explicit Driven(const std::string& json = kDeployment, const rl_hooks* hooks = nullptr) {
    rl_result* result = nullptr;
    const int code = rl_session_open(json.data(), json.size(), hooks, &session_, &result);
    opened = taken(code, result);
  }
  Driven(const Driven&) = delete;
  Driven& operator=(const Driven&) = delete;
  ~Driven() { rl_session_free(session_); }

  CAnswer call(const char* verb, const std::string& json = "{}") {
    rl_result* result = nullptr;
    const int code = rl_session_call(session_, verb, json.data(), json.size(), &result);
    return taken(code, result);
  }
  CAnswer submit() { return call("submit", R"({"prompt_tokens": 100, "output_tokens": 4})"); }

  CAnswer opened;

 private:
  rl_session* session_ = nullptr;
};

inline std::int64_t count(const CAnswer& answer, const char* key) {
  return answer.tree.find(key)->as_integer();
}
inline std::size_t ended(const CAnswer& answer) {
  return answer.tree.find("ended")->items().size();
}
inline std::string error(const CAnswer& answer) {
  EXPECT_EQ(answer.code, 2) << answer.json;
  const document::Node& first = answer.tree.find("errors")->items().front();
  return first.find("field")->as_string() + ": " + first.find("message")->as_string();
}

}  // namespace ridgeline::api
