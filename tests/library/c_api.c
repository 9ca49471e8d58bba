/* The C interface as a C program sees it: columns, Arrow, figures, reports, policies, interrupts.
 * Strict C11. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ridgeline.h"

/* As arrow.apache.org/docs/format/CDataInterface.html has them. */
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

#define EXPECT(what)                                            \
  do {                                                          \
    if (!(what)) {                                              \
      printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
      exit(1);                                                  \
    }                                                           \
  } while (0)

static const char* const kRun =
    "{\"model\": \"llama-3.1-8b\", \"gpu\": \"h100\", \"seed\": 1, \"workload\": "
    "{\"request_rate\": 8,"
    " \"input_len\": 128, \"output_len\": 32, \"num_prompts\": 50},"
    " \"keep\": [\"requests\", \"steps\", \"figures\"]}";
static const char* const kFleet =
    "{\"model\": \"llama-3.1-8b\", \"gpu\": \"h100\", \"seed\": 1, \"workload\": "
    "{\"request_rate\": 20,"
    " \"input_len\": 128, \"output_len\": 32, \"num_prompts\": 90}, \"cluster\": {\"instances\": "
    "3}}";

static rl_result* call(const char* verb, const char* json, const rl_hooks* hooks, int expected) {
  rl_result* result = NULL;
  int code = rl_call(verb, json, strlen(json), hooks, &result);
  if (code != expected) {
    printf("%s: %d\n%s\n", verb, code, rl_json(result, NULL));
    exit(1);
  }
  return result;
}

static const rl_column* column_of(const rl_columns* table, const char* name) {
  const char* at = (const char*)table->columns;
  for (size_t i = 0; i < table->num_columns; ++i, at += table->column_size) {
    const rl_column* column = (const rl_column*)at;
    if (strcmp(column->name, name) == 0) {
      return column;
    }
  }
  return NULL;
}

static void check_columns(const rl_result* result) {
  rl_columns table = {.size = sizeof(table)};
  EXPECT(rl_table(result, "no such table", &table) == 1);
  EXPECT(rl_table(NULL, "requests", &table) == 1);
  EXPECT(rl_table(result, "requests", &table) == 0);
  EXPECT(table.rows == 50);
  const rl_column* ttft = column_of(&table, "ttft_ms");
  const rl_column* ticks = column_of(&table, "ttft_ps");
  const rl_column* outcome = column_of(&table, "outcome");
  EXPECT(ttft->type == RL_FLOAT64 && strcmp(ttft->unit, "ms") == 0);
  EXPECT(ticks->type == RL_INT64 && outcome->type == RL_WORD);
  for (int64_t row = 0; row < table.rows; ++row) {
    EXPECT(((const double*)ttft->data)[row] == (double)((const int64_t*)ticks->data)[row] / 1e9);
    EXPECT(strcmp(outcome->words[((const uint8_t*)outcome->data)[row]], "finished") == 0);
  }
  EXPECT(rl_table(result, "steps", &table) == 0);
  EXPECT(table.rows > 0 && column_of(&table, "num_decodes") != NULL);
}

/* Moves a struct out of its parent, as consumers may. */
static void check_arrow(rl_result* result) {
  struct ArrowArrayStream stream;
  EXPECT(rl_arrow(result, "requests", &stream) == 0);
  rl_free(result); /* The stream keeps what it needs. */
  struct ArrowSchema schema;
  struct ArrowArray batch;
  struct ArrowArray end;
  EXPECT(stream.get_schema(&stream, &schema) == 0);
  EXPECT(stream.get_next(&stream, &batch) == 0);
  EXPECT(stream.get_next(&stream, &end) == 0 && end.release == NULL);
  stream.release(&stream);
  EXPECT(stream.release == NULL);
  EXPECT(strcmp(schema.format, "+s") == 0 && schema.n_children == batch.n_children);
  EXPECT(batch.length == 50 && batch.n_buffers == 1);
  struct ArrowArray moved = {0};
  for (int64_t i = 0; i < schema.n_children; ++i) {
    const struct ArrowSchema* type = schema.children[i];
    struct ArrowArray* column = batch.children[i];
    EXPECT(column->length == 50 && column->n_buffers == 2);
    if (strcmp(type->name, "outcome") == 0) {
      EXPECT(strcmp(type->format, "C") == 0 && strcmp(type->dictionary->format, "u") == 0);
      EXPECT(column->dictionary->length == 8);
    }
    if (strcmp(type->name, "ttft_ms") == 0) {
      EXPECT(strcmp(type->format, "g") == 0 && column->null_count == 0);
      moved = *column;
      column->release = NULL;
    }
  }
  schema.release(&schema);
  batch.release(&batch);
  EXPECT(((const double*)moved.buffers[1])[49] > 0.0);
  moved.release(&moved);
}

