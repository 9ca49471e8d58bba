#include "scenario/sections/faults.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/faults/fault.hpp"
#include "cluster/faults/plan.hpp"
#include "core/ids.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/sections.hpp"
#include "scenario/time_value.hpp"

namespace ridgeline::scenario {
namespace {

using faults::FaultKind;

constexpr double kMostRetries = 1000;
constexpr double kThousandths = 1000.0;
constexpr std::int64_t kWhole = 1000;  ///< A whole factor, in thousandths.
constexpr const char* kExample = "{kind: crash, instance: 3, at: 60s}, or --fault crash@60s:3";

// clang-format off
constexpr auto kFaultOptions = std::to_array<Option>({
    {.path = kFaultsPath, .flag = "fault", .unset = "none",
     .help = "What goes wrong: KIND@TIME[+TIME][:INSTANCE][xFACTOR], or KIND~MTBF/MTTR[xFACTOR] by chance; "
             "crash, slowdown, hang, scrape-loss, event-loss, gateway-restart, node-loss (of a host), "
             "link-degraded, link-down (of a host's network card, or the fabric)",
     .example = "crash@60s:3", .shape = Option::Shape::kItems,
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.faults; }},
    {.path = kMaxRetriesPath, .flag = "max-retries", .lowest = 0, .highest = kMostRetries, .unset = "0",
     .help = "How often the gateway sends a request again that was lost before its first token", .example = "5",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.retries.max_retries; }},
    {.path = kRetryBackoffPath, .flag = "retry-backoff", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "50ms",
     .help = "Before the first retry; twice as long before each further one, 30s at most", .example = "200ms",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.retries.retry_backoff; }},
    {.path = "cluster.health_check.probe_interval", .flag = "probe-interval", .unit = "s",
     .lowest = kMinIntervalSeconds, .highest = 3600, .unset = "10s",
     .help = "From one health check of an instance to the next", .example = "60s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.health_check.probe_interval; }},
    {.path = "cluster.health_check.probe_failures", .flag = "probe-failures", .lowest = 1, .highest = 1000, .unset = "3",
     .help = "An instance that missed so many checks in a row is restarted", .example = "5",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.health_check.probe_failures; }},
});
// clang-format on

/// One entry of the list.
class FaultReader {
 public:
  FaultReader(const document::Node& node, std::size_t place, core::Errors& errors)
      : node_(node), path_(fmt::format("{}[{}]", kFaultsPath, place)), errors_(errors) {}

  void read(FaultSettings& settings) {
    const std::size_t before = errors_.size();
    if (node_.is_string()) {
      from_text(node_.as_string());
    } else if (node_.is_map()) {
      from_map();
    } else {
      problem(fmt::format("found {}, expected a fault", node_.describe()));
    }
    if (errors_.size() > before) {
      return;
    }
    check_length();
    if (random_) {
      if (std::ranges::any_of(settings.random, [&](const faults::RandomFaults& other) {
            return other.kind == random_->kind && other.of_node == random_->of_node;
          })) {
        problem("comes by chance in an entry before already");
      }
      settings.random.push_back(*random_);
      return;
    }
    check();
    settings.listed.push_back(listed_);
  }

 private:
  void problem(std::string message) {
    errors_.push_back(
        {.field = path_, .message = std::move(message), .where = node_.where(), .hint = kExample});
  }

  void set_kind(const std::string& word) {
    if (word == kNodeLoss) {
      is_node_ = true;
      return;
    }
    const auto found = std::ranges::find(faults::kFaultKindNames, word);
    if (found == faults::kFaultKindNames.end()) {
      std::vector<std::string> names(faults::kFaultKindNames.begin(),
                                     faults::kFaultKindNames.end());
      names.emplace_back(kNodeLoss);
      const auto meant = document::nearest(word, names);
      errors_.push_back(
          {.field = path_,
           .message = fmt::format("no fault '{}'", word),
           .where = node_.where(),
           .hint = meant ? fmt::format("did you mean '{}'?", *meant)
                         : "crash, slowdown, hang, scrape-loss, event-loss, gateway-restart, "
                           "node-loss, link-degraded, link-down"});
      return;
    }
    listed_.fault.kind = static_cast<FaultKind>(found - faults::kFaultKindNames.begin());
  }

  void set_instance(std::int64_t number) {
    if (number < 0) {
      problem(fmt::format("instance {} is out of range: they count from 0", number));
      return;
    }
    listed_.fault.instance = core::InstanceId(static_cast<core::InstanceId::Rep>(number));
  }

  void set_factor(double factor) {
    if (!(factor > 0.0) || factor > kThousandths) {
      problem(fmt::format("factor {} is out of range, expected 0.001 to 1000", factor));
      return;
    }
    listed_.fault.factor_thousandths = std::llround(factor * kThousandths);
  }

  core::Duration time_of(std::string_view text) {
    const auto time = time_value(text);
    if (!time) {
      problem(fmt::format("found '{}', expected a time: seconds, or with a unit", text));
    }
    return time.value_or(core::Duration());
  }

