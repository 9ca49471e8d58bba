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
#include "workload/traces/reading/byte_input.hpp"
#include "workload/traces/reading/line_reader.hpp"
#include "workload/traces/reading/trace_reader.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::workload {

/// What came out of reading a text as a trace called "t".
struct TraceText {
  std::string format;
  std::vector<TraceRow> rows;
  core::Errors errors;
};

/// A text as the bytes of a file.
inline std::unique_ptr<ByteInput> input_of(const std::string& text) {
  return unpacked(make_plain_input(std::make_unique<std::istringstream>(text)));
}

/// Buffers and lines of so many bytes.
inline LineLimits limits_of(std::size_t bytes) {
  return {.block_bytes = bytes, .line_bytes = bytes};
}

inline TraceText read_trace_text(const std::string& text, LineLimits limits = {}) {
  TraceText out;
  auto reader = TraceReader::open(input_of(text), "t", nullptr, limits);
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
