#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "core/result.hpp"

/// A folder of tables that a test writes itself, removed at its end.
namespace ridgeline::latency::measured {

class TableFolder {
 public:
  TableFolder() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::path(testing::TempDir()) /
            (std::string("tables_") + info->test_suite_name() + "_" + info->name());
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  TableFolder(const TableFolder&) = delete;
  TableFolder& operator=(const TableFolder&) = delete;
  TableFolder(TableFolder&&) = delete;
  TableFolder& operator=(TableFolder&&) = delete;
  ~TableFolder() { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::string path(const std::string& name = "") const {
    return (name.empty() ? root_ : root_ / name).string();
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << text;
  }
  /// The least that load_bench_data takes, for a GPU called "g".
  void write_sound() const {
    write("gemm/g/data.csv",
          "m,k,n,latency_us,mfu\n"
          "8,100,200,10,0.1\n16,100,200,12,0.2\n32,100,200,20,0.3\n"
          "8,300,200,30,0.4\n16,300,200,32,0.5\n");
    write("mha/prefill/g/8-8-64.csv",
          "dtype,seq_len,latency_us,mfu\nbf16,1000,50,0.2\nbf16,3000,200,0.4\n");
    write("mha/prefill/g/16-2-64.csv",
          "dtype,seq_len,latency_us,mfu\nbf16,1000,60,0.3\nbf16,3000,250,0.6\n");
    write("mha/decode/g/8-8-64-tp1.csv",
          "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\n"
          "bf16,bf16,1,1000,20,0.0\nbf16,bf16,1,3000,21,0.01\n"
          "bf16,bf16,10,1000,40,0.02\nbf16,bf16,10,3000,90,0.04\nbf16,bf16,20,1000,70,0.05\n");
    write("mha/decode/g/8-8-64-tp4.csv",
          "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\nbf16,bf16,1,1000,20,0.03\n");
    write("mha/decode/g/16-2-64-tp2.csv",
          "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\nbf16,bf16,1,1000,20,0.07\n");
  }

 private:
  std::filesystem::path root_;
};

inline std::string all_errors(const core::Errors& errors) {
  std::string text;
  for (const core::Error& error : errors) {
    text += core::to_string(error) + "\n";
  }
  return text;
}

}  // namespace ridgeline::latency::measured
