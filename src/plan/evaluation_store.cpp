#include "plan/evaluation_store.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/digest.hpp"
#include "core/math.hpp"
#include "core/result.hpp"
#include "metrics/power_summary.hpp"
#include "plan/answer.hpp"
#include "plan/capacity.hpp"
#include "plan/certify.hpp"
#include "plan/target.hpp"
#include "scenario/resolve.hpp"
#include "sweep/shard_file.hpp"

namespace ridgeline::plan {
namespace {

constexpr std::string_view kFolder = "/evaluations";
constexpr std::string_view kExtension = ".ndjson";
/// A line: {"id":"KEY","values":[1,2],"checksum":"OF ALL BEFORE IT"}. Numbers are written so that
/// they read back bit by bit.
constexpr std::string_view kBegin = R"({"id":")";
constexpr std::string_view kMiddle = R"(","values":[)";
constexpr std::string_view kValuesEnd = "]";
constexpr std::string_view kChecksum = R"(,"checksum":")";
constexpr std::string_view kEnd = R"("})";
/// What earlier versions ended a line with, which had no checksum.
constexpr std::string_view kUncheckedEnd = "]}";

/// Takes numbers one after the other; what is missing is noted once.
class Taker {
 public:
  explicit Taker(const std::vector<double>& numbers) : numbers_(numbers) {}

  double real() {
    if (at_ >= numbers_.size()) {
      sound_ = false;
      return 0.0;
    }
    return numbers_[at_++];
  }
  std::int64_t integer() { return static_cast<std::int64_t>(real()); }
  bool flag() { return real() != 0.0; }
  /// How many of something follow.
  std::size_t count() {
    const double found = real();
    sound_ =
        sound_ && found >= 0.0 && found <= core::real(static_cast<std::int64_t>(numbers_.size()));
    return sound_ ? static_cast<std::size_t>(found) : 0;
  }
  [[nodiscard]] bool is_whole() const { return sound_ && at_ == numbers_.size(); }

 private:
  const std::vector<double>& numbers_;
  std::size_t at_ = 0;
  bool sound_ = true;
};

class Giver {
 public:
  Giver& real(double value) {
    numbers.push_back(value);
    return *this;
  }
  Giver& integer(std::int64_t value) { return real(core::real(value)); }
  Giver& index(std::size_t value) { return integer(static_cast<std::int64_t>(value)); }
  Giver& flag(bool value) { return real(value ? 1.0 : 0.0); }
  Giver& optional(const std::optional<double>& value) {
    return flag(value.has_value()).real(value.value_or(0.0));
  }

  std::vector<double> numbers;
};

std::optional<double> take_optional(Taker& from) {
  const bool has = from.flag();
  const double value = from.real();
  return has ? std::optional(value) : std::nullopt;
}

void give(Giver& to, const std::optional<metrics::PowerSummary>& power) {
  to.flag(power.has_value());
  if (power) {
    to.real(power->mean).real(power->low).real(power->high);
    to.optional(power->decode).optional(power->prefill).real(power->idle);
    to.flag(power->own_law).optional(power->joules_per_output_token);
  }
}

std::optional<metrics::PowerSummary> take_power(Taker& from) {
  if (!from.flag()) {
    return std::nullopt;
  }
  metrics::PowerSummary power;
  power.mean = from.real();
  power.low = from.real();
  power.high = from.real();
  power.decode = take_optional(from);
  power.prefill = take_optional(from);
  power.idle = from.real();
  power.own_law = from.flag();
  power.joules_per_output_token = take_optional(from);
  return power;
}

/// A line without its break; nothing where it is not what its checksum is of.
std::optional<std::pair<std::string, std::vector<double>>> read_line(std::string_view line) {
  const std::size_t sum = line.rfind(kChecksum);
  const std::string_view sealed = line.substr(0, sum);
  const std::size_t middle = sealed.find(kMiddle);
  if (sum == std::string_view::npos || middle == std::string_view::npos ||
      !sealed.starts_with(kBegin) || !sealed.ends_with(kValuesEnd) ||
      line.substr(sum) != fmt::format("{}{}{}", kChecksum, sweep::checksum_of(sealed), kEnd)) {
    return std::nullopt;
  }
  std::vector<double> numbers;
  const char* at = sealed.data() + middle + kMiddle.size();
  const char* const end = sealed.data() + sealed.size() - kValuesEnd.size();
  while (at < end) {
    double value = 0.0;
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc() || (stop != end && *stop != ',')) {
      return std::nullopt;
    }
    numbers.push_back(value);
    at = stop + 1;
  }
  return std::pair(std::string(sealed.substr(kBegin.size(), middle - kBegin.size())),
                   std::move(numbers));
}

void add_real(core::Digest& digest, double value) {
  digest.add(std::bit_cast<std::uint64_t>(value));
}

void add_targets(core::Digest& digest, const Targets& targets) {
  for (const Target& target : targets) {
    for (const auto& limit : target.limits) {
      digest.add(limit ? limit->count() : std::int64_t{-1});
    }
    digest.add(static_cast<std::int64_t>(target.statistic));
    digest.add(static_cast<std::int64_t>(target.is_attainment));
    add_real(digest, target.allowed_share);
  }
}

