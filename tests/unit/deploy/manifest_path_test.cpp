#include "deploy/manifest_path.hpp"

#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::deploy {
namespace {

std::string texts_at(const std::string& path) {
  const auto document = document::parse_yaml("a: {b: [1, 2], c: {d: x, e: y}}\nf: null\n", "f");
  std::string all;
  for (const Place& place : places_at(*document, {.node = document->find("a")}, path)) {
    all += place.key + "=" + plain_text(*place.node) + " ";
  }
  return all;
}

TEST(ManifestPath, StepsIntoMapsListsAndAlternatives) {
  EXPECT_EQ(texts_at("c.d"), "d=x ");
  EXPECT_EQ(texts_at("b[]"), "b=1 b=2 ");
  EXPECT_EQ(texts_at("c[]"), "d=x e=y ");
  EXPECT_EQ(texts_at("z | /a.c.e"), "e=y ");
  EXPECT_EQ(texts_at("/f | b"), "b=[1, 2] ");
  EXPECT_EQ(texts_at("z.y"), "");
}

}  // namespace
}  // namespace ridgeline::deploy
