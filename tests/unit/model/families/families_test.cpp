#include "model/families/families.hpp"

#include <cstddef>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "unit/model/config_text.hpp"

namespace ridgeline::model {
namespace {

using testing::HasSubstr;

TEST(Families, AreSortedAndUnique) {
  for (std::size_t i = 1; i < families().size(); ++i) {
    EXPECT_LT(families()[i - 1].model_type, families()[i].model_type);
  }
}

TEST(Families, EveryOneReadsItsKeysAndFindsThemMissing) {
  for (const Family& family : families()) {
    const std::string type(family.model_type);
    const std::string found = problems("{\"model_type\": \"" + type + "\"}");
    EXPECT_THAT(found,
                testing::AllOf(HasSubstr("hidden_size"),
                               HasSubstr("num_hidden_layers"),
                               testing::Not(HasSubstr("not modelled"))))
        << type;
    // Nemotron-H says with its layers whether it has attention at all.
    EXPECT_EQ(found.find("num_attention_heads") == std::string::npos, type == "nemotron_h")
        << found;
  }
}

}  // namespace
}  // namespace ridgeline::model
