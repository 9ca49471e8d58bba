#include "core/sha256.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ridgeline::core {
namespace {

constexpr std::size_t kBlock = 64;  // Bytes.

// FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64
// primes.
constexpr std::array<std::uint32_t, 64> kRounds = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2};

// 5.3.3: of the square roots of the first eight primes.
constexpr Sha256 kStart = {
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    word = (word << 8U) | static_cast<unsigned char>(bytes[at + i]);
  }
  return word;
}

/// 6.2.2, of one block.
void mix(Sha256& hash, std::string_view block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t t = 0; t < 16; ++t) {
    w[t] = word_at(block, 4 * t);
  }
  for (std::size_t t = 16; t < w.size(); ++t) {
    const std::uint32_t a = w[t - 15];
    const std::uint32_t b = w[t - 2];
    w[t] = w[t - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3U)) + w[t - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10U));
  }
  Sha256 s = hash;
  for (std::size_t t = 0; t < w.size(); ++t) {
    const std::uint32_t one = s[7] +
                              (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                              ((s[4] & s[5]) ^ (~s[4] & s[6])) + kRounds[t] + w[t];
    const std::uint32_t two = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) +
                              ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    s = {one + two, s[0], s[1], s[2], s[3] + one, s[4], s[5], s[6]};
  }
  for (std::size_t i = 0; i < hash.size(); ++i) {
    hash[i] += s[i];
  }
}

}  // namespace

Sha256 sha256(std::string_view bytes) {
  Sha256 hash = kStart;
  const std::uint64_t bits = std::uint64_t{8} * bytes.size();
  while (bytes.size() >= kBlock) {
    mix(hash, bytes.substr(0, kBlock));
    bytes.remove_prefix(kBlock);
  }
  // 5.1.1: a bit, zeros, and the length in bits.
  std::string rest(bytes);
  rest += '\x80';
  rest.resize((rest.size() + 8 <= kBlock ? kBlock : 2 * kBlock) - 8, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) {
    rest += static_cast<char>(
        static_cast<unsigned char>((bits >> static_cast<unsigned>(shift)) & 0xFFU));
  }
  for (std::size_t at = 0; at < rest.size(); at += kBlock) {
    mix(hash, std::string_view(rest).substr(at, kBlock));
  }
  return hash;
}

}  // namespace ridgeline::core
