#include "scenario/patch.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

document::Node document(std::string_view text) {
  const auto node = document::parse_yaml(text, "doc.yaml");
  EXPECT_TRUE(node);
  return *node;
}

Patch patch(std::string_view target, std::string_view key, std::string_view value) {
  return {.target = std::string(target), .key = std::string(key), .value = document(value)};
}

TEST(ApplyPatches, ReplacesAddsAndLeavesTheRest) {
  const auto patched = apply_patches(document("{a: 1, b: {c: 2, d: 3}, e: x}"),
                                     {patch("model", "a", "7"),
                                      patch("model", "b.c", "8"),
                                      patch("model", "f", "new"),
                                      patch("hardware", "e", "untouched")},
                                     "model");
  ASSERT_TRUE(patched);
  EXPECT_EQ(flow_text(*patched), "{a: 7, b: {c: 8, d: 3}, e: x, f: new}");
}

TEST(ApplyPatches, MarksWhatItSets) {
  const auto patched = apply_patches(document("{a: 1, b: 2}"), {patch("model", "a", "7")}, "model");
  ASSERT_TRUE(patched);
  EXPECT_EQ(patched->find("a")->where().file, "command line");
  EXPECT_EQ(patched->find("b")->where().file, "doc.yaml");
}

TEST(ApplyPatches, CannotDescendIntoAValue) {
  const auto patched = apply_patches(
      document("{a: 1}"), {patch("model", "a.b", "7"), patch("model", "c.d", "7")}, "model");
  ASSERT_FALSE(patched);
  ASSERT_EQ(patched.error().size(), 2U);
  EXPECT_EQ(patched.error()[0].field, "set.model.a.b");
  EXPECT_THAT(patched.error()[0].message, testing::HasSubstr("above it stands 1"));
}

TEST(LocatePatchError, GivesTheUserSName) {
  const std::vector<Patch> patches = {patch("model", "layers", "x")};
  core::Error nested{.field = "config.layers", .message = "m"};
  locate_patch_error(nested, patches, "model");
  EXPECT_EQ(nested.field, "set.model.layers");
  EXPECT_EQ(nested.where.file, "doc.yaml");
  core::Error other{.field = "num_layers", .message = "m"};
  locate_patch_error(other, patches, "model");
  EXPECT_EQ(other.field, "num_layers");
  core::Error elsewhere{.field = "layers", .message = "m"};
  locate_patch_error(elsewhere, patches, "hardware");
  EXPECT_EQ(elsewhere.field, "layers");
}

}  // namespace
}  // namespace ridgeline::scenario
