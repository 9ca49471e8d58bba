#include "sim/logs/perfetto.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "sim/logs/perfetto_fields.hpp"
#include "sim/logs/perfetto_lanes.hpp"

namespace ridgeline::sim {
namespace {

using core::SimTime;
using protozero::pbf_writer;
namespace field = perfetto_fields;

/// Packets that a request and a run of steps can become: three slices and two counts of those that
/// wait; a slice.
constexpr std::int64_t kEventsPerLife = 8;
constexpr std::int64_t kEventsPerSteps = 2;
constexpr std::int64_t kTicksPerNanosecond = 1000;
constexpr std::uint32_t kSequence = 1;
/// Bytes that are put together before they are written.
constexpr std::size_t kBufferBytes = std::size_t{1} << 16U;

std::int64_t nanoseconds(SimTime at) {
  return at.count() / kTicksPerNanosecond;
}

/// When a request was over, as far as its record says.
SimTime end_of(const domain::RequestRecord& record) {
  for (const SimTime at :
       {record.last_token, record.failed, record.first_token, record.first_scheduled}) {
    if (at != SimTime::never()) {
      return std::max(at, record.queued);
    }
  }
  return std::max(record.queued, record.arrival);
}

domain::Bottleneck greatest_part(const domain::StepTime& time) {
  const auto most = std::ranges::max_element(time.by_bottleneck);
  return static_cast<domain::Bottleneck>(most - time.by_bottleneck.begin());
}

/// Names that a trace says once, each with its number from 1.
class Names {
 public:
  explicit Names(std::uint32_t interned_field) : field_(interned_field) {}
  /// The number; a new name goes into `news` for the packet that uses it first.
  std::uint64_t number(const std::string& name, std::string& news) {
    const auto [place, is_new] = numbers_.emplace(name, numbers_.size() + 1);
    if (is_new) {
      pbf_writer interned{news};
      pbf_writer entry{interned, field_};
      entry.add_uint64(field::kIid, place->second);
      entry.add_string(field::kText, name);
    }
    return place->second;
  }

 private:
  std::uint32_t field_;
  std::map<std::string, std::uint64_t> numbers_;
};

/// Numbers of the tracks of an instance's process, or of the gateway's.
struct Tracks {
  enum Counter : std::uint8_t { kRunning, kBatchTokens, kKvTokens, kWaiting, kNumCounters };
  static constexpr unsigned kShift = 40;
  static constexpr std::uint64_t kFirstRequestLane = std::uint64_t{1} << 20U;
  std::uint64_t process = 0;

  /// 0: the gateway.
  static Tracks of(std::uint64_t number) { return {(number + 1) << kShift}; }
  static Tracks of(core::InstanceId id) { return of(std::uint64_t{id.value()} + 1); }
  [[nodiscard]] std::uint64_t counter(Counter which) const { return process + 1 + which; }
  [[nodiscard]] std::uint64_t step_lane(std::uint64_t lane) const { return process + 16 + lane; }
  [[nodiscard]] std::uint64_t request_lane(std::uint64_t lane) const {
    return process + kFirstRequestLane + lane;
  }
};

}  // namespace

class PerfettoTrace::Writer {
 public:
  Writer(const PerfettoTrace& trace, std::ostream& out) : trace_(trace), out_(out) {}

  void write() {
    plan_steps();
    plan_requests();
    plan_cut();
    std::ranges::stable_sort(events_, {}, [](const Event& event) { return event.at; });
    describe_tracks();
    for (const Event& event : events_) {
      put(event);
    }
    flush(0);
  }

 private:
  enum class Kind : std::uint8_t {
    kStepsBegin,
    kStepsEnd,
    kIdle,
    kQueued,
    kPrefill,
    kDecode,
    kOnTheWay,
    kSliceEnd,
    kWaits,
    kWaitsNoMore,
    kCut,
  };
  struct Event {
    std::int64_t at;  ///< Nanoseconds.
    std::uint64_t track;
    std::uint32_t index;  ///< Index of the request or the steps.
    Kind kind;
    bool is_first = false;  ///< The first slice of a request on its instance.
  };
  /// What is known of one instance.
  struct Place {
    LaneKeeper step_lanes;
    LaneKeeper request_lanes;
    std::int64_t waiting = 0;
  };

