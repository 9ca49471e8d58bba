// As agentx-harness 1.0.12 does (aiperf/dataset/loader/weka_trace.py and
// aiperf/timing/replay_dependencies.py; Apache-2.0).
#include "workload/agents/conversations.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/agents/chains.hpp"
#include "workload/agents/messages.hpp"
#include "workload/agents/prompt_tree.hpp"
#include "workload/agents/recorded_time.hpp"
#include "workload/agents/trace.hpp"

namespace ridgeline::workload::agents {
namespace {

std::int64_t blocks_for(std::int64_t tokens, std::int64_t block_size) {
  return (tokens + block_size - 1) / block_size;
}

/// The first blocks of a chain, without what was peeled off.
const Blocks& first_blocks(const Chain& chain) {
  static const Blocks kNone;
  for (std::size_t i = chain.num_peeled; i < chain.requests.size(); ++i) {
    if (!chain.requests[i].request->blocks.empty()) {
      return chain.requests[i].request->blocks;
    }
  }
  return kNone;
}

InputKind input_kind_of(const std::vector<Placed>& requests, std::size_t k) {
  const InputKind own = requests[k].request->input_kind;
  return own != InputKind::kUnknown || k == 0 ? own : requests[k - 1].request->next_input;
}

class Builder {
 public:
  Builder(const Trace& trace, std::vector<std::vector<TurnMessages>>* messages)
      : trace_(&trace), messages_(messages) {}

  core::Result<SessionTree> build() {
    tree_.id = trace_->id;
    tree_.block_size = trace_->block_size;
    tree_.models = trace_->models;
    split();
    if (main_.empty()) {
      return core::fail(problem("has no request of the main agent, expected one at least"));
    }
    add(trace_->id, trace_->id, TurnKind::kMain, main_, declared_blocks(trace_->prefix_tokens));
    for (std::size_t i = 0; i < trace_->sub_agents.size(); ++i) {
      add_sub_agent(i);
    }
    add_flat_chains();
    if (!errors_.empty()) {
      return core::fail(errors_);
    }
    count_hits();
    find_predecessors();
    tree_.prompts.close();
    find_span();
    return std::move(tree_);
  }

 private:
  core::Error problem(std::string message) const {
    return {.field = trace_->id, .message = std::move(message)};
  }
  [[nodiscard]] std::int64_t declared_blocks(std::int64_t tokens) const {
    return blocks_for(tokens, trace_->block_size);
  }

  /// The main list as chains, and the place of each entry.
  void split() {
    std::vector<Placed> all;
    for (std::size_t place = 0; place < trace_->entries.size(); ++place) {
      const TraceEntry& entry = trace_->entries[place];
      if (entry.is_sub_agent) {
        agent_places_.push_back(static_cast<std::int64_t>(place));
      } else {
        all.push_back(
            {.place = static_cast<std::int64_t>(place), .request = &trace_->requests[entry.index]});
      }
    }
    std::vector<Chain> chains = chains_of(all);
    main_chain_ = std::move(chains.front());
    main_ = chains.size() == 1 ? all : main_chain_.requests;
    flat_.assign(std::make_move_iterator(chains.begin() + 1),
                 std::make_move_iterator(chains.end()));
  }

  /// Blocks of the system message of a chain beside a main one: those that it begins with, too.
  [[nodiscard]] std::int64_t prefix_of(std::int64_t tokens,
                                       const Chain& base,
                                       const Blocks& own) const {
    const std::int64_t declared = declared_blocks(tokens);
    return declared > 0 &&
                   static_cast<std::int64_t>(common_blocks(first_blocks(base), own)) >= declared
               ? declared
               : 0;
  }

  std::int32_t add(std::string id,
                   std::string scope,
                   TurnKind kind,
                   const std::vector<Placed>& requests,
                   std::int64_t prefix_blocks) {
    Conversation conversation{.id = std::move(id),
                              .scope = std::move(scope),
                              .kind = kind,
                              .prefix_blocks = prefix_blocks};
    if (!requests.empty() &&
        prefix_blocks > static_cast<std::int64_t>(requests.front().request->blocks.size())) {
      errors_.push_back(problem(fmt::format(
          "{} declares {} blocks of tools and system text, and its first request names {}, "
          "expected as many at least",
          conversation.id,
          prefix_blocks,
          requests.front().request->blocks.size())));
      return 0;
    }
    for (std::size_t k = 0; k < requests.size(); ++k) {
      const TraceRequest& request = *requests[k].request;
      Turn turn{.start = request.start,
                .api_time = request.api_time,
                .max_tokens = std::max<std::int64_t>(request.output, 1),
                .input = request.input,
                .model = request.model,
                .input_kind = input_kind_of(requests, k),
                .hash_blocks = static_cast<std::int64_t>(request.blocks.size())};
      if (k > 0) {
        turn.delay = std::max(request.start - requests[k - 1].request->end(), core::Duration());
      }
      const auto covered = std::min(turn.hash_blocks, request.input / trace_->block_size);
      turn.prompt = tree_.prompts.add(request.blocks, static_cast<std::size_t>(covered));
      conversation.turns.push_back(std::move(turn));
    }
    if (messages_ != nullptr) {
      messages_->push_back(messages_of(requests, trace_->block_size, prefix_blocks));
    }
    tree_.conversations.push_back(std::move(conversation));
    requests_.push_back(requests);
    return static_cast<std::int32_t>(tree_.conversations.size() - 1);
  }