/// What `run` finds, or what the store has of it.
template <class Run>
core::Result<std::optional<Certification>> stored_certification(EvaluationStore* store,
                                                                const std::string& id,
                                                                const Targets& targets,
                                                                const CertifyOptions& options,
                                                                const Run& run) {
  if (store == nullptr) {
    return run();
  }
  const std::string key = store->certification_key(id, targets, options);
  if (auto known = store->certification(key)) {
    return known;
  }
  core::Result<std::optional<Certification>> found = run();
  if (found && *found) {
    if (auto kept = store->keep(key, **found); !kept) {
      return core::fail(std::move(kept).error());
    }
  }
  return found;
}

}  // namespace

core::Result<std::unique_ptr<EvaluationStore>> EvaluationStore::open(const std::string& folder,
                                                                     std::string_view version,
                                                                     sweep::Clock clock) {
  const std::string below = folder + std::string(kFolder);
  std::error_code failed;
  std::filesystem::create_directories(below, failed);
  if (failed) {
    return core::fail(
        core::Error{.field = "--store",
                    .message = fmt::format("'{}' cannot be made: {}", below, failed.message()),
                    .where = {.file = "command line"}});
  }
  std::unique_ptr<EvaluationStore> store(new EvaluationStore());
  store->version_ = version;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(below, failed)) {
    if (entry.path().extension() == kExtension) {
      paths.push_back(entry.path().string());
    }
  }
  std::ranges::sort(paths);
  for (const std::string& path : paths) {
    if (auto read = store->read_file(path); !read) {
      return core::fail(std::move(read).error());
    }
  }
  auto file = sweep::ShardFile::create(below, "plan", "", std::move(clock));
  if (!file) {
    return core::fail(std::move(file).error());
  }
  store->file_ = std::move(*file);
  return store;
}

core::Result<void> EvaluationStore::read_file(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line) && !file.eof(); ++number) {
    if (line.ends_with(kUncheckedEnd)) {
      continue;  // It may not be whole: what it says is found anew.
    }
    auto entry = read_line(line);
    if (!entry) {
      return core::fail({.field = "--store",
                         .message = "this row is damaged: it is not what its checksum is of",
                         .where = {.file = path, .line = number},
                         .hint = "delete the line: what it says is found anew"});
    }
    known_.insert(std::move(*entry));
  }
  return {};
}

std::string EvaluationStore::capacity_key(const std::string& point,
                                          const Targets& targets,
                                          const CapacityOptions& options) const {
  core::Digest digest;
  digest.add(std::string_view("capacity"));
  digest.add(std::string_view(version_));
  digest.add(std::string_view(point));
  add_targets(digest, targets);
  digest.add(options.requests);
  add_real(digest, options.guess);
  add_real(digest, options.slope);
  add_real(digest, options.ceiling);
  digest.add(static_cast<std::int64_t>(options.seed));
  add_real(digest, options.trace_rate);
  digest.add(options.warm_up);
  digest.add(static_cast<std::int64_t>(options.is_closed_loop));
  return digest.hex();
}

std::string EvaluationStore::certification_key(const std::string& point,
                                               const Targets& targets,
                                               const CertifyOptions& options) const {
  core::Digest digest;
  digest.add(std::string_view("certification"));
  digest.add(std::string_view(version_));
  digest.add(std::string_view(point));
  add_targets(digest, targets);
  add_real(digest, options.load);
  digest.add(options.windows);
  digest.add(options.window_requests);
  add_real(digest, options.confidence);
  digest.add(static_cast<std::int64_t>(options.seed));
  add_real(digest, options.trace_rate);
  digest.add(options.instances);
  return digest.hex();
}

std::optional<Capacity> EvaluationStore::capacity(const std::string& key) const {
  const auto found = known_.find(key);
  if (found == known_.end()) {
    return std::nullopt;
  }
  Taker from(found->second);
  Capacity capacity;
  capacity.load = from.real();
  capacity.requests_per_second = from.real();
  capacity.sd = from.real();
  capacity.limit = static_cast<Limit>(std::clamp<std::int64_t>(from.integer(), 0, 2));
  capacity.target = static_cast<std::size_t>(from.integer());
  capacity.slope = from.real();
  capacity.requests = from.integer();
  capacity.unstable = from.flag();
  capacity.parts.resize(from.count());
  for (double& part : capacity.parts) {
    part = from.real();
  }
  capacity.evaluations.resize(from.count());
  for (Evaluation& one : capacity.evaluations) {
    one.load = from.real();
    one.margin = from.real();
    one.target = static_cast<std::size_t>(from.integer());
  }
  capacity.power = take_power(from);
  return from.is_whole() ? std::optional(std::move(capacity)) : std::nullopt;
}

