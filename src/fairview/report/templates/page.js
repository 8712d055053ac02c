// Draw every chart from the JSON beside it. Expressions are interpreted (ast), not evaluated, so that the content
// security policy can forbid evaluation; tooltips are built from text nodes, so that no name can become markup.
const tip = document.getElementById("tip");

function showTip(handler, event, item, value) {
  tip.hidden = value == null || value === "";
  if (tip.hidden) return;
  tip.replaceChildren();
  const list = document.createElement("dl");
  for (const [name, text] of Object.entries(Object(value) === value ? value : { "": value })) {
    const dt = document.createElement("dt");
    const dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = text;
    list.append(dt, dd);
  }
  tip.append(list);
  const box = tip.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  const left = Math.max(4, Math.min(event.clientX + 12, width - box.width - 4));
  const below = event.clientY + 14;
  const top = below + box.height > window.innerHeight ? event.clientY - box.height - 10 : below;
  tip.style.left = `${left + window.scrollX}px`;
  tip.style.top = `${Math.max(0, top) + window.scrollY}px`;
}

// A title in as many lines as the chart's width asks for.
function lines(text, letters) {
  return text.split(" ").reduce((found, word) => {
    const last = found[found.length - 1];
    if (last !== undefined && last.length + word.length < letters) found[found.length - 1] = `${last} ${word}`;
    else found.push(word);
    return found;
  }, []);
}

const views = new Map();

function draw(place) {
  const spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
  const narrow = place.clientWidth < 420;
  spec.config.axis.labelLimit = narrow ? 118 : 240;
  spec.config.legend.columns = narrow ? 1 : place.clientWidth < 640 ? 2 : 4;
  spec.config.legend.labelLimit = narrow ? 240 : 180;
  spec.title = lines(spec.title, place.clientWidth / 7.9);
  const options = { ast: true, actions: false, renderer: "svg", tooltip: showTip, defaultStyle: false };
  return vegaEmbed(place, spec, options).then(
    ({ view }) => {
      place.classList.add("drawn");
      views.set(place, { view, names: (spec.params ?? []).map(({ name }) => name) });
    },
    (error) => {
      place.classList.add("failed");
      place.textContent = "This chart can't be drawn; its numbers are in the table below.";
      console.error(error);
    },
  );
}

// A slider says in words what lies at each of its places, and moves the parameters of the charts above it. Its table,
// which shows the same without a script, is closed.
for (const box of document.querySelectorAll(".slider")) {
  const steps = JSON.parse(box.querySelector("script").textContent);
  const input = box.querySelector("input");
  const [result, text] = box.querySelectorAll("output > *");
  const say = () => {
    const step = steps[input.value];
    box.querySelector(".at").textContent = step.name;
    input.setAttribute("aria-valuetext", `${step.name}: ${step.result}`);
    result.textContent = step.result;
    text.textContent = step.text;
    return step;
  };
  input.addEventListener("input", () => {
    const step = say();
    for (const place of box.closest("section").querySelectorAll(".chart")) {
      const { view, names } = views.get(place) ?? { names: [] };
      names.forEach((name) => view.signal(name, step.parameters[name]));
      view?.runAsync();
    }
  });
  say();
  box.querySelector(".control").hidden = false;
  box.querySelector("details").open = false;
}

Promise.all([...document.querySelectorAll(".chart")].map(draw)).then(() => {
  document.documentElement.dataset.ready = "yes";
});

// On paper nothing can be opened: print with every table shown, then close what was closed.
let closed = [];
window.addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  closed.forEach((details) => (details.open = true));
});
window.addEventListener("afterprint", () => closed.forEach((details) => (details.open = false)));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") tip.hidden = true;
});
