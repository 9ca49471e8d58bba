/// Questions made from measured sweeps of concurrency: of the deployments that were measured,
/// which one yields most of so many GPUs within a target, and at how many clients? What the plan
/// chooses is scored by what was measured of it. `./dev properties sweeps` asks all of them and
/// prints the table; every build asks a few.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/parallel.hpp"
#include "evidence/validate/deployment.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/validate.hpp"
#include "lab/tests/support/collections.hpp"
#include "metrics/slo.hpp"
#include "model/model_spec.hpp"
#include "plan/capacity.hpp"
#include "plan/demand.hpp"
#include "plan/fluid.hpp"
#include "plan/sure_load.hpp"
#include "plan/target.hpp"
#include "scenario/accuracy_question.hpp"
#include "scenario/resolve.hpp"
#include "support/paths.hpp"

namespace ridgeline::evidence::validate {
namespace {

namespace fs = std::filesystem;

/// GPUs of a question: a multiple of what every measured instance takes.
constexpr std::int64_t kGpus = 8;
/// Requests of a run of the search.
constexpr std::int64_t kRequests = 2'000;
constexpr double kConfidence = 0.9;
/// Targets of TPOT: these quantiles of what was measured in the group.
constexpr std::array kTargetQuantiles = {0.25, 0.5, 0.75};
/// A check of the simulated vLLM 0.13 fails in runs of that length, and ends the program.
constexpr std::string_view kFaulty = "glm-4.6 8000/8000";
/// What picks must reach on average, and in how many questions.
constexpr double kLeastShare = 0.85;
/// An answer's capacity is right within this of the measured one.
constexpr double kNear = 0.25;

/// One deployment at one number of clients, means over repeats.
struct Point {
  double clients = 0.0;
  double tpot_ms = 0.0;
  double ttft_ms = 0.0;
  double tokens_per_second = 0.0;
};

struct Deployment {
  std::string label;
  std::string file;
  std::int64_t gpus = 1;
  Level level = Level::kMean;
  std::vector<const Evidence*> records;
  std::vector<Point> points;  ///< By clients.

