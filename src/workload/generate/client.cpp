#include "workload/generate/client.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/distributions.hpp"
#include "core/result.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/generate/law.hpp"
#include "workload/generate/rate_curve.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/limits.hpp"
#include "workload/traces/reading/conversation.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::uint64_t kClientPrefixes = 0x636C69656E7470;
constexpr std::uint64_t kClientSessions = 0x636C69656E7473;

std::uint64_t name_of(const std::string& group) {
  std::uint64_t name = kClientPrefixes;
  for (const char c : group) {
    name = content_of(name, static_cast<unsigned char>(c));
  }
  return name;
}

core::Tokens at_most_limit(core::Tokens tokens) {
  return std::min(tokens, core::Tokens(kMaxTokensPerRequest));
}

/// Makes the groups of one client.
class ClientMaker {
 public:
  ClientMaker(const ClientSpec& spec, std::uint64_t seed, std::uint64_t entity, Labels& labels)
      : spec_(spec),
        seed_(seed),
        entity_(entity),
        arrivals_(spec.rate, spec.markov, spec.gaps, seed, 0, entity),
        input_(spec.input),
        output_(spec.output),
        left_(spec.num_groups.value_or(kMaxRequests)),
        slo_class_(labels.intern(spec.slo_class)),
        tenant_(labels.intern(spec.tenant)),
        model_(labels.intern(spec.model)),
        adapter_(labels.intern(spec.adapter)) {
    if (spec.prefix) {
      prefix_name_ = name_of(spec.prefix->group);
      prefix_zipf_.emplace(std::max<std::int64_t>(spec.prefix->count, 1),
                           spec.prefix->zipf_exponent);
    }
    advance();
  }

  [[nodiscard]] const std::optional<core::Duration>& start() const { return start_; }
  /// How much of it has been made, 0 to 1; nothing where it has no end.
  [[nodiscard]] std::optional<double> share_made() const {
    if (!start_) {
      return 1.0;
    }
    if (spec_.num_groups) {
      return static_cast<double>(number_) / static_cast<double>(*spec_.num_groups);
    }
    return spec_.end ? std::optional(start_->to_seconds() / spec_.end->to_seconds()) : std::nullopt;
  }

  /// The group that starts at start(), in `items`; goes on to the next.
  void make(std::vector<Item>& items, std::int32_t& sessions) {
    items.clear();
    // What a group holds depends on its number alone.
    core::RngStream rng(seed_, entity_, "group", number_);
    Conversation talk(content_of(content_of(kClientSessions, entity_), number_));
    add_prefix(rng, talk);
    if (!spec_.session) {
      items.push_back(turn(rng, talk));
    } else {
      make_session(rng, talk, items, sessions++);
    }
    items.front().starts_group = true;
    ++number_;
    advance();
  }

 private:
  void advance() {
    start_.reset();
    if (left_ == 0) {
      return;
    }
    --left_;
    const auto seconds = spec_.at_once ? std::optional(0.0) : arrivals_.next();
    const auto time = seconds ? core::Duration::from_seconds(*seconds) : std::nullopt;
    if (time && *time <= kLatestArrival && (!spec_.end || *time < *spec_.end)) {
      start_ = time;
    }
  }

  void add_prefix(core::RngStream& rng, Conversation& talk) const {
    if (!spec_.prefix) {
      return;
    }
    const auto text = static_cast<std::uint64_t>(prefix_zipf_->draw(rng));
    // A text's length belongs to the text, not to the client that sends it.
    core::RngStream length(seed_, prefix_name_, "prefix length", text);
    talk.add_shared(content_of(prefix_name_, text),
                    LawSampler(spec_.prefix->length).draw_tokens(length));
  }

