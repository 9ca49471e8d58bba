#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"

namespace ridgeline::cluster {

/// What of a request an instance was sent.
enum class Share : std::uint8_t { kWhole, kPrefill, kDecode };

/// A request, or one of its two legs, at one instance.
struct Attempt {
  core::InstanceId instance;
  Share share = Share::kWhole;
  core::SimTime sent;       ///< By the gateway; of a leg, its arrival.
  core::SimTime delivered;  ///< To the instance.
  core::SimTime first_scheduled = core::SimTime::never();
  core::SimTime first_token = core::SimTime::never();
  core::SimTime loaded = core::SimTime::never();  ///< All KV from elsewhere was there.
  core::SimTime end = core::SimTime::never();
  core::Tokens tokens;                                 ///< Generated there.
  domain::Outcome why = domain::Outcome::kUnfinished;  ///< How it ended.

  friend bool operator==(const Attempt&, const Attempt&) = default;
};

/// The time from a request's arrival at the gateway to its first token. The parts follow each other
/// but for `prefill`, which takes in the decode instance's first step; they sum to it, exactly.
struct TtftParts {
  core::Duration gateway;   ///< To the instance that answered: waiting, earlier attempts, the way.
  core::Duration queue;     ///< In its frontend and queue, until it was first scheduled.
  core::Duration prefill;   ///< Until the first token.
  core::Duration transfer;  ///< From the prompt's last token to KV at the decode instance.

  [[nodiscard]] core::Duration sum() const { return gateway + queue + prefill + transfer; }
  friend bool operator==(const TtftParts&, const TtftParts&) = default;
};

/// What happened to a request in a cluster.
struct RequestStory {
  core::RequestId id;
  std::vector<Attempt> attempts;  ///< In the order in which they were sent.
  std::optional<TtftParts> ttft;  ///< Where it got a first token.

  friend bool operator==(const RequestStory&, const RequestStory&) = default;
};

/// Gets every request's story, before its record.
class StorySink {
 public:
  StorySink() = default;
  StorySink(const StorySink&) = delete;
  StorySink& operator=(const StorySink&) = delete;
  virtual ~StorySink() = default;
  virtual void on_story(const RequestStory& story) = 0;
};

/// Writes the stories of the requests in a cluster as they go on.
class Stories {
 public:
  explicit Stories(StorySink& sink) : sink_(sink) {}

  /// The request, or a leg of it, is sent to an instance at `sent`, where it
  /// arrives at `delivered`.
  void on_sent(core::RequestId id,
               core::InstanceId instance,
               Share share,
               core::SimTime sent,
               core::SimTime delivered);
  /// Its KV from elsewhere is there.
  void on_loaded(core::RequestId id, core::InstanceId instance, core::SimTime at);
  /// What it had at an instance ended at `end`, as that record says.
  void on_leg_end(const domain::RequestRecord& record, core::SimTime end);
  /// It has ended for good. Checked: the parts of its TTFT sum to it, and none
  /// is negative.
  void on_end(const domain::RequestRecord& record, core::SimTime end);

 private:
  StorySink& sink_;
  std::map<core::RequestId, std::vector<Attempt>> under_way_;
};

}  // namespace ridgeline::cluster
