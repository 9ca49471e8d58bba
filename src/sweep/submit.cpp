#include "sweep/submit.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/characters.hpp"
#include "core/result.hpp"
#include "core/shell_word.hpp"
#include "document/reader.hpp"
#include "document/yaml_writer.hpp"

namespace ridgeline::sweep {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += " " + core::shell_word(word);
  }
  return text;
}

/// The store as a path that no program takes for a flag.
std::string store_path(const Submission& submission) {
  return (submission.store.starts_with('-') ? "./" : "") + submission.store;
}

/// What a script says of itself, and of what it does.
std::string about(const Submission& submission, std::string_view use) {
  return core::comment_line(fmt::format("{} points in {} shards, sweep {}.",
                                        submission.points,
                                        submission.shards,
                                        submission.digest)) +
         core::comment_line(use);
}

/// A job array, and a job behind it that merges. Run by `bash`, the script submits both; run by
/// Slurm, it is a task of the array. A task that Slurm starts again goes on where it stopped.
std::string slurm(const Submission& submission) {
  const std::string store = core::shell_word(store_path(submission));
  const std::string merged = core::shell_word(store_path(submission) + "/merged.ndjson");
  return fmt::format(
      R"(#!/bin/bash
#SBATCH --job-name=ridgeline-sweep
#SBATCH --array=0-{last}
#SBATCH --cpus-per-task=1
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=sweep-%A_%a.log
{about}set -euo pipefail
ridgeline=${{RIDGELINE:-ridgeline}}
if [[ -z ${{SLURM_ARRAY_TASK_ID:-}} ]]; then
  array=$(sbatch --parsable "$0")
  merge=$(printf '%q' "$ridgeline"){merge}
  sbatch --job-name=ridgeline-merge --dependency="afterany:$array" --output=sweep-%A-merge.log --wrap "$merge"
  exit
fi
exec "$ridgeline" sweep run{words} --store {store} \
  --shard "$SLURM_ARRAY_TASK_ID/{shards}" --jobs "${{SLURM_CPUS_PER_TASK:-1}}" --format quiet
)",
      fmt::arg("last", submission.shards - 1),
      fmt::arg("about",
               about(submission, fmt::format("Submit with: bash THIS_FILE. Results: {}.", merged))),
      // A word of the word: Slurm gives it to a shell.
      fmt::arg("merge", core::shell_word(fmt::format(" sweep merge {} -o {}", store, merged))),
      fmt::arg("store", store),
      fmt::arg("words", joined(submission.words)),
      fmt::arg("shards", submission.shards));
}

/// The text without what GNU parallel replaces, which all begins with a brace: nothing in quotes is
/// put behind each. A word with a brace is in quotes.
std::string without_fields(std::string_view words) {
  std::string text;
  for (const char c : words) {
    text += c;
    text += c == '{' ? "''" : "";
  }
  return text;
}

/// HOSTS names machines (`-S` of GNU parallel) that share the folder; without it, this one.
std::string parallel(const Submission& submission) {
  const std::string store = core::shell_word(store_path(submission));
  return fmt::format(
      R"(#!/bin/bash
{about}set -euo pipefail
ridgeline=${{RIDGELINE:-ridgeline}}
store={store}
mkdir -p "$store"
run=$(printf '%q' "$ridgeline"){run}
seq 0 {last} | parallel --will-cite ${{HOSTS:+-S "$HOSTS" --workdir "$PWD"}} --retries 3 \
  --joblog "$store/joblog" "$run --shard {{}}/{shards}"
exec "$ridgeline" sweep merge "$store" -o "$store/merged.ndjson"
)",
      fmt::arg("about",
               about(submission,
                     fmt::format("Run with: bash THIS_FILE, or HOSTS=4/node1,4/node2 bash "
                                 "THIS_FILE. Again: goes on where it stopped. Results: "
                                 "{}/merged.ndjson.",
                                 store_path(submission)))),
      fmt::arg("store", store),
      // A word of the word: parallel gives it to a shell.
      fmt::arg("run",
               core::shell_word(
                   without_fields(fmt::format(" sweep run{} --store {} --jobs 1 --format quiet",
                                              joined(submission.words),
                                              store)))),
      fmt::arg("last", submission.shards - 1),
      fmt::arg("shards", submission.shards));
}

/// An Indexed Job. Files of the sweep and its store lie on a volume that all pods share.
std::string kubernetes(const Submission& submission) {
  std::vector<std::string> all = {"sweep", "run"};
  all.insert(all.end(), submission.words.begin(), submission.words.end());
  all.insert(all.end(), {"--store", store_path(submission), "--format", "quiet", "--shard"});
  std::string words;
  for (const std::string& word : all) {
    // Kubernetes puts variables in place of $(NAME); a dollar is written twice.
    std::string doubled;
    for (const char c : word) {
      doubled.append(c == '$' ? 2 : 1, c);
    }
    words += fmt::format("            - {}\n", document::yaml_word(doubled));
  }
  words += fmt::format("            - \"$(JOB_COMPLETION_INDEX)/{}\"\n", submission.shards);
  return fmt::format(
      R"({about}apiVersion: batch/v1
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
      fmt::arg("about",
               about(submission,
                     "The claim `ridgeline-sweep` is a volume that all pods share (ReadWriteMany); "
                     "it holds the sweep's files.") +
                   core::comment_line(fmt::format(
                       "kubectl apply -f THIS_FILE; then, on that volume: ridgeline sweep merge "
                       "{} -o merged.ndjson",
                       core::shell_word(store_path(submission))))),
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
