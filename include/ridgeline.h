/* Ridgeline from C, and from any language that can call C: JSON in, JSON out.
 *
 * Every function may be called from any thread. Nothing prints, reads the environment or ends the
 * process; no C++ exception leaves. Structs begin with their own size, so that they can grow.
 */
#ifndef RIDGELINE_H
#define RIDGELINE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RL_EXPORTED __attribute__((visibility("default")))
#else
#define RL_EXPORTED
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Rises when a program that was built against an older header would go wrong. */
#define RL_ABI 2

/* RL_ABI of the library that is loaded: a program compares it with its own before all else. */
RL_EXPORTED int rl_abi(void);

/* The library's version, "0.1.0". */
RL_EXPORTED const char* rl_version(void);

/* How far a run is. */
typedef struct rl_progress {
  size_t size;        /* sizeof(rl_progress) in the library */
  double simulated_s; /* simulated time */
  int64_t done;       /* requests that have ended */
  int64_t total;      /* requests in all; -1 where that is not known */
} rl_progress;

/* What a gateway knows of one instance that may be chosen; times are seconds. */
typedef struct rl_instance {
  int64_t id;
  /* The gateway's own count, now: requests sent there and not known to have ended, their prompt
   * tokens, and of those the tokens of requests without a known first token. */
  int64_t requests;
  int64_t tokens;
  int64_t prefill_tokens;
  /* As the instance last published: its queue, the requests that hold a seat, the used share of its
   * KV blocks (0 to 1); and how old that is. */
  int64_t waiting;
  int64_t running;
  double kv_used;
  double age_s;
  /* Leading tokens of this prompt in its KV cache, as its events tell, and how old that is; 0
   * unless rl_hooks.router_reads_cache is set. */
  int64_t cached_tokens;
  double cache_age_s;
  double weight; /* its share of the load against the others', as configured */
} rl_instance;

/* One routing decision. A request's output length is not known. */
typedef struct rl_route {
  size_t size; /* sizeof(rl_route) in the library */
  double now_s;
  int64_t id;
  double arrival_s;
  int64_t prompt_tokens;
  int64_t max_tokens; /* the client's limit */
  int64_t priority;   /* lower is better */
  int64_t session;    /* -1: of none */
  int64_t num_instances;
  size_t instance_size; /* from one of them to the next, in bytes */
  const rl_instance* instances;
  /* To be set: an index into `instances`, or RL_REFUSE. As it comes it says that the host failed,
   * and then the call ends with an error. */
  int64_t choice;
} rl_route;
#define RL_REFUSE (-1)
#define RL_FAILED (-2)

/* One step to price. */
typedef struct rl_step {
  size_t size;            /* sizeof(rl_step) in the library */
  int64_t num_decodes;    /* sequences that process one token */
  int64_t decode_context; /* the sum of their KV lengths before the step */
  /* The single ones; 0 unless rl_hooks.model_reads_lengths is set. */
  const int64_t* decode_lengths;
  int64_t num_prefills;
  const int64_t* prefill_past; /* of each prompt chunk: tokens whose KV exists */
  const int64_t* prefill_new;  /* tokens that are computed now */
  /* To be set: GPU time in seconds by what holds it up (compute, memory, network, overhead), and
   * the host's own work of the step, which the engine adds or overlaps. */
  double seconds[4];
  double cpu_seconds;
  int ok; /* to be set to 1; as it comes, 0, it says that the host failed */
} rl_step;

/* Decode-only steps of so many sequences in closed form: rl_step.seconds, of which the memory's
 * part grows by so many seconds for each token of context. */
typedef struct rl_affine {
  size_t size; /* sizeof(rl_affine) in the library */
  int64_t num_decodes;
  double seconds[4]; /* to be set, as the next two */
  double cpu_seconds;
  double seconds_per_token;
  int ok; /* to be set: 1; 2 where there is no closed form */
} rl_affine;

/* What one ready replica showed at the newest reading. */
typedef struct rl_replica {
  int64_t id;
  int64_t waiting;
  int64_t running;
  double kv_used;
  double busy; /* share of the time since the reading before that was spent in steps */
} rl_replica;

/* One decision of an autoscaler. */
typedef struct rl_scale {
  size_t size; /* sizeof(rl_scale) in the library */
  double now_s;
  double reading_s; /* when the replicas below were read; -1: not yet */
  int64_t replicas; /* ready or on their way to be */
  int64_t ready;
  int64_t min_replicas;
  int64_t max_replicas;
  int64_t held;     /* requests at the gateway that wait for a replica */
  int64_t arrivals; /* since the reading before */
  int64_t num_read;
  size_t replica_size;
  const rl_replica* read;
  int64_t choice; /* to be set: how many replicas there are to be; RL_FAILED as it comes */
} rl_scale;

