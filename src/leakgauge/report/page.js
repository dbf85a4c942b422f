"use strict";
// Replaces the static charts by ones that can be zoomed and read under the pointer; paper shows the static ones.
// Colours are CSS variables, so the page's theme is the charts' theme.
(async () => {
  const { config, specs } = JSON.parse(document.getElementById("specs").textContent);
  config.axisY.labelLimit = Math.min(280, innerWidth / 2);
  const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, config, tooltip: { theme: "custom" } };
  const views = (window.leakgaugeViews = {});

  // A wheel that is scrolling the page goes on scrolling it when a chart comes by: a chart zooms only under a
  // pointer that has really moved over it since. (Browsers also report moves of a pointer that stood still.)
  let armed = null, last = "";
  addEventListener("scroll", () => { armed = null; }, { passive: true });
  addEventListener("pointermove", (event) => {
    const now = `${event.screenX},${event.screenY}`;
    if (now !== last) armed = event.target.closest?.(".drawing");
    last = now;
  }, { capture: true, passive: true });
  const guard = (place) => place.addEventListener("wheel", (event) => {
    if (armed !== place) event.stopPropagation();
  }, { capture: true, passive: true });

  for (const [name, spec] of Object.entries(specs)) {
    const place = document.getElementById(name), live = document.createElement("div");
    live.className = "live";
    place.append(live);
    guard(place);
    try {
      views[name] = (await vegaEmbed(live, spec, options)).view; // sets role and label of `live` alone
      place.classList.add("drawn");
    } catch (error) {
      live.remove(); // the static chart stays
      console.error(name, error);
    }
  }
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
  document.documentElement.dataset.drawn = String(Object.keys(views).length);
})();
