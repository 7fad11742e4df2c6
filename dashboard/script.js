// What the pages gain where scripts run. Each works without.
document.documentElement.classList.add("scripted");

// The menu on narrow screens.
const menu = document.querySelector("#menu");
const menuButton = document.querySelector(".menu-button");
if (menu && menuButton) {
  menuButton.hidden = false;
  menuButton.addEventListener("click", () => {
    menuButton.setAttribute("aria-expanded", String(menu.classList.toggle("open")));
  });
}

// Copies codes: secrets, ids and commands.
function addCopying(place, text) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select it and copy";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  place.append(" ", button);
}
// What a page has by itself, and a part of it that was shown anew; fields say what their hints and faults are.
let ids = 0;
function prepare(root) {
  for (const words of root.querySelectorAll(".field > .fault, .field > .hint")) {
    if (!words.textContent) continue;
    words.id = `about-${ids += 1}`;
    const input = words.parentElement.querySelector("input, select, textarea");
    input.setAttribute("aria-describedby", `${input.getAttribute("aria-describedby") ?? ""} ${words.id}`.trim());
  }
  for (const picture of root.querySelectorAll(".plot svg")) picture.tabIndex = 0;
  for (const code of root.querySelectorAll(".secret .facts code")) addCopying(code.parentElement, () => code.textContent);
  for (const figure of root.querySelectorAll("figure.code")) {
    const label = figure.querySelector("figcaption");
    if (label.textContent === "Shell") addCopying(label, () => figure.querySelector("code").textContent);
  }
  for (const table of tables(root)) addSorting(table);
}
prepare(document);

// On a map a pointer places the circle of the form: pressed and dragged out it draws one, on the circle it drags it. In Web Mercator, as
// the map is.
const mapImage = document.querySelector(".map svg[data-frame]");
const place = {};
for (const name of ["place", "radius"]) place[name] = document.querySelector(`main form [name="${name}"]`);
if (mapImage && place.place && place.radius) {
  const [latitude, longitude, zoom, radiusMin] = mapImage.dataset.frame.split(" ").map(Number);
  const side = 256 * 2 ** zoom, around = 40075017;
  const down = degrees => 0.5 - Math.asinh(Math.tan(degrees * Math.PI / 180)) / (2 * Math.PI);
  const { width, height } = mapImage.viewBox.baseVal;
  const circle = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  circle.setAttribute("class", "new");
  const perMetre = lat => side / (around * Math.cos(lat * Math.PI / 180));
  // The circle of the form; the server reads more kinds of places.
  const typed = () => {
    const [lat, lon, more] = place.place.value.split(/[\s,;]+/).filter(Boolean).map(Number);
    const radius = (parseFloat(place.radius.value) || 0) * perMetre(lat);
    if (more !== undefined || ![lat, lon, radius].every(Number.isFinite)) return null;
    return { x: width / 2 + (lon - longitude) / 360 * side, y: height / 2 + (down(lat) - down(latitude)) * side, radius, lat };
  };
  const drawCircle = () => {
    const spot = typed();
    if (!spot) return circle.remove();
    circle.setAttribute("cx", spot.x);
    circle.setAttribute("cy", spot.y);
    circle.setAttribute("r", Math.max(5, spot.radius));
    mapImage.append(circle);
  };
  const put = (x, y) => {
    const turns = down(latitude) + (y - height / 2) / side;
    const lat = Math.atan(Math.sinh(Math.PI * (1 - 2 * turns))) * 180 / Math.PI;
    place.place.value = `${lat.toFixed(6)}, ${(longitude + (x - width / 2) / side * 360).toFixed(6)}`;
  };
  const at = event => new DOMPoint(event.clientX, event.clientY).matrixTransform(mapImage.getScreenCTM().inverse());
  // The circle of the page itself is dragged; others are links.
  const isOwn = event => event.target.closest("a")?.href.baseVal === location.pathname;
  for (const name of ["click", "dragstart"]) {
    mapImage.addEventListener(name, event => { if (isOwn(event)) event.preventDefault(); });
  }
  let begun = null;
  mapImage.addEventListener("pointerdown", event => {
    if (event.target.closest("a") && !isOwn(event)) return;
    const point = at(event), spot = typed();
    const isInside = spot && Math.hypot(point.x - spot.x, point.y - spot.y) <= Math.max(8, spot.radius);
    begun = { ...point.toJSON(), moved: isInside ? spot : null };
    mapImage.setPointerCapture(event.pointerId);
    if (!isInside) put(point.x, point.y);
    drawCircle();
  });
  mapImage.addEventListener("pointermove", event => {
    if (!begun) return;
    const point = at(event), far = Math.hypot(point.x - begun.x, point.y - begun.y);
    if (begun.moved) put(begun.moved.x + point.x - begun.x, begun.moved.y + point.y - begun.y);
    else if (far > 5) place.radius.value = Math.max(radiusMin, Math.round(far / perMetre(typed().lat)));
    drawCircle();
  });
  for (const name of ["pointerup", "pointercancel"]) mapImage.addEventListener(name, () => { begun = null; });
  for (const field of Object.values(place)) field.addEventListener("input", drawCircle);
  mapImage.classList.add("placing");
  drawCircle();
}