  template <class T>
  T number_of(std::string_view text) {
    const auto value = core::parse_whole<T>(text);
    if (!value) {
      problem(fmt::format("found '{}', expected a number", text));
    }
    return value.value_or(T{});
  }

  /// What follows `mark`, taken off the text.
  static std::optional<std::string> take_after(std::string& text, char mark) {
    const auto at = text.rfind(mark);
    if (at == std::string::npos) {
      return std::nullopt;
    }
    std::string rest = text.substr(at + 1);
    text.resize(at);
    return rest;
  }

  void from_text(std::string text) {
    if (const auto tilde = text.find('~'); tilde != std::string::npos) {
      std::string times = text.substr(tilde + 1);
      set_kind(text.substr(0, tilde));
      if (const auto factor = take_after(times, 'x')) {
        set_factor(number_of<double>(*factor));
      }
      const auto repair = take_after(times, '/');
      if (!repair) {
        problem(fmt::format("found '{}', expected MTBF/MTTR after ~", times));
        return;
      }
      set_random(time_of(times), time_of(*repair));
      return;
    }
    const auto mark = text.find('@');
    if (mark == std::string::npos) {
      problem(fmt::format("found '{}', expected KIND@TIME", text));
      return;
    }
    set_kind(text.substr(0, mark));
    std::string rest = text.substr(mark + 1);
    if (const auto factor = take_after(rest, 'x')) {
      set_factor(number_of<double>(*factor));
    }
    if (const auto instance = take_after(rest, ':')) {
      const auto number = number_of<std::int64_t>(*instance);
      if ((is_node_ || is_link()) && number >= 0) {
        listed_.host = number;
      } else {
        set_instance(number);
      }
    }
    if (const auto lasts = take_after(rest, '+')) {
      listed_.fault.lasts = time_of(*lasts);
    }
    listed_.fault.at = core::SimTime::at(time_of(rest));
  }

  std::optional<core::Duration> time(document::ObjectReader& reader, std::string_view key) {
    const document::Node* const value = reader.node(key);
    if (value == nullptr || value->is_null()) {
      return std::nullopt;
    }
    const auto time = time_value(*value);
    if (!time) {
      reader.problem(key, fmt::format("found {}, expected a time", flow_text(*value)), "60s");
    }
    return time;
  }

  void from_map() {
    document::ObjectReader reader(node_, path_, errors_);
    set_kind(reader.required_string("kind"));
    const auto at = time(reader, "at");
    const auto restart = time(reader, "restart_after");
    const auto lasts = time(reader, "lasts");
    const auto mtbf = time(reader, "mtbf");
    const auto mttr = time(reader, "mttr");
    if (const auto instance = reader.integer("instance", {0, 1 << 20})) {
      set_instance(*instance);
    }
    listed_.share = reader.real("share", {1e-6, 1.0});
    listed_.host = reader.integer("host", {0, 1 << 20});
    listed_.pool = reader.string("pool").value_or("");
    if (const auto factor = reader.real("factor")) {
      set_factor(*factor);
    }
    const std::vector<std::string> fates = {"kept", "cut"};
    listed_.fault.cuts_requests = reader.choice("requests", fates) == "cut";
    const std::vector<std::string> recoveries = {"replay", "forget"};
    const auto recovery = reader.choice("recovery", recoveries);
    listed_.fault.replays_events = recovery != "forget";
    if (recovery && listed_.fault.kind != FaultKind::kEventLoss) {
      problem("recovery is of an event-loss");
    }
    reader.finish();
    if (mtbf || mttr) {
      if (!mtbf || !mttr || at || listed_.share || listed_.fault.instance.valid() || listed_.host ||
          !listed_.pool.empty()) {
        problem("faults by chance have mtbf and mttr, and neither at nor a place");
      }
      set_random(mtbf.value_or(core::Duration()), mttr.value_or(core::Duration()));
      return;
    }
    const document::Node* const stated = node_.find("at");
    if ((stated == nullptr || stated->is_null()) && listed_.fault.kind != FaultKind::kSlowdown) {
      problem("missing: at, when it strikes");
    }
    if (restart && listed_.fault.kind != FaultKind::kCrash) {
      problem("restart_after is of a crash; other faults have lasts");
    } else if (lasts && listed_.fault.kind == FaultKind::kCrash) {
      problem("a crash has restart_after, not lasts");
    }
    listed_.fault.lasts = restart ? restart : lasts;
    listed_.fault.at = core::SimTime::at(at.value_or(core::Duration()));
  }

