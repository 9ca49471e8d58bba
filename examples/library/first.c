/* One run from C: a scenario as JSON in, the result as JSON out, interrupted by Ctrl-C.
 *
 *   cc -std=c11 -pedantic first.c $(pkg-config --cflags --libs ridgeline) -o first
 */
#include <signal.h>

#include <ridgeline.h>
#include <stdio.h>
#include <string.h>

static volatile int interrupted = 0;

static void on_interrupt(int number) {
  (void)number;
  interrupted = 1;
}

static void on_progress(void* user, const rl_progress* progress) {
  (void)user;
  fprintf(stderr,
          "%.0f s simulated, %lld requests\n",
          progress->simulated_s,
          (long long)progress->done);
}

int main(void) {
  const char* scenario =
      "{\"model\": \"llama-3.1-8b\", \"gpu\": \"h100\", \"seed\": 1,"
      " \"workload\": {\"request_rate\": 8, \"num_prompts\": 1000, \"input_len\": 512, "
      "\"output_len\": 256},"
      " \"slo\": {\"ttft\": \"50ms\", \"tpot\": \"10ms\"}}";
  rl_hooks hooks;
  rl_result* result = NULL;
  int code;

  if (rl_abi() != RL_ABI) {
    fprintf(stderr, "built for another library: ABI %d, loaded %d\n", RL_ABI, rl_abi());
    return 2;
  }
  signal(SIGINT, on_interrupt);
  memset(&hooks, 0, sizeof hooks);
  hooks.size = sizeof hooks;
  hooks.interrupt = &interrupted;
  hooks.progress = on_progress;
  code = rl_call("run", scenario, strlen(scenario), &hooks, &result);
  fputs(rl_json(result, NULL), stdout);
  rl_free(result);
  return code;
}
