// ServeGen's folders (github.com/alibaba/ServeGen): for each client chunk-N-trace.csv with a line
// per window of 600 s (start, requests per second, coefficient of variation, Gamma or Weibull, its
// shape and scale) and chunk-N-dataset.json with distributions of lengths, as Python writes
// dictionaries, per window of several hours. The rate is that of the trace; of the family's
// parameters only the shape counts, because their fitted mean is not the rate's.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "workload/generate/client.hpp"
#include "workload/generate/law.hpp"
#include "workload/generate/rate_curve.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/byte_input.hpp"
#include "workload/traces/reading/csv.hpp"
#include "workload/traces/reading/document_lines.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/row_tally.hpp"

namespace ridgeline::workload {
namespace {

constexpr double kServeGenWindow = 600.0;  // seconds

bool read_number(std::string_view text, double& value) {
  const auto number = core::parse_whole<double>(text);
  value = number.value_or(value);
  return number.has_value();
}

/// A window of the trace file.
struct ServeGenRow {
  double start = 0.0;
  RatePiece piece;
};

bool read_servegen_row(const TraceLine& line, ServeGenRow& row) {
  const auto cells = split_csv(line.text());
  constexpr std::size_t kCells = 6;
  if (cells.size() < 2 || cells.size() > kCells) {
    line.problem("",
                 line.text(),
                 fmt::format("{} columns", cells.size()),
                 "start, rate, cv, pattern, shape, scale");
    return false;
  }
  double rate = 0.0;
  constexpr double kMostRate = 1e6;
  constexpr double kLastStart = 9e6;
  if (!read_number(cells[0], row.start) || !(row.start >= 0.0) || row.start > kLastStart) {
    line.problem("start", cells[0], core::quote(cells[0]), "a time in seconds");
    return false;
  }
  if (!read_number(cells[1], rate) || !(rate >= 0.0) || rate > kMostRate) {
    line.problem("rate", cells[1], core::quote(cells[1]), "requests per second, 0 to 1000000");
    return false;
  }
  row.piece = {.seconds = kServeGenWindow, .from = rate, .to = rate};
  double shape = 1.0;
  const bool shaped = cells.size() > 4 && read_number(cells[4], shape) && shape > 0.0;
  if (cells.size() > 3 && shaped && (cells[3] == "Gamma" || cells[3] == "Weibull")) {
    constexpr double kLeastShape = 0.1;  // of a Weibull law whose moments double can hold
    row.piece.gaps =
        cells[3] == "Gamma"
            ? GapLaw{.kind = GapLaw::Kind::kGamma, .shape = std::max(shape, 1e-3)}
            : GapLaw{.kind = GapLaw::Kind::kWeibull, .shape = std::max(shape, kLeastShape)};
  }
  return true;
}

/// "{45: 0.0096, 46: 0.0117}"; empty where there is nothing.
std::optional<Law> read_python_pmf(std::string_view text) {
  Law law{.kind = Law::Kind::kEmpirical};
  double total = 0.0;
  std::size_t at = text.find('{');
  while (at != std::string_view::npos && at + 1 < text.size()) {
    const std::size_t colon = text.find(':', at);
    if (colon == std::string_view::npos) {
      break;
    }
    const std::size_t end = text.find_first_of(",}", colon);
    const auto trimmed = [](std::string_view piece) {
      while (piece.starts_with(' ')) {
        piece.remove_prefix(1);
      }
      while (piece.ends_with(' ')) {
        piece.remove_suffix(1);
      }
      return piece;
    };
    double value = 0.0;
    double weight = 0.0;
    if (end == std::string_view::npos ||
        !read_number(trimmed(text.substr(at + 1, colon - at - 1)), value) ||
        !read_number(trimmed(text.substr(colon + 1, end - colon - 1)), weight) || !(value >= 0.0) ||
        !(weight >= 0.0)) {
      return std::nullopt;
    }
    law.values.push_back(value);
    law.weights.push_back(weight);
    total += weight;
    at = text[end] == ',' ? end : std::string_view::npos;
  }
  return total > 0.0 ? std::optional(law) : std::nullopt;
}

/// Lengths that hold from `start` on.
struct ServeGenData {
  double start = 0.0;
  std::optional<Law> input;
  std::optional<Law> output;
  std::optional<Law> reasoning;
};

core::Result<std::vector<ServeGenData>> read_servegen_data(const std::string& text,
                                                           const std::string& path) {
  core::Errors errors;
  const TraceLine line(text, path, 1, errors);
  JsonCursor json(line);
  std::vector<ServeGenData> windows;
  std::string_view window;
  for (json.enter('{'); json.next_key(window);) {
    ServeGenData data;
    if (!read_number(window, data.start)) {
      line.problem("", window, core::quote(window), "the start of a window in seconds");
    }
    std::string_view key;
    for (json.enter('{'); json.next_key(key);) {
      std::string_view law;
      if (json.kind() != '"') {
        json.skip();
      } else if (json.string(key, law)) {
        if (key == "input_tokens") {
          data.input = read_python_pmf(law);
        } else if (key == "output_tokens") {
          data.output = read_python_pmf(law);
        } else if (key == "reason_ratio") {
          data.reasoning = read_python_pmf(law);
        }
      }
    }
    windows.push_back(std::move(data));
  }
  if (!json.at_end() || !errors.empty()) {
    return core::fail(std::move(errors));
  }
  std::ranges::sort(windows, {}, &ServeGenData::start);
  return windows;
}

core::Result<std::string> text_of(const std::string& path) {
  auto input = open_input(path);
  return input ? read_whole(**input, path) : core::fail(std::move(input.error()));
}

/// The client of one chunk, a spec for each window of its data set.
core::Result<std::vector<ClientSpec>> read_chunk(const std::string& text,
                                                 const std::string& trace_path,
                                                 bool skip_bad_rows) {
  RowTally tally(skip_bad_rows);
  std::vector<ServeGenRow> rows;
  for_each_line(text, trace_path, tally, [&](const TraceLine& line, std::int64_t) {
    ServeGenRow row;
    if (read_servegen_row(line, row)) {
      rows.push_back(row);
    }
  });
  if (!tally.errors().empty()) {
    return core::fail(tally.errors());
  }
  std::ranges::stable_sort(rows, {}, &ServeGenRow::start);
  std::string data_path = trace_path;
  const std::size_t at = data_path.rfind("-trace.csv");
  data_path.replace(at, data_path.size() - at, "-dataset.json");
  const auto data_text = text_of(data_path);
  if (!data_text) {
    return core::fail(data_text.error());
  }
  const auto windows = read_servegen_data(*data_text, data_path);
  if (!windows) {
    return core::fail(windows.error());
  }
  std::vector<ClientSpec> specs;
  for (std::size_t w = 0; w < windows->size(); ++w) {
    const ServeGenData& data = (*windows)[w];
    const double end = w + 1 < windows->size() ? (*windows)[w + 1].start : 1e9;
    if (!data.input || !data.output) {
      continue;
    }
    ClientSpec spec;
    spec.input = *data.input;
    spec.output = *data.output;
    spec.reasoning = data.reasoning;
    const std::string name = std::filesystem::path(trace_path).filename().string();
    spec.tenant = name.substr(0, name.rfind("-trace.csv"));
    spec.rate.pieces.clear();
    double now = 0.0;
    for (const ServeGenRow& row : rows) {
      if (row.start < data.start || row.start >= end || row.piece.from == 0.0 || row.start < now) {
        continue;
      }
      if (row.start > now) {
        spec.rate.pieces.push_back({.seconds = row.start - now, .from = 0.0, .to = 0.0});
      }
      spec.rate.pieces.push_back(row.piece);
      now = row.start + row.piece.seconds;
    }
    if (!spec.rate.pieces.empty()) {
      specs.push_back(std::move(spec));
    }
  }
  return specs;
}

bool is_chunk(const std::string& name) {
  return name.starts_with("chunk-") && name.ends_with("-trace.csv");
}

/// All chunks of the folder, by number.
std::vector<std::string> chunks_of(const std::string& folder) {
  std::error_code failure;
  std::map<std::pair<std::size_t, std::string>, std::string> chunks;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    const std::string name = entry.path().filename().string();
    if (is_chunk(name)) {
      chunks[{name.size(), name}] = entry.path().string();
    }
  }
  std::vector<std::string> paths;
  for (auto& [key, path] : chunks) {
    paths.push_back(path);
  }
  return paths;
}

core::Result<std::unique_ptr<ItemStream>> read_servegen(TraceDocument document) {
  const std::filesystem::path path(document.path);
  if (!is_chunk(path.filename().string())) {
    return core::fail(core::Error{.message = "found a ServeGen trace of another name, expected "
                                             "chunk-N-trace.csv beside chunk-N-dataset.json",
                                  .where = {.file = document.path}});
  }
  std::vector<std::string> chunks = {document.path};
  if (document.whole_folder) {
    chunks = chunks_of(path.parent_path().empty() ? "." : path.parent_path().string());
  }
  std::vector<ClientSpec> specs;
  for (const std::string& chunk : chunks) {
    auto text = chunk == document.path ? core::Result<std::string>(document.text) : text_of(chunk);
    if (!text) {
      return core::fail(std::move(text.error()));
    }
    auto more = read_chunk(*text, chunk, document.skip_bad_rows);
    if (!more) {
      return core::fail(std::move(more.error()));
    }
    specs.insert(specs.end(), more->begin(), more->end());
  }
  if (specs.empty()) {
    return core::fail(
        core::Error{.message = "found no window with a rate and lengths, expected one",
                    .where = {.file = document.path}});
  }
  return make_clients(specs, document.seed);
}

}  // namespace

const TraceFormat kServeGen = {
    .name = "servegen",
    .summary =
        "ServeGen: a folder of clients, chunk-N-trace.csv and chunk-N-dataset.json: generated",
    .detect =
        [](const TraceHead& head) {
          const auto cells = split_csv(head.first_line());
          double start = 0.0;
          double rate = 0.0;
          return cells.size() == 6 && read_number(cells[0], start) && read_number(cells[1], rate) &&
                 (cells[3].empty() || cells[3] == "Gamma" || cells[3] == "Weibull" ||
                  cells[3] == "Exponential");
        },
    .open_document = read_servegen,
    .file_of_folder =
        [](const std::string& path) {
          const auto chunks = chunks_of(path);
          return chunks.empty() ? std::string() : chunks.front();
        },
};

}  // namespace ridgeline::workload
