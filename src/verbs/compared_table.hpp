#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {

/// What several models say of one thing, side by side: a column each, behind two columns that say
/// what a row is.
class ComparedTable {
 public:
  ComparedTable(std::string first,
                std::string second,
                const std::vector<std::string>& names,
                report::Rows models)
      : models_(std::move(models)) {
    view_.columns = {{.title = std::move(first), .path = "name"},
                     {.title = std::move(second), .path = "unit"}};
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto cell = [i](const document::Node& row) {
        return node_at(row, "cells").items()[i].as_string();
      };
      view_.columns.push_back({.title = names[i], .cell = cell, .right = true});
    }
  }

  void add(std::string_view name,
           std::string_view unit,
           const std::function<std::string(const document::Node& model)>& cell) {
    rows_.push_back(document::MapBuilder()
                        .add("name", name)
                        .add("unit", unit)
                        .add("cells", document::list_of(models_, [&](const document::Node* model) {
                               return document::text_node(cell(*model));
                             })));
  }
  void add_to(report::Sheet& sheet) { sheet.table(std::move(view_), std::move(rows_)); }

 private:
  report::Rows models_;
  report::TableView view_;
  std::vector<document::Node> rows_;
};

}  // namespace ridgeline::verbs
