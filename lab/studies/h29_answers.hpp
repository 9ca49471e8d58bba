#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>

#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"
#include "latency/roofline/step_cost.hpp"

/// What the two files of study H29 share.
namespace ridgeline::studies::h29 {

inline constexpr double kMicrosPerSecond = 1e6;
inline constexpr std::int64_t kFirstBucket = 512;
inline constexpr std::int64_t kLastBucket = 65536;

inline constexpr std::array<std::int64_t, 33> kSweep = {
    1,   2,   4,   8,   16,  32,  50,  64,   100,  128,  200,  256,  300,  384,  400,  450, 500,
    511, 512, 513, 600, 700, 800, 900, 1000, 1023, 1024, 1025, 1200, 1500, 1800, 2000, 2048};

/// The smallest bucket that holds a prompt; the largest for longer ones.
[[nodiscard]] std::int64_t bucket_for(std::int64_t length);

struct Subjects {
  std::unique_ptr<Subject> bucketed;
  std::unique_ptr<Subject> actual;
  std::unique_ptr<Subject> shipped;
  std::unique_ptr<Subject> hybrid;
  std::unique_ptr<Subject> least_64;
  std::unique_ptr<Subject> least_128;
};

/// One prompt, whole.
struct PromptCost {
  explicit PromptCost(const Subject& subject, std::int64_t length)
      : cost(subject.cost({.prefills = {{0, length}}})),
        step(cost.rounded_us),
        compute(std::llround(cost.prefill.compute() * kMicrosPerSecond)),
        memory(std::llround(cost.prefill.memory() * kMicrosPerSecond)) {}
  [[nodiscard]] bool memory_bound() const { return cost.prefill.memory_wins(); }

  latency::roofline::StepCost cost;
  std::int64_t step;  ///< Microseconds, as the next two.
  std::int64_t compute;
  std::int64_t memory;
};

[[nodiscard]] inline double ratio_of(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

/// The published ways out, at the length that decides.
void options_table(const Subjects& with, StudyTable& table);
/// What a bucket adds to a length, and what that adds to a step.
void waste_table(const Subjects& with, StudyTable& table);
/// Sentences of the text about the line through zero, and about what is slow.
void add_statements(const Subject& bucketed, StudyTable& table);
/// The root cause that the text names, verified again in its four steps (where, how large, which
/// way, without it), and the lengths at which things break even.
void cause_tables(const Subjects& with, StudyTable& causes, StudyTable& break_even);
/// The verdict by the published rule, of which either condition refutes, and the finding. `inside`
/// and `beyond` are the largest inflations up to 2,048 and up to 65,536 tokens.
void judge(const Subjects& with, double inside, double beyond, Outcome& out);

}  // namespace ridgeline::studies::h29
