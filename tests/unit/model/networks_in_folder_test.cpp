#include "model/networks_in_folder.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.hpp"

namespace ridgeline::model {
namespace {

TEST(NetworksInFolder, ReadsWhatIsANetworkAndRefusesTheRestByName) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "ridgeline_networks_in_folder_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "inner");
  std::filesystem::copy_file(test::source_dir() / "data/models/llama-3.1-8b.json",
                             folder / "inner/config.json",
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(folder / "bad_config.json") << "{}";
  std::ofstream(folder / "a_generation_config.json") << "{}";
  const auto networks = networks_in_folder(folder.string());
  ASSERT_TRUE(networks);
  ASSERT_EQ(networks->size(), 2U);
  EXPECT_EQ((*networks)[0].name, "bad");
  EXPECT_FALSE((*networks)[0].network);
  EXPECT_EQ((*networks)[1].name, "inner");
  EXPECT_TRUE((*networks)[1].network);
  std::filesystem::remove_all(folder);
  EXPECT_FALSE(networks_in_folder(folder.string()));
}

}  // namespace
}  // namespace ridgeline::model