  void add_sub_agent(std::size_t index) {
    const SubAgent& agent = trace_->sub_agents[index];
    const std::int64_t place = agent_places_[index];
    const auto spawn = turn_before(place);
    if (!spawn) {
      return;
    }
    if (!agent_names_.insert(agent.id).second) {
      errors_.push_back(
          problem(fmt::format("has two sub-agents '{}', expected different names", agent.id)));
      return;
    }
    std::vector<Placed> all;
    for (std::size_t i = 0; i < agent.requests.size(); ++i) {
      all.push_back({.place = static_cast<std::int64_t>(i), .request = &agent.requests[i]});
    }
    const std::vector<Chain> chains = chains_of(all);
    const std::string id = fmt::format("{}::sa:{}", trace_->id, agent.id);
    core::Duration end = agent.start;
    std::vector<std::int32_t> children;
    for (const Chain& chain : chains) {
      const bool is_main = chain.suffix.empty();
      children.push_back(add(is_main ? id : id + ":" + chain.suffix,
                             id,
                             TurnKind::kSubAgent,
                             chain.requests,
                             is_main
                                 ? declared_blocks(agent.prefix_tokens)
                                 : prefix_of(agent.prefix_tokens, chains[0], first_blocks(chain))));
      metric_places_.resize(tree_.conversations.size());
      metric_places_.back() = {place, static_cast<std::int64_t>(children.size() - 1)};
      for (const Placed& one : chain.requests) {
        end = std::max(end, one.request->end());
      }
    }
    if (agent.duration) {
      end = agent.start + *agent.duration;
    }
    join(agent_branches_,
         {.name = fmt::format("{}:spawn:{}", trace_->id, agent.id),
          .children = std::move(children),
          .start = agent.start,
          .spawn_turn = *spawn,
          .join_turn = turn_after(place, end)});
  }

  void add_flat_chains() {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> branches;
    for (std::size_t n = 0; n < flat_.size(); ++n) {
      const Chain& chain = flat_[n];
      const Placed& first = chain.requests.front();
      const std::int32_t child =
          add(fmt::format("{}::{}", trace_->id, chain.suffix),
              trace_->id,
              TurnKind::kFlat,
              chain.requests,
              prefix_of(trace_->prefix_tokens, main_chain_, first.request->blocks));
      core::Duration end;
      for (const Placed& one : chain.requests) {
        end = std::max(end, one.request->end());
      }
      join(branches,
           {.name = fmt::format("{}:flatspawn:{}", trace_->id, n),
            .children = {child},
            .start = first.request->start,
            .spawn_turn = turn_before(first.place).value_or(0),
            .join_turn = turn_after(first.place, end)});
    }
  }

  /// The last main turn that stands before a place of the file.
  [[nodiscard]] std::optional<std::int32_t> turn_before(std::int64_t place) const {
    std::optional<std::int32_t> last;
    for (std::size_t k = 0; k < main_.size(); ++k) {
      if (main_[k].place < place) {
        last = static_cast<std::int32_t>(k);
      }
    }
    return last;
  }
  /// The first main turn behind a place of the file that starts when `end` has passed.
  [[nodiscard]] std::optional<std::int32_t> turn_after(std::int64_t place,
                                                       core::Duration end) const {
    std::optional<std::size_t> first;
    for (std::size_t k = 0; k < main_.size(); ++k) {
      if (main_[k].place > place && main_[k].request->start + kTouch >= end &&
          (!first || main_[k].place < main_[*first].place)) {
        first = k;
      }
    }
    return first ? std::optional(static_cast<std::int32_t>(*first)) : std::nullopt;
  }

  /// Adds a branch, or its children to the one with the same turns.
  void join(std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t>& branches,
            Branch branch) {
    Conversation& main = tree_.conversations.front();
    const auto next = static_cast<std::int32_t>(main.branches.size());
    const auto [at, is_new] =
        branches.emplace(std::pair(branch.spawn_turn, branch.join_turn.value_or(-1)), next);
    for (const std::int32_t child : branch.children) {
      tree_.conversations[static_cast<std::size_t>(child)].branch = at->second;
    }
    if (!is_new) {
      Branch& known = main.branches[static_cast<std::size_t>(at->second)];
      known.start = std::min(known.start, branch.start);
      known.children.insert(known.children.end(), branch.children.begin(), branch.children.end());
      return;
    }
    main.turns[static_cast<std::size_t>(branch.spawn_turn)].spawns.push_back(next);
    if (branch.join_turn) {
      main.turns[static_cast<std::size_t>(*branch.join_turn)].joins.push_back(next);
    }
    main.branches.push_back(std::move(branch));
  }

