#include "document/gzip.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/gzip_writer.hpp"

namespace ridgeline::document {
namespace {

/// "a,b\n1,2\n" as `gzip -n9` of GNU gzip 1.12 packs it.
std::string packed_table() {
  const unsigned char bytes[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                 0x4b, 0xd4, 0x49, 0xe2, 0x32, 0xd4, 0x31, 0xe2, 0x02, 0x00,
                                 0x7b, 0x07, 0x97, 0x0a, 0x08, 0x00, 0x00, 0x00};
  return {reinterpret_cast<const char*>(bytes), sizeof bytes};
}

TEST(Gzip, UnpacksWhatGzipPacked) {
  ASSERT_TRUE(is_gzip(packed_table()));
  EXPECT_EQ(gunzip(packed_table(), "t.gz", 100).value(), "a,b\n1,2\n");
}

TEST(Gzip, MembersFollowEachOther) {
  EXPECT_EQ(gunzip(packed_table() + packed_table(), "t.gz", 100).value(), "a,b\n1,2\na,b\n1,2\n");
}

TEST(Gzip, RefusesCutDamagedAndBoundless) {
  const std::string whole = packed_table();
  for (std::size_t length = 2; length < whole.size(); ++length) {
    const auto cut = gunzip(std::string_view(whole).substr(0, length), "t.gz", 100);
    ASSERT_FALSE(cut.has_value()) << length;
    EXPECT_EQ(cut.error().front().where.file, "t.gz");
  }
  std::string damaged = whole;
  damaged[20] = static_cast<char>(damaged[20] ^ 1);  // the checksum
  EXPECT_FALSE(gunzip(damaged, "t.gz", 100).has_value());
  EXPECT_FALSE(gunzip(whole + "x", "t.gz", 100).has_value());
  const auto large = gunzip(whole, "t.gz", 7);
  ASSERT_FALSE(large.has_value());
  EXPECT_NE(large.error().front().message.find("limit of 7 bytes"), std::string::npos);
}

// 64 MiB are free, and then a hundred times the size, where gzip reaches a thousand.
TEST(Gzip, UnpacksNoMoreThanItsSizeCanHold) {
  constexpr std::size_t kMiB = std::size_t{1} << 20U;
  EXPECT_EQ(most_unpacked(1, 1024 * kMiB), 64 * kMiB);
  EXPECT_EQ(most_unpacked(2 * kMiB, 1024 * kMiB), 200 * kMiB);
  EXPECT_EQ(most_unpacked(20 * kMiB, 1024 * kMiB), 1024 * kMiB);
  EXPECT_EQ(most_unpacked(~std::size_t{0}, 1024 * kMiB), 1024 * kMiB);
  std::ostringstream packed;
  GzipWriter writer(packed);
  std::ostream out(&writer);
  const std::string blanks(kMiB, ' ');
  for (int i = 0; i < 65; ++i) {
    out << blanks;
  }
  writer.finish();
  const auto bomb = gunzip(packed.str(), "t.gz", 1024 * kMiB);
  ASSERT_FALSE(bomb.has_value());
  EXPECT_EQ(bomb.error().front().message,
            "unpacks to more than the limit of 67108864 bytes for its size");
}

TEST(Gzip, PlainFilesPassThrough) {
  const auto path = std::filesystem::path(testing::TempDir()) / "plain.csv";
  std::ofstream(path) << "a,b\n";
  EXPECT_EQ(read_unpacked(path.string(), 100).value(), "a,b\n");
  EXPECT_FALSE(is_gzip("a,b"));
  EXPECT_FALSE(is_gzip(""));
  EXPECT_FALSE(read_unpacked("no/such/file", 100).has_value());
}

}  // namespace
}  // namespace ridgeline::document