// What is typed in Compose is kept on the server: a moment after the last key, and when the page is left.
const written = document.querySelector("form[data-draft]");
let keeping = null;
let lastKept = null;
function keepDraft(isLeaving) {
  clearTimeout(keeping);
  keeping = null;
  const data = new FormData(written);
  for (const name of ["key", "device_file", "kept_device_file"]) data.delete(name);
  lastKept = new AbortController();
  const options = { method: "POST", body: data, keepalive: isLeaving, redirect: "manual", signal: lastKept.signal };
  fetch(written.dataset.draft, options).catch(() => {});
}
if (written) {
  written.addEventListener("input", () => {
    clearTimeout(keeping);
    keeping = setTimeout(() => keepDraft(false), 1500);
  });
  addEventListener("pagehide", () => { if (keeping && !isSending) keepDraft(true); });
  // The server keeps what is sent by itself.
  written.addEventListener("submit", () => {
    clearTimeout(keeping);
    keeping = null;
    lastKept?.abort();
  });
}

// A form is sent once.
let isSending = false;
document.addEventListener("submit", event => {
  const form = event.target;
  if (form.getAttribute("method") !== "post") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
  isSending = true;
});
addEventListener("pageshow", () => {
  isSending = false;
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});
// The first wrong field is where one goes on.
document.querySelector(".wrong input, .wrong select, .wrong textarea")?.focus();

// Live pages show themselves anew when something happened: not while someone types, marks a text or sends a form. The focus stays.
let live = document.body.dataset.live;
let shown = null;
let asked = 0;
let stream = null;
const main = document.querySelector("main");
const log = [...document.querySelectorAll("figure.code")].find(figure => figure.querySelector("figcaption").textContent === "log");
const isBusy = () => document.hidden || isSending || !document.getSelection().isCollapsed
  || main.contains(document.activeElement) && document.activeElement.matches("input, select, textarea")
  || [...main.querySelectorAll("input, textarea")].some(field => field.value !== field.defaultValue || field.checked !== field.defaultChecked)
  || [...main.querySelectorAll("option[selected]")].some(option => !option.selected);
function refresh() {
  if (isBusy()) return;
  asked = Date.now();
  const request = new XMLHttpRequest();
  request.open("GET", location.href);
  request.setRequestHeader("X-Belfry-Refresh", "1");
  request.responseType = "document";
  request.addEventListener("load", () => { if (!isBusy()) show(request); });
  request.send();
}
function show(request) {
  const fresh = request.response?.querySelector("main");
  // Another page: the session is over.
  if (!fresh || new URL(request.responseURL).pathname !== location.pathname) return location.reload();
  const next = request.response.body.dataset.live;
  if (next !== live) {
    if (next) return location.reload();
    live = "";
    stream?.close();
  }
  if (shown?.isEqualNode(fresh)) return;
  shown = fresh.cloneNode(true);
  // The focus stays on the link to an address or the button of a form, wherever it stands now; else at its place.
  const stops = () => [...main.querySelectorAll("a[href], button, summary, [tabindex]")];
  const nameOf = stop => stop.getAttribute("href") ?? stop.form?.getAttribute("action");
  const before = stops(), focus = before.indexOf(document.activeElement), name = focus < 0 ? null : nameOf(before[focus]);
  const named = all => all.filter(stop => nameOf(stop) === name);
  const turn = named(before).indexOf(document.activeElement);
  const sorted = [...tables(main)].map(table => table.querySelector("[aria-sort]"));
  const folds = () => [...main.querySelectorAll("details")];
  const unfolded = folds().map(fold => fold.open);
  main.replaceChildren(...fresh.childNodes);
  folds().forEach((fold, index) => { fold.open ||= unfolded[index]; });
  prepare(main);
  [...tables(main)].forEach((table, index) => {
    const head = sorted[index] && table.tHead?.rows[0].cells[sorted[index].cellIndex];
    if (head?.querySelector(".sort")) sortTable(table, head, sorted[index].getAttribute("aria-sort") === "descending");
  });
  document.title = request.response.title;
  if (focus >= 0) (named(stops())[turn] ?? stops()[focus])?.focus({ preventScroll: true });
}
if (live && live !== "reload") {
  let waiting = null;
  stream = new EventSource(live);
  const names = ["accepted", "started", "progress", "settled", "parked", "resumed", "lost"];
  const onEvent = event => {
    if (log) return tell(event);
    waiting ??= setTimeout(() => {
      waiting = null;
      refresh();
    }, 1000);
  };
  for (const name of names) stream.addEventListener(name, onEvent);
  addEventListener("pagehide", () => stream.close());
}
// What happened before the stream was open, and a stream that a proxy holds back.
if (live && !log) setInterval(() => { if (live && Date.now() - asked > 3000) refresh(); }, 4000);

