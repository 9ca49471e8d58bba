#include "sim/validate/request_log.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"

namespace ridgeline::sim::validate {
namespace {

std::string request_file(const std::string& text) {
  const auto path = std::filesystem::path(testing::TempDir()) / "request_log.csv";
  std::ofstream(path) << text;
  return path.string();
}

TEST(RequestLog, TakesOnePhaseOfOneRunInOrderOfArrival) {
  const auto path = request_file(
      "status,exp,phase,arrival_s,input_tokens,output_tokens\n"
      "ok,a,1,2.5,100,10\n"
      "ok,a,1,0.5,200,20\n"
      "failed,a,1,0.7,1,1\n"
      "ok,b,1,0.1,1,1\n"
      "ok,a,2,0.1,1,1");
  const auto rows = read_request_log(path, "a", "1").value();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].arrival_s, 0.5);
  EXPECT_EQ(rows[0].input_tokens, 200);
  EXPECT_EQ(rows[1].output_tokens, 10);
}

TEST(RequestLog, SaysWhatIsWrong) {
  const auto message = [](const std::string& text) {
    const auto rows = read_request_log(request_file(text), "a", "1");
    return rows ? std::string("none") : rows.error().front().message;
  };
  const std::string header = "exp,phase,arrival_s,input_tokens,output_tokens\n";
  EXPECT_THAT(message("exp,phase,arrival_s,input_tokens\n"),
              testing::HasSubstr("column output_tokens"));
  EXPECT_THAT(message(header + "a,1,0\n"), testing::HasSubstr("3 cells, expected 5"));
  EXPECT_THAT(message(header + "a,1,soon,1,1\n"), testing::HasSubstr("line 2"));
  EXPECT_THAT(message(header + "a,1,0,0,1\n"), testing::HasSubstr("line 2"));
  EXPECT_THAT(message(header + "a,1,-1,1,1\n"), testing::HasSubstr("line 2"));
  EXPECT_THAT(message(header), testing::HasSubstr("no request of phase 1"));
  EXPECT_THAT(message(""), testing::HasSubstr("column exp"));
}

}  // namespace
}  // namespace ridgeline::sim::validate
