#!/usr/bin/env python3
"""How long the page of `ridgeline ui` takes in headless Chromium: from opening it to the first answer, and from a change of a
slider to the drawn frame, over 100 changes. Median of five openings, p50 and p95 of changes; `./dev page` builds the page.

    bench/page.py [out/page/ui.html]
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from selenium import webdriver

SOURCE = Path(__file__).resolve().parent.parent
LINK = "model=llama-3.1-8b&gpu=h100&request-rate=8&num-prompts={}&input-len=512&output-len=256&slo-ttft=50ms&slo-tpot=10ms&seed=1"
OPENINGS, CHANGES = 5, 100
CHANGE = """
const [changes, done] = arguments;
const slider = document.querySelector('[aria-label="request_rate, slider"]');
const times = [];
const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
(async () => {
  for (let i = 0; i < changes; ++i) {
    const start = performance.now();
    slider.value = 0.5 + (i % 50) / 100;
    slider.dispatchEvent(new Event("input"));
    while (document.body.dataset.state !== "answered") {
      await new Promise((resolve) => setTimeout(resolve));
    }
    await frame();
    times.push(performance.now() - start);
  }
  done(times);
})();
"""


def main() -> int:
    page = Path(sys.argv[1] if len(sys.argv) > 1 else SOURCE / "out" / "page" / "ui.html").resolve()
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                 "--disable-component-update"):
        options.add_argument(word)
    browser = webdriver.Chrome(options=options)
    browser.set_script_timeout(300)
    firsts = []
    for _ in range(OPENINGS):
        browser.get("about:blank")
        browser.get(f"{page.as_uri()}#{LINK.format(1000)}")
        while not browser.execute_script("return window.firstAnswer ??= document.body.dataset.state === 'answered' ? performance.now() : undefined"):
            time.sleep(0.002)
        firsts.append(browser.execute_script("return window.firstAnswer"))
    print(f"first answer: median {statistics.median(firsts):.0f} ms of {OPENINGS} ({min(firsts):.0f} to {max(firsts):.0f})")
    for requests in (1000, 10_000):
        browser.get("about:blank")
        browser.get(f"{page.as_uri()}#{LINK.format(requests)}")
        while browser.execute_script("return document.body.dataset.state") != "answered":
            time.sleep(0.01)
        times = sorted(browser.execute_async_script(CHANGE, CHANGES))
        print(f"change to frame, {requests} requests: p50 {times[CHANGES // 2]:.0f} ms, p95 {times[CHANGES * 95 // 100]:.0f} ms")
    browser.quit()
    return 0


if __name__ == "__main__":
    sys.exit(main())