// The log page: a line for each event, and a button that stores them.
const lines = [];
function tell(event) {
  const data = JSON.parse(event.data);
  lines.push(JSON.stringify({ at: new Date().toISOString(), event: event.type, ...data }));
  if (lines.length > 2000) lines.shift();
  const code = log.querySelector("code");
  code.textContent = lines.slice(-200).join("\n");
  code.parentElement.scrollTop = code.parentElement.scrollHeight;
}
if (log) {
  log.querySelector("code").textContent = "Nothing yet. Events appear here as they happen.";
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Download as JSON lines";
  button.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "application/x-ndjson" }));
    link.download = "events.jsonl";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  log.querySelector("figcaption").append(" ", button);
}

// The search of the header, also by Ctrl-K, ⌘K or /: pages by their names at once, and what the page of the search finds a moment later.
const finder = document.createElement("dialog");
finder.className = "find";
finder.setAttribute("aria-label", "Search");
const field = document.createElement("input");
field.type = "search";
field.placeholder = "A page, device, user, topic or push";
field.setAttribute("aria-label", "Search");
const list = document.createElement("ul");
list.id = "found";
list.setAttribute("role", "listbox");
list.setAttribute("aria-label", "Results");
for (const [name, value] of [["role", "combobox"], ["aria-expanded", "true"], ["aria-controls", "found"], ["aria-autocomplete", "list"]])
  field.setAttribute(name, value);
finder.append(field, list);
document.body.append(finder);
const searchForm = document.querySelector("form.search");
const choice = (link, about) => ({ text: link.textContent, about, href: link.getAttribute("href") });
const pages = [...document.querySelectorAll("#menu a")].map(link => choice(link, ""));
let found = [];
let chosen = 0;
// The address of what a key chose, which stays chosen when results arrive.
let kept = "";
let request = null;
let due = null;
const address = () => {
  const data = new FormData(searchForm);
  data.set("q", field.value);
  return `${searchForm.getAttribute("action")}?${new URLSearchParams(data)}`;
};
function draw() {
  const wanted = field.value.trim().toLowerCase();
  const choices = pages.filter(page => page.text.toLowerCase().includes(wanted));
  choices.push(...found.filter(one => !choices.some(other => other.href === one.href)));
  if (wanted) choices.push({ text: `All results for “${field.value.trim()}”`, about: "", href: address() });
  const stays = choices.findIndex(choice => choice.href === kept);
  chosen = stays >= 0 ? stays : Math.max(0, Math.min(chosen, choices.length - 1));
  list.replaceChildren(...choices.map((choice, index) => {
    const item = document.createElement("li");
    const about = document.createElement("small");
    item.id = `found-${index}`;
    item.dataset.href = choice.href;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", String(index === chosen));
    about.textContent = choice.about;
    item.append(choice.text, " ", about);
    return item;
  }));
  field.setAttribute("aria-activedescendant", `found-${chosen}`);
  list.children[chosen]?.scrollIntoView({ block: "nearest" });
}
// One question at a time, a moment after the last key; then the next, where the text has changed meanwhile.
function ask() {
  clearTimeout(due);
  if (request || field.value.trim().length < 2) return;
  due = setTimeout(() => {
    const url = address();
    request = new XMLHttpRequest();
    request.open("GET", url);
    request.responseType = "document";
    request.addEventListener("loadend", event => {
      request = null;
      if (address() !== url) return ask();
      const sections = event.target.response?.querySelectorAll("main section") ?? [];
      found = [...sections].flatMap(section => [...section.querySelectorAll(".hits li")].map(item => choice(item.querySelector("a"),
        [section.querySelector("h2").textContent, item.querySelector("small").textContent].filter(Boolean).join(" · "))));
      draw();
    });
    request.send();
  }, 250);
}
function startSearch() {
  found = [];
  kept = "";
  chosen = 0;
  draw();
  ask();
}
function openFinder(text) {
  field.value = text;
  startSearch();
  finder.showModal();
  field.setSelectionRange(text.length, text.length);
}
field.addEventListener("input", startSearch);
field.addEventListener("keydown", event => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    chosen = Math.max(0, Math.min(chosen + (event.key === "ArrowDown" ? 1 : -1), list.children.length - 1));
    kept = list.children[chosen]?.dataset.href;
    draw();
    event.preventDefault();
  } else if (event.key === "Enter") {
    list.children[chosen]?.click();
    event.preventDefault();
  }
});
list.addEventListener("click", event => {
  const item = event.target.closest("li");
  if (item) location.assign(item.dataset.href);
});
if (searchForm) {
  const shown = searchForm.querySelector("[name=q]");
  if (matchMedia("(pointer: fine)").matches) shown.placeholder = "Search (Ctrl-K)";
  const move = () => {
    openFinder(shown.value);
    shown.value = "";
  };
  shown.addEventListener("click", move);
  shown.addEventListener("input", move);
  addEventListener("keydown", event => {
    const isShortcut = event.key?.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)
      || event.key === "/" && !event.ctrlKey && !event.metaKey && !event.target.closest?.("input, select, textarea");
    if (!isShortcut || finder.open) return;
    event.preventDefault();
    openFinder("");
  });
}