  /// A slice of a stretch, cut to what is wanted; nothing where none of it is.
  void plan_slice(SimTime begin,
                  SimTime end,
                  std::uint64_t track,
                  std::uint32_t index,
                  Kind kind,
                  bool is_first = false) {
    if (begin == SimTime::never() || begin >= trace_.limit() || end < trace_.options_.from) {
      return;
    }
    const SimTime from = std::max(begin, trace_.options_.from);
    const SimTime to = std::max(std::min(end, trace_.limit()), from);
    events_.push_back({nanoseconds(from), track, index, kind, is_first});
    events_.push_back({nanoseconds(to),
                       track,
                       index,
                       kind == Kind::kStepsBegin ? Kind::kStepsEnd : Kind::kSliceEnd});
  }

  /// Numbers of items in order of time.
  template <class Items, class Begin>
  static std::vector<std::uint32_t> in_order(const Items& items, const Begin& begin) {
    std::vector<std::uint32_t> order(items.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = static_cast<std::uint32_t>(i);
    }
    std::ranges::stable_sort(
        order, [&](std::uint32_t a, std::uint32_t b) { return begin(items[a]) < begin(items[b]); });
    return order;
  }

  void plan_steps() {
    std::map<core::InstanceId, std::pair<SimTime, std::uint32_t>> last;  // The last end, and whose.
    const auto idle_after = [&](SimTime end, std::uint32_t index) {
      if (end < trace_.limit() && end >= trace_.options_.from) {
        const Tracks tracks = Tracks::of(trace_.steps_[index].instance);
        events_.push_back({nanoseconds(end), tracks.counter(Tracks::kRunning), index, Kind::kIdle});
      }
    };
    for (const std::uint32_t i :
         in_order(trace_.steps_, [](const Steps& steps) { return steps.start; })) {
      const Steps& steps = trace_.steps_[i];
      const Tracks tracks = Tracks::of(steps.instance);
      const std::uint64_t lane = places_[steps.instance].step_lanes.take(steps.start, steps.end);
      const auto before = last.find(steps.instance);
      if (before != last.end() && before->second.first < steps.start) {
        idle_after(before->second.first, before->second.second);
      }
      plan_slice(steps.start, steps.end, tracks.step_lane(lane), i, Kind::kStepsBegin);
      auto& newest = last[steps.instance];
      newest = std::max(newest, {steps.end, i});
    }
    for (const auto& [instance, end] : last) {
      idle_after(end.first, end.second);
    }
  }

  void plan_requests() {
    for (const std::uint32_t i :
         in_order(trace_.lives_, [](const Life& life) { return life.arrival; })) {
      const Life& life = trace_.lives_[i];
      if (trace_.options_.is_fleet) {
        const SimTime left = life.instance.valid() ? life.queued : life.end;
        plan_slice(life.arrival,
                   left,
                   Tracks::of(std::uint64_t{0}).request_lane(gateway_.take(life.arrival, left)),
                   i,
                   Kind::kOnTheWay);
      }
    }
    for (const std::uint32_t i :
         in_order(trace_.lives_, [](const Life& life) { return life.queued; })) {
      plan_life(trace_.lives_[i], i);
    }
  }

  void plan_life(const Life& life, std::uint32_t i) {
    if (!life.instance.valid()) {
      return;
    }
    Place& place = places_[life.instance];
    const Tracks tracks = Tracks::of(life.instance);
    const std::uint64_t lane = tracks.request_lane(place.request_lanes.take(life.queued, life.end));
    const SimTime scheduled = std::min(life.first_scheduled, life.end);
    const SimTime answered = std::min(life.first_token, life.end);
    const bool waits = scheduled > life.queued || life.first_scheduled == SimTime::never();
    if (waits) {
      plan_slice(life.queued, scheduled, lane, i, Kind::kQueued, true);
      plan_count(life.queued, tracks, i, Kind::kWaits);
      plan_count(scheduled, tracks, i, Kind::kWaitsNoMore);
    }
    if (life.first_scheduled != SimTime::never()) {
      plan_slice(scheduled, answered, lane, i, Kind::kPrefill, !waits);
    }
    if (life.first_token != SimTime::never() && life.end > answered) {
      plan_slice(answered, life.end, lane, i, Kind::kDecode);
    }
  }

