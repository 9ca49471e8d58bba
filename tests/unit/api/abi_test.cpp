#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ridgeline.h"
#include "support/paths.hpp"

/// What programs are linked and compiled against: the names and the sizes in cmake/abi/N.txt, where
/// N is RL_ABI. A change of either needs a new number, and with it a new file.
namespace ridgeline::api {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(test::source_dir() / path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string abi_now() {
  std::string text = fmt::format("abi {}\n", RL_ABI);
  const std::string header = text_of("include/ridgeline.h");
  const std::regex exported("RL_EXPORTED [^(]*?(rl_[a-z_]+)\\(");
  std::set<std::string> names;
  for (std::sregex_iterator i(header.begin(), header.end(), exported), end; i != end; ++i) {
    names.insert((*i)[1]);
  }
  for (const std::string& name : names) {
    text += "function " + name + "\n";
  }
  text += fmt::format("struct rl_affine {}\n", sizeof(rl_affine));
  text += fmt::format("struct rl_column {}\n", sizeof(rl_column));
  text += fmt::format("struct rl_columns {}\n", sizeof(rl_columns));
  text += fmt::format("struct rl_hooks {}\n", sizeof(rl_hooks));
  text += fmt::format("struct rl_instance {}\n", sizeof(rl_instance));
  text += fmt::format("struct rl_progress {}\n", sizeof(rl_progress));
  text += fmt::format("struct rl_python {}\n", sizeof(rl_python));
  text += fmt::format("struct rl_replica {}\n", sizeof(rl_replica));
  text += fmt::format("struct rl_route {}\n", sizeof(rl_route));
  text += fmt::format("struct rl_scale {}\n", sizeof(rl_scale));
  text += fmt::format("struct rl_step {}\n", sizeof(rl_step));
  return text;
}

TEST(Abi, NamesAndSizesAreThoseOfTheNumber) {
  EXPECT_EQ(abi_now(), text_of(fmt::format("cmake/abi/{}.txt", RL_ABI)))
      << "the C interface has changed: raise RL_ABI, and write its cmake/abi/N.txt";
}

}  // namespace
}  // namespace ridgeline::api
