// MessagePack: of each kind the shortest form, at both sides of each limit.
#include "serve/msgpack.hpp"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace ridgeline::serve {
namespace {

std::string number(std::uint64_t value) {
  MsgpackWriter writer;
  writer.number(value);
  return writer.bytes();
}

TEST(Msgpack, NumbersTakeWhatTheyNeed) {
  EXPECT_EQ(number(0), std::string("\x00", 1));
  EXPECT_EQ(number(127), "\x7f");
  EXPECT_EQ(number(128), "\xcc\x80");
  EXPECT_EQ(number(255), "\xcc\xff");
  EXPECT_EQ(number(256), std::string("\xcd\x01\x00", 3));
  EXPECT_EQ(number(65'536), std::string("\xce\x00\x01\x00\x00", 5));
  EXPECT_EQ(number(4'294'967'296), std::string("\xcf\x00\x00\x00\x01\x00\x00\x00\x00", 9));
}

TEST(Msgpack, ArraysAndTextsSayTheirSize) {
  MsgpackWriter arrays;
  arrays.array(15);
  arrays.array(16);
  arrays.array(65'536);
  EXPECT_EQ(arrays.bytes(), std::string("\x9f\xdc\x00\x10\xdd\x00\x01\x00\x00", 9));
  MsgpackWriter texts;
  texts.text("ab");
  texts.text(std::string(32, 'x'));
  EXPECT_EQ(texts.bytes(),
            "\xa2"
            "ab"
            "\xd9\x20" +
                std::string(32, 'x'));
  texts.clear();
  texts.text(std::string(256, 'x'));
  EXPECT_EQ(texts.bytes(), std::string("\xda\x01\x00", 3) + std::string(256, 'x'));
  texts.clear();
  texts.nil();
  texts.real(-0.5);
  EXPECT_EQ(texts.bytes(), std::string("\xc0\xcb\xbf\xe0\x00\x00\x00\x00\x00\x00", 10));
}

}  // namespace
}  // namespace ridgeline::serve