  void plan_count(SimTime at, const Tracks& tracks, std::uint32_t i, Kind kind) {
    if (at < trace_.limit()) {
      events_.push_back({nanoseconds(std::max(at, trace_.options_.from)),
                         tracks.counter(Tracks::kWaiting),
                         i,
                         kind});
    }
  }

  void plan_cut() {
    if (!trace_.cut_) {
      return;
    }
    for (const auto& [instance, place] : places_) {
      events_.push_back(
          {nanoseconds(*trace_.cut_), Tracks::of(instance).step_lane(0), 0, Kind::kCut});
    }
  }

  void describe_tracks() {
    if (trace_.options_.is_fleet) {
      const Tracks gateway = Tracks::of(std::uint64_t{0});
      describe_process(gateway, 1, "gateway");
      for (std::uint64_t lane = 0; lane < gateway_.lanes(); ++lane) {
        describe(gateway.request_lane(lane), "requests on their way", gateway, 0);
      }
    }
    for (const auto& [instance, place] : places_) {
      const Tracks tracks = Tracks::of(instance);
      describe_process(tracks,
                       std::uint64_t{instance.value()} + 2,
                       fmt::format("instance {}", instance.value()));
      for (std::uint64_t lane = 0; lane < std::max<std::uint64_t>(place.step_lanes.lanes(), 1);
           ++lane) {
        describe(tracks.step_lane(lane), "GPU steps", tracks, 0);
      }
      constexpr std::array<std::pair<const char*, const char*>, Tracks::kNumCounters> kCounters = {
          {{"running", "requests"},
           {"batch tokens", "tokens"},
           {"KV of the batch", "tokens"},
           {"waiting", "requests"}}};
      for (std::size_t i = 0; i < kCounters.size(); ++i) {
        describe(tracks.counter(static_cast<Tracks::Counter>(i)),
                 kCounters[i].first,
                 tracks,
                 i + 1,
                 kCounters[i].second);
      }
      for (std::uint64_t lane = 0; lane < place.request_lanes.lanes(); ++lane) {
        describe(tracks.request_lane(lane), "requests", tracks, Tracks::kNumCounters + 1);
      }
    }
  }

  void describe_process(const Tracks& tracks, std::uint64_t pid, std::string_view name) {
    packet_.clear();
    {
      pbf_writer packet = begin_packet();
      pbf_writer track{packet, field::kTrackDescriptor};
      track.add_uint64(field::kUuid, tracks.process);
      {
        pbf_writer process{track, field::kProcess};
        process.add_int32(field::kPid, static_cast<std::int32_t>(pid));
        process.add_string(field::kProcessName, name.data(), name.size());
      }
      track.add_uint32(field::kChildOrdering, field::kExplicitOrder);
    }
    end_packet();
  }

  void describe(std::uint64_t uuid,
                std::string_view name,
                const Tracks& parent,
                std::uint64_t rank,
                const char* unit = nullptr) {
    packet_.clear();
    {
      pbf_writer packet = begin_packet();
      pbf_writer track{packet, field::kTrackDescriptor};
      track.add_uint64(field::kUuid, uuid);
      track.add_string(field::kTrackName, name.data(), name.size());
      track.add_uint64(field::kParentUuid, parent.process);
      track.add_int32(field::kSiblingRank, static_cast<std::int32_t>(rank));
      if (unit != nullptr) {
        pbf_writer counter{track, field::kCounter};
        counter.add_string(field::kUnitName, unit);
      }
    }
    end_packet();
  }

  void put(const Event& event) {
    event_.clear();
    news_.clear();
    {
      pbf_writer out{event_};
      out.add_uint64(field::kTrackUuid, event.track);
      switch (event.kind) {
        case Kind::kStepsBegin:
          put_steps(trace_.steps_[event.index], out);
          break;
        case Kind::kStepsEnd:
        case Kind::kSliceEnd:
          out.add_enum(field::kType, field::kSliceEnd);
          break;
        case Kind::kIdle:
          out.add_enum(field::kType, field::kCounterEvent);
          out.add_int64(field::kCounterValue, 0);
          break;
        case Kind::kWaits:
        case Kind::kWaitsNoMore: {
          std::int64_t& waiting = places_[trace_.lives_[event.index].instance].waiting;
          waiting += event.kind == Kind::kWaits ? 1 : -1;
          out.add_enum(field::kType, field::kCounterEvent);
          out.add_int64(field::kCounterValue, waiting);
          break;
        }
        case Kind::kCut:
          begin("cut here", field::kInstant, out);
          break;
        case Kind::kQueued:
        case Kind::kPrefill:
        case Kind::kDecode:
        case Kind::kOnTheWay:
          put_request(trace_.lives_[event.index], event, out);
          break;
      }
    }
    packet_.clear();
    {
      pbf_writer packet = begin_packet();
      packet.add_uint64(field::kTimestamp, static_cast<std::uint64_t>(event.at));
      packet.add_message(field::kTrackEvent, event_);
      if (!news_.empty()) {
        packet.add_message(field::kInternedData, news_);
      }
    }
    end_packet();
  }

