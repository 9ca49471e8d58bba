#include <utility>

#include "core/result.hpp"
#include "latency/measured/check.hpp"
#include "verbs/kernels_check_view.hpp"
#include "verbs/registry.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

core::Result<Reply> kernels_check(Request& request, Host& /*host*/) {
  const auto folder = request.take_folder("kernels check", "ridgeline kernels check tables");
  request.end();
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  auto check = latency::measured::check_tables(folder);
  if (!check) {
    return core::fail(std::move(check).error());
  }
  const auto found = shared(std::move(*check));
  Reply reply{.code = !found->refused.empty()     ? exit_code(found->refused)
                      : has_contradiction(*found) ? kDiffers
                                                  : 0,
              .tree = tree_of(found, kernel_check_tree),
              .errors = found->refused};
  add_views(reply, reply.tree, kernel_check_sheet);
  return reply;
}

}  // namespace

Verb kernels_check_verb() {
  return {.name = "kernels check",
          .summary = "what tables are really made of, and which rows cannot be true",
          .usage = "kernels check DIR",
          .about =
              "Recomputes FLOPs from the shapes and finds the peak and the way of counting that "
              "explain\n"
              "every MFU, and the data sheet that has that peak; names ways of counting and rows "
              "that\n"
              "the GPU cannot reach, MFUs above 1, rows rounded to zero, holes, warm-up outliers "
              "and FP8\n"
              "kernels passed off as BF16. Exit code 1 when a table contradicts itself, 2 when a "
              "file\n"
              "cannot be read.",
          .words = "folder",
          .formats = {"table", "json"},
          .run = kernels_check};
}

}  // namespace ridgeline::verbs
