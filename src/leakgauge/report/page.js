"use strict";
// Draws every chart of the page. Colours are CSS variables, so the page's theme is the charts' theme.
(async () => {
  const soft = "var(--soft, #545d68)", line = "var(--line, #d9dee4)";
  const font = "ui-sans-serif, system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
  const config = {
    aria: false,
    background: "transparent",
    font,
    view: { stroke: null },
    axis: {
      domainColor: line, gridColor: line, tickColor: line, labelColor: soft, titleColor: soft,
      labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", titlePadding: 10, labelPadding: 6,
      gridDash: [1, 3], tickSize: 4, labelOverlap: true,
    },
    axisY: { grid: false, labelLimit: Math.max(110, 0.4 * Math.min(innerWidth, 700)) },
  };
  const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, config, tooltip: { theme: "custom" } };
  const specs = JSON.parse(document.getElementById("specs").textContent);
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
    const place = document.getElementById(name);
    guard(place);
    try {
      views[name] = (await vegaEmbed(place, spec, options)).view;
    } catch (error) {
      place.textContent = "This chart could not be drawn: " + error.message;
      console.error(name, error);
    }
  }
  document.documentElement.dataset.drawn = String(Object.keys(views).length);
})();