static void check_pictures(rl_result* result) {
  size_t n = 0;
  EXPECT(strstr(rl_figure(result, NULL, NULL), "\"distributions\"") != NULL);
  const char* svg = rl_figure(result, "distributions", &n);
  EXPECT(svg != NULL && n == strlen(svg) && strstr(svg, "<svg") != NULL);
  EXPECT(rl_figure(result, "distributions", NULL) == svg);
  EXPECT(rl_figure(result, "no such figure", &n) == NULL && n == 0);
  EXPECT(strstr(rl_report(result, "table", &n), "TTFT") != NULL);
  EXPECT(strstr(rl_report(result, "html", &n), "<!doctype html>") != NULL);
  EXPECT(rl_report(result, "no such format", &n) == NULL);
}

static void in_turn(void* user, rl_route* route) {
  int64_t* turn = user;
  EXPECT(route->size == sizeof(rl_route) && route->instance_size == sizeof(rl_instance));
  route->choice = (*turn)++ % route->num_instances;
}

static void fails(void* user, rl_route* route) {
  (void)user;
  (void)route; /* Leaves `choice` as it came. */
}

static void too_large(void* user, rl_route* route) {
  (void)user;
  route->choice = route->num_instances;
}

static void price(void* user, rl_step* step) {
  (void)user;
  step->seconds[1] = 0.005 + 1e-9 * (double)step->decode_context;
  for (int64_t i = 0; i < step->num_prefills; ++i) {
    step->seconds[0] += 1e-6 * (double)step->prefill_new[i];
  }
  step->ok = 1;
}

static void price_below_zero(void* user, rl_step* step) {
  (void)user;
  step->seconds[0] = -1.0;
  step->ok = 1;
}

static void closed_form(void* user, rl_affine* affine) {
  (void)user;
  affine->seconds[1] = 0.005;
  affine->seconds_per_token = 1e-9;
  affine->ok = 1;
}

static const char* digest_of(const rl_result* result) {
  return strstr(rl_json(result, NULL), "\"digest\"");
}

static void check_policies(void) {
  int64_t turn = 0;
  rl_hooks hooks = {.size = sizeof(hooks), .user = &turn, .route = in_turn};
  rl_result* ours = call("run", kFleet, &hooks, 0);
  char json[1024];
  snprintf(
      json, sizeof(json), "%.*s, \"router\": \"round-robin\"}}", (int)strlen(kFleet) - 2, kFleet);
  rl_result* native = call("run", json, NULL, 0);
  EXPECT(turn == 90);
  EXPECT(strncmp(digest_of(ours), digest_of(native), strlen("\"digest\": \"") + 32) == 0);
  EXPECT(strstr(rl_json(ours, NULL), "W-python-model") != NULL);
  rl_free(native);
  rl_free(ours);

  hooks.route = fails;
  rl_result* failed = call("run", kFleet, &hooks, 2);
  EXPECT(strstr(rl_json(failed, NULL), "\"field\": \"router\"") != NULL);
  rl_free(failed);
  hooks.route = too_large;
  failed = call("run", kFleet, &hooks, 2);
  EXPECT(strstr(rl_json(failed, NULL), "found 3 for request 0, expected an index from 0 to 2") !=
         NULL);
  rl_free(failed);

  rl_hooks model = {.size = sizeof(model), .predict = price};
  rl_result* stepped = call("run", kRun, &model, 0);
  model.affine = closed_form;
  rl_result* jumped = call("run", kRun, &model, 0);
  EXPECT(strncmp(digest_of(stepped), digest_of(jumped), strlen("\"digest\": \"") + 32) == 0);
  rl_free(jumped);
  rl_free(stepped);
  rl_hooks wrong = {.size = sizeof(wrong), .predict = price_below_zero};
  failed = call("run", kRun, &wrong, 2);
  EXPECT(strstr(rl_json(failed, NULL), "found -1 seconds for 0 decodes") != NULL);
  rl_free(failed);
}

