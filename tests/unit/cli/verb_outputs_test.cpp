#include "cli/verb_outputs.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "report/palette.hpp"

namespace ridgeline::cli {
namespace {

namespace fs = std::filesystem;

Arguments outputs_to(const std::string& path) {
  Arguments arguments;
  arguments.flags = {{.name = "output", .value = path, .typed = "-o"}};
  return arguments;
}

TEST(VerbOutputs, AFileGetsTheFormatOfItsExtension) {
  const fs::path file = fs::path(testing::TempDir()) / "verb_outputs.json";
  Manners manners;
  manners.format = "quiet";
  auto outputs = VerbOutputs::open(outputs_to(file.string()), manners, {"table", "json"});
  ASSERT_TRUE(outputs);
  const auto name_of = [](std::string_view format, const report::TextStyle& /*style*/) {
    return std::string(format);
  };
  EXPECT_EQ(outputs->put_out(name_of, manners), ExitCode::kOk);
  std::ifstream stream(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "json");
  fs::remove(file);
}

TEST(VerbOutputs, RefusesFormatsThatTheVerbDoesNotHave) {
  const auto outputs = VerbOutputs::open(outputs_to("steps.csv"), {}, {"table", "json"});
  ASSERT_FALSE(outputs);
  EXPECT_THAT(
      outputs.error().front().message,
      testing::HasSubstr("found 'steps.csv', expected a name that ends in one of .txt, .json"));
}

}  // namespace
}  // namespace ridgeline::cli
