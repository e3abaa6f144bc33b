#include <nlohmann/json.hpp>

#include "cli/drawing.h"
#include "cli/html/markup.h"
#include "cli/html/page.h"
#include "cli/text.h"
#include "sdk/printable.h"

namespace ferry::cli {
namespace {

constexpr const char* kPageStyle = R"html(html,body{height:100%}
body{display:grid;grid-template:auto 1fr/1fr 360px;font-size:14px}
header{grid-column:1/3;display:flex;gap:16px;align-items:center;padding:10px 16px;border-bottom:1px solid var(--line)}
header input{flex:0 1 300px;font:inherit;padding:5px 10px;border:1px solid var(--line);border-radius:8px;
background:var(--card);color:var(--ink)}
header span{color:var(--mute)}
#graph{overflow:auto;background:var(--card)}#graph .row{cursor:pointer}#graph .row:hover .hit{fill:var(--chosen)}
#graph .chosen .hit{fill:var(--chosen)}#graph .line.near{stroke:var(--ours);stroke-width:2.5}
#graph .found .hit{fill:#ffd54a55}
aside{border-left:1px solid var(--line);padding:16px;overflow:auto;overflow-wrap:anywhere}
aside h2{margin:0 0 8px;font-size:17px}aside dt{color:var(--mute);font-size:12px;margin-top:10px}
aside dd{margin:0}aside a{display:block;color:var(--ours);cursor:pointer}
@media(max-width:800px){body{grid-template:auto 1fr auto/1fr}header{grid-column:1}aside{border:0;max-height:40vh}}
)html";

constexpr const char* kScript = R"html(<script>
const rows = JSON.parse(document.getElementById('rows').textContent), readers = rows.map(() => []);
rows.forEach((row, i) => row.from.forEach(f => readers[f].push(i)));
const at = i => document.getElementById('r' + i), panel = document.querySelector('aside');
let chosen = -1;
function add(parent, tag, text) {
  const e = parent.appendChild(document.createElement(tag));
  e.textContent = text;
  return e;
}
function title(i) { return i + '  ' + rows[i].kind + (rows[i].module ? ' ' + rows[i].module : ''); }
function choose(i, move) {
  if (i < 0 || i >= rows.length) return;
  if (chosen >= 0) at(chosen).classList.remove('chosen');
  document.querySelectorAll('.near').forEach(e => e.classList.remove('near'));
  chosen = i;
  at(i).classList.add('chosen');
  document.querySelectorAll('.f' + i + ',.t' + i).forEach(e => e.classList.add('near'));
  if (move) at(i).scrollIntoView({block: 'center'});
  const row = rows[i];
  panel.replaceChildren();
  add(panel, 'h2', row.kind);
  const list = add(panel, 'dl', '');
  const say = (name, texts, links) => {
    if (!texts.length) return;
    add(list, 'dt', name);
    texts.forEach((text, k) => {
      const dd = add(list, 'dd', links ? '' : text);
      if (links) add(dd, 'a', text).onclick = () => choose(links[k], true);
    });
  };
  say('module', row.module ? [row.module] : []);
  say('output', [row.output]);
  say('parameters', row.parameters ? [row.parameters] : []);
  say('weights', row.weights);
  say('multiply-adds', row.macs ? [row.macs] : []);
  say('time', row.time ? [row.time] : []);
  say('outputs of the model', row.outputs);
  say('taps', row.taps);
  say('reads', row.from.map(title), row.from);
  say('is read by', readers[i].map(title), readers[i]);
}
rows.forEach((row, i) => at(i).onclick = () => choose(i));
const search = document.querySelector('input');
let found = [];
search.oninput = () => {
  found.forEach(i => at(i).classList.remove('found'));
  const word = search.value.toLowerCase();
  found = !word ? [] : rows.map((row, i) => i).filter(i => title(i).toLowerCase().includes(word));
  found.forEach(i => at(i).classList.add('found'));
  document.getElementById('count').textContent = word ? found.length + ' found' : '';
  if (found.length) at(found[0]).scrollIntoView({block: 'center'});
};
document.onkeydown = e => {
  if (e.target === search) {
    if (e.key === 'Enter' && found.length) choose(found.find(i => i > chosen) ?? found[0], true);
    return;
  }
  const next = {ArrowDown: chosen + 1, ArrowUp: chosen - 1, ArrowLeft: rows[chosen]?.from[0],
                ArrowRight: readers[chosen]?.[0]}[e.key];
  if (next === undefined) return;
  e.preventDefault();
  choose(next, true);
};
choose(Math.max(0, +location.hash.slice(2) || 0), location.hash !== '');
</script>
</body></html>
)html";

std::vector<std::string> lines(std::vector<std::string> names) {
  for (std::string& name : names) name = printable(name);
  return names;
}

}  // namespace

std::string page_of(const Drawing& drawing) {
  nlohmann::json rows = nlohmann::json::array();
  uint64_t macs = 0;
  for (const DrawnRow& row : drawing.rows) {
    macs += row.macs;
    rows.push_back({{"kind", row.kind},
                    {"module", printable(row.module)},
                    {"output", row.output},
                    {"parameters", row.parameters},
                    {"weights", lines(row.weights)},
                    {"taps", lines(row.taps)},
                    {"outputs", lines(row.outputs)},
                    {"from", row.from},
                    {"macs", row.macs > 0 ? grouped(row.macs) : ""},
                    {"time", time_text(row)}});
  }
  // Escapes <, so that no name can end the script element.
  std::string data;
  for (const char c : rows.dump()) data += c == '<' ? "\\u003c" : std::string(1, c);
  const std::string title = parity::escaped(drawing.title);
  return parity::page_head(drawing.title, kPageStyle) + "\n<body><header><b>" + title +
         "</b><input type=\"search\" placeholder=\"operator or module\" aria-label=\"Search\"><span "
         "id=\"count\"></span>" +
         "<span>" + std::to_string(drawing.rows.size()) + " rows, " + grouped(drawing.parameters) + " parameters, " +
         scaled(static_cast<double>(macs)) + " multiply-adds; arrow keys walk</span></header>\n<div id=\"graph\">" +
         svg_of(drawing, true) + "</div>\n<aside></aside>\n<script type=\"application/json\" id=\"rows\">" + data +
         "</script>\n" + kScript;
}

}  // namespace ferry::cli