  /// Constants of the model were fitted on, or looked at beside, all but the third delivery.
  [[nodiscard]] bool is_unseen() const { return file.starts_with("turn3-"); }
  [[nodiscard]] std::int64_t replicas() const { return std::max<std::int64_t>(1, kGpus / gpus); }
};

struct Group {
  std::string name;
  std::vector<Deployment> deployments;
};

/// Where a target is met, of one instance.
struct Held {
  double clients = 0.0;
  double tokens_per_second = 0.0;
  bool is_cut = false;  ///< The sweep ends before the target is missed.
};

std::string length_text(const TokenCounts& counts) {
  return fmt::format("{:.0f}", counts.mean);
}

bool is_question(const Evidence& record) {
  const bool is_closed = record.stages.size() == 1 &&
                         record.stages.front().kind == StageLoad::Kind::kClosed &&
                         record.stages.front().concurrency > 0;
  const bool is_doubted = std::ranges::any_of(record.flags, [](const std::string& flag) {
    return flag.find("do_not_score") != std::string::npos ||
           flag.find("acceptance not published") != std::string::npos;
  });
  return is_closed && !is_doubted && record.problem.empty() && record.refusal.empty() &&
         record.contradicted.empty() && record.unsound.empty() && !record.fleet &&
         !record.guessed_load && !record.is_start && !record.old_engine;
}

std::optional<double> figure(const Evidence& record, Figure which, Level level) {
  const auto& found = record.measured.at(which, level);
  return found ? std::optional(*found) : std::nullopt;
}

/// What tells one deployment from another, whatever its clients.
std::string deployment_key(const Evidence& record) {
  std::string stated;
  for (const auto& [path, text] : record.stated) {
    if (path.find("max_") == std::string::npos) {
      stated += " " + path + "=" + text;
    }
  }
  for (const auto& [key, text] : record.server.settings) {
    if (!key.starts_with("max_") && key.find("cuda_graph") == std::string::npos) {
      stated += " " + key + "=" + text;
    }
  }
  return fmt::format("{} {} x{} tp{} pp{} dp{} ep{} {} {} {}",
                     record.gpu,
                     record.weight_quantisation,
                     record.num_gpus,
                     record.tensor_parallel,
                     record.pipeline_parallel,
                     record.data_parallel,
                     record.expert_parallel,
                     record.engine,
                     record.stated_version,
                     stated);
}

/// Fills the points of a deployment at the level that all its records have; none without one.
void fill_points(Deployment& deployment) {
  for (const Level level : {Level::kMean, Level::kP50}) {
    const bool all = std::ranges::all_of(deployment.records, [&](const Evidence* record) {
      return figure(*record, Figure::kTpot, level) && figure(*record, Figure::kTtft, level);
    });
    if (!all) {
      continue;
    }
    deployment.level = level;
    std::map<std::int64_t, std::vector<Point>> by_clients;
    for (const Evidence* record : deployment.records) {
      const std::int64_t clients = record->stages.front().concurrency;
      const double tpot = *figure(*record, Figure::kTpot, level);
      const double ttft = *figure(*record, Figure::kTtft, level);
      const double answer = record->output.mean;
      // By Little's law, for all alike: throughputs that are published are of whole runs, with
      // their beginning and end.
      const double tokens =
          static_cast<double>(clients) * answer / (ttft + tpot * std::max(1.0, answer - 1.0)) * 1e3;
      by_clients[clients].push_back({static_cast<double>(clients), tpot, ttft, tokens});
    }
    for (const auto& [clients, repeats] : by_clients) {
      Point sum;
      for (const Point& one : repeats) {
        const auto n = static_cast<double>(repeats.size());
        sum.clients = one.clients;
        sum.tpot_ms += one.tpot_ms / n;
        sum.ttft_ms += one.ttft_ms / n;
        sum.tokens_per_second += one.tokens_per_second / n;
      }
      deployment.points.push_back(sum);
    }
    return;
  }
}

/// The measured point at so many clients: between neighbours by the logarithm of the clients.
Point at(const Deployment& deployment, double clients) {
  const auto& points = deployment.points;
  if (clients <= points.front().clients) {
    return points.front();
  }
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Point& a = points[i - 1];
    const Point& b = points[i];
    if (clients <= b.clients) {
      const double part = std::log(clients / a.clients) / std::log(b.clients / a.clients);
      const auto between = [&](double Point::* value) {
        return a.*value + part * (b.*value - a.*value);
      };
      return {clients,
              between(&Point::tpot_ms),
              between(&Point::ttft_ms),
              between(&Point::tokens_per_second)};
    }
  }
  return points.back();
}

/// The most clients that meet a TPOT, as measured; none where the fewest measured miss it.
Held held(const Deployment& deployment, double tpot_ms) {
  const auto& points = deployment.points;
  if (points.front().tpot_ms > tpot_ms) {
    return {};
  }
  double clients = points.back().clients;
  bool is_cut = true;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].tpot_ms > tpot_ms) {
      const Point& a = points[i - 1];
      const Point& b = points[i];
      const double part = (tpot_ms - a.tpot_ms) / (b.tpot_ms - a.tpot_ms);
      clients = a.clients * std::pow(b.clients / a.clients, part);
      is_cut = false;
      break;
    }
  }
  return {clients, at(deployment, clients).tokens_per_second, is_cut};
}

std::optional<workload::Length> length_of(const TokenCounts& counts) {
  const auto tokens = [](double value) {
    return core::Tokens(std::max<std::int64_t>(1, std::llround(value)));
  };
  switch (counts.law) {
    case TokenCounts::Law::kUniform:
      return workload::UniformLength{tokens(counts.lowest), tokens(counts.highest)};
    case TokenCounts::Law::kFixed:
      return workload::FixedLength{tokens(counts.mean)};
    case TokenCounts::Law::kNormal:
      return workload::NormalLength{
          counts.mean, counts.std, tokens(counts.lowest), tokens(counts.highest)};
    default:
      return std::nullopt;
  }
}

