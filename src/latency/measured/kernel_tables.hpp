#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ridgeline::latency::measured {

/// Benchmarked kernels of one GPU in the layout of alibaba/InferSim: below one folder stand
/// `gemm/<gpu>/data.csv`, `mha/prefill/<gpu>/<heads>-<kv heads>-<head dim>.csv` and
/// `mha/decode/<gpu>/<heads>-<kv heads>-<head dim>[-tp<N>].csv`. Latencies are microseconds of one
/// call; `mfu` is the benchmark's own achieved FLOP/s over a peak that it was given.

/// y[m, n] = x[m, k] * w[k, n].
struct GemmRow {
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
  double latency_us = 0.0;
  double mfu = 0.0;
  int line = 0;  ///< In its file, from 1.
};

/// Causal attention of one whole prompt.
struct PrefillRow {
  std::int64_t seq_len = 0;
  double latency_us = 0.0;
  double mfu = 0.0;
  int line = 0;
};

/// Attention of `batch_size` sequences, one new token each, over `kv_len` cached ones.
struct DecodeRow {
  std::int64_t batch_size = 0;
  std::int64_t kv_len = 0;
  double latency_us = 0.0;
  double mfu = 0.0;
  int line = 0;
};

/// Attention heads of a whole network, as the names of the files give them.
struct HeadShape {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;

  friend auto operator<=>(const HeadShape&, const HeadShape&) = default;
};
/// "32-8-128"
[[nodiscard]] std::string to_string(const HeadShape& shape);

/// The GEMM table with its index.
class GemmTable {
 public:
  /// The rows of one (k, n).
  struct Column {
    std::int64_t k = 0;
    std::int64_t n = 0;
    std::vector<std::size_t> by_m;  ///< Rows, by m.
    /// For each place of by_m, the last row of the file among the places up to it.
    std::vector<std::size_t> last_of_file;
  };

  GemmTable() = default;
  GemmTable(std::string path, std::vector<GemmRow> rows);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::span<const GemmRow> rows() const { return rows_; }  ///< In file order.
  /// In the order of their first rows.
  [[nodiscard]] std::span<const Column> columns() const { return columns_; }

 private:
  std::string path_;
  std::vector<GemmRow> rows_;
  std::vector<Column> columns_;
};

/// One prefill file, of one dtype.
class PrefillTable {
 public:
  PrefillTable() = default;
  PrefillTable(std::string path, HeadShape shape, std::string dtype, std::vector<PrefillRow> rows);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const HeadShape& shape() const { return shape_; }
  [[nodiscard]] const std::string& dtype() const { return dtype_; }
  [[nodiscard]] std::span<const PrefillRow> rows() const { return rows_; }
  [[nodiscard]] std::span<const std::size_t> by_seq() const { return by_seq_; }

 private:
  std::string path_;
  HeadShape shape_;
  std::string dtype_;
  std::vector<PrefillRow> rows_;
  std::vector<std::size_t> by_seq_;
};

/// One decode file, of one dtype and KV dtype: a grid that may have holes.
class DecodeTable {
 public:
  /// Marks a hole.
  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);

  struct Key {
    HeadShape shape;
    std::int64_t tensor_parallel_size = 1;
    std::string dtype;
    std::string kv_dtype;
  };

  DecodeTable() = default;
  DecodeTable(std::string path, Key key, std::vector<DecodeRow> rows);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Key& key() const { return key_; }
  [[nodiscard]] std::span<const DecodeRow> rows() const { return rows_; }
  [[nodiscard]] std::span<const std::int64_t> batch_sizes() const { return batch_sizes_; }
  [[nodiscard]] std::span<const std::int64_t> kv_lens() const { return kv_lens_; }
  /// The row at a place of batch_sizes() and one of kv_lens(), or kNoRow.
  [[nodiscard]] std::size_t cell(std::size_t batch, std::size_t kv) const {
    return cells_[batch * kv_lens_.size() + kv];
  }

 private:
  std::string path_;
  Key key_;
  std::vector<DecodeRow> rows_;
  std::vector<std::int64_t> batch_sizes_;
  std::vector<std::int64_t> kv_lens_;
  std::vector<std::size_t> cells_;
};

/// What is read from one file: sound rows, and what is wrong with the others.
template <class Table>
struct Reading {
  std::vector<Table> tables;  ///< One per dtype; empty when nothing is sound.
  core::Errors errors;
};
[[nodiscard]] Reading<GemmTable> read_gemm_table(std::string_view text, const std::string& path);
[[nodiscard]] Reading<PrefillTable> read_prefill_table(std::string_view text,
                                                       const std::string& path,
                                                       const HeadShape& shape);
[[nodiscard]] Reading<DecodeTable> read_decode_table(std::string_view text,
                                                     const std::string& path,
                                                     const HeadShape& shape,
                                                     std::int64_t tensor_parallel_size);

/// The shape, and the tensor parallel size of decode files, in "32-8-128.csv" or
/// "32-8-128-tp2.csv".
struct AttentionFileName {
  HeadShape shape;
  std::int64_t tensor_parallel_size = 1;
};
[[nodiscard]] core::Result<AttentionFileName> parse_attention_file_name(const std::string& path);

/// The tables of one GPU.
struct KernelTables {
  std::string directory;
  std::string gpu;
  std::string prefill_folder;
  std::string decode_folder;
  GemmTable gemm;
  std::vector<PrefillTable> prefill;  ///< By the names of their files.
  std::vector<DecodeTable> decode;
  std::vector<std::string> made;  ///< Paths of those that were made (make_tables.hpp), in order.
};

/// Reads every table of a GPU (its catalogue name, in lower case). A folder or file that is not
/// there is an error that names its path; so is every malformed or repeated row.
[[nodiscard]] core::Result<KernelTables> load_bench_data(const std::string& directory,
                                                         const std::string& gpu);

/// Names of the .csv files of a folder, sorted; an error when it is none.
[[nodiscard]] core::Result<std::vector<std::string>> csv_files(const std::string& folder);

}  // namespace ridgeline::latency::measured
