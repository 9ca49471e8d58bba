#include "workload/traces/reading/byte_input.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "unit/workload/traces/trace_text.hpp"

namespace ridgeline::workload {
namespace {

using namespace std::string_literals;

// `printf 'arrival_s,input_tokens,output_tokens\n1,2,3\n' | gzip -n`, and the same through zstd.
const std::string kGzip =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x2c\x2a\xca\x2c\x4b\xcc\x89\x2f\xd6\xc9\xcc\x2b"
    "\x28"
    "\x2d\x89\x2f\xc9\xcf\x4e\xcd\x2b\xd6\xc9\x2f\x2d\x41\xf0\xb8\x0c\x75\x8c\x74\x8c\xb9\x00\xbd"
    "\x8a"
    "\x3b\x3f\x2b\x00\x00\x00"s;
const std::string kZstd =
    "\x28\xb5\x2f\xfd\x04\x58\x45\x01\x00\x14\x02\x61\x72\x72\x69\x76\x61\x6c\x5f\x73\x2c\x69\x6e"
    "\x70"
    "\x75\x74\x5f\x74\x6f\x6b\x65\x6e\x73\x2c\x6f\x75\x74\x0a\x31\x2c\x32\x2c\x33\x0a\x01\x00\xc6"
    "\x36"
    "\xc7\x10\x36\x62\x57"s;

const std::string kPlain = "arrival_s,input_tokens,output_tokens\n1,2,3\n";

std::string whole(const std::string& bytes) {
  const auto input = input_of(bytes);
  const auto text = read_whole(*input, "t");
  return text ? *text : core::to_string(text.error()[0]);
}

TEST(ByteInput, PlainBytesStayAsTheyAre) {
  EXPECT_EQ(whole(kPlain), kPlain);
  EXPECT_EQ(whole("ab"), "ab");
  EXPECT_EQ(whole(""), "");
}

TEST(ByteInput, GzipIsUnpacked) {
  EXPECT_EQ(whole(kGzip), kPlain);
  EXPECT_EQ(whole(kGzip + kGzip), kPlain + kPlain);
}

TEST(ByteInput, GzipThatIsCutShortIsAProblem) {
  EXPECT_EQ(whole(kGzip.substr(0, kGzip.size() - 12)),
            "t: the gzip data is cut short, expected it to go on");
  EXPECT_EQ(whole(kGzip.substr(0, 12)), "t: the gzip data is cut short, expected it to go on");
  EXPECT_EQ(read_trace_text(kGzip.substr(0, kGzip.size() - 4)).errors.at(0).message,
            "the gzip data is cut short, expected it to go on");
}

TEST(ByteInput, DamagedGzipIsAProblem) {
  std::string damaged = kGzip;
  damaged[20] = static_cast<char>(damaged[20] ^ 0x55);
  EXPECT_THAT(whole(damaged), ::testing::StartsWith("t: the gzip data is"));
}

TEST(ByteInput, ZstdIsUnpacked) {
  EXPECT_EQ(whole(kZstd), kPlain);
  EXPECT_EQ(whole(kZstd + kZstd), kPlain + kPlain);
  EXPECT_EQ(whole(kZstd.substr(0, kZstd.size() - 5)),
            "t: the zstd data is cut short, expected it to go on");
}

}  // namespace
}  // namespace ridgeline::workload
