#include "cli/html/page.h"

#include "cli/html/markup.h"

namespace ferry::parity {
namespace {

constexpr const char* kHead = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>
:root{--page:#f3f5f9;--card:#fff;--ink:#1c2330;--mute:#667085;--line:#e4e8ef;--ours:#2457d6;--good:#1a7f4b;
--goodbg:#dcf4e6;--bad:#cf222e;--badbg:#ffe6e6;--row:#f6f8fb;--chosen:#eaf1ff}
@media(prefers-color-scheme:dark){:root{--page:#0d121b;--card:#151b26;--ink:#e6eaf2;--mute:#94a0b4;--line:#2a3343;
--ours:#7aa5ff;--good:#56d391;--goodbg:#123726;--bad:#ff7b72;--badbg:#431a1c;--row:#1b2331;--chosen:#1d2c4a}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
)html";

constexpr const char* kReport = R"html(main{max-width:1180px;margin:0 auto;padding:36px 24px 64px}
h1{font-size:26px;line-height:1.2;margin:0;letter-spacing:-.01em;overflow-wrap:anywhere}
.lead{color:var(--mute);margin:6px 0 0;overflow-wrap:anywhere}
header{display:flex;gap:20px;align-items:flex-start;justify-content:space-between;margin-bottom:24px}
.pill{font-weight:650;padding:7px 16px;border-radius:99px;white-space:nowrap}
.pill.good{color:var(--good);background:var(--goodbg)}.pill.bad{color:var(--bad);background:var(--badbg)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(160px,1fr));gap:14px;margin-bottom:18px}
.card{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:14px 18px;min-width:0}
.cards b{display:block;font-size:24px;font-weight:620;font-variant-numeric:tabular-nums;letter-spacing:-.01em}
.cards span{color:var(--mute);font-size:13px;overflow-wrap:anywhere}
.alarm{border-color:var(--bad);background:var(--badbg);margin-bottom:18px;overflow-wrap:anywhere}
.wide{padding:4px;overflow-x:auto;margin-bottom:18px}.wide svg{display:block;width:100%;min-width:720px}
table{border-collapse:collapse;width:100%;font-size:13px}
th{color:var(--mute);font-weight:550;text-align:left;padding:10px;border-bottom:1px solid var(--line);
white-space:nowrap}
td{padding:6px 10px;border-bottom:1px solid var(--line);vertical-align:middle}
tr:last-child td,td[rowspan]{border-bottom:0}tbody+tbody{border-top:1px solid var(--line)}
tbody tr:hover td{background:var(--row)}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.name{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:12.5px;min-width:200px}
.kind{color:var(--mute);font-size:11px;border:1px solid var(--line);border-radius:5px;padding:0 5px;margin-left:7px;
font-family:system-ui,"DejaVu Sans",sans-serif}
.mute{color:var(--mute)}.shape{color:var(--mute);white-space:nowrap;font-variant-numeric:tabular-nums}
.meter{position:relative;width:130px;height:8px;border-radius:4px;background:var(--line)}
.meter i{position:absolute;left:0;top:0;bottom:0;border-radius:4px;background:var(--ours);width:var(--v)}
.meter u{position:absolute;top:-3px;bottom:-3px;width:2px;left:var(--b);background:var(--bad)}
.meter s{position:absolute;top:-2px;bottom:-2px;width:2px;left:var(--f);background:var(--mute)}
.ok{color:var(--good)}.out td{background:var(--badbg)}.out .v{color:var(--bad);font-weight:650}
.out .meter i{background:var(--bad)}
details{margin-top:18px}summary{cursor:pointer;color:var(--mute)}
footer{color:var(--mute);font-size:13px;margin-top:22px}
)html";

}  // namespace

std::string page_head(const std::string& title, std::string_view style) {
  return std::string(kHead) + std::string(style) + "</style>\n<title>" + escaped(title) + "</title></head>";
}

std::string report_head(const std::string& title) { return page_head(title, kReport) + "<body><main>\n"; }

std::string card(const std::string& figure, const std::string& caption) {
  return "<div class=\"card\"><b>" + figure + "</b><span>" + caption + "</span></div>\n";
}

std::string breakable(const std::string& name) {
  std::string out;
  for (char c : escaped(name)) {
    out += c;
    if (c == '.' || c == '/') out += "<wbr>";
  }
  return out;
}

}  // namespace ferry::parity
