#include <string>
#include <vector>

#include <fmt/core.h>

#include "document/document.hpp"
#include "lab/studies/h5_measured.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies::h5 {
namespace {

/// What each statement's evidence is, and what a user does about it.
struct Reading {
  const char* id;
  const char* quality;
  const char* implication;
};
constexpr Reading kReadings[] = {
    {"H5.3", "exact: equal digests", "one client cannot tell forms of mixed steps apart"},
    {"H5.4",
     "exact: two steps of the model",
     "do not use the default's average where prompts are near 100 tokens: use smooth-wa or max"},
    {"H5.5", "exact: twelve steps of the model", "name the form: averages are not interchangeable"},
    {"H5.6",
     "measured, every run under both forms; controls with constant MFUs",
     "do not expect the additive form to be the faster one"},
    {"H5.7", "measured, every run under both rules", "weight_loads needs no thought"},
    {"H5.9",
     "measured, every run under both forms; not per step",
     "mend the other errors first: prefer `kernel`, which adds shared GEMMs and both attentions"},
};

std::string class_of(const std::string& id, bool holds) {
  return id == "H5.9" ? (holds ? "supported question" : "open question")
         : holds      ? "confirmation"
                      : "correction";
}

}  // namespace

void add_classification(Outcome& out) {
  StudyTable findings{.name = "findings", .rows = {}};
  for (const document::Node& one : out.tables[3].rows) {
    const std::string& id = one.find("id")->as_string();
    for (const Reading& reading : kReadings) {
      if (reading.id == id) {
        findings.rows.push_back(row("id",
                                    id,
                                    "class",
                                    class_of(id, one.find("holds")->as_bool()),
                                    "finding",
                                    one.find("computed")->as_string(),
                                    "evidence",
                                    reading.quality,
                                    "for_users",
                                    reading.implication));
      }
    }
  }
  const bool measured = out.skipped.empty();
  StudyTable facts{.name = "metadata", .rows = {}};
  const auto add = [&](const char* name, const std::string& value) {
    facts.rows.push_back(row("name", name, "value", value));
  };
  add("status", name(out.by_rule));
  add("family", "step-time model: mixed steps");
  add("tier", measured ? "measured servers" : "the model alone");
  add("type", "paired comparison: each run under every arm, the same arrivals");
  add("date", "published before H6 (2026-02-24), which replaced its look-ups");
  add("seed", "arrivals: seed 0, one history; bootstrap: seed 1, 1,000 draws of servers");
  add("preconditions",
      "measured kernels of an H100; dense networks in 16 bits; runs below saturation");
  add("delta convention",
      "gain = mean absolute error of the default less the additive form's, in points: positive is "
      "nearer to the measurement; signed errors are predicted over measured, less 1");
  out.tables.push_back(std::move(findings));
  out.tables.push_back(std::move(facts));
}

}  // namespace ridgeline::studies::h5
