#include "cli/loopback.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "serve/net/http_parser.hpp"

namespace ridgeline::cli {
namespace {

bool is_refused(std::string host, std::string name = "accept", std::string value = "*/*") {
  serve::net::HttpRequest request;
  request.headers = {{"host", std::move(host)}, {std::move(name), std::move(value)}};
  return comes_from_elsewhere(request, "8123");
}

TEST(Loopback, OtherPagesAndNamesAreRefused) {
  EXPECT_FALSE(is_refused("127.0.0.1:8123"));
  EXPECT_FALSE(is_refused("localhost:8123", "origin", "http://localhost:8123"));
  EXPECT_FALSE(is_refused("localhost:8123", "sec-fetch-site", "same-origin"));
  EXPECT_TRUE(is_refused("example.org:8123"));
  EXPECT_TRUE(is_refused("127.0.0.1:80"));
  EXPECT_TRUE(is_refused("localhost:8123", "origin", "https://example.org"));
  EXPECT_TRUE(is_refused("localhost:8123", "origin", "null"));
  EXPECT_TRUE(is_refused("localhost:8123", "sec-fetch-site", "cross-site"));
}

TEST(Loopback, TokensDiffer) {
  EXPECT_EQ(random_token().size(), 32U);
  EXPECT_NE(random_token(), random_token());
}

}  // namespace
}  // namespace ridgeline::cli
