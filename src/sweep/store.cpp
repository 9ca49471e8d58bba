#include "sweep/store.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/input_files.hpp"
#include "document/save.hpp"
#include "sweep/axes.hpp"
#include "sweep/point_id.hpp"
#include "sweep/row.hpp"

namespace ridgeline::sweep {
namespace {

constexpr std::string_view kSweepFile = "/sweep.json";
/// Damaged rows of a file that are named one by one.
constexpr std::size_t kMostDamaged = 10;
/// Read at once (ours: large enough that the number of calls does not count).
constexpr std::size_t kReadBytes = std::size_t{1} << 20U;

core::Error store_error(std::string message, std::string hint = {}) {
  return {.field = "--store",
          .message = std::move(message),
          .where = {.file = "command line"},
          .hint = std::move(hint)};
}

core::Error damaged_row(const std::string& path, int line, bool is_row) {
  return {.field = "--store",
          .message = is_row ? "this row is of a point that the sweep does not have"
                            : "this row is damaged: it is not what its checksum is of",
          .where = {.file = path, .line = line},
          .hint = "delete the line, and run the sweep again: its point is run anew"};
}

std::string text_at(const document::Node& node, std::string_view key) {
  const document::Node* value = node.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : "";
}

/// The lines of a file with their offsets, in pieces of bounded size.
class Lines {
 public:
  explicit Lines(const std::string& path) : in_(path, std::ios::binary) {}

  [[nodiscard]] bool is_open() const { return in_.is_open(); }

  /// The next line without its break, valid until the next call; `is_whole`: it had one.
  bool next(std::string_view& line, std::uint64_t& offset, bool& is_whole) {
    while (true) {
      const std::size_t end = buffer_.find('\n', searched_);
      if (end != std::string::npos || (is_at_end_ && at_ < buffer_.size())) {
        is_whole = end != std::string::npos;
        const std::size_t stop = is_whole ? end : buffer_.size();
        line = std::string_view(buffer_).substr(at_, stop - at_);
        offset = base_ + at_;
        at_ = is_whole ? end + 1 : stop;
        searched_ = at_;
        return true;
      }
      if (is_at_end_) {
        return false;
      }
      fill();
    }
  }

 private:
  void fill() {
    buffer_.erase(0, at_);
    base_ += at_;
    at_ = 0;
    searched_ = buffer_.size();
    buffer_.resize(searched_ + kReadBytes);
    in_.read(buffer_.data() + searched_, static_cast<std::streamsize>(kReadBytes));
    const auto got = static_cast<std::size_t>(in_.gcount());
    buffer_.resize(searched_ + got);
    is_at_end_ = got < kReadBytes;
  }

