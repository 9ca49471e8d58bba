// Reading traces: bytes per second on a generated file of 1 GB, read through the file as `replay`
// does. `ratio` compares with simdjson's bare parse of the same lines in the same run, so that it
// does not depend on the machine's mood. Set BENCH_TRACE_MB for a smaller file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <simdjson.h>

#include "core/check.hpp"
#include "core/rng.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/options.hpp"
#include "workload/source.hpp"
#include "workload/traces/trace.hpp"

namespace {

namespace workload = ridgeline::workload;

std::size_t file_bytes() {
  constexpr std::size_t kMegabyte = 1'000'000;
  const char* const given = std::getenv("BENCH_TRACE_MB");
  return (given != nullptr ? std::strtoull(given, nullptr, 10) : 1000) * kMegabyte;
}

enum class Kind : std::uint8_t { kJsonl, kMooncake, kCsv, kAzure };

std::string line_of(Kind kind, std::int64_t row, ridgeline::core::RngStream& rng) {
  const std::string input = std::to_string(1 + rng.below(20'000));
  const std::string output = std::to_string(1 + rng.below(1000));
  const std::string seconds = std::to_string(row / 100) + "." + std::to_string(100 + row % 100);
  if (kind == Kind::kCsv) {
    return seconds + "," + input + "," + output + "\n";
  }
  if (kind == Kind::kAzure) {
    return fmt::format("2023-11-{:02} {:02}:{:02}:{:02}.{:07},{},{}\n",
                       1 + row / 8'640'000,
                       row / 360'000 % 24,
                       row / 6000 % 60,
                       row / 100 % 60,
                       static_cast<std::int64_t>(rng.below(100'000)) + row % 100 * 100'000,
                       input,
                       output);
  }
  if (kind == Kind::kJsonl) {
    return "{\"arrival_s\":" + seconds + ",\"input_tokens\":" + input +
           ",\"output_tokens\":" + output + "}\n";
  }
  std::string ids;
  for (int i = 0; i < 24; ++i) {
    ids += (i > 0 ? ", " : "") + std::to_string(rng.below(200'000));
  }
  return "{\"timestamp\": " + std::to_string(row * 10) +
         ", \"input_length\": 12035, \"output_length\": " + output + ", \"hash_ids\": [" + ids +
         "]}\n";
}

std::string_view header_of(Kind kind) {
  return kind == Kind::kCsv     ? "arrival_s,input_tokens,output_tokens\n"
         : kind == Kind::kAzure ? "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                : "";
}

/// A file of the wanted size that goes away with the program.
class TraceFile {
 public:
  explicit TraceFile(Kind kind) {
    path_ =
        (std::filesystem::temp_directory_path() / ("ridgeline_bench_" + std::to_string(getpid()) +
                                                   "_" + std::to_string(static_cast<int>(kind))))
            .string();
    std::ofstream out(path_, std::ios::binary);
    const std::string_view header = header_of(kind);
    out << header;
    size_ = header.size();
    ridgeline::core::RngStream rng(1, 0, "bench trace");
    const std::size_t wanted = file_bytes();
    for (std::int64_t row = 0; size_ < wanted; ++row) {
      const std::string line = line_of(kind, row, rng);
      out << line;
      size_ += line.size();
      rows_ = row + 1;
    }
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }

 private:
  std::string path_;
  std::size_t size_ = 0;
  std::int64_t rows_ = 0;
};

const TraceFile& trace_file(Kind kind) {
  static const TraceFile kJsonl(Kind::kJsonl);
  static const TraceFile kMooncake(Kind::kMooncake);
  static const TraceFile kCsv(Kind::kCsv);
  static const TraceFile kAzure(Kind::kAzure);
  return kind == Kind::kJsonl      ? kJsonl
         : kind == Kind::kMooncake ? kMooncake
         : kind == Kind::kCsv      ? kCsv
                                   : kAzure;
}

/// Processor time, whatever else runs: of all threads, and of the system for them.
double seconds_since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

double read_ours(const TraceFile& file) {
  const auto start = std::clock();
  auto stream = workload::open_items(file.path());
  workload::Item item;
  std::int64_t tokens = 0;
  std::int64_t rows = 0;
  while ((*stream)->next(item)) {
    tokens += item.input_tokens.value();
    ++rows;
  }
  benchmark::DoNotOptimize(tokens);
  RIDGELINE_CHECK(rows == file.rows(), "a trace that was not read to its end");
  return seconds_since(start);
}

/// simdjson's stream of documents over the file in memory, looking at nothing but their kind.
double read_simdjson(const TraceFile& file) {
  const auto text = simdjson::padded_string::load(file.path());
  const auto start = std::clock();
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document_stream documents;
  std::int64_t objects = 0;
  if (parser.iterate_many(text.value_unsafe()).get(documents) == simdjson::SUCCESS) {
    for (auto document : documents) {
      simdjson::ondemand::object object;
      objects += document.get_object().get(object) == simdjson::SUCCESS ? 1 : 0;
    }
  }
  benchmark::DoNotOptimize(objects);
  return seconds_since(start);
}

void read_trace(benchmark::State& state, Kind kind, Kind compared) {
  const TraceFile& file = trace_file(kind);
  const TraceFile& json = trace_file(compared);
  double ours = 0.0;
  double theirs = 0.0;
  for ([[maybe_unused]] auto _ : state) {
    ours += read_ours(file) / static_cast<double>(file.size());
    theirs += read_simdjson(json) / static_cast<double>(json.size());
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["GB_per_s"] = runs / ours * 1e-9;
  state.counters["simdjson_GB_per_s"] = runs / theirs * 1e-9;
  state.counters["ratio"] = theirs / ours;
}

void read_jsonl(benchmark::State& state) {
  read_trace(state, Kind::kJsonl, Kind::kJsonl);
}
void read_mooncake(benchmark::State& state) {
  read_trace(state, Kind::kMooncake, Kind::kMooncake);
}
void read_csv(benchmark::State& state) {
  read_trace(state, Kind::kCsv, Kind::kJsonl);
}
void read_azure_csv(benchmark::State& state) {
  read_trace(state, Kind::kAzure, Kind::kJsonl);
}
BENCHMARK(read_jsonl)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(read_mooncake)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(read_csv)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(read_azure_csv)->Unit(benchmark::kMillisecond)->Iterations(1);

/// What a request of a synthetic open loop costs.
void synthetic_arrivals(benchmark::State& state) {
  workload::SyntheticOptions options;
  options.num_prompts = workload::kMaxRequests;
  options.arrivals = workload::PoissonArrivals{ridgeline::core::Rate(1000.0)};
  auto source = workload::make_synthetic(options);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize((*source)->pop());
  }
}
BENCHMARK(synthetic_arrivals);

}  // namespace

BENCHMARK_MAIN();
