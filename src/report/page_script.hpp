#pragma once

#include <string_view>

namespace ridgeline::report {

/// What a page does where scripts run: a line over the pictures with a time axis that follows the
/// pointer or the arrow keys and says the window's numbers, and a button that copies the command.
/// The page is complete without it.
inline constexpr std::string_view kPageScript = R"(
'use strict';
(() => {
  const command = document.getElementById('command');
  if (command && navigator.clipboard) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy the command';
    button.addEventListener('click', () => {
      navigator.clipboard.writeText(command.textContent).then(() => { button.textContent = 'Copied'; });
    });
    command.after(button);
  }
  const holder = document.getElementById('result');
  const series = holder && JSON.parse(holder.textContent).series;
  if (!series) return;
  const short = value => Number(value.toPrecision(3)).toString();
  const words = i => {
    const from = i * series.window_s;
    const seconds = Math.max(Math.min(series.end_s - from, series.window_s), 1e-9);
    const rate = key => short(series.rates[key][i] / seconds);
    const gauges = series.gauges;
    const kv = gauges.kv_capacity_tokens
      ? `KV ${short(100 * gauges.kv_tokens.mean[i] / gauges.kv_capacity_tokens)} %`
      : `KV of ${short(gauges.kv_tokens.mean[i])} tokens`;
    return `${short(from)} s: ${rate('arrivals')} arrivals/s, running ${short(gauges.running.mean[i])}, ` +
      `waiting ${short(gauges.waiting.mean[i])}, ${kv}, prefill ${rate('prefill_tokens')} tok/s, ` +
      `decode ${rate('decode_tokens')} tok/s`;
  };
  for (const svg of document.querySelectorAll('svg[data-seconds]')) {
    const [left, right, bottom] = svg.dataset.plot.split(' ').map(Number);
    const all = Number(svg.dataset.seconds);
    const line = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    line.setAttribute('class', 'hover');
    svg.append(line);
    const region = svg.parentElement;
    const note = document.createElement('p');
    note.className = 'note';
    note.setAttribute('role', 'status');
    note.textContent = 'Point at the picture, or move with the arrow keys.';
    region.after(note);
    let at = -1;
    const show = i => {
      at = Math.max(0, Math.min(series.windows - 1, i));
      const x = left + (right - left) * Math.min((at + 0.5) * series.window_s / all, 1);
      line.setAttribute('d', `M${x} 0V${bottom}`);
      note.textContent = words(at);
    };
    svg.addEventListener('pointermove', event => {
      const box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
      show(Math.floor((x - left) / (right - left) * all / series.window_s));
    });
    region.addEventListener('keydown', event => {
      const step = event.shiftKey ? 10 : 1;
      if (event.key === 'ArrowRight') show(at + step);
      else if (event.key === 'ArrowLeft') show(at - step);
      else if (event.key === 'Escape') line.removeAttribute('d');
      else return;
      event.preventDefault();
    });
  }
})();
)";

/// SHA-256 of it in base 64, for the page's policy.
inline constexpr std::string_view kPageScriptHash = "ACkrA3dGeWDy2BBwuMnIMePGpZp8UnrpLtdiUmfznUU=";

}  // namespace ridgeline::report
