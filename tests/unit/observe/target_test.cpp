#include "observe/target.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"

namespace ridgeline::observe {
namespace {

using ::testing::HasSubstr;

Address address(const char* text) {
  Address address;
  const bool is_v6 = std::string_view(text).find(':') != std::string_view::npos;
  address.size = is_v6 ? 16 : 4;
  EXPECT_EQ(inet_pton(is_v6 ? AF_INET6 : AF_INET, text, address.bytes.data()), 1) << text;
  return address;
}

TEST(Target, ReadsUrls) {
  const auto plain = parse_target("http://127.0.0.1:8000");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->base_url(), "http://127.0.0.1:8000");
  EXPECT_EQ(parse_target("http://localhost")->base_url(), "http://localhost:80");
  EXPECT_EQ(parse_target("https://host/team-a/v1/")->base_url(), "https://host:443/team-a");
  EXPECT_EQ(parse_target("http://[::1]:8000/v1")->base_url(), "http://[::1]:8000");
  EXPECT_EQ(parse_target("http://[::1]:8000/v1")->host, "::1");
  EXPECT_EQ(parse_target("unix:/run/a.sock")->socket, "/run/a.sock");
}

TEST(Target, RefusesWhatIsNoServer) {
  for (const char* text : {"",
                           "127.0.0.1:8000",
                           "ftp://host",
                           "http://",
                           "http://:8000",
                           "http://host:0",
                           "http://host:65536",
                           "http://host:80x",
                           "http://ho st",
                           "http://host/?a",
                           "http://host/#a",
                           "http://host/a b",
                           "http://host\r\nX: y",
                           "http://[::1",
                           "http://[::zz]:80",
                           "unix:a.sock",
                           "unix:"}) {
    const auto target = parse_target(text);
    ASSERT_FALSE(target.has_value()) << text;
    EXPECT_THAT(to_string(target.error().front()), HasSubstr("expected")) << text;
  }
  EXPECT_FALSE(parse_target("unix:/" + std::string(200, 'a')).has_value());
}

TEST(Target, DoesNotRepeatAKeyInAUrl) {
  const auto target = parse_target("http://me:sk-secret@host");
  ASSERT_FALSE(target.has_value());
  EXPECT_THAT(to_string(target.error().front()), ::testing::Not(HasSubstr("secret")));
}

TEST(Loopback, IsThisMachineAlone) {
  for (const char* text : {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(is_loopback(address(text))) << text;
  }
  for (const char* text : {"10.0.0.1",
                           "192.168.1.1",
                           "172.16.0.1",
                           "0.0.0.0",
                           "128.0.0.1",
                           "8.8.8.8",
                           "::",
                           "::2",
                           "fe80::1",
                           "fc00::1",
                           "::ffff:10.0.0.1",
                           "::127.0.0.1",
                           "::fffe:127.0.0.1",
                           "2001:db8::1"}) {
    EXPECT_FALSE(is_loopback(address(text))) << text;
  }
}

TEST(ChooseAddress, RefusesAHostWithAnAddressElsewhere) {
  const Target target = *parse_target("http://host:8000");
  const auto choose = [&](std::vector<Address> addresses, bool allow_remote) {
    const auto chosen = choose_address(target, addresses, allow_remote);
    return chosen ? chosen->text() : to_string(chosen.error().front());
  };
  EXPECT_EQ(choose({address("127.0.0.1")}, false), "127.0.0.1");
  EXPECT_EQ(choose({address("::1"), address("127.0.0.1")}, false), "127.0.0.1");
  EXPECT_EQ(choose({address("::1")}, false), "::1");
  for (const char* other : {"10.0.0.1", "8.8.8.8", "::ffff:10.0.0.1", "fe80::1"}) {
    EXPECT_THAT(choose({address("127.0.0.1"), address(other)}, false), HasSubstr(other));
    EXPECT_THAT(choose({address(other)}, false), HasSubstr("--allow-remote"));
    EXPECT_EQ(choose({address(other), address("127.0.0.1")}, true), address(other).text());
  }
  EXPECT_THAT(choose({}, true), HasSubstr("no address"));
}

TEST(ResolveHost, GivesTheAddressesOfALiteral) {
  const auto addresses = resolve_host(*parse_target("http://127.0.0.1:1"));
  ASSERT_TRUE(addresses.has_value());
  ASSERT_EQ(addresses->size(), 1U);
  EXPECT_EQ(addresses->front().text(), "127.0.0.1");
}

}  // namespace
}  // namespace ridgeline::observe
