#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/tables.hpp"

// The structures of the Arrow C data and C stream interfaces, which are a fixed ABI
// (arrow.apache.org/docs/format/CDataInterface.html, CStreamInterface.html).
extern "C" {
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE  // NOLINT(readability-identifier-naming): the standard's name
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE  // NOLINT(readability-identifier-naming): the standard's name
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
#endif
}

namespace ridgeline::api {

/// Makes `out` a stream of one batch on the table's own memory, which it keeps alive until the last
/// consumer has released what it took. Integers of -1 and NaN are nulls.
void export_stream(std::shared_ptr<const Table> table,
                   const std::string& digest,
                   ArrowArrayStream& out);

}  // namespace ridgeline::api