/* Addresses of CPython's functions of these names, so that signals are handled on the main thread
 * while a call goes on; what a handler raised is left in `raised` (type, value, traceback), and the
 * call ends with what there is. */
typedef struct rl_python {
  size_t size; /* sizeof(rl_python) */
  int (*PyGILState_Ensure)(void);
  void (*PyGILState_Release)(int state);
  int (*PyErr_CheckSignals)(void);
  void (*PyErr_Fetch)(void** type, void** value, void** traceback);
  void* raised[3];
} rl_python;

/* What a host hears of a call, and says to it, while it goes on. All but `size` may be 0. Where one
 * of the policies below fails the call ends with an error: field "router", "step_model" or
 * "autoscaler". */
typedef struct rl_hooks {
  size_t size; /* sizeof(rl_hooks) */
  void* user;  /* handed to each function below */
  /* Read every few milliseconds: where it is not 0 the run stops soon, with what there is. Another
   * thread or a signal handler may set it. */
  const volatile int* interrupt;
  /* Called on the thread of the call, at most 20 times a second. */
  void (*progress)(void* user, const rl_progress* progress);
  /* Called on the thread of the call, at most 50 times a second: as `interrupt` where it returns
   * something other than 0. */
  int (*poll)(void* user);
  rl_python* python;
  /* Policies in place of the scenario's, of `run` and `replay`. Called on the thread of the call.
   */
  void (*route)(void* user, rl_route* route);
  int router_reads_cache;
  int model_reads_lengths;
  void (*predict)(void* user, rl_step* step);
  void (*affine)(void* user, rl_affine* affine); /* asked once for each number of decodes */
  void (*scale)(void* user, rl_scale* scale);    /* cluster.autoscaling says when, and the bounds */
} rl_hooks;

typedef struct rl_result rl_result;

/* Does what `ridgeline VERB --format json` does. `json`, `n` bytes, holds the scenario (`ridgeline
 * schema scenario`), and for these verbs more keys, or others. `base` is the path of a scenario's
 * file, or a scenario (`config` of any result is one), which the other keys are laid over.
 *
 *   run, replay   keep: a list of "requests" (up to 1,000,000 of them), "all-requests", "steps"
 *                 (rl_table), "series" (in the JSON, and for figures), "figures" (for figures
 *                 alone); series_buckets: a count; policies: what the result's `config` says of
 *                 the hooks: {router: {class: ...}, step_model: ..., autoscaler: ...}
 *   explain       nothing more
 *   step          decode, prefill: texts, as after the flags; samples: true or false;
 *                 compare: a list of step-time models
 *   list          kind: "models", "gpus", ...
 *   schema        name: "result", ...
 *   validate      files: a list of paths; histories, threads: counts. Keys of a scenario are
 *                 what-ifs; hooks are not asked.
 *   calibrate     the same, and fit: a list of constants. The answer's `scenario` is the server.
 *   sweep         axes: {key: list}; measure: "run" or "capacity"; jobs: a count. The answer's
 *                 `points` are {ordinal, id, point, status, result, reason}.
 *   plan          space, slo, limits, objective, cost, mix, as in a file; jobs, top_n: counts;
 *                 effort, confidence, prices: as after the flags; accept_bounds: true or false
 *   trace         file; block_size, seed: counts; skip_bad_rows: true or false
 *   report        file: a saved result, JSON or page; or result: one as JSON. The answer is the
 *                 result, with its report and its figures.
 *
 * `hooks` may be 0. Returns what the command line ends with: 0, 2 bad input, 4 infeasible or no
 * request got an answer, 70 a fault of the library, 99 kernels that do not match measurements, 130
 * interrupted. Unless memory has run out,
 * `*out` is a result in all cases, to be given to rl_free(). */
RL_EXPORTED int rl_call(
    const char* verb, const char* json, size_t n, const rl_hooks* hooks, rl_result** out);

/* The result as JSON, `*n` bytes with a 0 behind them; of a call without one, {"errors": [{code,
 * field, message, file, line, column, hint}, ...]}. It lives as long as the result. `n` may be 0.
 */
RL_EXPORTED const char* rl_json(const rl_result* result, size_t* n);

/* Types of columns. */
enum { RL_INT32 = 1, RL_INT64 = 2, RL_FLOAT64 = 3, RL_WORD = 4 };