/// A deployment as the record of its most clients states it, with clients of its lengths.
std::optional<scenario::Resolved> resolve(const Deployment& deployment) {
  Evidence record = **std::ranges::max_element(
      deployment.records, {}, [](const Evidence* one) { return one->stages.front().concurrency; });
  auto resolved = deploy(record, {});
  const auto input = length_of(record.input);
  const auto output = length_of(record.output);
  if (!resolved || !input || !output || record.replicas > 1) {
    return std::nullopt;
  }
  scenario::WorkloadSection section;
  section.max_concurrency = 1;
  section.num_prompts = kRequests;
  section.input_len = input;
  section.output_len = output;
  resolved->workload.section = section;
  return std::move(*resolved);
}

/// What the plan says of a deployment at a target; nothing where it is not simulated.
std::optional<plan::SureLoad> predict_load(const Deployment& deployment,
                                           const scenario::Resolved& resolved,
                                           double tpot_ms) {
  const auto demand = plan::demand_of(resolved);
  if (!demand) {
    return std::nullopt;
  }
  const plan::Targets targets = {plan::percentile_target(
      metrics::Metric::kTpot,
      deployment.level == Level::kMean ? metrics::Statistic::kMean : metrics::Statistic::kP50,
      core::Duration::saturating(core::Seconds(tpot_ms / 1e3)))};
  const plan::FluidInputs inputs{.deployment = *resolved.deployment,
                                 .model = *resolved.deployment->latency,
                                 .demand = *demand};
  const auto ranks = static_cast<double>(std::max<std::int64_t>(1, resolved.workload.ranks));
  plan::LoadRange range = plan::load_range(inputs, targets, ranks, 1.0);
  // Nothing is known of more clients than were measured.
  range.highest = std::min(range.highest, deployment.points.back().clients);
  const std::atomic<bool> interrupt = false;
  const plan::FindCapacity find = [&](const plan::Targets& wanted, double guess) {
    return plan::find_capacity(resolved,
                               wanted,
                               {.requests = kRequests,
                                .guess = std::min(guess, range.highest),
                                .ceiling = range.highest,
                                .seed = 1,
                                .is_closed_loop = true},
                               interrupt);
  };
  const auto doubt = plan::latency_doubt(scenario::expected_errors(*resolved.deployment, true));
  auto estimate = find(targets, range.start());
  if (!estimate || !*estimate) {
    return std::nullopt;
  }
  auto found = plan::find_sure_load(find, std::move(**estimate), targets, doubt, kConfidence);
  return found && *found ? std::optional(std::move(**found)) : std::nullopt;
}

