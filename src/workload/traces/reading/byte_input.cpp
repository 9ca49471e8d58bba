#include "workload/traces/reading/byte_input.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/gzip.hpp"
#include "document/input_files.hpp"
#include "document/piped_files.hpp"

namespace ridgeline::workload {
namespace {

// RFC 1952, 2.3.1, with the one compression method there is; RFC 8878, 3.1.1.
constexpr std::string_view kGzipMagic = "\x1F\x8B\x08";
constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";

class PlainInput final : public ByteInput {
 public:
  explicit PlainInput(std::unique_ptr<std::istream> input) : input_(std::move(input)) {}
  std::size_t read(char* buffer, std::size_t size) override {
    input_->read(buffer, static_cast<std::streamsize>(size));
    return static_cast<std::size_t>(input_->gcount());
  }
  [[nodiscard]] std::string_view problem() const override {
    return input_->bad() ? "the file could not be read to its end" : "";
  }

 private:
  std::unique_ptr<std::istream> input_;
};

/// An input whose first bytes were looked at.
class PeekedInput final : public ByteInput {
 public:
  explicit PeekedInput(std::unique_ptr<ByteInput> input) : input_(std::move(input)) {
    size_ = input_->read(head_.data(), head_.size());
  }
  [[nodiscard]] std::string_view head() const { return {head_.data(), size_}; }

  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t given = std::min(size, size_ - begin_);
    std::memcpy(buffer, head_.data() + begin_, given);
    begin_ += given;
    return given == size ? given : given + input_->read(buffer + given, size - given);
  }
  [[nodiscard]] std::string_view problem() const override { return input_->problem(); }

 private:
  std::unique_ptr<ByteInput> input_;
  std::array<char, 4> head_{};
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
};

/// Counts what is read.
class CountedInput final : public ByteInput {
 public:
  CountedInput(std::unique_ptr<ByteInput> input, std::shared_ptr<std::size_t> count)
      : input_(std::move(input)), count_(std::move(count)) {}
  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t got = input_->read(buffer, size);
    *count_ += got;
    return got;
  }
  [[nodiscard]] std::string_view problem() const override { return input_->problem(); }

 private:
  std::unique_ptr<ByteInput> input_;
  std::shared_ptr<std::size_t> count_;
};

/// Unpacks, but no trace that was made to take time. Rows that are all alike shrink to a thousandth
/// (measured: 5,000,000 of them, gzip 515, zstd 10,800), so that the first gibibyte is free.
class UnpackedInput final : public ByteInput {
 public:
  using Unpacker = std::unique_ptr<ByteInput> (*)(std::unique_ptr<ByteInput> packed);
  UnpackedInput(std::unique_ptr<ByteInput> packed, Unpacker unpack)
      : input_(unpack(std::make_unique<CountedInput>(std::move(packed), packed_))) {}
  std::size_t read(char* buffer, std::size_t size) override {
    constexpr std::size_t kMostRatio = 1000;
    constexpr std::size_t kFree = std::size_t{1} << 30U;
    const std::size_t got = is_too_large_ ? 0 : input_->read(buffer, size);
    unpacked_ += got;
    is_too_large_ = unpacked_ > kFree && unpacked_ / kMostRatio > *packed_;
    return is_too_large_ ? 0 : got;
  }
  [[nodiscard]] std::string_view problem() const override {
    return is_too_large_ ? "unpacks to more than 1000 times its size, expected a trace"
                         : input_->problem();
  }
  [[nodiscard]] std::optional<std::size_t> packed_bytes() const override { return *packed_; }

 private:
  std::shared_ptr<std::size_t> packed_ = std::make_shared<std::size_t>(0);
  std::unique_ptr<ByteInput> input_;
  std::size_t unpacked_ = 0;
  bool is_too_large_ = false;
};

core::Error file_error(const std::string& path, std::string message) {
  return {.message = std::move(message), .where = {.file = path}};
}

}  // namespace

std::unique_ptr<ByteInput> make_plain_input(std::unique_ptr<std::istream> input) {
  return std::make_unique<PlainInput>(std::move(input));
}

std::unique_ptr<ByteInput> unpacked(std::unique_ptr<ByteInput> input) {
  auto peeked = std::make_unique<PeekedInput>(std::move(input));
  if (peeked->head().starts_with(kGzipMagic)) {
    return std::make_unique<UnpackedInput>(std::move(peeked), make_gzip_input);
  }
  if (peeked->head().starts_with(kZstdMagic)) {
    return std::make_unique<UnpackedInput>(std::move(peeked), make_zstd_input);
  }
  return peeked;
}

core::Result<std::unique_ptr<ByteInput>> open_input(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return core::fail(file_error(path.substr(0, path.find('\0')), "its name holds a NUL"));
  }
  std::error_code failure;
  const std::string source = document::path_to_open(path);
  const auto status = std::filesystem::status(source, failure);
  if (!std::filesystem::exists(status)) {
    return core::fail(file_error(path, "no such file, expected a trace"));
  }
  // A trace is read twice (checked, then replayed), which pipes and devices do not allow; the
  // command line copies pipes (document/piped_files.hpp).
  if (!std::filesystem::is_regular_file(status)) {
    return core::fail(file_error(path, "not a regular file, expected a trace"));
  }
  auto file = std::make_unique<std::ifstream>(source, std::ios::binary);
  if (!file->is_open()) {
    return core::fail(file_error(path, "cannot be opened for reading"));
  }
  document::note_input(path);
  return unpacked(make_plain_input(std::move(file)));
}

core::Result<std::string> read_whole(ByteInput& input, const std::string& name) {
  std::string text;
  std::string chunk(std::size_t{256} * 1024, '\0');
  for (;;) {
    const std::size_t size = input.read(chunk.data(), chunk.size());
    text.append(chunk, 0, size);
    const auto packed = input.packed_bytes();
    const std::size_t most =
        packed ? document::most_unpacked(*packed, kMaxWholeBytes) : kMaxWholeBytes;
    if (text.size() > most) {
      return core::fail(file_error(name,
                                   fmt::format("{} more than the limit of {} bytes{}",
                                               packed ? "unpacks to" : "holds",
                                               most,
                                               most < kMaxWholeBytes ? " for its size" : "")));
    }
    if (size < chunk.size()) {
      break;
    }
  }
  if (!input.problem().empty()) {
    return core::fail(file_error(name, std::string(input.problem())));
  }
  return text;
}

}  // namespace ridgeline::workload
