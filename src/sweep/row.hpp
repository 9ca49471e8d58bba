#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::sweep {

/// What came of a point.
enum class Status : std::uint8_t {
  kOk,          ///< It has a result.
  kInfeasible,  ///< It cannot run: the network does not fit, or the like.
  kRefused,     ///< Its settings are refused: they contradict each other, or do not divide.
  kFailed,      ///< Our fault.
};
inline constexpr std::size_t kNumStatuses = 4;
[[nodiscard]] const char* name(Status status);
/// What a sweep whose points have these statuses comes to: the gravest, but that a network does not
/// fit is an answer, unless no point ran.
[[nodiscard]] Status outcome_of(const std::array<std::int64_t, kNumStatuses>& by_status);

/// A finished point, before it is written.
struct Row {
  std::int64_t ordinal = 0;
  std::string id;
  document::Node point;   ///< The path of each axis, and its value.
  document::Node result;  ///< For Status::kOk.
  core::Errors errors;    ///< For the other statuses; empty where there is a result.
  double wall_time_s = 0.0;
};

/// The row as a line of a shard's file, with its line break. What may differ from run to run stands
/// last, under `run_info`: there, behind all that it is of, the line's checksum.
[[nodiscard]] std::string line_of(const Row& row);

/// The parts of such a line that a merge needs; the texts point into the line.
struct RowView {
  std::int64_t ordinal = 0;
  std::string_view id;
  Status status = Status::kOk;
  std::string_view reason;            ///< As written, in quotes; of those without a result.
  std::string_view without_run_info;  ///< All but the `run_info` and the last brace.
  double wall_time_s = 0.0;
  bool has_checksum = false;  ///< Earlier versions wrote none.
};
/// Reads a line without its break; nothing where it is not a whole row, or not what its checksum is
/// of.
[[nodiscard]] std::optional<RowView> read_line(std::string_view line);

}  // namespace ridgeline::sweep
