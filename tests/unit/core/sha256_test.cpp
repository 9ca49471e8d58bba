#include "core/sha256.hpp"

#include <string>

#include <gtest/gtest.h>

namespace ridgeline::core {
namespace {

TEST(Sha256, OfThePublishedExamples) {
  // FIPS 180-2, appendix B, and the empty text.
  EXPECT_EQ(sha256("abc"),
            (Sha256{0xBA7816BF,
                    0x8F01CFEA,
                    0x414140DE,
                    0x5DAE2223,
                    0xB00361A3,
                    0x96177A9C,
                    0xB410FF61,
                    0xF20015AD}));
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            (Sha256{0x248D6A61,
                    0xD20638B8,
                    0xE5C02693,
                    0x0C3E6039,
                    0xA33CE459,
                    0x64FF2167,
                    0xF6ECEDD4,
                    0x19DB06C1}));
  EXPECT_EQ(sha256("")[0], 0xE3B0C442U);
  EXPECT_EQ(sha256(std::string(1'000'000, 'a'))[0], 0xCDC76E5CU);
}

}  // namespace
}  // namespace ridgeline::core
