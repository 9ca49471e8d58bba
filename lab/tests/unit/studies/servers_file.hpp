#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <fmt/core.h>

namespace ridgeline::studies::fixtures {

/// A record of a closed loop of Llama-2-7B on an H100, 10 ms per output token.
inline std::string record(const std::string& id, int clients, const char* precision = "bf16") {
  return fmt::format(
             R"({{"id": "{}", "family": "made", "exp_name": "{}", "stage": "point",)"
             R"( "model": "meta-llama/Llama-2-7b-hf", "gpu": "H100-SXM-80GB", "tp": 1,)"
             R"( "precision": "{}", "engine": "vllm", "engine_version": "0.12.0", "server": {{}},)"
             R"( "workload": {{"name": "fixed", "loop": "closed", "concurrency": {},)"
             R"( "input": {{"kind": "fixed", "nominal_tokens": 256}},)"
             R"( "output": {{"kind": "fixed", "nominal_tokens": 32}}, "prefix": {{"shared": 0}}}},)"
             R"( "measured": {{"tpot_ms": {{"mean": 10.0}}}}, "flags": []}})",
             id,
             id,
             precision,
             clients) +
         "\n";
}

/// A file of measured runs that goes away with it.
class MeasuredFile {
 public:
  explicit MeasuredFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("ridgeline_measured_{}.jsonl", getpid())) {
    std::ofstream(path_) << text;
  }
  MeasuredFile(const MeasuredFile&) = delete;
  MeasuredFile& operator=(const MeasuredFile&) = delete;
  MeasuredFile(MeasuredFile&&) = delete;
  MeasuredFile& operator=(MeasuredFile&&) = delete;
  ~MeasuredFile() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace ridgeline::studies::fixtures
