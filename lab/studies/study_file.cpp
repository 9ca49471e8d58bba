#include "lab/studies/study_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "document/reader.hpp"
#include "lab/studies/expression.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"
#include "latency/roofline/switches.hpp"
#include "latency/step_time_model.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::studies {

/// Compiled in by lab/CMakeLists.txt.
[[nodiscard]] std::span<const document::EmbeddedFile> study_files();
[[nodiscard]] std::span<const document::EmbeddedFile> stub_files();

namespace {

using document::Node;
using document::ObjectReader;

bool is_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

std::string text_of_setting(const Node& value) {
  return value.is_string() ? value.as_string() : value.describe();
}

/// Reads the parts of a file, and notes every problem.
class FileReader {
 public:
  explicit FileReader(core::Errors& errors) : errors_(errors) {}

  std::optional<Expression> kept(core::Result<Expression> parsed) {
    if (!parsed) {
      errors_.insert(errors_.end(), parsed.error().begin(), parsed.error().end());
      return std::nullopt;
    }
    return *std::move(parsed);
  }
  /// A text is an expression, any other value stands for itself.
  std::optional<Expression> expression(const Node& node, const std::string& field) {
    return node.is_string() ? kept(parse_expression(node.as_string(), field, node.where()))
                            : constant(node, field);
  }
  Expression sentence(ObjectReader& reader, const char* key, bool required) {
    const Node* node = reader.node(key);
    if (node == nullptr || !node->is_string()) {
      if (required || node != nullptr) {
        reader.problem(key,
                       fmt::format("found {}, expected a text",
                                   node == nullptr ? "nothing" : node->describe()));
      }
      return constant(Value::string("", {}), key);
    }
    return kept(parse_template(node->as_string(), reader.path_of(key), node->where()))
        .value_or(Expression());
  }
  /// The members of a map under a key, which may be missing.
  std::vector<Node::Member> members(ObjectReader& reader, const char* key) {
    const Node* node = reader.node(key);
    if (node != nullptr && !node->is_map()) {
      reader.problem(key, fmt::format("found {}, expected a map", node->describe()));
    }
    return node == nullptr || !node->is_map() ? std::vector<Node::Member>() : node->members();
  }
  Block::Named named(ObjectReader& reader, const char* key, bool are_names) {
    Block::Named all;
    for (const auto& [name, value, where] : members(reader, key)) {
      if (are_names && !is_name(name)) {
        reader.problem(key, fmt::format("found '{}', expected a name of letters and digits", name));
      }
      if (auto one = expression(value, reader.path_of(key) + "." + name)) {
        all.emplace_back(name, std::move(*one));
      }
    }
    return all;
  }
  std::vector<scenario::Override> settings(ObjectReader& reader, const char* key) {
    std::vector<scenario::Override> all;
    for (const auto& [path, value, where] : members(reader, key)) {
      all.push_back({.path = path, .text = text_of_setting(value)});
    }
    return all;
  }

