// SPDX-License-Identifier: Apache-2.0
// The page itself. Text from a model or a file is inserted as text, never as HTML.
#pragma once

namespace camera {

constexpr char kPageHtml[] = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Ferry: camera</title>
<link rel="icon" href="data:,">
<style>
  :root { color-scheme: dark; --line: #2a3038; --soft: #8b97a5; --mark: #4cc2a0; }
  * { box-sizing: border-box; }
  body { margin: 0; background: #101317; color: #e7ebef; font: 15px/1.45 system-ui, "DejaVu Sans", sans-serif; }
  header { display: flex; align-items: baseline; gap: 1rem; padding: .9rem 1.25rem;
    border-bottom: 1px solid var(--line); }
  h1 { margin: 0; font-size: 1rem; font-weight: 600; }
  #note { color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  main { display: grid; grid-template-columns: minmax(0, 1fr) 20rem; gap: 1.25rem; padding: 1.25rem;
    max-width: 96rem; margin: auto; }
  @media (max-width: 60rem) { main { grid-template-columns: minmax(0, 1fr); } }
  #view { position: relative; place-self: start center; background: #000; border-radius: 8px; overflow: hidden;
    width: min(100%, (100vh - 6.5rem) * var(--aspect, 1.5)); min-height: 4rem; }
  #view img { display: block; width: 100%; }
  #view span { position: absolute; transform: translateY(-100%); padding: 0 .4em; font-size: .8rem; line-height: 1.5;
    background: #101317d9; border-radius: 3px 3px 3px 0; white-space: nowrap; }
  aside { display: flex; flex-direction: column; gap: 1.25rem; min-width: 0; }
  dl { display: grid; grid-template-columns: 1fr 1fr; gap: 1px; margin: 0; background: var(--line);
    border: 1px solid var(--line); border-radius: 8px; overflow: hidden; }
  dl div { padding: .6rem .8rem; background: #171b21; }
  dt { color: var(--soft); font-size: .78rem; }
  dd { margin: 0; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
  dd small { color: var(--soft); font-size: .8rem; }
  ol { margin: 0; padding: 0; list-style: none; }
  li { position: relative; display: flex; gap: .75rem; justify-content: space-between; padding: .3rem .5rem;
    overflow: hidden; border-radius: 4px; margin-bottom: 2px; }
  li i { position: absolute; inset: 0 auto 0 0; background: var(--mark); opacity: .22; }
  li b { position: relative; font-weight: 400; overflow-wrap: anywhere; }
  li b em { display: inline-block; width: .8em; height: .8em; margin-right: .5em; border-radius: 2px; }
  li u { position: relative; color: var(--soft); text-decoration: none; font-variant-numeric: tabular-nums;
    white-space: nowrap; }
</style>
<header><h1>Ferry</h1><div id="note">waiting for the first frame</div></header>
<main>
  <div id="view"><div id="names"></div></div>
  <aside>
    <dl>
      <div><dt>latency, median</dt><dd id="p50">&ndash;</dd></div>
      <div><dt>99th percentile</dt><dd id="p99">&ndash;</dd></div>
      <div><dt>answers</dt><dd id="rate">&ndash;</dd></div>
      <div><dt>frames dropped</dt><dd id="dropped">&ndash;</dd></div>
    </dl>
    <ol id="answer"></ol>
  </aside>
</main>
<script>
const at = id => document.getElementById(id);
// Labels are whatever the blob has: without controls and marks that turn text around.
const plain = text => ("" + text).replace(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, "\ufffd");
const make = (tag, text, parent) => {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = plain(text);
  parent.append(e);
  return e;
};
const number = (id, value, unit) => { at(id).textContent = value; if (unit) make("small", " " + unit, at(id)); };
const percent = share => (100 * share).toFixed(1) + " %";

// A row of the list: text, what is said of it, and how full its bar is.
const row = (text, said, share, colour) => {
  const li = document.createElement("li");
  if (share !== undefined) make("i", "", li).style.width = 100 * share + "%";
  const b = make("b", undefined, li);
  if (colour) make("em", "", b).style.background = colour;
  b.append(plain(text));
  make("u", said, li);
  return li;
};
const rows = a => {
  if ((a.boxes || a.lines || [0]).length == 0) return [row("nothing found", "")];
  if (a.boxes) return a.boxes.map(d => row(d.label || "class " + d.index, percent(d.score), d.score));
  if (a.lines) return a.lines.map(l => row(l.text, percent(l.score)));
  if (a.classes)
    return a.classes.slice(0, 12).map(c => {
      const share = c.probability ?? c.share;
      return row(c.label || "class " + c.index, percent(share), share, c.colour);
    });
  if (a.embedding) return [row("embedding", a.embedding.length + " numbers")];
  if (a.sense) return [row("nearest to farthest", a.minimum.toPrecision(3) + " to " + a.maximum.toPrecision(3) +
                                                  (a.sense == "metres" ? " m" : ""))];
  if (a.share !== undefined) return [row("covered", percent(a.share), a.share)];
  return [row("image", a.width + " x " + a.height)];
};
// Names of what is framed, where its frame is.
const names = a => (a.boxes || []).map(d => {
  const s = document.createElement("span");
  s.textContent = plain(d.label || "class " + d.index) + " " + percent(d.score);
  // From the frame's own side inwards, so that they do not end beyond the image.
  const left = d.box[0] / a.size[0], right = d.box[2] / a.size[0];
  if (left + right < 1.2) s.style.left = 100 * left + "%";
  else s.style.right = 100 * (1 - right) + "%";
  s.style.top = "max(1.2rem, " + 100 * d.box[1] / a.size[1] + "%)";
  return s;
});

// The stream never ends: begun after the page has loaded, it does not keep it loading.
addEventListener("load", () => setTimeout(() => {
  const img = document.createElement("img");
  at("view").prepend(img);
  img.alt = "what the camera sees";
  img.src = "stream";
  const times = [];  // of the last answers
  const events = new EventSource("events");
  events.addEventListener("note", e => { at("note").textContent = plain(JSON.parse(e.data).note); });
  events.addEventListener("answer", e => {
    const { answer, figures } = JSON.parse(e.data);
    times.push([answer.answered, figures.answered]);
    while (times.length > 2 && answer.answered - times[0][0] > 3) times.shift();
    const [then, before] = times[0], seconds = answer.answered - then;
    number("p50", figures.p50_ms.toFixed(1), "ms");
    number("p99", figures.p99_ms.toFixed(1), "ms");
    if (seconds > 0) number("rate", ((figures.answered - before) / seconds).toFixed(1), "a second");
    number("dropped", figures.dropped, "of " + (figures.dropped + figures.answered));
    at("answer").replaceChildren(...rows(answer));
    at("names").replaceChildren(...names(answer));
  });
  // A folder's images have sizes of their own, and nothing tells of the one that is shown.
  const fit = () => {
    if (img.naturalWidth > 0) at("view").style.setProperty("--aspect", img.naturalWidth / img.naturalHeight);
    requestAnimationFrame(fit);
  };
  fit();
  events.onerror = () => { at("note").textContent = "no connection: the program has ended, or cannot be reached"; };
}));
</script>
</html>
)html";

}  // namespace camera
