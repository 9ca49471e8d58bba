#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"
#include "lab/studies/ledger/ledger.hpp"
#include "lab/studies/ledger/settle.hpp"

namespace ridgeline::report::testing {

/// A ledger of two documents, and the outputs of its one command.
inline studies::Ledger example_ledger() {
  constexpr const char* kText = R"(
title: The documents
about: What came of them.
documents: [{id: d, title: Document d}, {id: q, title: Questions, about: Ours.}]
rows:
- id: A.1
  document: d
  section: s
  command: give DIR
  claims:
  - {said: "a | b < 2.0", at: x, value: 2.0, digits: 1}
  - {said: other, at: x, value: 3.0, digits: 1, derived: 2.0, expected: corrected, why: a reason}
  - {said: wrong, at: x, value: 4.0, digits: 1}
  - {kind: table, said: printed, at: rows, columns: [k, v], decimals: [0, 1],
     rows: [[1, 2.5], [2, 3.0]], chart: [v], expected: open}
- {id: A.2, document: d, section: s, claims: [{said: s, at: x, value: 1, command: give FILE}]}
- id: Q.1
  document: q
  section: s
  claims: [{kind: question, said: "How many?", answer: "It is 2.0.", at: x, value: 2.0, digits: 1,
            command: give DIR}]
)";
  return studies::read_ledger(document::parse_yaml(kText, "example").value()).value();
}

inline studies::Settlement example_settlement(const studies::Ledger& ledger) {
  return studies::settle(
      ledger, {}, {.bench_data = "tables", .measured = ""}, [](const std::vector<std::string>&) {
        return studies::CommandOutput{
            .exit = 0,
            .out = R"({"x": 2.0, "rows": [{"k": 1, "v": 2.5}, {"k": 2, "v": 3.5}]})",
            .err = ""};
      });
}

}  // namespace ridgeline::report::testing