  Block block(const Node& node, const std::string& path, bool is_effect) {
    ObjectReader reader(node, path, errors_);
    Block block{.grid = named(reader, "grid", true)};
    if (const Node* where = reader.node("where")) {
      block.where = expression(*where, reader.path_of("where"));
    }
    block.let = named(reader, "let", true);
    if (is_effect) {
      for (const char* side : {"baseline", "treatment"}) {
        const Node* value = reader.node(side);
        if (value == nullptr) {
          reader.problem(side, "missing, expected an expression");
        } else if (auto one = expression(*value, reader.path_of(side))) {
          block.columns.emplace_back(side, std::move(*one));
        }
      }
    } else {
      if (const Node* rows = reader.node("rows")) {
        block.rows = expression(*rows, reader.path_of("rows"));
      }
      block.columns = named(reader, "columns", false);
      if (block.columns.empty() == !block.rows && node.is_map()) {
        reader.problem("columns", "expected either columns or rows");
      }
    }
    reader.finish();
    return block;
  }
  FileTable table(const std::string& name, const Node& node) {
    FileTable table{.name = name};
    const std::string path = "tables." + name;
    if (!is_name(name)) {
      errors_.push_back({.field = path,
                         .message = "expected a name of letters and digits",
                         .where = node.where()});
    }
    if (!node.is_list()) {
      table.blocks.push_back(block(node, path, false));
      return table;
    }
    for (std::size_t i = 0; i < node.items().size(); ++i) {
      table.blocks.push_back(block(node.items()[i], fmt::format("{}[{}]", path, i), false));
    }
    return table;
  }
  Arm arm(const std::string& name, const Node& node) {
    ObjectReader reader(node, "arms." + name, errors_);
    Arm arm{.name = name,
            .preset = reader.string("latency").value_or("kernel"),
            .lookup = reader.string("lookup").value_or("")};
    if (latency::roofline::find_preset(arm.preset) == nullptr &&
        latency::find_step_time_model(arm.preset) == nullptr) {
      reader.problem("latency",
                     fmt::format("found '{}', which is no step-time model", arm.preset),
                     "ridgeline list latency");
    }
    for (const auto& [key, value, where] : members(reader, "set")) {
      arm.settings.push_back({.key = key, .value = value});
    }
    arm.run = settings(reader, "run");
    reader.finish();
    return arm;
  }
  FileDefinition definition(const std::string& head, const Node& value) {
    FileDefinition found{.name = head.substr(0, head.find('('))};
    const std::string field = "let." + head;
    if (head.size() > found.name.size()) {
      std::string rest = head.substr(found.name.size() + 1);
      for (std::size_t end = 0; (end = rest.find_first_of(",)")) != std::string::npos;) {
        std::string one = rest.substr(0, end);
        std::erase(one, ' ');
        found.parameters.push_back(std::move(one));
        rest.erase(0, end + 1);
      }
    }
    if (!is_name(found.name) || !std::ranges::all_of(found.parameters, is_name)) {
      errors_.push_back({.field = field,
                         .message = fmt::format("found '{}', expected a name, or name(a, b)", head),
                         .where = value.where()});
    }
    found.body = expression(value, field).value_or(Expression());
    return found;
  }
  FileCheck check(const Node& node, std::size_t place) {
    ObjectReader reader(node, fmt::format("checks[{}]", place), errors_);
    FileCheck check{.text = sentence(reader, "check", true), .holds = {}};
    if (const Node* holds = reader.node("holds")) {
      check.holds = expression(*holds, reader.path_of("holds")).value_or(Expression());
    } else {
      reader.problem("holds", "missing, expected an expression that is true or false");
    }
    reader.finish();
    return check;
  }

 private:
  core::Errors& errors_;
};

std::string one_of(ObjectReader& reader,
                   const char* key,
                   const std::vector<std::string>& choices,
                   const char* otherwise) {
  return reader.choice(key, choices).value_or(otherwise);
}

void read_words(ObjectReader& reader, Study& study) {
  constexpr std::array<Reference, 3> kReferences = {
      Reference::kMeasured, Reference::kArithmetic, Reference::kModel};
  const std::vector<std::string> references = {"measured", "arithmetic", "model"};
  std::vector<std::string> verdicts;
  for (const Verdict verdict : kVerdicts) {
    verdicts.emplace_back(name(verdict));
  }
  study.id = reader.required_string("study");
  study.title = reader.required_string("title");
  study.claim = reader.required_string("claim");
  study.refuted_if = reader.required_string("refuted_if");
  study.held_fixed = reader.required_string("held_fixed");
  study.controls = reader.string("controls").value_or("none");
  study.scope = reader.string("scope").value_or("what the arms predict");
  study.not_tested = reader.string("not_tested").value_or("a measured server");
  const auto reference = one_of(reader, "reference", references, "model");
  study.reference = kReferences[static_cast<std::size_t>(std::ranges::find(references, reference) -
                                                         references.begin())];
  const auto published = one_of(reader, "published", verdicts, "none");
  study.published = *std::ranges::find(kVerdicts, published, [](Verdict one) { return name(one); });
}

void read_fixed(
    const Node* node, FileReader& reading, core::Errors& errors, Study& study, StudyFile& file) {
  if (node == nullptr) {
    return;
  }
  ObjectReader reader(*node, "fixed", errors);
  study.place.network = reader.string("model").value_or(study.place.network);
  study.place.gpu = reader.string("gpu").value_or(study.place.gpu);
  study.place.ranks = reader.integer("tensor_parallel_size", {1, 1024}).value_or(1);
  file.run = reading.settings(reader, "run");
  reader.finish();
}

void read_servers(const Node* node, core::Errors& errors, const Study& study, StudyFile& file) {
  if (node == nullptr) {
    return;
  }
  ObjectReader reader(*node, "servers", errors);
  file.server_part = reader.string("part").value_or(file.server_part);
  const Node* arms = reader.node("arms");
  for (const Node& one : arms != nullptr && arms->is_list() ? arms->items() : std::vector<Node>()) {
    const std::string arm = text_of_setting(one);
    if (std::ranges::find(study.arms, arm, &Arm::name) == study.arms.end()) {
      reader.problem("arms", fmt::format("found '{}', which is no arm of this study", arm));
    }
    file.server_arms.push_back(arm);
  }
  if (file.server_arms.empty()) {
    reader.problem("arms", "expected a list of arms to score on measured runs");
  }
  reader.finish();
}

void read_parts(ObjectReader& reader,
                FileReader& reading,
                core::Errors& errors,
                Study& study,
                StudyFile& file) {
  read_fixed(reader.node("fixed"), reading, errors, study, file);
  for (const auto& [name, value, where] : reading.members(reader, "arms")) {
    study.arms.push_back(reading.arm(name, value));
  }
  if (study.arms.empty()) {
    reader.problem("arms", "expected a map of one arm or more");
  }
  for (const auto& [head, value, where] : reading.members(reader, "let")) {
    file.let.push_back(reading.definition(head, value));
  }
  for (const auto& [name, value, where] : reading.members(reader, "tables")) {
    file.tables.push_back(reading.table(name, value));
  }
  if (file.tables.empty()) {
    reader.problem("tables", "expected a map of one table or more");
  }
  read_servers(reader.node("servers"), errors, study, file);
  for (const auto& [name, value, where] : reading.members(reader, "effects")) {
    file.effects.emplace_back(name, reading.block(value, "effects." + name, true));
  }
  const Node* checks = reader.node("checks");
  if (checks != nullptr && !checks->is_list()) {
    reader.problem("checks", fmt::format("found {}, expected a list", checks->describe()));
  }
  for (std::size_t i = 0; checks != nullptr && checks->is_list() && i < checks->items().size();
       ++i) {
    file.checks.push_back(reading.check(checks->items()[i], i));
  }
  if (const Node* verdict = reader.node("verdict")) {
    file.verdict = reading.expression(*verdict, "verdict").value_or(Expression());
  } else {
    reader.problem(
        "verdict",
        "missing, expected an expression such as '\"refuted\" if x > 2 else \"confirmed\"'");
  }
  file.because = reading.sentence(reader, "because", true);
  file.finding = reading.sentence(reader, "finding", true);
}

/// A name stands for one thing: a definition or a table.
void note_doubles(const StudyFile& file, const Node& document, core::Errors& errors) {
  for (const FileTable& table : file.tables) {
    if (std::ranges::find(file.let, table.name, &FileDefinition::name) != file.let.end()) {
      errors.push_back({.field = "tables." + table.name,
                        .message = "found a table and a definition of this name, expected one",
                        .where = document.where()});
    }
  }
}

}  // namespace

