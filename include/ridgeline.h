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
#define RL_ABI 1

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

/* What a host hears of a call, and says to it, while it goes on. All but `size` may be 0. */
typedef struct rl_hooks {
  size_t size; /* sizeof(rl_hooks) */
  void* user;  /* handed to each function below */
  /* Read every few milliseconds: where it is not 0 the run stops soon, with what there is. Another
   * thread or a signal handler may set it. */
  const volatile int* interrupt;
  /* Called on the thread of the call, at most 20 times a second. */
  void (*progress)(void* user, const rl_progress* progress);
} rl_hooks;

typedef struct rl_result rl_result;

/* Does what `ridgeline VERB --format json` does. `json`, `n` bytes, holds the scenario (`ridgeline
 * schema scenario`), and for these verbs more keys, or others:
 *
 *   run, replay   nothing more
 *   explain       nothing more
 *   step          decode, prefill: texts, as after the flags; samples: true or false;
 *                 compare: a list of step-time models
 *   list          kind: "models", "gpus", ...
 *   schema        name: "result", ...
 *   validate      files: a list of paths; histories, threads: counts. Keys of a scenario are
 *                 what-ifs; hooks are not asked.
 *   calibrate     the same, and fit: a list of constants. The answer's `scenario` is the server.
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

/* Ends a result; 0 is allowed. */
RL_EXPORTED void rl_free(rl_result* result);

#ifdef __cplusplus
}
#endif

#endif
