#!/usr/bin/env python3
"""What a request costs in a fleet, beside what it costs on one instance alone, from the command line to the result.

Every instance gets the same load: Llama-3.1-8B on an H100, 512 tokens in and out, 13 requests/s, 80 % of what one
sustains. For each number of instances and each policy: user and system time per request, the least of so many runs,
less that of one instance without a gateway, measured in turn with it. That difference and the ratio depend less on how
busy the machine is than times do. `llm-d-precise shared` has prompts of which half is one of 100 prefixes; `p/d` has a
quarter of the instances for prefill, which they spend half of their time with: an eighth cannot keep up. One line per case is appended to bench/history.ndjson.

    python3 bench/fleets.py BINARY [--instances N ...] [--only POLICY] [--requests N] [--runs N] [--no-history]
    python3 bench/fleets.py BINARY --memory     # per instance, and per live request
    python3 bench/fleets.py BINARY --large      # ten million requests on 512 instances
    python3 bench/fleets.py BINARY --day        # a day of 100 instances that scale, crash and retry
    python3 bench/fleets.py BINARY --idle       # 61 idle days under each router, autoscaler and flow control
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from scenarios import HERE, stamp

MODEL = ["run", "--model", "llama-3.1-8b", "--gpu", "h100", "--format", "json"]
PLAIN = ["--input-len", "512", "--output-len", "512"]
SHARED = ["--input-len", "256", "--output-len", "512", "--prefix-len", "256", "--num-prefixes", "100"]
RATE = 13  # Requests per second and instance.
POLICIES = {
    "round-robin": PLAIN,
    "least-request": PLAIN,
    "llm-d": PLAIN,
    "llm-d-precise": PLAIN,
    "llm-d-precise shared": SHARED,
    "dynamo": PLAIN,
}
DAY = ["run", "--model", "llama-3.1-8b", "--gpu", "h100", "--instances", "100", "--router", "least-request",
       "--autoscaling", "hpa", "--target", "5", "--min-replicas", "20", "--max-replicas", "100", "--request-rate",
       "197", "--num-prompts", "17000000", "--input-len", "512", "--output-len", "256", "--fault", "crash~6h/5m",
       "--max-retries", "2", "--percentiles", "sketch", "--format", "json", "--seed", "1"]
# A request every 263 s for 61 days.
DAYS = ["--input-len", "512", "--output-len", "256", "--request-rate", "0.0038", "--num-prompts", "20000"]
IDLE_INSTANCES = (1, 16, 64)


def timed(binary, arguments):
    """One run: user and system time in seconds, the most memory in MiB, and the result."""
    with subprocess.Popen([binary, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        output, errors = process.stdout.read(), process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: {errors.decode()}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, json.loads(output)


def arguments_of(instances, policy, requests, apart):
    if instances == 0:
        return [*MODEL, *PLAIN, "--request-rate", str(RATE), "--num-prompts", str(requests)]
    name = policy.split()[0]
    arguments = [*MODEL, *POLICIES[policy], "--instances", str(instances), "--router", name, "--request-rate",
                 str(RATE * instances), "--num-prompts", str(requests)]
    if apart:
        prefill = instances // 4
        arguments += ["--prefill-instances", str(prefill), "--decode-instances", str(instances - prefill)]
    return arguments


def least(binary, runs, arguments):
    results = [timed(binary, arguments) for _ in range(runs)]
    return min(seconds for seconds, _, _ in results), results[0][1], results[0][2]["digest"]


def compare(binary, options):
    print(f"{'case':34} {'us/request':>10} {'alone':>6} {'beyond':>7} {'ratio':>6} {'MiB':>6}")
    for instances in options.instances:
        for policy in POLICIES:
            if options.only and policy not in options.only:
                continue
            for apart in (False, True) if instances >= 8 and policy in ("round-robin", "llm-d") else (False,):
                requests = options.requests // 4 if apart else options.requests
                alone, _, _ = least(binary, options.runs, arguments_of(0, "", requests, False))
                seconds, memory, digest = least(binary, options.runs, arguments_of(instances, policy, requests, apart))
                case = f"{instances} {policy}{' p/d' if apart else ''}"
                line = {"name": f"fleet {case}", "requests": requests, "us": round(seconds / requests * 1e6, 2),
                        "alone_us": round(alone / requests * 1e6, 2), "mib": round(memory), "digest": digest}
                line["beyond_us"] = round(line["us"] - line["alone_us"], 2)
                line["ratio"] = round(seconds / alone, 2)
                print(f"{case:34} {line['us']:10.2f} {line['alone_us']:6.2f} {line['beyond_us']:7.2f} "
                      f"{line['ratio']:6.2f} {line['mib']:6}", flush=True)
                note(options, line)


def memory(binary, options):
    """Of an instance: twice as many under the same requests. Of a live request: longer answers, so that more are in
    flight at once (by Little's law, the rate times the mean time of a request)."""
    def most(instances, output):
        rate = 4096
        arguments = [*MODEL, "--input-len", "512", "--output-len", str(output), "--instances", str(instances),
                     "--router", "least-request", "--request-rate", str(rate), "--num-prompts", "300000"]
        _, mib, result = timed(binary, arguments)
        return mib, rate * result["summary"]["e2e_ms"]["mean"] / 1000

    (few, _), (many, live), (long, more) = most(512, 128), most(1024, 128), most(1024, 1024)
    line = {"name": "fleet memory", "instance_kib": round((many - few) * 1024 / 512),
            "live_request_bytes": round((long - many) * 2**20 / (more - live))}
    print(f"{line['instance_kib']} KiB per instance: {few:.0f} MiB with 512, {many:.0f} with 1024")
    print(f"{line['live_request_bytes']} B per live request: "
          f"{many:.0f} MiB with {live:.0f} in flight, {long:.0f} with {more:.0f}")
    note(options, line)


def idle_policies(binary):
    """The name of each router, autoscaler and detector of flow control, with its flags: as the program lists them."""
    def names(what, option=None):
        listed = json.loads(subprocess.run([binary, "list", what, "--format", "json"], check=True, capture_output=True).stdout)
        return [entry["name"] for entry in listed if option is None or entry["option"] == option]

    for name in names("routers"):
        yield name, lambda _, name=name: ["--router", name]
    for name in names("admission", "saturation-detector"):
        yield f"flow control, {name}", lambda _, name=name: ["--router", "llm-d", "--flow-control",
                                                             "--saturation-detector", name]
    own = {"hpa": ["--target", "5"], "keda": ["--target", "5"], "schedule": ["--replicas-at", "1h=1"]}
    for name in names("autoscalers"):
        flags = ["--router", "least-request", "--autoscaling", name, *own.get(name, []), "--max-replicas"]
        fewest = ["--min-replicas", "0"] if name in ("keda", "wva") else []
        yield name, lambda instances, flags=flags, fewest=fewest: [*flags, str(instances), *fewest]
        yield f"{name}, none to spare", lambda instances, flags=flags: [*flags, str(instances), "--min-replicas",
                                                                       str(instances)]


def idle(binary, options):
    """Seconds of 61 idle days and their ratio to least-request; and of two bursts a million idle seconds apart to the same a
    thousand apart."""
    with tempfile.TemporaryDirectory() as folder:
        def bursts(gap):
            path = os.path.join(folder, f"{gap}.jsonl")
            with open(path, "w", encoding="utf-8") as trace:
                for i in range(10_000):
                    row = {"timestamp": 20 * i + (gap * 1000 if i >= 5000 else 0), "input_length": 512,
                           "output_length": 128, "hash_ids": [i]}
                    trace.write(json.dumps(row) + "\n")
            return ["--trace", path]

        near, far = bursts(1_000), bursts(1_000_000)
        print(f"{'case':46} {'s':>6} {'to least-request':>17} {'1e6 s to 1e3 s':>15}")
        for instances in IDLE_INSTANCES:
            common = [*MODEL, "--instances", str(instances)]
            plain, _, _ = least(binary, options.runs, [*common, *DAYS, "--router", "least-request"])
            for name, flags in idle_policies(binary):
                own = flags(instances)
                seconds, _, digest = least(binary, options.runs, [*common, *DAYS, *own])
                brief, _, _ = least(binary, options.runs, [*common, *near, *own])
                lasting, _, _ = least(binary, options.runs, [*common, *far, *own])
                line = {"name": f"idle fleet {instances} {name}", "seconds": round(seconds, 3),
                        "to_least_request": round(seconds / plain, 2), "to_brief": round(lasting / brief, 2),
                        "digest": digest}
                print(f"{instances:3} {name:42} {seconds:6.3f} {line['to_least_request']:17.2f} "
                      f"{line['to_brief']:15.2f}", flush=True)
                note(options, line)


def once(binary, options, name, arguments):
    seconds, most, result = timed(binary, arguments)
    digest = result["digest"]
    line = {"name": name, "seconds": round(seconds, 1), "mib": round(most), "digest": digest}
    print(f"{name}: {seconds:.1f} s user and system, {most:.0f} MiB, digest {digest}")
    note(options, line)


def note(options, line):
    if options.history:
        with open(HERE / "history.ndjson", "a", encoding="utf-8") as history:
            history.write(json.dumps({**stamp(), **line}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--instances", type=int, nargs="+", default=[1, 8, 64, 512])
    parser.add_argument("--only", action="append", default=[], choices=list(POLICIES))
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--day", action="store_true")
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--no-history", dest="history", action="store_false")
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    if options.memory:
        memory(binary, options)
    if options.large:
        once(binary, options, "fleet of 512, ten million requests, llm-d",
             arguments_of(512, "llm-d", 10_000_000, False))
    if options.day:
        once(binary, options, "day of 100 instances", DAY)
    if options.idle:
        idle(binary, options)
    if not (options.memory or options.large or options.day or options.idle):
        compare(binary, options)


if __name__ == "__main__":
    main()