  void begin(const std::string& name, field::EventType type, pbf_writer& out) {
    out.add_enum(field::kType, static_cast<std::int32_t>(type));
    out.add_uint64(field::kNameIid, names_.number(name, news_));
  }
  void annotate(const char* name, std::int64_t value, pbf_writer& out) {
    const std::uint64_t number = annotations_.number(name, news_);
    pbf_writer annotation{out, field::kDebugAnnotations};
    annotation.add_uint64(field::kAnnotationNameIid, number);
    annotation.add_int64(field::kIntValue, value);
  }
  void annotate(const char* name, const char* value, pbf_writer& out) {
    const std::uint64_t number = annotations_.number(name, news_);
    pbf_writer annotation{out, field::kDebugAnnotations};
    annotation.add_uint64(field::kAnnotationNameIid, number);
    annotation.add_string(field::kStringValue, value);
  }

  static std::string name_of(const Steps& steps) {
    if (steps.prefills == 0) {
      return steps.steps > 1 ? fmt::format("decode \u00d7{}", steps.steps) : "decode";
    }
    return steps.decodes == 0 ? fmt::format("prefill {}", steps.prefills)
                              : fmt::format("mixed {}+{}", steps.prefills, steps.decodes);
  }

  void put_steps(const Steps& steps, pbf_writer& out) {
    begin(name_of(steps), field::kSliceBegin, out);
    out.add_uint64(field::kCategoryIids, categories_.number("step", news_));
    const Tracks tracks = Tracks::of(steps.instance);
    const std::array<std::pair<Tracks::Counter, std::int64_t>, 3> counters = {
        {{Tracks::kRunning, steps.decodes + steps.prefills},
         {Tracks::kBatchTokens, steps.decodes + steps.prefill_tokens},
         {Tracks::kKvTokens, steps.kv_tokens}}};
    for (const auto& [counter, value] : counters) {
      out.add_uint64(field::kExtraCounterTracks, tracks.counter(counter));
    }
    for (const auto& [counter, value] : counters) {
      out.add_int64(field::kExtraCounterValues, value);
    }
    annotate("requests", steps.decodes + steps.prefills, out);
    if (steps.prefills > 0) {
      annotate("prompt tokens", steps.prefill_tokens, out);
    }
    annotate(
        "bottleneck", domain::kBottleneckNames[static_cast<std::size_t>(steps.bottleneck)], out);
  }

  void put_request(const Life& life, const Event& event, pbf_writer& out) {
    const char* const name = event.kind == Kind::kQueued    ? "queued"
                             : event.kind == Kind::kPrefill ? "prefill"
                             : event.kind == Kind::kDecode  ? "decode"
                                                            : "on its way";
    begin(name, field::kSliceBegin, out);
    out.add_uint64(field::kCategoryIids, categories_.number("request", news_));
    out.add_uint64(field::kCorrelationId, life.id.value());
    const bool leaves_gateway = event.kind == Kind::kOnTheWay && life.instance.valid();
    if (leaves_gateway || (event.is_first && trace_.options_.is_fleet)) {
      out.add_fixed64(field::kFlowIds, std::uint64_t{life.id.value()} + 1);
    }
    if (event.is_first || (event.kind == Kind::kOnTheWay && !life.instance.valid())) {
      annotate("request", life.id.value(), out);
      annotate("prompt tokens", life.prompt_tokens, out);
      annotate("cached tokens", life.cached_tokens, out);
      annotate("output tokens", life.output_tokens, out);
      annotate("preemptions", life.preemptions, out);
      annotate("outcome", metrics::kOutcomeNames[static_cast<std::size_t>(life.outcome)], out);
    }
  }

