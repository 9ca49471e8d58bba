#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/errors.hpp"
#include "api/guard.hpp"
#include "api/host.hpp"
#include "core/result.hpp"
#include "core/version.hpp"
#include "document/document.hpp"
#include "ridgeline/ridgeline.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "verbs/batch_text.hpp"
#include "verbs/explain_view.hpp"
#include "verbs/host.hpp"
#include "verbs/priced_step.hpp"
#include "verbs/request.hpp"
#include "verbs/run.hpp"
#include "verbs/run/make_result.hpp"
#include "verbs/run/result_tree.hpp"
#include "verbs/verb.hpp"

namespace ridgeline {
inline namespace v0 {
namespace {

Tree shared(document::Node node) {
  return Tree(std::make_shared<const document::Node>(std::move(node)));
}

/// A tree that a function makes, or the error of a fault in it.
template <class Make>
Expected<Tree> made(const Make& make) {
  std::optional<Tree> tree;
  if (const auto error = api::guarded([&] { tree = shared(make()); })) {
    return api::public_errors({*error});
  }
  return *tree;
}

/// What a verb answers whose request is one text.
core::Result<verbs::Reply> asked(std::string_view verb, const char* key, const std::string& text) {
  return api::guarded_result([&] {
    verbs::Request request(document::Node::map(
        {{.key = key, .value = document::Node::string(text, {}), .where = {}}}, {}));
    verbs::Host host;
    return verbs::find_verb(verb)->run(request, host);
  });
}

scenario::Purpose inner(Purpose purpose) {
  switch (purpose) {
    case Purpose::kRun:
      return scenario::Purpose::kRun;
    case Purpose::kReplay:
      return scenario::Purpose::kReplay;
    case Purpose::kLook:
      break;
  }
  return scenario::Purpose::kLook;
}

std::vector<scenario::Override> overrides_of(const std::vector<Setting>& settings) {
  std::vector<scenario::Override> overrides;
  for (const Setting& setting : settings) {
    overrides.push_back({.path = setting.path, .text = setting.text});
  }
  return overrides;
}

/// An object from which another was moved, or that was made of nothing.
Errors empty_object(const char* what) {
  return api::public_errors(
      {{.code = core::ErrorCode::kUsage, .message = fmt::format("this {} is empty", what)}});
}

Expected<Scenario> loaded(core::Result<scenario::LoadedScenario> result) {
  if (!result) {
    return api::public_errors(result.error());
  }
  return Scenario(std::make_shared<const scenario::LoadedScenario>(std::move(*result)));
}

}  // namespace

std::string version() {
  return std::string(core::version());
}

Scenario::Scenario(std::shared_ptr<const scenario::LoadedScenario> loaded)
    : loaded_(std::move(loaded)) {}

Expected<Scenario> Scenario::from_json(std::string_view json,
                                       const std::vector<Setting>& settings,
                                       Purpose purpose) {
  return loaded(api::guarded_result([&]() -> core::Result<scenario::LoadedScenario> {
    const auto document = document::parse_json(json.empty() ? "{}" : json, "");
    if (!document) {
      return core::fail(document.error());
    }
    return scenario::read_scenario(*document, overrides_of(settings), inner(purpose));
  }));
}

Expected<Scenario> Scenario::from_file(const std::string& path,
                                       const std::vector<Setting>& settings,
                                       Purpose purpose) {
  return loaded(api::guarded_result(
      [&] { return scenario::load_scenario(path, overrides_of(settings), inner(purpose)); }));
}

Expected<ResolvedScenario> Scenario::resolve() const {
  if (!loaded_) {
    return empty_object("scenario");
  }
  auto resolved = api::guarded_result([&] { return scenario::resolve(*loaded_); });
  if (!resolved) {
    return api::public_errors(resolved.error());
  }
  return ResolvedScenario(std::make_shared<const scenario::Resolved>(std::move(*resolved)));
}

Expected<Tree> Scenario::step(const StepWork& work) const {
  if (!loaded_) {
    return empty_object("scenario");
  }
  const auto tree = api::guarded_result([&]() -> core::Result<document::Node> {
    const auto batch = verbs::parse_batch(work.decode, work.prefill, work.samples);
    if (!batch) {
      return core::fail(batch.error());
    }
    const auto steps = verbs::price_step(*loaded_, *batch, work.compare);
    if (!steps) {
      return core::fail(steps.error());
    }
    return verbs::steps_tree(*steps, !work.compare.empty());
  });
  if (!tree) {
    return api::public_errors(tree.error());
  }
  return shared(*tree);
}

ResolvedScenario::ResolvedScenario(std::shared_ptr<const scenario::Resolved> resolved)
    : resolved_(std::move(resolved)) {}

Expected<Tree> ResolvedScenario::config() const {
  if (!resolved_) {
    return empty_object("resolved scenario");
  }
  return made([&] { return scenario::to_node(resolved_->scenario()); });
}

Expected<Tree> ResolvedScenario::explanation() const {
  if (!resolved_) {
    return empty_object("resolved scenario");
  }
  return made([&] { return verbs::explanation_tree(*resolved_); });
}

Expected<RunResult> ResolvedScenario::run(const Hooks& hooks) const {
  if (!resolved_) {
    return empty_object("resolved scenario");
  }
  auto result = api::guarded_result([&]() -> core::Result<RunResult> {
    api::CallHost host(hooks);
    const auto found = verbs::run_for(host, *resolved_, {}, {});
    if (!found) {
      return core::fail(found.error());
    }
    return RunResult(shared(verbs::result_tree(*found)),
                     found->partial,
                     !verbs::unanswered(*resolved_, found->summary));
  });
  if (!result) {
    return api::public_errors(result.error());
  }
  return *std::move(result);
}

Expected<Tree> list(const std::string& kind) {
  const auto reply = asked("list", "kind", kind);
  return reply ? made([&] { return reply->tree(); }) : api::public_errors(reply.error());
}

Expected<std::string> schema(const std::string& name) {
  const auto reply = asked("schema", "name", name);
  if (!reply) {
    return api::public_errors(reply.error());
  }
  return *reply->text("json", {});
}

}  // namespace v0
}  // namespace ridgeline
