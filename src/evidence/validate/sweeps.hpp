#pragma once

#include <vector>

#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {

/// Notes in `contradicted` and `doubts` of every record of a sweep that its time per token does not
/// grow with the requests in flight: less than a twentieth longer with eight times as many and
/// more. The steps were not of so many sequences then, whatever held them back. The closed loops of
/// one file that differ in their concurrency alone are a sweep: the same network, GPUs,
/// layout, engine, workload and lengths (but those of answers that the network ends itself). Times
/// are means of tpot or, where it was not measured, medians of itl. Fewer than eight requests in
/// flight do not count, as steps of so few take as long as the weights are read.
void check_sweeps(std::vector<Evidence>& evidence);

}  // namespace ridgeline::evidence::validate