  /// What of each prompt a cache that evicts nothing holds: one set of ids, requests by their time.
  void count_hits() {
    struct Use {
      std::tuple<core::Duration, std::int64_t, std::int64_t, std::int64_t> order;
      const Blocks* blocks;
      Turn* turn;
    };
    metric_places_.resize(tree_.conversations.size());
    std::vector<Use> uses;
    for (std::size_t c = 0; c < tree_.conversations.size(); ++c) {
      Conversation& conversation = tree_.conversations[c];
      for (std::size_t k = 0; k < conversation.turns.size(); ++k) {
        const Placed& placed = requests_[c][k];
        const bool is_inner = conversation.kind == TurnKind::kSubAgent;
        uses.push_back({.order = {placed.request->start,
                                  is_inner ? metric_places_[c].first : placed.place,
                                  is_inner ? metric_places_[c].second : 0,
                                  is_inner ? static_cast<std::int64_t>(k) : 0},
                        .blocks = &placed.request->blocks,
                        .turn = &conversation.turns[k]});
      }
    }
    std::ranges::stable_sort(uses, {}, &Use::order);
    std::unordered_set<std::uint32_t> seen;
    for (const Use& use : uses) {
      const auto miss =
          std::ranges::find_if(*use.blocks, [&](std::uint32_t id) { return !seen.contains(id); });
      use.turn->hit_blocks = miss - use.blocks->begin();
      seen.insert(miss, use.blocks->end());
    }
  }

  struct Span {
    TurnRef turn;
    double start = 0.0;
    double end = 0.0;
  };
  void find_predecessors() {
    std::map<std::string, std::vector<std::int32_t>> scopes;
    for (std::size_t c = 0; c < tree_.conversations.size(); ++c) {
      scopes[tree_.conversations[c].scope].push_back(static_cast<std::int32_t>(c));
    }
    for (const auto& [scope, members] : scopes) {
      if (members.size() < 2) {
        continue;
      }
      std::vector<std::vector<Span>> streams;
      for (const std::int32_t c : members) {
        std::vector<Span>& stream = streams.emplace_back();
        const std::vector<Turn>& turns = tree_.conversations[static_cast<std::size_t>(c)].turns;
        for (std::size_t k = 0; k < turns.size(); ++k) {
          const double start = milliseconds(turns[k].start);
          stream.push_back(
              {.turn = {.conversation = c, .turn = static_cast<std::int32_t>(k)},
               .start = start,
               .end = start + milliseconds(turns[k].api_time.value_or(core::Duration()))});
        }
      }
      order_streams(streams);
    }
  }

  void order_streams(const std::vector<std::vector<Span>>& streams) {
    for (std::size_t own = 0; own < streams.size(); ++own) {
      for (const Span& target : streams[own]) {
        std::vector<Span> frontier;
        for (std::size_t other = 0; other < streams.size(); ++other) {
          const Span* latest = nullptr;
          for (const Span& one : streams[other]) {
            if (other != own && one.start < target.start && one.end <= target.start &&
                (latest == nullptr ||
                 std::tuple(one.end, one.start, one.turn.turn) >
                     std::tuple(latest->end, latest->start, latest->turn.turn))) {
              latest = &one;
            }
          }
          if (latest != nullptr) {
            frontier.push_back(*latest);
          }
        }
        Turn& turn = tree_.conversations[static_cast<std::size_t>(target.turn.conversation)]
                         .turns[static_cast<std::size_t>(target.turn.turn)];
        for (const Span& one : frontier) {
          if (std::ranges::none_of(frontier, [&](const Span& later) {
                return !(later.turn == one.turn) && one.start < later.start &&
                       one.end <= later.start;
              })) {
            turn.predecessors.push_back(one.turn);
          }
        }
      }
    }
  }

  void find_span() {
    bool is_first = true;
    for (const Conversation& conversation : tree_.conversations) {
      for (const Turn& turn : conversation.turns) {
        tree_.first = is_first ? turn.start : std::min(tree_.first, turn.start);
        tree_.last = is_first ? turn.start : std::max(tree_.last, turn.start);
        is_first = false;
      }
    }
  }

  const Trace* trace_;
  std::vector<std::vector<TurnMessages>>* messages_;
  SessionTree tree_;
  core::Errors errors_;
  Chain main_chain_;
  std::vector<Placed> main_;
  std::vector<Chain> flat_;
  std::vector<std::int64_t> agent_places_;
  std::set<std::string> agent_names_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> agent_branches_;
  std::vector<std::vector<Placed>> requests_;  ///< By conversation.
  /// By conversation of a sub-agent: its place in the file, and its number there.
  std::vector<std::pair<std::int64_t, std::int64_t>> metric_places_;
};

}  // namespace

core::Result<SessionTree> conversations_of(const Trace& trace,
                                           std::vector<std::vector<TurnMessages>>* messages) {
  return Builder(trace, messages).build();
}

}  // namespace ridgeline::workload::agents