std::optional<Certification> EvaluationStore::certification(const std::string& key) const {
  const auto known = known_.find(key);
  if (known == known_.end()) {
    return std::nullopt;
  }
  Taker from(known->second);
  Certification found;
  Certificate& certificate = found.certificate;
  certificate.windows = from.integer();
  certificate.passed = from.integer();
  certificate.window_requests = from.integer();
  certificate.at_least = from.real();
  certificate.holds = from.flag();
  certificate.warm_up_requests = from.integer();
  found.targets.resize(from.count());
  for (TargetResult& target : found.targets) {
    target.target = static_cast<std::size_t>(from.integer());
    const bool has_value = from.flag();
    Interval value;
    value.value = from.real();
    value.lo = from.real();
    value.hi = from.real();
    if (has_value) {
      target.value_ms = value;
    }
    target.exceed_share = from.real();
    target.met = from.flag();
  }
  for (double& share : found.bottlenecks) {
    share = from.real();
  }
  found.power = take_power(from);
  found.output_tokens_per_second = from.real();
  found.requests = from.integer();
  found.unstable = from.flag();
  return from.is_whole() ? std::optional(std::move(found)) : std::nullopt;
}

core::Result<void> EvaluationStore::keep(const std::string& key, const Capacity& capacity) {
  Giver to;
  to.real(capacity.load)
      .real(capacity.requests_per_second)
      .real(capacity.sd)
      .integer(static_cast<std::int64_t>(capacity.limit));
  to.index(capacity.target).real(capacity.slope).integer(capacity.requests);
  to.flag(capacity.unstable).index(capacity.parts.size());
  for (const double part : capacity.parts) {
    to.real(part);
  }
  to.index(capacity.evaluations.size());
  for (const Evaluation& one : capacity.evaluations) {
    to.real(one.load).real(one.margin).index(one.target);
  }
  give(to, capacity.power);
  return keep_numbers(key, to.numbers);
}

core::Result<void> EvaluationStore::keep(const std::string& key, const Certification& found) {
  Giver to;
  const Certificate& certificate = found.certificate;
  to.integer(certificate.windows).integer(certificate.passed).integer(certificate.window_requests);
  to.real(certificate.at_least).flag(certificate.holds).integer(certificate.warm_up_requests);
  to.index(found.targets.size());
  for (const TargetResult& target : found.targets) {
    const Interval value = target.value_ms.value_or(Interval{});
    to.index(target.target).flag(target.value_ms.has_value());
    to.real(value.value).real(value.lo).real(value.hi);
    to.real(target.exceed_share).flag(target.met);
  }
  for (const double share : found.bottlenecks) {
    to.real(share);
  }
  give(to, found.power);
  to.real(found.output_tokens_per_second).integer(found.requests).flag(found.unstable);
  return keep_numbers(key, to.numbers);
}

core::Result<void> EvaluationStore::keep_numbers(const std::string& key, const Numbers& numbers) {
  const std::string line =
      fmt::format("{}{}{}{}{}", kBegin, key, kMiddle, fmt::join(numbers, ","), kValuesEnd);
  return file_->append(fmt::format("{}{}{}{}\n", line, kChecksum, sweep::checksum_of(line), kEnd));
}

core::Result<std::optional<Capacity>> find_stored_capacity(EvaluationStore* store,
                                                           const std::string& id,
                                                           const scenario::Resolved& resolved,
                                                           const Targets& targets,
                                                           const CapacityOptions& options,
                                                           const std::atomic<bool>& interrupt) {
  if (store == nullptr) {
    return find_capacity(resolved, targets, options, interrupt);
  }
  const std::string key = store->capacity_key(id, targets, options);
  if (auto known = store->capacity(key)) {
    return known;
  }
  auto found = find_capacity(resolved, targets, options, interrupt);
  if (found && *found) {
    if (auto kept = store->keep(key, **found); !kept) {
      return core::fail(std::move(kept).error());
    }
  }
  return found;
}

core::Result<std::optional<Certification>> find_stored_certification(
    EvaluationStore* store,
    const ResolvedSpacePoint& whole,
    const ResolvedSpacePoint& serving,
    const Targets& targets,
    const LatencyDoubt& doubt,
    const CertifyOptions& options,
    const std::atomic<bool>& interrupt) {
  const CertifyOptions of_run{
      .load = options.load,
      .windows = 0,
      .window_requests = whole.resolved.workload.section.num_prompts.value_or(0),
      .seed = static_cast<std::uint64_t>(whole.resolved.run.seed),
      .instances = whole.resolved.run.cluster.instances.value_or(1)};
  const Targets levels = with_levels(targets, doubt);
  auto run = stored_certification(store, whole.id, levels, of_run, [&] {
    return run_whole(whole.resolved, levels, interrupt);
  });
  if (run && *run) {
    take_levels(targets, (*run)->targets);
    (*run)->certificate.holds = std::ranges::all_of((*run)->targets, &TargetResult::met);
  }
  if (!run || !*run || !(*run)->certificate.holds || options.windows == 0) {
    return run;
  }
  auto windows = stored_certification(store, serving.id, targets, options, [&] {
    return certify(serving.resolved, targets, options, interrupt);
  });
  if (!windows || !*windows) {
    return windows;
  }
  take_windows(**run, **windows);
  return run;
}

}  // namespace ridgeline::plan
