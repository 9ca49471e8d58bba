#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/serve_flags.hpp"
#include "cli/commands/serve_words.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"
#include "document/json_writer.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "serve/emulator.hpp"
#include "serve/server_metrics.hpp"
#include "serve/servers.hpp"
#include "serve/settings.hpp"

namespace ridgeline::cli {
namespace {

void say(const std::string& line) {
  static_cast<void>(write_all(STDERR_FILENO, line + "\n"));
}

/// What to know of the server before the first request.
core::Warnings start_warnings(const serve::Settings& settings, const serve::Emulator& emulator) {
  core::Warnings warnings;
  if (!emulator.listener().is_loopback()) {
    warnings.push_back(
        {.code = "W-open-server",
         .message = fmt::format("other machines can reach {}", emulator.listener().name()),
         .hint =
             settings.api_keys.empty() ? "--host 127.0.0.1, or --api-key" : "--host 127.0.0.1"});
  }
  return warnings;
}

/// Leaves in the scenario the one instance that each port of --listen each serves; returns their
/// number.
core::Result<std::int64_t> split_fleet(scenario::LoadedScenario& loaded) {
  scenario::ClusterSection& cluster = loaded.scenario.run.cluster;
  const std::int64_t count = cluster.instances.value_or(1);
  constexpr std::int64_t kMost = 256;
  const bool is_plain = !cluster.pools && !cluster.disaggregation.prefill_instances &&
                        !cluster.autoscaling.name && !cluster.faults;
  if (!is_plain || count > kMost) {
    return core::fail(
        usage_error("--listen",
                    fmt::format("each: expected at most {} instances that are alike, without "
                                "pools, prefill instances, autoscaling or faults",
                                kMost),
                    "--listen one, or one server for each kind"));
  }
  cluster = scenario::ClusterSection();
  return count;
}

/// Where it listens.
void introduce(const serve::Emulator& emulator, const serve::Settings& settings) {
  if (emulator.admin_listener() != nullptr) {
    say(fmt::format("its admin at {}", emulator.admin_listener()->name()));
  }
  if (emulator.kv_events() != nullptr) {
    say(fmt::format("KV events at {}", fmt::join(emulator.kv_events()->names(), ", ")));
  }
  say(fmt::format("serving {} at {} as vllm {} does, {} simulated seconds a second; Ctrl-C ends",
                  settings.model_names.front(),
                  emulator.listener().name(),
                  settings.version_text,
                  settings.speed));
}

core::Warnings end_warnings(const serve::ServeOutcome& outcome) {
  core::Warnings warnings;
  if (outcome.estimated_prompts > 0) {
    warnings.push_back(
        {.code = "W-estimated-lengths",
         .message = fmt::format("{} requests had text of which the tokens were estimated",
                                outcome.estimated_prompts),
         .hint =
             "prompts of listed words or token ids are exact, and --tokenizer FILE counts others"});
  }
  constexpr double kLateShare = 0.05;
  if (outcome.mean_step > 0.0 && outcome.least_lateness_p99 > kLateShare * outcome.mean_step) {
    warnings.push_back({.code = "W-late",
                        .message = fmt::format("1 % of the steps were written more than {:g} "
                                               "ms late, and a step takes {:.3g} ms here",
                                               outcome.least_lateness_p99 * 1e3,
                                               outcome.mean_step * 1e3),
                        .hint = "a lower --speed, or a machine with less other work"});
  }
  if (outcome.are_steps_short) {
    warnings.push_back({.code = "W-speed",
                        .message = fmt::format("more than half of the steps lasted less than {:g} "
                                               "ms here: what wakes the machine late is not small "
                                               "beside that",
                                               serve::ServerMetrics::kShortStep * 1e3),
                        .hint = "a lower --speed"});
  }
  if (outcome.clock_jumps > 0) {
    warnings.push_back({.code = "W-clock-jump",
                        .message = fmt::format("the process stood still {} times, and simulated "
                                               "time with it",
                                               outcome.clock_jumps)});
  }
  return warnings;
}

std::string outcome_json(const serve::ServeOutcome& outcome) {
  document::JsonWriter json;
  const auto& summary = outcome.run.summary;
  json.begin_object();
  json.member("schema_version", 1);
  json.member("digest", std::string_view(outcome.run.digest));
  json.member("partial", outcome.was_cut);
  json.member("requests", outcome.num_requests);
  json.member("completed", summary.completed);
  json.member("input_tokens", summary.total_input_tokens);
  json.member("output_tokens", summary.total_output_tokens);
  json.member("preemptions", summary.preemptions);
  json.key("responses").begin_object();
  for (const auto& [status, count] : outcome.responses) {
    json.member(fmt::format("{}", status), count);
  }
  json.end_object();
  json.member("lateness_p50_s", outcome.lateness_p50);
  json.member("lateness_p99_s", outcome.lateness_p99);
  json.member("merged_events", outcome.merged_events);
  json.member("estimated_prompts", outcome.estimated_prompts);
  json.member("turned_away", outcome.turned_away);
  json.member("clock_jumps", outcome.clock_jumps);
  json.end_object();
  return json.text() + "\n";
}

std::string outcome_table(const serve::ServeOutcome& outcome) {
  const auto& summary = outcome.run.summary;
  std::string responses;
  for (const auto& [status, count] : outcome.responses) {
    responses += fmt::format("{}{} x {}", responses.empty() ? "" : ", ", count, status);
  }
  return fmt::format(
      "requests     {} of the engine, {} completed\n"
      "answers      {}\n"
      "tokens       {} in, {} out, {} preemptions\n"
      "lateness     p50 {} ms, p99 {} ms at most, {} merged events\n"
      "digest       {}\n",
      outcome.num_requests,
      summary.completed,
      responses.empty() ? "none" : responses,
      summary.total_input_tokens,
      summary.total_output_tokens,
      summary.preemptions,
      outcome.lateness_p50 * 1e3,
      outcome.lateness_p99 * 1e3,
      outcome.merged_events,
      outcome.run.digest);
}

/// How many servers there are to be. A deployment of data-parallel ranks has all of them: another
/// verb simulates one rank, with its share of a load that is known.
core::Result<std::int64_t> listeners(const Arguments& arguments, scenario::LoadedScenario& loaded) {
  auto& instances = loaded.scenario.run.cluster.instances;
  const std::int64_t ranks = loaded.scenario.deployment.engine.data_parallel_size;
  if (!instances && !loaded.scenario.run.cluster.pools && ranks > 1) {
    instances = ranks;
  }
  static const std::array<std::string, 2> kListens = {"one", "each"};
  const std::string listen = arguments.value("listen", kListens[0]);
  if (std::ranges::find(kListens, listen) == kListens.end()) {
    return core::fail(bad_choice("listen", listen, kListens));
  }
  if (listen == kListens[0]) {
    return 1;
  }
  if (arguments.has("uds")) {
    return core::fail(usage_error("--listen", "each: expected ports, found --uds"));
  }
  return split_fleet(loaded);
}

/// Shows what each of them did: a table or an object for each.
template <class Show>
ExitCode show_ends(const serve::Servers& servers, const Manners& manners, Show show) {
  std::string text;
  bool was_cut = false;
  for (const auto& emulator : servers.all()) {
    const std::string address = emulator->listener().name();
    const auto outcome = emulator->finish();
    if (!outcome) {
      return give_up(outcome.error(), manners);
    }
    show(end_warnings(*outcome));
    was_cut = was_cut || outcome->was_cut;
    if (manners.format == "json") {
      text += outcome_json(*outcome);
    } else {
      text += servers.all().size() > 1 ? fmt::format("{}\n", address) : "";
      text += outcome_table(*outcome);
    }
  }
  const ExitCode code = put_out(text, manners);
  return was_cut ? ExitCode::kInterrupted : code;
}

}  // namespace

ExitCode serve_command(Words words) {
  const Opening opening = with_manner_flags(
      {.usage = "serve [scenario.yaml] [flags]",
       .about = "Answers OpenAI's API over HTTP as vLLM does, in the time that the "
                "simulated deployment takes.",
       .flags = all_serve_flags(),
       .formats = {"table", "json"}},
      "table|json|quiet");
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  if (auto added = add_serve_section(arguments); !added) {
    return give_up(added.error(), manners);
  }
  auto loaded = load(arguments, scenario::Purpose::kLook);
  if (!loaded) {
    return give_up(loaded.error(), manners);
  }
  const auto count = listeners(arguments, *loaded);
  if (!count) {
    return give_up(count.error(), manners);
  }
  auto resolved = scenario::resolve(std::move(*loaded));
  if (!resolved) {
    return give_up(resolved.error(), manners);
  }
  resolved->run.percentiles = "sketch";  // Memory follows what is open, not what was.
  auto settings = serve_settings(arguments, *resolved);
  if (!settings) {
    return give_up(settings.error(), manners);
  }
  settings->warn = [&](const core::Warning& warning) {
    static_cast<void>(write_all(STDERR_FILENO, render(warning, manners.err)));
  };
  const InterruptGuard guard;
  std::signal(SIGXFSZ,
              SIG_IGN);  // An arrival log may reach its limit: requests are answered without it.
  auto servers = serve::Servers::make(*resolved, *settings, *count);
  if (!servers) {
    return give_up(servers.error(), manners);
  }
  const auto show = [&](const core::Warnings& warnings) {
    std::ranges::for_each(warnings, settings->warn);
  };
  show(resolved->warnings);
  for (const auto& emulator : (*servers)->all()) {
    show(start_warnings(*settings, *emulator));
    introduce(*emulator, *settings);
  }
  (*servers)->run(InterruptGuard::flag());
  return show_ends(**servers, manners, show);
}

}  // namespace ridgeline::cli