// The list of applications closes by Escape, and by a click elsewhere.
const switcher = document.querySelector(".switcher");
if (switcher) {
  addEventListener("click", event => { if (!switcher.contains(event.target)) switcher.open = false; });
  switcher.addEventListener("keydown", event => {
    if (event.key !== "Escape" || !switcher.open) return;
    switcher.open = false;
    switcher.querySelector("summary").focus();
  });
}

// Charts: what the column under the pointer has, or the one that arrow keys choose, is said below.
function readColumn(column) {
  const chart = column.closest(".chart");
  chart.querySelector(".at")?.classList.remove("at");
  column.classList.add("at");
  chart.querySelector(".reading").textContent = column.textContent;
}
document.addEventListener("pointerover", event => {
  if (event.target.matches?.(".plot .column")) readColumn(event.target);
});
document.addEventListener("keydown", event => {
  const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
  if (!step || !event.target.matches(".plot svg")) return;
  const columns = [...event.target.querySelectorAll(".column")];
  const now = columns.findIndex(column => column.matches(".at"));
  const next = Math.max(0, Math.min(columns.length - 1, (now < 0 ? columns.length : now) + step));
  if (columns[next]) readColumn(columns[next]);
  event.preventDefault();
});

// Compose shows the fields of what is chosen, and beside the form what it would do.
function composeForm(form, beside) {
  const [told, , send, looks] = beside.children;
  const { names, audience } = form.elements;
  const topics = document.createElement("div");
  topics.className = "chips";
  topics.setAttribute("role", "group");
  topics.setAttribute("aria-label", "Topics");
  names?.closest(".field").append(topics);
  const label = names?.closest("label").querySelector("span"), unchosen = label?.textContent;
  const labels = { topics: "Topics", users: "User ids", devices: "Device UUIDs", place: "Subscribers of these topics alone" };
  // What is hidden is not sent. Boxes are, and a draft keeps them, but for those of Repeat, which another choice refuses.
  function choose() {
    for (const field of form.querySelectorAll("[data-only]")) {
      const [name, ...choices] = field.dataset.only.split(" ");
      field.hidden = !choices.includes(form.elements[name].value);
      const boxes = name === "repeat" ? "" : ":not([type=checkbox])";
      for (const input of field.querySelectorAll(`input${boxes}, select, textarea`)) input.disabled = field.hidden;
    }
    if (label) label.textContent = labels[audience.value] ?? unchosen;
  }
  let [waiting, request, shownNumbers] = [null, null, null];
  function ask() {
    waiting = null;
    request?.abort();
    const data = new FormData(form);
    data.delete("key");
    request = new XMLHttpRequest();
    request.open("POST", beside.dataset.aside);
    request.responseType = "document";
    request.timeout = 20000;
    for (const name of ["load", "error", "timeout"]) request.addEventListener(name, answer);
    request.send(data);
  }
  function answer() {
    const { status, response, responseURL } = request;
    request = null;
    if (status !== 200 || !responseURL.endsWith(beside.dataset.aside)) {
      told.textContent = "This cannot be counted at the moment.";
      shownNumbers = null;
      if (status === 429 || status === 503) later(3000);
      return;
    }
    const hadFocus = send.contains(document.activeElement);
    const heading = details => details.parentElement.querySelector("figcaption").textContent;
    const open = [...looks.querySelectorAll("details[open]")].map(heading);
    const [numbers, ...others] = response.body.children;
    // What has not changed is not read out again.
    if (!shownNumbers?.isEqualNode(numbers)) {
      shownNumbers = numbers.cloneNode(true);
      told.replaceChildren(...numbers.childNodes);
    }
    [send, looks, topics].forEach((place, index) => place.replaceChildren(...others[index].childNodes));
    for (const details of looks.querySelectorAll("details")) details.open = open.includes(heading(details));
    if (hadFocus) send.querySelector("button")?.focus();
  }
  // One request at a time, and none while someone types: what an answer says is then out of date, and so is its button.
  function later(pause) {
    clearTimeout(waiting);
    waiting = setTimeout(ask, pause);
  }
  for (const name of ["input", "change"]) form.addEventListener(name, event => {
    if (name === "change" && !event.target.matches("select")) return;
    choose();
    request?.abort();
    request = null;
    for (const button of send.querySelectorAll("button")) button.disabled = true;
    later(600);
  });
  form.addEventListener("submit", () => {
    clearTimeout(waiting);
    request?.abort();
  });
  topics.addEventListener("click", event => {
    const button = event.target.closest("button");
    if (!button) return;
    names.value = button.value;
    names.focus();
    names.dispatchEvent(new Event("input", { bubbles: true }));
  });
  choose();
  addEventListener("pageshow", () => { choose(); later(0); });
}
// An expression in rows, all of which must hold. Its text is what counts: rows are read from it, and what they cannot show has none.
function addRows(area) {
  const terms = {
    topic: "Topic", user: "User id", platform: "Platform", lang: "Language", country: "Country", tz: "Time zone", version: "App version",
    osversion: "System version", os: "System", model: "Model", maker: "Maker", seen: "Last seen", created: "First seen", segment: "Segment",
    "attr.": "Attribute", "user.": "User's attribute", opened: "Opened push", opened_campaign: "Opened campaign",
  };
  const tests = term => /^(seen|created)$/.test(term)
    ? [[":", "in the last"], ["!=", "not in the last"], ["<", "before"], [">", "after"]]
    : [[":", "is"], ["!=", "is not"],
       ...(/version$|\.$/.test(term) ? [[">=", "at least"], ["<=", "at most"], [">", "more than"], ["<", "less than"]] : [])];
  const bare = /^[^\s"(),<>=!]+(,[^\s"(),<>=!]+)*$/;
  const part = /\s*(-?)(attr\.|user\.)?([a-z_.\w-]+?)(!=|>=|<=|[:<>])("(?:[^"\\]|\\.)*"|[^\s"(),<>=!]+(?:,[^\s"(),<>=!]+)*)(?=\s|$)/gy;
  const box = document.createElement("div"), list = document.createElement("div"), add = document.createElement("button");
  [add.type, add.textContent, box.className] = ["button", "Add a condition", "conditions"];
  box.append(list, add);
  area.closest(".field").prepend(box);
  function named(kind, label) {
    const one = document.createElement(kind);
    one.setAttribute("aria-label", label);
    return one;
  }
  const fill = (select, choices, chosen) => select.replaceChildren(
    ...choices.map(([value, text]) => new Option(text, value, false, value === chosen)));
  function addRow(term, name, test, value) {
    const row = named("div", "Condition");
    row.setAttribute("role", "group");
    const [what, own, how, than, less] = [
      named("select", "What"), named("input", "Its name"), named("select", "Comparison"), named("input", "Value"),
      named("button", "Remove this condition")];
    fill(what, Object.entries(terms), term);
    [own.value, than.value, less.type, less.textContent] = [name, value, "button", "−"];
    const suit = () => {
      fill(how, tests(what.value), how.value || test);
      own.hidden = !what.value.endsWith(".");
      than.placeholder = how.options[0].text === "in the last" ? "P30D" : "";
    };
    what.addEventListener("change", suit);
    less.addEventListener("click", () => {
      row.remove();
      add.focus();
      write();
    });
    suit();
    row.append(what, own, how, than, less);
    list.append(row);
    return what;
  }
  let isWriting = false;
  function write() {
    const text = [...list.children].map(row => {
      const [what, own, how, than] = [...row.children].map(field => field.value.trim());
      if (!than || what.endsWith(".") && !own) return "";
      const value = bare.test(than) || /^".*"$/.test(than) ? than : `"${than.replace(/["\\]/g, "\\$&")}"`;
      return `${how === "!=" ? "-" : ""}${what}${what.endsWith(".") ? own : ""}${how === "!=" ? ":" : how}${value}`;
    });
    area.value = text.filter(Boolean).join(" ");
    isWriting = true;
    area.dispatchEvent(new Event("input", { bubbles: true }));
    isWriting = false;
  }
  function read() {
    if (isWriting) return;
    list.replaceChildren();
    let [end, isPlain] = [0, true];
    for (const [all, not, kind, name, test, value] of area.value.matchAll(part)) {
      end += all.length;
      const term = kind ?? name, inner = value.slice(1, -1).replace(/\\(.)/g, "$1");
      isPlain &&= term in terms && !(not && test !== ":") && tests(term).some(([one]) => one === test);
      if (isPlain) addRow(term, kind ? name : "", not ? "!=" : test, value[0] === '"' && !bare.test(inner) ? inner : value);
    }
    box.hidden = !isPlain || area.value.slice(end).trim() !== "";
  }
  for (const name of ["input", "change"]) list.addEventListener(name, write);
  add.addEventListener("click", () => addRow("topic", "", ":", "").focus());
  area.addEventListener("input", read);
  addEventListener("pageshow", read);
  read();
}
document.querySelectorAll('textarea[name="where"]').forEach(addRows);
const beside = document.querySelector(".beside");
if (beside) composeForm(beside.closest("form"), beside);

// The server writes times by the browser's clock, unless the person chose a zone.
const dashboardPath = new URL("..", import.meta.url).pathname.replace(/\/$/, "");
document.cookie = `belfry_zone=${Intl.DateTimeFormat().resolvedOptions().timeZone}; path=${dashboardPath}; max-age=31536000; samesite=lax`
  + (location.protocol === "https:" ? "; secure" : "");

// An open page goes on saying how long ago a time was, in the server's words.
setInterval(() => {
  for (const words of document.querySelectorAll("time small")) {
    const minutes = Math.floor((Date.now() - new Date(words.parentElement.dateTime)) / 60000);
    if (minutes < 1) continue;
    words.textContent = (minutes === 1 ? "a minute" : minutes < 120 ? `${minutes} minutes`
      : minutes < 2880 ? `${Math.floor(minutes / 60)} hours` : `${Math.floor(minutes / 1440)} days`) + " ago";
  }
}, 60000);

// A table that stands whole on its page is sorted by a click on the head of a column.
function tables(root) { return root.querySelectorAll(".scroll > table"); }
function sortTable(table, head, down) {
  const column = head.cellIndex, body = table.tBodies[0];
  const units = { ms: 1, s: 1e3, min: 6e4, h: 36e5 };
  const isNumber = head.matches(".number") || /^[\d.]+ (ms|s|min|h)$/.test(body.rows[0].cells[column]?.textContent.trim());
  const key = row => {
    const cell = row.cells[column], text = cell?.querySelector("time")?.dateTime ?? cell?.textContent.trim() ?? "";
    const [, number, unit] = text.replaceAll(",", "").match(/(-?[\d.]+) ?(\w*)/) ?? [];
    return isNumber ? (parseFloat(number) || 0) * (units[unit] ?? 1) : text;
  };
  const compare = (one, other) => isNumber ? one - other : one.localeCompare(other, undefined, { numeric: true });
  const rows = [...body.rows].sort((one, other) => compare(key(one), key(other)) * (down ? -1 : 1));
  body.append(...rows);
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
}
function addSorting(table) {
  const isPart = table.parentElement.nextElementSibling?.matches(".more") || /[?&](after|before|page)=/.test(location.search);
  if (isPart || table.tBodies[0]?.rows.length < 3 || !table.tHead) return;
  for (const head of table.tHead.rows[0].cells) {
    if (head.querySelector(".unseen") || !head.textContent) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortTable(table, head, head.getAttribute("aria-sort") === "ascending"));
    head.append(button);
  }
}
