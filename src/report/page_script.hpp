#pragma once

#include <string_view>

namespace ridgeline::report {

/// What a page does where scripts run: a line over the pictures with a time axis that follows the
/// pointer or the arrow keys and says the window's numbers, a part of the run over the whole width
/// (drag, or + and -; Escape ends it), and a button that copies the command.
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
  const padded = value => String(value).padStart(2, '0');
  // As the tables say it.
  const instant = value => {
    const whole = Math.round(value);
    if (value < 60) return `${short(value)} s`;
    if (whole < 3600) return `${Math.floor(whole / 60)} m ${padded(whole % 60)} s`;
    return `${Math.floor(whole / 3600)} h ${padded(Math.floor(whole / 60) % 60)} m`;
  };
  const words = i => {
    const from = i * series.window_s;
    const seconds = Math.max(Math.min(series.end_s - from, series.window_s), 1e-9);
    const rate = key => short(series.rates[key][i] / seconds);
    const gauges = series.gauges;
    const kv = gauges.kv_capacity_tokens
      ? `KV ${short(100 * gauges.kv_tokens.mean[i] / gauges.kv_capacity_tokens)} %`
      : `KV of ${short(gauges.kv_tokens.mean[i])} tokens`;
    return `${instant(from)}: ${rate('arrivals')} arrivals/s, running ${short(gauges.running.mean[i])}, ` +
      `waiting ${short(gauges.waiting.mean[i])}, ${kv}, prefill ${rate('prefill_tokens')} tok/s, ` +
      `decode ${rate('decode_tokens')} tok/s`;
  };
  for (const svg of document.querySelectorAll('svg[data-seconds]')) {
    const [left, right, bottom, top] = svg.dataset.plot.split(' ').map(Number);
    const all = Number(svg.dataset.seconds);
    const unit = Number(svg.dataset.unit);
    const make = (name, attributes) => {
      const element = document.createElementNS('http://www.w3.org/2000/svg', name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      return element;
    };
    // What lies on the time axis moves into a picture of its own, which a part of the run fills.
    const marks = [...svg.querySelectorAll('path')].filter(mark => {
      const box = mark.getBBox();
      return box.y + box.height >= top && (box.width > 30 || box.height > 0);  // Keys are shorter.
    });
    const inner = make('svg', {x: left, width: right - left, height: svg.viewBox.baseVal.height, preserveAspectRatio: 'none'});
    marks[0].before(inner);
    for (const mark of marks) {
      mark.setAttribute('vector-effect', 'non-scaling-stroke');
      inner.append(mark);
    }
    const labels = [...svg.querySelectorAll('text')].map(text => ({text, x: Number(text.getAttribute('x')), said: text.textContent}))
      .filter(({text, x}) => x >= left && Number(text.getAttribute('y')) > bottom && Number(text.getAttribute('y')) < bottom + 24);
    const line = make('path', {class: 'hover'});
    const chosen = make('path', {class: 'ba'});
    svg.append(chosen, line);
    const region = svg.parentElement;
    const note = document.createElement('p');
    note.className = 'note';
    note.setAttribute('role', 'status');
    note.textContent = 'Point at the picture, or move with the arrow keys; drag, or press + and -, for a part of the run, Escape for all.';
    region.after(note);
    let from = 0;
    let to = all;
    let at = -1;
    let start = null;
    const zoom = (first, last) => {
      const length = Math.max(last - first, Math.min(2 * series.window_s, all));
      from = Math.max(0, Math.min(first, all - length));
      to = Math.min(all, from + length);
      const pixel = seconds => left + (right - left) * seconds / all;
      inner.setAttribute('viewBox', `${pixel(from)} 0 ${pixel(to) - pixel(from)} ${svg.viewBox.baseVal.height}`);
      for (const {text, x, said} of labels)
        text.textContent = to - from < all ? short((from + (to - from) * (x - left) / (right - left)) / unit) : said;
    };
    const seconds = x => from + (to - from) * (x - left) / (right - left);
    const place = event => {
      const box = svg.getBoundingClientRect();
      return Math.max(left, Math.min(right, (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width));
    };
    const show = i => {
      at = Math.max(0, Math.min(series.windows - 1, i));
      const middle = Math.min((at + 0.5) * series.window_s, all);
      if (middle < from || middle > to) zoom(middle - (to - from) / 2, middle + (to - from) / 2);
      line.setAttribute('d', `M${left + (right - left) * (middle - from) / (to - from)} 0V${bottom}`);
      note.textContent = words(at);
    };
    zoom(0, all);
    svg.addEventListener('pointerdown', event => { start = place(event); });
    svg.addEventListener('mousedown', event => { event.preventDefault(); });  // Text is not selected.
    svg.addEventListener('pointermove', event => {
      const x = place(event);
      if (start !== null) chosen.setAttribute('d', `M${start} 0V${bottom}H${x}V0z`);
      show(Math.floor(Math.min(seconds(x), all) / series.window_s));
    });
    window.addEventListener('pointerup', event => {
      if (start === null) return;
      const ends = [start, place(event)].sort((a, b) => a - b);
      if (ends[1] - ends[0] > 8) zoom(seconds(ends[0]), seconds(ends[1]));
      chosen.removeAttribute('d');
      start = null;
    });
    region.addEventListener('keydown', event => {
      const step = event.shiftKey ? 10 : 1;
      const middle = at < 0 ? (from + to) / 2 : (at + 0.5) * series.window_s;
      if (event.key === 'ArrowRight') show(at + step);
      else if (event.key === 'ArrowLeft') show(at - step);
      else if (event.key === '+' || event.key === '=') zoom(middle - (to - from) / 4, middle + (to - from) / 4);
      else if (event.key === '-') zoom(middle - (to - from), middle + (to - from));
      else if (event.key === 'Escape') { zoom(0, all); line.removeAttribute('d'); }
      else return;
      if (event.key !== 'Escape' && at >= 0) show(at);
      event.preventDefault();
    });
  }
})();
)";

/// SHA-256 of it in base 64, for the page's policy.
inline constexpr std::string_view kPageScriptHash = "IY+8vJfn9GinDXEDTICSFGdOxAuUqGuEMzBDaOIZMpo=";

}  // namespace ridgeline::report
