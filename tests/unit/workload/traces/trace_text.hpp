#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "core/result.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/line_reader.hpp"
#include "workload/traces/trace.hpp"
#include "workload/traces/trace_reader.hpp"

namespace ridgeline::workload {

/// What came out of reading a text as a trace called "t".
struct TraceText {
  std::string format;
  std::vector<TraceRow> rows;
  core::Errors errors;
};

inline TraceText read_trace_text(const std::string& text,
                                 std::size_t block_bytes = LineReader::kBlockBytes) {
  TraceText out;
  auto reader =
      TraceReader::open(std::make_unique<std::istringstream>(text), "t", nullptr, block_bytes);
  if (!reader) {
    out.errors = reader.error();
    return out;
  }
  out.format = reader->format().name;
  TraceRow row;
  for (auto status = reader->next(row); status != TraceReader::Status::kEnd;
       status = reader->next(row)) {
    if (status == TraceReader::Status::kRow) {
      out.rows.push_back(row);
    }
  }
  out.errors = reader->errors();
  return out;
}

/// A file of its own that goes away with it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("ridgeline_trace_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    write(text);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }

  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace ridgeline::workload