/* One column: `rows` values without gaps, which live as long as the result. Where a row has none
 * stands -1 (integers) or NaN. */
typedef struct rl_column {
  const char* name;
  const char* unit; /* "ps", "ms", "tokens"; "" of plain numbers */
  int type;
  const void* data; /* int32_t, int64_t, double; RL_WORD: uint8_t, an index into `words` */
  const char* const* words;
  size_t num_words;
} rl_column;

typedef struct rl_columns {
  size_t size; /* sizeof(rl_columns) */
  int64_t rows;
  size_t num_columns;
  size_t column_size; /* from one to the next, in bytes */
  const rl_column* columns;
} rl_columns;

/* A table of a result of `run` or `replay`: "requests", as they ended, or "steps". Returns 0; 1
 * where the call did not keep it. */
RL_EXPORTED int rl_table(const rl_result* result, const char* name, rl_columns* out);

/* The table as a stream of the Arrow C interface: one batch on the same memory, which lives until
 * the last consumer releases it. `out` is a struct ArrowArrayStream. */
struct ArrowArrayStream;
RL_EXPORTED int rl_arrow(const rl_result* result, const char* name, struct ArrowArrayStream* out);

/* For a PyCapsule named "arrow_array_stream": a stream on the heap (0 where there is no such
 * table), and the destructor of the capsule, which takes the PyObject*. */
RL_EXPORTED struct ArrowArrayStream* rl_arrow_new(const rl_result* result, const char* name);
RL_EXPORTED void rl_arrow_capsule_free(void* capsule);

/* A figure as SVG: "distributions", "clock" and so on; without a name a JSON list of what there is:
 * [{name, title, description}]. Pictures over time need `keep` "series" or "figures". 0 where there
 * is none; it lives as long as the result. */
RL_EXPORTED const char* rl_figure(rl_result* result, const char* name, size_t* n);

/* The result in a format of `ridgeline list formats`: "table", "html", "csv" ...; of a plan "table"
 * and "json". 0 where there is none; it lives as long as the result. */
RL_EXPORTED const char* rl_report(rl_result* result, const char* format, size_t* n);

/* Ends a result; 0 is allowed. */
RL_EXPORTED void rl_free(rl_result* result);

/* A deployment that is simulated piece by piece: the host says what comes, and how far time goes.
 * Not to be used from two threads at once. */
typedef struct rl_session rl_session;

/* Opens one. `json` is what rl_call() takes for `run`, without a workload; `hooks` may be 0, and
 * what it points to lives as long as the session. `*session` stays as it is where the answer is an
 * error. `*out` as rl_call(). */
RL_EXPORTED int rl_session_open(
    const char* json, size_t n, const rl_hooks* hooks, rl_session** session, rl_result** out);

/* Goes on with it, and returns as rl_call(). Verbs, and the keys of `json`:
 *
 *   submit     A request comes now: prompt_tokens, output_tokens; max_tokens, the client's limit;
 *              priority; session, a number that routers see; prefix_tokens and prefix_id: so many
 *              tokens at the start of the prompt are those of all prompts with that number. The
 *              answer is {id, arrival_s}.
 *   step       To behind the next instant at which something happens: the end of a step, an event.
 *   run_until  until_s: simulates all that happens before; without it until every request has
 *              ended.
 *              stop_at_request_end: true to stop behind the instant at which a request ends.
 *   abort      id: its client gives up now.
 *   observe    The answer is {now_s, next_s, requests, ended, running, waiting,
 *              queued_prompt_tokens, used_blocks, free_blocks, steps, preemptions}: counts of all
 *              instances together, as they are now.
 *   trace      The answer is {trace}: what was submitted and aborted, as a file that `replay`
 *              reads; under the same settings it gives the same digest.
 *   finish     Simulates to the end of all that has come. The answer is that of `run`.
 *
 * The answer to step, run_until and abort is {now_s, next_s, steps, tokens, ended}: `next_s` is
 * when something happens next, null for never; steps and tokens are what was computed since the
 * last such answer; `ended` are the requests that have ended since: {id, outcome, instance,
 * prompt_tokens, output_tokens, cached_tokens, preemptions, arrival_s, first_token_s, last_token_s,
 * queue_time_ms, ttft_ms, tpot_ms, e2e_ms}. */
RL_EXPORTED int rl_session_call(
    rl_session* session, const char* verb, const char* json, size_t n, rl_result** out);

/* Ends a session; 0 is allowed. */
RL_EXPORTED void rl_session_free(rl_session* session);

#ifdef __cplusplus
}
#endif

#endif
