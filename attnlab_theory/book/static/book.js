// The ledger, the viewer of attention, and what keyboards need. No page asks any host for anything.
"use strict";

const element = (name, attributes = {}, ...children) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
};

// The ledger: the hash of the address holds the filter, as in ledger.html#topic=limits&verdict=REFUTED.
function ledger() {
  const table = document.getElementById("ledger");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const fields = ["topic", "question", "verdict", "lab", "source"];
  const named = { question: "homework question" };
  const values = (row, field) => row.dataset[field].split("|").filter(Boolean);
  const box = document.getElementById("filters");
  const text = element("input", { type: "search", id: "filter-text" });
  box.append(element("label", {}, "words ", text));
  const selects = Object.fromEntries(fields.map((field) => {
    const every = [...new Set(rows.flatMap((row) => values(row, field)))].sort();
    const select = element("select", { id: `filter-${field}` }, new Option("all", ""), ...every.map((v) => new Option(v, v)));
    box.append(element("label", {}, `${named[field] ?? field} `, select));
    return [field, select];
  }));
  box.hidden = false;

  const show = () => {
    const asked = text.value.toLowerCase();
    let count = 0;
    for (const row of rows) {
      const fits = fields.every((f) => !selects[f].value || values(row, f).includes(selects[f].value));
      row.hidden = !(fits && row.textContent.toLowerCase().includes(asked));
      count += !row.hidden;
    }
    document.getElementById("shown").textContent = `${count} of ${rows.length} claims and statements`;
  };
  const write = () => {
    const held = new URLSearchParams(fields.map((f) => [f, selects[f].value]).filter(([, value]) => value));
    if (text.value) held.set("words", text.value);
    history.replaceState(null, "", held.size ? `#${held}` : location.pathname);
    show();
  };
  const read = () => {
    const held = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) selects[field].value = held.get(field) ?? "";
    text.value = held.get("words") ?? "";
    show();
  };
  box.addEventListener("input", write);
  window.addEventListener("hashchange", read);
  read();

  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = element("button", { type: "button", textContent: head.textContent });
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => row.cells[column].textContent.trim();
      const order = (a, b) => key(a).localeCompare(key(b), "en", { numeric: true });
      body.append(...rows.sort((a, b) => (up ? order(a, b) : order(b, a))));
    });
  }
}

// The viewer: a grid of heads, a layer in each row; a token shows what it reads.
function attention(box) {
  const heads = JSON.parse(box.dataset.heads);
  const tokens = element("p", { className: "tokens" });
  const said = element("p", { role: "status" });
  const grid = element("div", { className: "grid", role: "group" });
  grid.setAttribute("aria-label", "layers and heads");
  const layers = [...new Set(heads.map((head) => `${head.variant}, layer ${head.layer}`))];
  const names = [...new Set(heads.flatMap((head) => (head.maps ?? []).map((map) => map.name)))];
  const text = element("select", {}, ...names.map((name) => new Option(name, name)));
  let chosen = () => {};
  text.addEventListener("input", () => chosen());
  const choose = (head, button) => {
    chosen = () => choose(head, button);
    for (const other of grid.querySelectorAll("button")) other.setAttribute("aria-pressed", other === button);
    const maps = head.maps ?? [];
    const map = maps.find((each) => each.name === text.value) ?? maps[0];
    if (map) text.value = map.name;
    else {
      tokens.replaceChildren();
      said.textContent = `The run has kept no map of head ${head.head} of layer ${head.layer}.`;
      return;
    }
    const marks = map.tokens.map((token) => element("button", { type: "button", textContent: token === " " ? "␣" : token }));
    const read = (at) => {
      const weights = map.weights[at] ?? [];
      const largest = Math.max(...weights);
      const most = weights.indexOf(largest);
      for (const [i, mark] of marks.entries()) {
        mark.style.setProperty("--weight", weights[i] / largest || 0);
        mark.classList.toggle("reading", i === at);
      }
      said.textContent = `Token ${at + 1} reads token ${most + 1} most, with weight ${Number(weights[most]).toFixed(2)}.`;
    };
    marks.forEach((mark, at) => ["mouseenter", "focus", "click"].forEach((on) => mark.addEventListener(on, () => read(at))));
    tokens.replaceChildren(...marks);
    read(map.tokens.length - 1);
  };
  for (const layer of layers) {
    const row = element("div", {}, element("span", { textContent: layer }));
    for (const head of heads.filter((each) => `${each.variant}, layer ${each.layer}` === layer)) {
      const button = element("button", { type: "button", textContent: `head ${head.head}${head.mean === null ? "" : `: ${head.mean.toFixed(2)}`}` });
      button.style.setProperty("--weight", head.mean ?? 0);
      button.classList.toggle("kept", Boolean(head.maps));
      button.addEventListener("click", () => choose(head, button));
      row.append(button);
    }
    grid.append(row);
  }
  box.replaceChildren(grid, ...(heads.some((head) => head.maps?.length > 1) ? [element("label", {}, "question about ", text)] : []), tokens, said);
  const kept = heads.find((head) => head.maps);
  if (kept) choose(kept, grid.querySelector("button.kept"));
}

// What scrolls sideways can be reached by a keyboard, too.
function reachable() {
  for (const each of document.querySelectorAll(".table-wrapper, .highlight pre, pre")) each.tabIndex = 0;
  for (const each of document.querySelectorAll(".table-wrapper")) {
    each.setAttribute("role", "region");
    each.setAttribute("aria-label", "table");
  }
}

document.addEventListener("DOMContentLoaded", () => {
  reachable();
  ledger();
  document.querySelectorAll(".attention[data-heads]").forEach(attention);
});
