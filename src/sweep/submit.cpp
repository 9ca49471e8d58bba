#include "sweep/submit.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/shell_word.hpp"
#include "document/reader.hpp"

namespace ridgeline::sweep {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += " " + core::shell_word(word);
  }
  return text;
}

/// What a script says of itself.
std::string about(const Submission& submission) {
  return fmt::format("# {} points in {} shards, sweep {}.\n",
                     submission.points,
                     submission.shards,
                     submission.digest);
}

/// A job array, and a job behind it that merges. Run by `bash`, the script submits both; run by
/// Slurm, it is a task of the array. A task that Slurm starts again goes on where it stopped.
std::string slurm(const Submission& submission) {
  return fmt::format(
      R"(#!/bin/bash
#SBATCH --job-name=ridgeline-sweep
#SBATCH --array=0-{last}
#SBATCH --cpus-per-task=1
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=sweep-%A_%a.log
{about}# Submit with: bash THIS_FILE. Results: {store}/merged.ndjson.
set -euo pipefail
ridgeline=${{RIDGELINE:-ridgeline}}
store={store}
if [[ -z ${{SLURM_ARRAY_TASK_ID:-}} ]]; then
  array=$(sbatch --parsable "$0")
  merge=$(printf '%q sweep merge %q -o %q' "$ridgeline" "$store" "$store/merged.ndjson")
  sbatch --job-name=ridgeline-merge --dependency="afterany:$array" --output=sweep-%A-merge.log --wrap "$merge"
  exit
fi
exec "$ridgeline" sweep run{words} --store "$store" \
  --shard "$SLURM_ARRAY_TASK_ID/{shards}" --jobs "${{SLURM_CPUS_PER_TASK:-1}}" --format quiet
)",
      fmt::arg("last", submission.shards - 1),
      fmt::arg("about", about(submission)),
      fmt::arg("store", core::shell_word(submission.store)),
      fmt::arg("words", joined(submission.words)),
      fmt::arg("shards", submission.shards));
}

/// HOSTS names machines (`-S` of GNU parallel) that share the folder; without it, this one.
std::string parallel(const Submission& submission) {
  return fmt::format(
      R"(#!/bin/bash
{about}# Run with: bash THIS_FILE, or HOSTS=4/node1,4/node2 bash THIS_FILE. Again: goes on where it stopped.
# Results: {store}/merged.ndjson.
set -euo pipefail
ridgeline=${{RIDGELINE:-ridgeline}}
store={store}
mkdir -p "$store"
run=$(printf '%q sweep run{escaped} --store %q --jobs 1 --format quiet' "$ridgeline" "$store")
seq 0 {last} | parallel --will-cite ${{HOSTS:+-S "$HOSTS" --workdir "$PWD"}} --retries 3 \
  --joblog "$store/joblog" "$run --shard {{}}/{shards}"
exec "$ridgeline" sweep merge "$store" -o "$store/merged.ndjson"
)",
      fmt::arg("about", about(submission)),
      fmt::arg("store", core::shell_word(submission.store)),
      fmt::arg("escaped",
               [&] {
                 // Inside the single quotes of printf's format, where % begins a field.
                 std::string text;
                 for (const char c : joined(submission.words)) {
                   text += c == '\''   ? R"('\'')"
                           : c == '%'  ? "%%"
                           : c == '\\' ? R"(\\)"
                                       : std::string(1, c);
                 }
                 return text;
               }()),
      fmt::arg("last", submission.shards - 1),
      fmt::arg("shards", submission.shards));
}

/// A word in double quotes, as YAML and JSON read it.
std::string yaml_word(std::string_view word) {
  std::string text = "\"";
  for (const char c : word) {
    text += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
  }
  return text + "\"";
}

/// An Indexed Job. Files of the sweep and its store lie on a volume that all pods share.
std::string kubernetes(const Submission& submission) {
  std::string words;
  std::vector<std::string> all = {"sweep", "run"};
  all.insert(all.end(), submission.words.begin(), submission.words.end());
  for (const std::string& word : {std::string("--store"),
                                  submission.store,
                                  std::string("--shard"),
                                  fmt::format("$(JOB_COMPLETION_INDEX)/{}", submission.shards),
                                  std::string("--format"),
                                  std::string("quiet")}) {
    all.push_back(word);
  }
  for (const std::string& word : all) {
    words += fmt::format("            - {}\n", yaml_word(word));
  }
  return fmt::format(
      R"({about}# The claim `ridgeline-sweep` is a volume that all pods share (ReadWriteMany); it holds the sweep's files.
# kubectl apply -f THIS_FILE; then, on that volume: ridgeline sweep merge {store} -o merged.ndjson
apiVersion: batch/v1
kind: Job
metadata:
  name: ridgeline-sweep-{name}
spec:
  completionMode: Indexed
  completions: {shards}
  parallelism: {shards}
  backoffLimitPerIndex: 3
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: sweep
          image: ridgeline:latest
          workingDir: /sweep
          command: ["ridgeline"]
          args:
{words}          resources:
            requests:
              cpu: "1"
          volumeMounts:
            - name: sweep
              mountPath: /sweep
      volumes:
        - name: sweep
          persistentVolumeClaim:
            claimName: ridgeline-sweep
)",
      fmt::arg("about", about(submission)),
      fmt::arg("store", submission.store),
      fmt::arg("name", submission.digest.substr(0, 8)),
      fmt::arg("shards", submission.shards),
      fmt::arg("words", words));
}

}  // namespace

std::span<const SubmitEngine> submit_engines() {
  static constexpr auto kEngines = std::to_array<SubmitEngine>({
      {.name = "slurm", .summary = "a Slurm job array and a merge behind it", .write = slurm},
      {.name = "parallel", .summary = "GNU parallel, here or over ssh", .write = parallel},
      {.name = "kubernetes", .summary = "an Indexed Job", .write = kubernetes},
  });
  return kEngines;
}

core::Result<const SubmitEngine*> find_submit_engine(const std::string& name) {
  std::vector<std::string> names;
  for (const SubmitEngine& engine : submit_engines()) {
    if (engine.name == name) {
      return &engine;
    }
    names.emplace_back(engine.name);
  }
  const auto meant = document::nearest(name, names);
  return core::fail(
      core::Error{.field = "--engine",
                  .message = fmt::format("found \"{}\", expected {}", name, fmt::join(names, ", ")),
                  .where = {.file = "command line"},
                  .hint = meant ? fmt::format("did you mean {}?", *meant) : "--engine slurm"});
}

}  // namespace ridgeline::sweep