  /// Lengths of one request, together where they are correlated.
  [[nodiscard]] std::pair<core::Tokens, core::Tokens> lengths(core::RngStream& rng) const {
    if (spec_.correlation == 0.0) {
      const core::Tokens input = input_.draw_tokens(rng);
      return {input, output_.draw_tokens(rng)};
    }
    const double rho = spec_.correlation;
    const double u = rng.uniform();
    const double z = core::normal_quantile(u);
    const double other = core::normal_quantile(rng.uniform());
    const double v = core::normal_cdf(rho * z + std::sqrt(1.0 - rho * rho) * other);
    const auto tokens = [](double value) {
      return core::Tokens(static_cast<std::int64_t>(std::max(std::floor(value + 0.5), 1.0)));
    };
    return {tokens(input_.at(u)), tokens(output_.at(v))};
  }

  /// One request whose prompt is `talk` and what it adds.
  [[nodiscard]] Item turn(core::RngStream& rng, Conversation& talk) const {
    Item item;
    item.arrival = *start_;
    const auto [input, output] = lengths(rng);
    core::Tokens own = input;
    if (spec_.images) {
      item.images =
          static_cast<std::int32_t>(std::floor(LawSampler(*spec_.images).draw(rng) + 0.5));
      for (std::int32_t i = 0; i < item.images && spec_.image_tokens; ++i) {
        item.image_tokens += LawSampler(*spec_.image_tokens).draw_tokens(rng);
      }
      own += item.image_tokens;
    }
    const bool shares = spec_.prefix || spec_.session;
    talk.add_own(own);
    item.input_tokens = at_most_limit(talk.length());
    if (shares) {
      talk.cut(item.input_tokens);
      item.prompt = talk.prompt();
    }
    item.output_tokens = at_most_limit(output);
    if (spec_.reasoning) {
      const double share = std::clamp(LawSampler(*spec_.reasoning).draw(rng), 0.0, 1.0);
      item.reasoning_tokens = core::Tokens(static_cast<std::int64_t>(
          std::floor(share * static_cast<double>(item.output_tokens.value()))));
    }
    item.priority = spec_.priority;
    item.slo_class = slo_class_;
    item.tenant = tenant_;
    item.model = model_;
    item.adapter = adapter_;
    item.starts_group = false;
    return item;
  }

  void make_session(core::RngStream& rng,
                    Conversation& talk,
                    std::vector<Item>& items,
                    std::int32_t session) const {
    const ClientSession& rule = *spec_.session;
    if (rule.own_prefix) {
      talk.add_own(LawSampler(*rule.own_prefix).draw_tokens(rng));
    }
    const Conversation beginning = talk;
    const LawSampler think(rule.think);
    const LawSampler fan_out(rule.fan_out);
    const auto turns = LawSampler(rule.turns).draw_tokens(rng).value();
    std::vector<std::uint32_t> previous;
    core::Duration time = *start_;
    for (std::int64_t i = 0; i < turns && items.size() < kMostCalls; ++i) {
      const auto calls =
          i == 0 ? 1 : std::min<std::int64_t>(fan_out.draw_tokens(rng).value(), kMostCallsAtOnce);
      const auto wait = core::Duration::from_seconds(i == 0 ? 0.0 : std::max(think.draw(rng), 0.0))
                            .value_or(kLatestArrival);
      if (rule.open_loop && i > 0) {
        const auto answer = core::Duration::microseconds(items.back().output_tokens.value());
        time = wait + answer > kLatestArrival - time ? kLatestArrival : time + wait + answer;
      }
      const Conversation common = rule.accumulate ? talk : beginning;
      std::vector<std::uint32_t> now;
      for (std::int64_t call = 0; call < calls; ++call) {
        // Calls side by side begin with the same conversation.
        Conversation mine = common;
        mine.branch(items.size());
        Item item = turn(rng, mine);
        item.session = session;
        item.turn = static_cast<std::int32_t>(i);
        if (rule.open_loop) {
          item.arrival = time;
        } else {
          item.parents = previous;
          item.delay = wait;
        }
        const auto place = static_cast<std::uint32_t>(items.size());
        mine.add_answer(place, item.output_tokens);
        now.push_back(place);
        items.push_back(std::move(item));
        talk = std::move(mine);
      }
      previous = std::move(now);
    }
  }