  /// A packet with what all of them have; the first says that nothing was said before.
  pbf_writer begin_packet() {
    pbf_writer packet{packet_};
    packet.add_uint32(field::kSequenceId, kSequence);
    const std::uint32_t flags =
        field::kNeedsIncrementalState | (is_first_packet_ ? field::kIncrementalStateCleared : 0U);
    is_first_packet_ = false;
    packet.add_uint32(field::kSequenceFlags, flags);
    return packet;
  }
  void end_packet() {
    pbf_writer trace{buffer_};
    trace.add_message(field::kTracePacket, packet_);
    flush(kBufferBytes);
  }
  void flush(std::size_t least) {
    if (buffer_.size() >= least) {
      out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
      buffer_.clear();
    }
  }

  const PerfettoTrace& trace_;
  std::ostream& out_;
  std::vector<Event> events_;
  std::map<core::InstanceId, Place> places_;
  LaneKeeper gateway_;
  Names names_{field::kEventNames};
  Names categories_{field::kCategories};
  Names annotations_{field::kAnnotationNames};
  bool is_first_packet_ = true;
  std::string packet_;
  std::string event_;
  std::string news_;
  std::string buffer_;
};

SimTime PerfettoTrace::limit() const {
  return cut_ ? std::min(*cut_, options_.until) : options_.until;
}

bool PerfettoTrace::is_in(SimTime begin, SimTime end) const {
  return begin < limit() && end >= options_.from;
}

void PerfettoTrace::on_request(const domain::RequestRecord& record,
                               const metrics::RequestMetrics& metrics) {
  static_cast<void>(metrics);
  const SimTime end = end_of(record);
  if (!is_in(record.arrival, end)) {
    return;
  }
  lives_.push_back({.id = record.id,
                    .instance = record.instance,
                    .outcome = record.outcome,
                    .preemptions = record.preemptions,
                    .prompt_tokens = record.prompt_tokens.value(),
                    .cached_tokens = record.cached_tokens.value(),
                    .output_tokens = record.output_tokens.value(),
                    .arrival = record.arrival,
                    .queued = std::max(record.queued, record.arrival),
                    .first_scheduled = record.first_scheduled,
                    .first_token = record.first_token,
                    .end = end});
  events_ += kEventsPerLife;
  if (events_ > 2 * options_.most_events) {
    keep_first();
  }
}

void PerfettoTrace::on_steps(const domain::StepRecord& record) {
  const core::Duration length =
      record.period * record.steps + record.period_growth * (record.steps * (record.steps - 1) / 2);
  const SimTime end = record.start + length;
  if (!is_in(record.start, end)) {
    return;
  }
  steps_.push_back({.instance = record.instance,
                    .start = record.start,
                    .end = end,
                    .steps = record.steps,
                    .decodes = record.num_decodes,
                    .prefills = record.num_prefills,
                    .prefill_tokens = record.prefill_tokens.value(),
                    .kv_tokens = (record.decode_context - record.shared_context +
                                  record.prefill_context + record.prefill_tokens)
                                     .value() +
                                 record.num_decodes * record.steps,
                    .bottleneck = greatest_part(record.time)});
  events_ += kEventsPerSteps;
  if (events_ > 2 * options_.most_events) {
    keep_first();
  }
}

void PerfettoTrace::keep_first() {
  std::vector<std::pair<SimTime, std::int64_t>> all;
  for (const Life& life : lives_) {
    all.emplace_back(life.arrival, kEventsPerLife);
  }
  for (const Steps& steps : steps_) {
    all.emplace_back(steps.start, kEventsPerSteps);
  }
  std::ranges::sort(all);
  std::int64_t kept = 0;
  for (const auto& [begin, events] : all) {
    kept += events;
    if (kept > options_.most_events) {
      cut_ = begin;
      break;
    }
  }
  std::erase_if(lives_, [&](const Life& life) { return life.arrival >= limit(); });
  std::erase_if(steps_, [&](const Steps& steps) { return steps.start >= limit(); });
  events_ = static_cast<std::int64_t>(lives_.size()) * kEventsPerLife +
            static_cast<std::int64_t>(steps_.size()) * kEventsPerSteps;
}

void PerfettoTrace::settle() {
  if (events_ > options_.most_events) {
    keep_first();
  }
}

void PerfettoTrace::write(std::ostream& out) const {
  Writer(*this, out).write();
}

}  // namespace ridgeline::sim
