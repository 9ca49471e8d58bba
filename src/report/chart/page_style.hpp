#pragma once

#include <string_view>

namespace ridgeline::report {

/// How a page looks, on light and on dark screens and on paper: CSS.
inline constexpr std::string_view kPageStyle = R"(
:root{color-scheme:light dark;--ink:#1f2328;--quiet:#59636e;--paper:#fff;--soft:#f6f8fa;--rule:#d8dee4;
--good:#116329;--bad:#a40e26}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e6edf3;--quiet:#9da7b1;--paper:#0d1117;--soft:#161b22;--rule:#30363d;
--good:#56d364;--bad:#ff8b82}}
html{font-size:clamp(14px,.4vw + 10px,24px)}
body{font:1rem/1.45 system-ui,'Segoe UI',Helvetica,Arial,sans-serif;color:var(--ink);background:var(--paper);
max-width:68em;margin:0 auto;padding:1em}
h1{font-size:1.2rem;margin:.2em 0}h1,p{overflow-wrap:anywhere}h2{font-size:1.05rem;margin:1.6em 0 .3em}
.finding{font-size:1.1rem;margin:.5em 0}
.verdict{list-style:none;padding:0;margin:.6em 0}.good{color:var(--good)}.bad{color:var(--bad)}
.verdict b{display:inline-block;min-width:5.5em}
.cards{display:flex;flex-wrap:wrap;gap:.6em;margin:.8em 0}
.card{border:1px solid var(--rule);border-radius:.4em;padding:.4em .8em;min-width:9em}
.card dt{color:var(--quiet)}.card dd{margin:0;font-size:1.15rem;font-weight:600}.card small{color:var(--quiet);font-weight:400;font-size:.85rem;display:block;max-width:16em}
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.4em 0}
td,th{padding:.15em .8em;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th{font-weight:600;white-space:normal;max-width:18em}td:first-child,th:first-child{text-align:left}
.wide svg{width:100%;min-width:54em;height:auto;display:block}
@media screen and (max-width:54em){section>.wide:has(svg,th:nth-child(6)){border-right:2px dashed var(--rule)}
section>.wide:has(svg,th:nth-child(6))::before{content:'Wider than the screen: swipe it, or turn the phone.';position:sticky;left:0;color:var(--quiet)}}
.caption{color:var(--quiet);margin:.2em 0}summary{cursor:pointer;color:var(--quiet)}
.note{color:var(--quiet);min-height:1.5em;margin:.2em 0}
button{font:inherit;color:var(--ink);background:var(--soft);border:1px solid var(--rule);border-radius:.3em;padding:.2em .7em}
.best{font-weight:600}
pre{background:var(--soft);padding:.7em;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}
@media print{:root{--ink:#000;--quiet:#444;--paper:#fff;--soft:#eee;--rule:#bbb;--good:#116329;--bad:#a40e26}
section{break-inside:avoid}summary,button,.note{display:none}
details::details-content{content-visibility:visible;display:block}}
)";

}  // namespace ridgeline::report