  static constexpr std::size_t kMostCalls = 100'000;

  ClientSpec spec_;
  std::uint64_t seed_;
  std::uint64_t entity_;
  CurveArrivals arrivals_;
  LawSampler input_;
  LawSampler output_;
  std::int64_t left_;
  std::int32_t slo_class_;
  std::int32_t tenant_;
  std::int32_t model_;
  std::int32_t adapter_;
  std::uint64_t prefix_name_ = 0;
  std::optional<core::Zipf> prefix_zipf_;
  std::uint64_t number_ = 0;
  std::optional<core::Duration> start_;
};

class ClientStream final : public ItemStream {
 public:
  ClientStream(const std::vector<ClientSpec>& specs,
               std::uint64_t seed,
               Stage stage,
               std::optional<std::int64_t> num_groups,
               core::Warnings warnings,
               std::uint64_t first_entity)
      : stages_({stage}), left_(num_groups.value_or(kMaxRequests)), warnings_(std::move(warnings)) {
    waits_ = stage.max_concurrency > 0 || stage.after_previous;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      makers_.emplace_back(specs[i], seed, first_entity + i, labels_);
      flat_ = flat_ && !specs[i].session;
      waits_ = waits_ || (specs[i].session && !specs[i].session->open_loop);
      endless_ = endless_ || (!num_groups && specs[i].at_once && !specs[i].num_groups);
    }
  }

  bool next(Item& item) override {
    if (position_ == group_.size()) {
      ClientMaker* first = nullptr;
      for (ClientMaker& maker : makers_) {
        if (maker.start() && (first == nullptr || *maker.start() < *first->start())) {
          first = &maker;
        }
      }
      if (first == nullptr || left_ == 0) {
        return false;
      }
      --left_;
      first->make(group_, sessions_);
      position_ = 0;
    }
    item = std::move(group_[position_++]);
    return true;
  }
  [[nodiscard]] std::optional<double> share_read() const override {
    double sum = 0.0;
    for (const ClientMaker& maker : makers_) {
      const auto share = maker.share_made();
      if (!share) {
        return std::nullopt;
      }
      sum += *share;
    }
    return sum / static_cast<double>(makers_.size());
  }
  [[nodiscard]] core::Warnings warnings() const override { return warnings_; }
  [[nodiscard]] const Labels& labels() const override { return labels_; }
  [[nodiscard]] const std::vector<Stage>& stages() const override { return stages_; }
  [[nodiscard]] bool waits_for_answers() const override { return waits_; }
  [[nodiscard]] bool is_flat() const override { return flat_; }
  [[nodiscard]] bool is_endless() const override { return endless_; }

 private:
  Labels labels_;
  std::vector<ClientMaker> makers_;
  std::vector<Stage> stages_;
  std::int64_t left_;
  core::Warnings warnings_;
  bool flat_ = true;
  bool waits_ = false;
  bool endless_ = false;
  std::vector<Item> group_;
  std::size_t position_ = 0;
  std::int32_t sessions_ = 0;
};

}  // namespace

std::unique_ptr<ItemStream> make_client(const ClientSpec& spec,
                                        std::uint64_t seed,
                                        std::uint64_t entity) {
  return std::make_unique<ClientStream>(
      std::vector<ClientSpec>{spec}, seed, Stage{}, std::nullopt, core::Warnings{}, entity);
}

std::unique_ptr<ItemStream> make_clients(const std::vector<ClientSpec>& specs,
                                         std::uint64_t seed,
                                         Stage stage,
                                         std::optional<std::int64_t> num_groups,
                                         core::Warnings warnings) {
  return std::make_unique<ClientStream>(specs, seed, stage, num_groups, std::move(warnings), 0);
}

}  // namespace ridgeline::workload