  std::ifstream in_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::size_t searched_ = 0;
  std::uint64_t base_ = 0;
  bool is_at_end_ = false;
};

/// `reason` is a text of JSON, quotes and all.
void count_reason(std::string_view reason, Contents& contents) {
  const auto text = document::parse_json(reason, "");
  if (!text || !text->is_string()) {
    return;
  }
  const auto known = contents.reasons.find(text->as_string());
  if (known != contents.reasons.end()) {
    ++known->second;
  } else if (contents.reasons.size() < kMostReasons) {
    contents.reasons.emplace(text->as_string(), 1);
  }
}

}  // namespace

core::Result<Store> Store::find(const std::string& folder) {
  const std::string path = folder + std::string(kSweepFile);
  auto description = document::read_document(path);
  std::error_code failed;
  if (!description && std::filesystem::exists(path, failed)) {
    return core::fail(
        store_error(fmt::format("'{}' is damaged: {}", path, description.error().front().message),
                    "another folder, or a copy of the file"));
  }
  if (!description) {
    return core::fail(store_error(fmt::format("'{}' holds no sweep", folder),
                                  "ridgeline sweep run FILE --store FOLDER makes one"));
  }
  const document::Node* points = description->find("points");
  Store store;
  store.folder_ = folder;
  store.digest_ = text_at(*description, "digest");
  if (store.digest_.empty() || points == nullptr ||
      points->kind() != document::Node::Kind::kInteger || points->as_integer() < 1 ||
      points->as_integer() > kMostPoints) {
    return core::fail(
        store_error(fmt::format("'{}' is damaged: no digest, or no number of points", path)));
  }
  store.points_ = points->as_integer();
  store.description_ = std::move(*description);
  return store;
}

core::Result<Store> Store::open(const std::string& folder, const document::Node& description) {
  std::error_code failed;
  std::filesystem::create_directories(folder + "/shards", failed);
  if (failed) {
    return core::fail(
        store_error(fmt::format("'{}' cannot be made: {}", folder, failed.message())));
  }
  const document::FolderLock lock(folder);
  if (!lock.take()) {
    return core::fail(store_error(fmt::format("another process is making '{}'", folder)));
  }
  const std::string path = folder + std::string(kSweepFile);
  if (!std::filesystem::exists(path, failed)) {
    if (auto written = document::save_file("--store", path, one_line(description) + "\n");
        !written) {
      return core::fail(std::move(written).error());
    }
  }
  auto store = find(folder);
  if (!store) {
    return store;
  }
  const std::string wanted = text_at(description, "digest");
  if (store->digest_ != wanted) {
    return core::fail(store_error(
        fmt::format("'{}' holds another sweep ({}, this is {})", folder, store->digest_, wanted),
        "another folder, or the same axes, settings and measure"));
  }
  const std::string version = text_at(store->description_, "version");
  if (version != text_at(description, "version")) {
    return core::fail(
        store_error(fmt::format("'{}' holds results of version {}, this is {}: they may differ",
                                folder,
                                version,
                                text_at(description, "version")),
                    "another folder"));
  }
  return store;
}

std::string Store::header() const {
  return fmt::format("{{\"sweep\":\"{}\"}}\n", digest_);
}

core::Result<Contents> Store::read() const {
  Contents contents;
  contents.has.assign(static_cast<std::size_t>(points_), false);
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(shards(), failed)) {
    if (entry.path().extension() == ".ndjson") {
      contents.files.push_back(entry.path().string());
    }
  }
  if (failed) {
    return core::fail(
        store_error(fmt::format("'{}' cannot be read: {}", shards(), failed.message())));
  }
  std::ranges::sort(contents.files);
  for (std::uint32_t i = 0; i < contents.files.size(); ++i) {
    if (auto done = read_file(i, contents); !done) {
      return core::fail(std::move(done).error());
    }
  }
  return contents;
}

core::Result<void> Store::read_file(std::uint32_t index, Contents& contents) const {
  const std::string& path = contents.files[index];
  Lines lines(path);
  if (!lines.is_open()) {
    return core::fail(store_error(fmt::format("'{}' cannot be read", path)));
  }
  document::note_input(path);  // No output may replace it.
  std::string_view line;
  std::uint64_t offset = 0;
  bool is_whole = false;
  if (!lines.next(line, offset, is_whole)) {
    return {};  // Killed before its first line.
  }
  const std::string wanted = header();
  if (!is_whole) {
    ++contents.torn_lines;
    return {};
  }
  if (line != std::string_view(wanted).substr(0, wanted.size() - 1)) {
    return core::fail(store_error(fmt::format("'{}' belongs to another sweep", path)));
  }
  core::Errors errors;
  for (int number = 2; lines.next(line, offset, is_whole); ++number) {
    if (!is_whole) {
      ++contents.torn_lines;
      break;
    }
    const auto row = read_line(line);
    if (!row || row->ordinal < 0 || row->ordinal >= points_) {
      errors.push_back(damaged_row(path, number, row.has_value()));
      if (errors.size() == kMostDamaged) {
        break;
      }
      continue;
    }
    contents.unchecked_rows += row->has_checksum ? 0 : 1;
    contents.rows.push_back({.ordinal = row->ordinal,
                             .offset = offset,
                             .length = static_cast<std::uint32_t>(row->without_run_info.size()),
                             .file = index});
    contents.wall_time_s += row->wall_time_s;
    const auto ordinal = static_cast<std::size_t>(row->ordinal);
    if (!contents.has[ordinal]) {
      contents.has[ordinal] = true;
      ++contents.done;
      ++contents.by_status[static_cast<std::size_t>(row->status)];
      if (!row->reason.empty()) {
        count_reason(row->reason, contents);
      }
    }
  }
  return errors.empty() ? core::Result<void>() : core::fail(std::move(errors));
}

}  // namespace ridgeline::sweep