/// The sweeps of all files that hold some, by network and lengths.
std::vector<Group> groups_of(const std::vector<std::vector<Evidence>>& files,
                             const std::vector<std::string>& names) {
  std::map<std::string, std::map<std::string, Deployment>> found;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const Evidence& record : files[i]) {
      if (!is_question(record)) {
        continue;
      }
      const auto network = model::find_model(record.model);
      const std::string group = fmt::format("{} {}/{}",
                                            network ? network->name : record.model,
                                            length_text(record.input),
                                            length_text(record.output));
      const std::string key = deployment_key(record);
      Deployment& deployment = found[group][key];
      deployment.label = key;
      deployment.file = names[i];
      deployment.gpus = record.num_gpus > 0 ? record.num_gpus
                                            : record.tensor_parallel * record.pipeline_parallel *
                                                  record.data_parallel;
      deployment.records.push_back(&record);
    }
  }
  std::vector<Group> groups;
  for (auto& [name, deployments] : found) {
    Group group{.name = name, .deployments = {}};
    for (auto& [key, deployment] : deployments) {
      fill_points(deployment);
      if (deployment.points.size() >= 2 && kGpus % deployment.gpus == 0) {
        group.deployments.push_back(std::move(deployment));
      }
    }
    if (group.deployments.size() >= 2) {
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

std::vector<double> targets_of(const Group& group) {
  std::vector<double> all;
  for (const Deployment& deployment : group.deployments) {
    for (const Point& point : deployment.points) {
      all.push_back(point.tpot_ms);
    }
  }
  std::ranges::sort(all);
  std::vector<double> targets;
  for (const double quantile : kTargetQuantiles) {
    targets.push_back(
        all[static_cast<std::size_t>(quantile * static_cast<double>(all.size() - 1))]);
  }
  return targets;
}

/// One choice: a deployment and its clients.
struct Choice {
  const Deployment* deployment = nullptr;
  double clients = 0.0;
  double yield = 0.0;  ///< Predicted, of all GPUs.
};

struct Score {
  std::int64_t questions = 0;
  std::int64_t answered = 0;
  std::int64_t met = 0;
  double share = 0.0;          ///< Sum of: what the pick carries at the target, of the best.
  double share_at_load = 0.0;  ///< `share` at the load that is recommended; 0 where it misses.
  std::set<std::string> networks;
};

struct Capacities {
  std::vector<double> ratios;  ///< Predicted over measured.
};

void print(const char* what, const Score& score) {
  const auto n = static_cast<double>(std::max<std::int64_t>(1, score.questions));
  std::cout << fmt::format(
      "{}: {} questions of {} networks; the pick carries {:.0f} % of the best measured throughput "
      "at the target, {:.0f} % at the load recommended (0 where it misses); meets the target in {} "
      "({:.0f} %); answered {}\n",
      what,
      score.questions,
      score.networks.size(),
      100.0 * score.share / n,
      100.0 * score.share_at_load / n,
      score.met,
      100.0 * static_cast<double>(score.met) / n,
      score.answered);
}

void print(const char* what, Capacities found) {
  std::ranges::sort(found.ratios);
  if (found.ratios.empty()) {
    return;
  }
  const auto near = std::ranges::count_if(
      found.ratios, [](double ratio) { return std::abs(ratio - 1.0) <= kNear; });
  const auto at = [&](double quantile) {
    return found
        .ratios[static_cast<std::size_t>(quantile * static_cast<double>(found.ratios.size() - 1))];
  };
  std::cout << fmt::format(
      "{}: {} capacities inside their sweeps; predicted / measured p10 {:.2f}, p25 {:.2f}, p50 "
      "{:.2f}, p75 {:.2f}, p90 {:.2f}; within 25 %: {:.0f} %\n",
      what,
      found.ratios.size(),
      at(0.1),
      at(0.25),
      at(0.5),
      at(0.75),
      at(0.9),
      100.0 * static_cast<double>(near) / static_cast<double>(found.ratios.size()));
}

/// A group's questions, answered.
struct Answers {
  std::vector<std::string> lines;
  Score score;
  Capacities capacities;
};

Answers answer(const Group& group) {
  Answers answers;
  std::vector<std::optional<scenario::Resolved>> resolved;
  for (const Deployment& deployment : group.deployments) {
    resolved.push_back(resolve(deployment));
  }
  for (const double tpot_ms : targets_of(group)) {
    const Deployment* best = nullptr;
    double most = 0.0;
    Choice sure;
    Choice likely;
    for (std::size_t i = 0; i < group.deployments.size(); ++i) {
      const Deployment& deployment = group.deployments[i];
      const auto replicas = static_cast<double>(deployment.replicas());
      if (!resolved[i]) {
        continue;  // It is not simulated: no question of it.
      }
      const Held measured = held(deployment, tpot_ms);
      if (measured.tokens_per_second * replicas > most) {
        most = measured.tokens_per_second * replicas;
        best = &deployment;
      }
      const auto load = predict_load(deployment, *resolved[i], tpot_ms);
      if (!load) {
        continue;
      }
      const double answer_tokens = deployment.records.front()->output.mean;
      const auto yield = [&](const plan::Capacity& capacity) {
        return capacity.requests_per_second * answer_tokens * replicas;
      };
      if (measured.clients > 0.0 && !measured.is_cut) {
        // Clients are whole: a plan cannot say more than the next number below.
        const double whole = std::max(1.0, std::floor(measured.clients));
        answers.capacities.ratios.push_back(load->estimate.load / whole);
        answers.lines.push_back(fmt::format(
            "{:<38} TPOT {:>6.1f} ms  {:>6.1f} clients predicted, {:>6.1f} measured: {}",
            group.name,
            tpot_ms,
            load->estimate.load,
            measured.clients,
            deployment.label));
      }
      if (load->sure.load > 0.0 && yield(load->sure) > sure.yield) {
        sure = {&deployment, load->sure.load, yield(load->sure)};
      }
      if (load->estimate.load > 0.0 && yield(load->estimate) > likely.yield) {
        likely = {&deployment, load->estimate.load, yield(load->estimate)};
      }
    }
    if (best == nullptr) {
      continue;  // What was measured does not meet it.
    }
    Score& score = answers.score;
    ++score.questions;
    score.networks.insert(group.name.substr(0, group.name.find(' ')));
    const Choice choice = sure.deployment != nullptr ? sure : likely;
    double share = 0.0;
    bool met = false;
    if (choice.deployment != nullptr) {
      ++score.answered;
      const auto replicas = static_cast<double>(choice.deployment->replicas());
      share = held(*choice.deployment, tpot_ms).tokens_per_second * replicas / most;
      const Point there = at(*choice.deployment, choice.clients);
      met = there.tpot_ms <= tpot_ms * (1.0 + 1e-9) &&
            choice.deployment->points.front().tpot_ms <= tpot_ms;
      score.share += share;
      score.met += met ? 1 : 0;
      score.share_at_load += met ? there.tokens_per_second * replicas / most : 0.0;
    }
    answers.lines.push_back(fmt::format(
        "{:<38} TPOT {:>6.1f} ms  pick {:<58.58} {:>4.0f} clients{}  {:>3.0f} %  {}  best {:.58}",
        group.name,
        tpot_ms,
        choice.deployment != nullptr ? choice.deployment->label : "none",
        choice.clients,
        sure.deployment != nullptr ? "" : " (unsure)",
        share * 100.0,
        met ? "met" : "MISSED",
        best->label));
  }
  return answers;
}

}  // namespace

TEST(Sweeps, PicksWhatMeasuredSweepsPick) {
  const fs::path folder = test::shared_dir() / "groundtruth";
  if (!fs::exists(folder)) {
    GTEST_SKIP() << folder << " is not there";
  }
  // A piece of a network's name; empty: all networks.
  const char* wanted = std::getenv("RIDGELINE_SWEEPS");
  const bool all = wanted != nullptr;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".jsonl") && (all || name == "experiments.jsonl")) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  std::vector<std::vector<Evidence>> files;
  for (const std::string& name : names) {
    auto records = read_evidence((folder / name).string());
    files.push_back(records ? std::move(*records) : std::vector<Evidence>{});
  }
  std::vector<Group> groups = groups_of(files, names);
  std::erase_if(groups, [&](const Group& group) {
    return kFaulty == group.name || (all && group.name.find(wanted) == std::string::npos);
  });
  if (!all && groups.size() > 1) {
    groups.resize(1);
  }
  std::vector<Answers> answers(groups.size());
  const char* jobs = std::getenv("RIDGELINE_SWEEPS_JOBS");
  core::for_each_job(groups.size(), jobs != nullptr ? std::atoll(jobs) : 1, [&](std::size_t i) {
    answers[i] = answer(groups[i]);
    if (all) {
      std::cerr << groups[i].name << "\n";
    }
  });
  Score seen;
  Score unseen;
  Capacities of_seen;
  Capacities of_unseen;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const bool is_unseen =
        std::ranges::all_of(groups[i].deployments, [](const auto& one) { return one.is_unseen(); });
    for (const std::string& line : answers[i].lines) {
      std::cout << (is_unseen ? "unseen " : "fitted ") << line << "\n";
    }
    Score& score = is_unseen ? unseen : seen;
    score.questions += answers[i].score.questions;
    score.answered += answers[i].score.answered;
    score.met += answers[i].score.met;
    score.share += answers[i].score.share;
    score.share_at_load += answers[i].score.share_at_load;
    score.networks.insert(answers[i].score.networks.begin(), answers[i].score.networks.end());
    auto& ratios = (is_unseen ? of_unseen : of_seen).ratios;
    ratios.insert(
        ratios.end(), answers[i].capacities.ratios.begin(), answers[i].capacities.ratios.end());
  }
  print("unseen groups", unseen);
  print("fitted groups", seen);
  print("unseen groups", of_unseen);
  print("fitted groups", of_seen);
  const auto questions = static_cast<double>(seen.questions + unseen.questions);
  EXPECT_GT(questions, 0.0);
  EXPECT_GE(seen.share + unseen.share, kLeastShare * questions);
  if (all && std::string_view(wanted).empty()) {
    EXPECT_GE(static_cast<double>(seen.met + unseen.met), kLeastShare * questions);
  }
}

}  // namespace ridgeline::evidence::validate