static int stop(void* user) {
  ++*(int*)user;
  return 1;
}

static void check_interrupts(void) {
  int asked = 0;
  rl_hooks hooks = {.size = sizeof(hooks), .user = &asked, .poll = stop};
  rl_result* result = call("run", kRun, &hooks, 130);
  EXPECT(asked == 1 && strstr(rl_json(result, NULL), "\"partial\": true") != NULL);
  rl_free(result);
  /* A header of before: what lies behind its end is not read. */
  rl_hooks older = {.size = offsetof(rl_hooks, poll), .user = &asked, .poll = stop};
  rl_free(call("run", kRun, &older, 0));
}

static void check_other_verbs(void) {
  rl_result* sweep = call(
      "sweep",
      "{\"model\": \"llama-3.1-8b\", \"gpu\": \"h100\", \"workload\": {\"input_len\": 64,"
      " \"output_len\": 8, \"num_prompts\": 20}, \"axes\": {\"workload.request_rate\": [1, 2, 4]}}",
      NULL,
      0);
  EXPECT(strstr(rl_json(sweep, NULL), "\"size\": 3") != NULL);
  rl_free(sweep);
  rl_free(call("trace", "{\"file\": \"no/such/trace\"}", NULL, 2));
  rl_free(call("conform", "{\"files\": []}", NULL, 2));
  rl_free(call("report", "{\"file\": \"no/such/result.json\"}", NULL, 2));
  rl_free(call("plan", "{\"model\": \"llama-3.1-8b\"}", NULL, 2));
  rl_free(call("run", "{\"keep\": [\"all\"]}", NULL, 2));
}

static rl_result* go_on(rl_session* session, const char* verb, const char* json) {
  rl_result* result = NULL;
  EXPECT(rl_session_call(session, verb, json, strlen(json), &result) == 0);
  EXPECT(result != NULL);
  return result;
}

static void check_session(void) {
  static const char kDeployment[] = "{\"model\": \"llama-3.1-8b\", \"gpu\": \"h100\"}";
  rl_session* session = NULL;
  rl_result* opened = NULL;
  EXPECT(rl_session_open(kDeployment, strlen(kDeployment), NULL, &session, &opened) == 0);
  EXPECT(session != NULL);
  rl_free(opened);
  rl_free(go_on(session, "submit", "{\"prompt_tokens\": 64, \"output_tokens\": 8}"));
  rl_free(go_on(session, "step", "{}"));
  rl_result* done = go_on(session, "run_until", "{}");
  EXPECT(strstr(rl_json(done, NULL), "\"finished\"") != NULL);
  rl_free(done);
  rl_result* whole = go_on(session, "finish", "{}");
  EXPECT(strstr(rl_json(whole, NULL), "\"digest\"") != NULL);
  rl_session_free(session);
  EXPECT(strlen(rl_json(whole, NULL)) > 1000); /* It outlives its session. */
  rl_free(whole);
  rl_session_free(NULL);
}

int main(void) {
  EXPECT(rl_abi() == RL_ABI);
  check_session();
  rl_result* result = call("run", kRun, NULL, 0);
  check_columns(result);
  check_pictures(result);
  check_arrow(result);
  struct ArrowArrayStream* heap = rl_arrow_new(NULL, "requests");
  EXPECT(heap == NULL);
  check_policies();
  check_interrupts();
  check_other_verbs();
  puts("the C interface holds");
  return 0;
}
