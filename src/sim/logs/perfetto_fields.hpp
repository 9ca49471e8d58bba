#pragma once

#include <cstdint>

/// Field numbers of Perfetto's trace format, as far as it is written here: protos/perfetto/trace
/// of google/perfetto (track_event.proto at 005055c, track_descriptor.proto,
/// counter_descriptor.proto, process_descriptor.proto, debug_annotation.proto).
namespace ridgeline::sim::perfetto_fields {

enum Trace : std::uint32_t { kTracePacket = 1 };

enum Packet : std::uint32_t {
  kTimestamp = 8,
  kSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kTrackDescriptor = 60,
};

enum Descriptor : std::uint32_t {
  kUuid = 1,
  kTrackName = 2,
  kProcess = 3,
  kParentUuid = 5,
  kCounter = 8,
  kChildOrdering = 11,
  kSiblingRank = 12,
};

enum Process : std::uint32_t { kPid = 1, kProcessName = 6 };
enum Counter : std::uint32_t { kUnitName = 6 };

enum Event : std::uint32_t {
  kCategoryIids = 3,
  kDebugAnnotations = 4,
  kType = 9,
  kNameIid = 10,
  kTrackUuid = 11,
  kExtraCounterValues = 12,
  kCounterValue = 30,
  kExtraCounterTracks = 31,
  kFlowIds = 47,
  kCorrelationId = 52,
};

enum Annotation : std::uint32_t { kAnnotationNameIid = 1, kIntValue = 4, kStringValue = 6 };

enum Interned : std::uint32_t { kCategories = 1, kEventNames = 2, kAnnotationNames = 3 };
enum Name : std::uint32_t { kIid = 1, kText = 2 };

/// Values of Event::kType.
enum EventType : std::uint32_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounterEvent = 4 };
/// Values of Packet::kSequenceFlags.
enum SequenceFlag : std::uint32_t { kIncrementalStateCleared = 1, kNeedsIncrementalState = 2 };
/// A value of Descriptor::kChildOrdering.
inline constexpr std::uint32_t kExplicitOrder = 3;

}  // namespace ridgeline::sim::perfetto_fields