  void set_random(core::Duration mtbf, core::Duration mttr) {
    const FaultKind kind = listed_.fault.kind;
    const std::int64_t factor = listed_.fault.factor_thousandths;
    if (!is_node_ && !is_link() && kind != FaultKind::kCrash && kind != FaultKind::kHang) {
      problem(
          "crash, hang, node-loss, link-degraded and link-down come by chance, other faults at "
          "a given time");
    } else if (mtbf < core::Duration::saturating(core::Seconds(kMinIntervalSeconds))) {
      problem("mtbf is out of range, expected at least 1ms");
    } else if (kind == FaultKind::kLinkDegraded ? factor < 1 || factor >= kWhole
                                                : factor != kWhole) {
      problem(kind == FaultKind::kLinkDegraded ? "missing: the factor of its rate, 0.001 to 0.999"
                                               : "a factor by chance is of a degraded link");
    }
    random_ = {.kind = is_node_ ? FaultKind::kCrash : kind,
               .of_node = is_node_,
               .mtbf = mtbf,
               .mttr = mttr,
               .factor_thousandths = factor};
  }

  [[nodiscard]] bool is_link() const { return !is_node_ && is_of_link(listed_.fault.kind); }

  /// What KV is sent over: a host's card, or the fabric.
  void check_link() {
    const faults::Fault& fault = listed_.fault;
    const bool is_down = fault.kind == FaultKind::kLinkDown;
    listed_.fault.host = listed_.host;
    if (fault.instance.valid() || listed_.share || !listed_.pool.empty()) {
      problem("a link's fault strikes a host's card, or without a host the fabric");
    } else if (is_down && fault.factor_thousandths != kWhole) {
      problem("a link that is down has no factor");
    } else if (is_down && !fault.lasts) {
      problem("missing: lasts, after which the link is back");
    } else if (!is_down && (fault.factor_thousandths < 1 || fault.factor_thousandths >= kWhole)) {
      problem("missing: the factor of its rate, 0.001 to 0.999");
    }
  }

  /// A crash that is over at once has lost its requests; another fault would do nothing.
  void check_length() {
    const std::optional<core::Duration> length =
        random_ ? std::optional(random_->mttr) : listed_.fault.lasts;
    if (listed_.fault.kind != FaultKind::kCrash && length == core::Duration()) {
      problem(fmt::format("found {} 0s, which would change nothing, expected more than 0",
                          random_ ? "mttr" : "lasts"));
    }
  }

  void check() {
    if (is_link()) {
      check_link();
      return;
    }
    const faults::Fault& fault = listed_.fault;
    if (is_node_ || listed_.host) {
      if (!is_node_ || !listed_.host || fault.instance.valid() || listed_.share ||
          !listed_.pool.empty()) {
        problem(is_node_ ? "node-loss strikes a host, and no instance, share or pool"
                         : "a host is of a node-loss or a link");
      }
      return;
    }
    if (fault.instance.valid() && !listed_.pool.empty()) {
      problem("has an instance and a pool");
    }
    const bool has_place = fault.instance.valid() || listed_.share || !listed_.pool.empty();
    if (fault.kind == FaultKind::kGatewayRestart) {
      if (has_place || fault.lasts) {
        problem("a gateway's restart has no instance and no length");
      }
    } else if (!has_place) {
      problem("missing: the instance that it strikes, a pool, or a share of them");
    } else if (fault.instance.valid() && listed_.share) {
      problem("has an instance and a share");
    }
    if ((fault.factor_thousandths != 1000) != (fault.kind == FaultKind::kSlowdown)) {
      problem(fault.kind == FaultKind::kSlowdown ? "missing: the factor of its steps, above 1"
                                                 : "a factor is of a slowdown or a degraded link");
    } else if (fault.factor_thousandths < 1000) {
      problem(fmt::format("factor {} makes steps shorter, expected above 1",
                          core::shortest(static_cast<double>(fault.factor_thousandths) / 1e3)));
    }
  }

  const document::Node& node_;
  std::string path_;
  core::Errors& errors_;
  FaultEntry listed_;
  bool is_node_ = false;
  std::optional<faults::RandomFaults> random_;
};

}  // namespace

core::Result<FaultSettings> fault_settings(const std::optional<document::Node>& faults) {
  FaultSettings settings;
  core::Errors errors;
  if (faults) {
    std::size_t place = 0;
    for (const document::Node& item : faults->items()) {
      FaultReader(item, place++, errors).read(settings);
    }
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return settings;
}

EventLosses event_losses(const FaultSettings& settings) {
  EventLosses all;
  for (const FaultEntry& entry : settings.listed) {
    if (entry.fault.kind == FaultKind::kEventLoss) {
      // One may go on from another.
      all.longest = core::Duration::saturating_sum(
          all.longest, entry.fault.lasts.value_or(core::Duration::max()));
      all.may_forget |= !entry.fault.replays_events;
    }
  }
  return all;
}

bool names_hosts(const std::optional<document::Node>& faults) {
  const auto settings = fault_settings(faults);
  return settings && (std::ranges::any_of(settings->random, &faults::RandomFaults::of_host) ||
                      std::ranges::any_of(settings->listed, [](const FaultEntry& entry) {
                        return entry.host.has_value();
                      }));
}

std::span<const Option> faults_options() {
  return kFaultOptions;
}

}  // namespace ridgeline::scenario
