"""The style and the script of the HTML report. The page is complete without the script."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --error: #c62828;
  --warning: #b26a00; --performance: #00708a; --come: #2e7d3226; --go: #c6282822; }
@media (prefers-color-scheme: dark) { :root { --error: #ef9a9a; --warning: #ffcc80;
  --performance: #80deea; --come: #81c78426; --go: #ef9a9a26; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem;
  padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; }
p { margin: .3rem 0; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { margin: .3rem 0; padding: .3rem .6rem; overflow-x: auto; overflow-wrap: normal;
  background: var(--soft); }
pre .n { display: inline-block; min-width: 2.6em; opacity: .6; user-select: none; }
mark { background: none; color: inherit; border-bottom: 2px solid currentColor; }
article { border: 1px solid var(--line); border-left: 4px solid var(--line);
  border-radius: 4px; padding: .6rem .8rem; margin: .6rem 0; }
[data-severity=error] { border-left-color: var(--error); }
[data-severity=warning] { border-left-color: var(--warning); }
[data-severity=performance] { border-left-color: var(--performance); }
.error { color: var(--error); fill: var(--error); }
.warning { color: var(--warning); fill: var(--warning); }
.performance { color: var(--performance); fill: var(--performance); }
b.error, b.warning, b.performance { text-transform: uppercase; font-size: .8rem; }
ol { margin: .3rem 0; padding-left: 1.4rem; }
.go, .come { display: block; } .go { background: var(--go); } .come { background: var(--come); }
.dim { opacity: .75; font-weight: normal; }
form { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; align-items: center;
  position: sticky; top: 0; background: Canvas; padding: .5rem 0; z-index: 1;
  border-bottom: 1px solid var(--line); }
fieldset { border: 0; padding: 0; margin: 0; display: flex; gap: .2rem .8rem; flex-wrap: wrap; }
input[type=search], select { font: inherit; max-width: 100%; }
svg { display: block; width: 100%; max-width: 44rem; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: CanvasText; }
summary { cursor: pointer; }
[hidden] { display: none !important; }
"""

SCRIPT = """
const form = document.getElementById("filters");
const findings = [...document.querySelectorAll("article")];
const shows = (element, data) => {
  const wanted = data.get("rule"), words = data.get("words").toLowerCase();
  return data.getAll("severity").includes(element.dataset.severity)
    && data.getAll("confidence").includes(element.dataset.confidence)
    && (!wanted || wanted === element.dataset.rule)
    && (element.textContent + element.parentElement.querySelector("h2").textContent)
      .toLowerCase().includes(words);
};
const filter = () => {
  const data = new FormData(form);
  for (const element of findings) element.hidden = !shows(element, data);
  for (const file of document.querySelectorAll("section.file"))
    file.hidden = !file.querySelector("article:not([hidden])");
  const left = findings.filter((element) => !element.hidden).length;
  document.getElementById("shown").textContent = `${left} of ${findings.length} shown`;
};
form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
"""
