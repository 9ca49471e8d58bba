#include "api/arrow.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/tables.hpp"
#include "core/version.hpp"
#include "ridgeline.h"

namespace ridgeline::api {
namespace {

constexpr std::int64_t kNullable = 2;  ///< ARROW_FLAG_NULLABLE
constexpr std::size_t kBitsPerByte = 8;

void append_length(std::string& bytes, std::size_t length) {
  const auto number = static_cast<std::int32_t>(length);
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

/// Pairs as the interface packs them: lengths in the machine's own byte order.
std::string packed(std::span<const std::pair<std::string, std::string>> pairs) {
  std::string bytes;
  append_length(bytes, pairs.size());
  for (const auto& [key, value] : pairs) {
    for (const std::string* text : {&key, &value}) {
      append_length(bytes, text->size());
      bytes += *text;
    }
  }
  return bytes;
}

/// What a schema points at; freed with it.
struct SchemaParts {
  std::string name;
  std::string metadata;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> places;
  ArrowSchema dictionary = {};
};

/// A consumer may have moved children out: what is released already is left alone.
void release_schema(ArrowSchema* schema) {
  auto* const parts = static_cast<SchemaParts*>(schema->private_data);
  for (ArrowSchema& child : parts->children) {
    if (child.release != nullptr) {
      child.release(&child);
    }
  }
  if (parts->dictionary.release != nullptr) {
    parts->dictionary.release(&parts->dictionary);
  }
  schema->release = nullptr;
  delete parts;
}

void fill_schema(ArrowSchema& schema, const char* format, std::unique_ptr<SchemaParts> parts) {
  for (ArrowSchema& child : parts->children) {
    parts->places.push_back(&child);
  }
  schema = {.format = format,
            .name = parts->name.c_str(),
            .metadata = parts->metadata.empty() ? nullptr : parts->metadata.data(),
            .flags = kNullable,
            .n_children = static_cast<std::int64_t>(parts->children.size()),
            .children = parts->places.empty() ? nullptr : parts->places.data(),
            .dictionary = parts->dictionary.release == nullptr ? nullptr : &parts->dictionary,
            .release = release_schema,
            .private_data = parts.release()};
}

const char* format_of(int type) {
  switch (type) {
    case RL_INT32:
      return "i";
    case RL_INT64:
      return "l";
    case RL_FLOAT64:
      return "g";
    default:
      return "C";
  }
}

void fill_schema(ArrowSchema& schema, const Table& table, const std::string& digest) {
  auto parts = std::make_unique<SchemaParts>();
  const std::pair<std::string, std::string> whole[] = {
      {"ridgeline.version", std::string(core::version())}, {"digest", digest}};
  parts->metadata = packed(whole);
  parts->children.resize(table.columns().size());
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const rl_column& column = table.columns()[i];
    auto own = std::make_unique<SchemaParts>();
    own->name = column.name;
    if (*column.unit != '\0') {
      const std::pair<std::string, std::string> unit[] = {{"unit", column.unit}};
      own->metadata = packed(unit);
    }
    if (column.type == RL_WORD) {
      fill_schema(own->dictionary, "u", std::make_unique<SchemaParts>());
    }
    fill_schema(parts->children[i], format_of(column.type), std::move(own));
  }
  fill_schema(schema, "+s", std::move(parts));
}

/// What an array points at; freed with it.
struct ArrayParts {
  std::shared_ptr<const Table> table;
  std::vector<std::uint8_t> validity;
  std::vector<std::int32_t> offsets;
  std::string text;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> places;
  ArrowArray dictionary = {};
};

void release_array(ArrowArray* array) {
  auto* const parts = static_cast<ArrayParts*>(array->private_data);
  for (ArrowArray& child : parts->children) {
    if (child.release != nullptr) {
      child.release(&child);
    }
  }
  if (parts->dictionary.release != nullptr) {
    parts->dictionary.release(&parts->dictionary);
  }
  array->release = nullptr;
  delete parts;
}

void fill_array(ArrowArray& array,
                std::int64_t length,
                std::int64_t nulls,
                std::unique_ptr<ArrayParts> parts) {
  for (ArrowArray& child : parts->children) {
    parts->places.push_back(&child);
  }
  array = {.length = length,
           .null_count = nulls,
           .offset = 0,
           .n_buffers = static_cast<std::int64_t>(parts->buffers.size()),
           .n_children = static_cast<std::int64_t>(parts->children.size()),
           .buffers = parts->buffers.data(),
           .children = parts->places.empty() ? nullptr : parts->places.data(),
           .dictionary = parts->dictionary.release == nullptr ? nullptr : &parts->dictionary,
           .release = release_array,
           .private_data = parts.release()};
}

/// Whether a row of a column has no value.
bool is_null(const rl_column& column, std::size_t row) {
  switch (column.type) {
    case RL_INT32:
      return static_cast<const std::int32_t*>(column.data)[row] == -1;
    case RL_INT64:
      return static_cast<const std::int64_t*>(column.data)[row] == -1;
    case RL_FLOAT64:
      return std::isnan(static_cast<const double*>(column.data)[row]);
    default:
      return false;
  }
}

void fill_words(ArrowArray& array, std::span<const char* const> words) {
  auto parts = std::make_unique<ArrayParts>();
  parts->offsets.push_back(0);
  for (const char* word : words) {
    parts->text += word;
    parts->offsets.push_back(static_cast<std::int32_t>(parts->text.size()));
  }
  parts->buffers = {nullptr, parts->offsets.data(), parts->text.data()};
  fill_array(array, static_cast<std::int64_t>(words.size()), 0, std::move(parts));
}

void fill_column(ArrowArray& array,
                 const rl_column& column,
                 const std::shared_ptr<const Table>& table) {
  auto parts = std::make_unique<ArrayParts>();
  parts->table = table;
  const auto rows = static_cast<std::size_t>(table->rows());
  std::int64_t nulls = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    if (!is_null(column, row)) {
      continue;
    }
    if (nulls++ == 0) {
      parts->validity.assign((rows + kBitsPerByte - 1) / kBitsPerByte, 0xff);
    }
    parts->validity[row / kBitsPerByte] &= static_cast<std::uint8_t>(~(1U << (row % kBitsPerByte)));
  }
  parts->buffers = {nulls > 0 ? parts->validity.data() : nullptr, column.data};
  if (column.type == RL_WORD) {
    fill_words(parts->dictionary, {column.words, column.num_words});
  }
  fill_array(array, table->rows(), nulls, std::move(parts));
}

void fill_batch(ArrowArray& array, const std::shared_ptr<const Table>& table) {
  auto parts = std::make_unique<ArrayParts>();
  parts->buffers = {nullptr};
  parts->children.resize(table->columns().size());
  for (std::size_t i = 0; i < table->columns().size(); ++i) {
    fill_column(parts->children[i], table->columns()[i], table);
  }
  fill_array(array, table->rows(), 0, std::move(parts));
}

struct Stream {
  std::shared_ptr<const Table> table;
  std::string digest;
  bool is_at_end = false;
};

Stream& stream_of(ArrowArrayStream* stream) {
  return *static_cast<Stream*>(stream->private_data);
}

/// An error number of the interface; memory alone can run out here.
template <class Fill>
int filled(const Fill& fill) {
  constexpr int kOutOfMemory = 12;  // ENOMEM
  try {
    fill();
    return 0;
  } catch (...) {
    return kOutOfMemory;
  }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  return filled([&] { fill_schema(*out, *stream_of(stream).table, stream_of(stream).digest); });
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  Stream& own = stream_of(stream);
  if (own.is_at_end) {
    out->release = nullptr;
    return 0;
  }
  const int code = filled([&] { fill_batch(*out, own.table); });
  own.is_at_end = code == 0;
  return code;
}

const char* get_last_error(ArrowArrayStream* /*stream*/) {
  return "out of memory";
}

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<Stream*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

void export_stream(std::shared_ptr<const Table> table,
                   const std::string& digest,
                   ArrowArrayStream& out) {
  auto own = std::make_unique<Stream>(
      Stream{.table = std::move(table), .digest = digest, .is_at_end = false});
  out = {.get_schema = get_schema,
         .get_next = get_next,
         .get_last_error = get_last_error,
         .release = release_stream,
         .private_data = own.release()};
}

}  // namespace ridgeline::api