core::Result<Study> read_study(const Node& document) {
  core::Errors errors;
  FileReader reading(errors);
  ObjectReader reader(document, "", errors);
  Study study;
  study.is_file = true;
  auto file = std::make_shared<StudyFile>();
  read_words(reader, study);
  read_parts(reader, reading, errors, study, *file);
  reader.finish();
  note_doubles(*file, document, errors);
  if (errors.empty()) {
    study.needs_tables = std::ranges::any_of(study.arms, reads_tables);
    check_names(study, *file, errors);
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  study.run = [file](const Lab& lab) { return run_study_file(*file, lab); };
  return study;
}

core::Result<Study> read_study_file(const std::string& path) {
  const auto document = document::read_document(path);
  return document ? read_study(*document) : core::fail(document.error());
}

Study compiled_in_study(const std::string& id) {
  for (const document::EmbeddedFile& file : study_files()) {
    if (file.name == id + ".yaml") {
      const auto document = document::parse_json(file.text, std::string(file.name));
      auto study = document ? read_study(*document) : core::fail(document.error());
      RIDGELINE_CHECK(study.has_value(), core::to_string(study.error().front()));
      return *std::move(study);
    }
  }
  RIDGELINE_CHECK(false, id);
  return {};
}

std::string study_stub(const std::string& id) {
  std::string text(stub_files().front().text);
  constexpr std::string_view kPlaceholder = "NAME";
  for (std::size_t at = 0; (at = text.find(kPlaceholder, at)) != std::string::npos;
       at += id.size()) {
    text.replace(at, kPlaceholder.size(), id);
  }
  return text;
}

core::Result<Study> elsewhere(Study study, const std::string& network, const std::string& gpu) {
  if (network.empty() && gpu.empty()) {
    return study;
  }
  if (!study.is_file) {
    return core::fail(
        {.field = network.empty() ? "--gpu" : "--model",
         .message = fmt::format("'{}' is no study of a file and keeps its own", study.id),
         .where = {.file = "command line"}});
  }
  study.place.network = network.empty() ? study.place.network : network;
  study.place.gpu = gpu.empty() ? study.place.gpu : gpu;
  study.held_fixed += fmt::format(" Run here for {} on {}.", study.place.network, study.place.gpu);
  return study;
}

}  // namespace ridgeline::studies
