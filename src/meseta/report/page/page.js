"use strict";
(() => {
  const root = document.documentElement;
  const themes = JSON.parse(document.getElementById("themes").textContent);
  const config = {
    responsive: true,
    displaylogo: false,
    showSendToCloud: false,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
    toImageButtonOptions: { scale: 2 },
  };
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const touch = window.matchMedia("(pointer: coarse)").matches;
  // of a page of A4 with margins of 14 mm, in CSS pixels: a plot over its width, and one of two
  const printed = { wide: 680, small: 330 };
  let printing = false;
  let plotly = null;

  // ---- theme

  const themeButton = document.getElementById("theme");
  const choices = ["auto", "light", "dark"];
  let choice = "auto";

  function remembered() {
    try {
      return window.localStorage.getItem("meseta-theme");
    } catch {
      return null; // some browsers keep nothing for files
    }
  }

  function chooseTheme(name) {
    choice = choices.includes(name) ? name : "auto";
    if (choice === "auto") delete root.dataset.theme;
    else root.dataset.theme = choice;
    themeButton.textContent = `Theme: ${choice}`;
    try {
      window.localStorage.setItem("meseta-theme", choice);
    } catch {
      // then it holds until the page is closed
    }
    redraw();
  }

  function themeOfPlots() {
    if (printing) return themes.light;
    return themes[choice === "auto" ? (dark.matches ? "dark" : "light") : choice];
  }

  // ---- plots

  const playground = document.getElementById("playground");
  let play = null; // what can be moved, once its model is inflated
  const plots = [...document.querySelectorAll(".plot")].map((figure) => ({
    figure,
    chart: figure.querySelector(".chart"),
    live: figure.dataset.live, // made by `play`
    packed: figure.querySelector("script")?.textContent,
    text: null, // its data and layout, once inflated
    drawn: null, // the theme and width it is drawn for
  }));

  // Only what is a colour is exchanged: a choice may be called like one.
  function recoloured(value, colors, key) {
    if (Array.isArray(value)) return value.map((each) => recoloured(each, colors, key));
    if (value !== null && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, recoloured(v, colors, k)]));
    }
    return typeof value === "string" && /color$/.test(key) ? (colors[value] ?? value) : value;
  }

  function draw(plot) {
    if (!plotly) return;
    const theme = themeOfPlots();
    const state = `${theme === themes.dark}${printing}`;
    if (plot.drawn === state) return;
    const made = plot.live ? play?.figure(plot.live) : JSON.parse(plot.text);
    if (!made) return;
    const { data, layout, told } = recoloured(made, theme.colors, "");
    if (told) plot.chart.setAttribute("aria-label", told);
    layout.template = theme.template;
    if (touch) layout.dragmode = false; // a finger scrolls the page
    if (printing) layout.width = printed[plot.figure.classList.contains("wide") ? "wide" : "small"];
    else layout.autosize = true;
    // a legend takes more lines there
    if (!printing && plot.chart.clientWidth < 420 && layout.showlegend !== false) layout.height += 50;
    plot.chart.style.height = `${layout.height}px`;
    plot.drawn = state;
    try {
      plotly.react(plot.chart, data, layout, config).catch(() => giveUp(plot));
    } catch {
      giveUp(plot);
    }
  }

  // One plot that cannot be drawn, such as on a very narrow screen, must not take others with it.
  function giveUp(plot) {
    plotly.purge(plot.chart);
    plot.chart.textContent = "There is no room to draw this plot here.";
    plot.drawn = null;
  }

  function visible(plot) {
    const panel = plot.figure.closest("[role=tabpanel]");
    return printing || !panel || !panel.hidden;
  }

  function redraw() {
    plots.filter(visible).forEach(draw);
  }

  // A plot of `play` has other data.
  function changed(key) {
    const plot = plots.find((each) => each.live === key);
    plot.drawn = null;
    if (visible(plot)) draw(plot);
  }

  function showPlay() {
    const panel = playground?.closest("[role=tabpanel]");
    if (play && (printing || !panel || !panel.hidden)) play.show();
  }

  async function inflated(packed) {
    const bytes = Uint8Array.from(window.atob(packed), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  async function loadPlots() {
    if (!plots.length) return;
    if (typeof DecompressionStream === "undefined") {
      throw new Error("this browser is too old to unpack them");
    }
    root.classList.add("with-plots");
    const script = document.createElement("script");
    script.textContent = await inflated(document.getElementById("library").textContent);
    document.head.append(script);
    // all of them now: printing does not wait
    await Promise.all(plots.filter((plot) => plot.packed).map(async (plot) => { plot.text = await inflated(plot.packed); }));
    const model = playground && JSON.parse(await inflated(playground.textContent));
    if (!window.Plotly) throw new Error("this browser does not let them run");
    plotly = window.Plotly;
    if (model) {
      play = mesetaPlay(model, changed);
      root.classList.add("playing");
    }
    showPlay();
    redraw();
    if (before) window.scrollTo(0, before.y);
    root.dataset.plots = "drawn";
  }

  // ---- tabs

  const tablist = document.querySelector("[role=tablist]");
  const tabs = tablist ? [...tablist.querySelectorAll("[role=tab]")] : [];

  function panelOf(tab) {
    return document.getElementById(tab.getAttribute("aria-controls"));
  }

  function open(tab) {
    for (const each of tabs) {
      const selected = each === tab;
      each.setAttribute("aria-selected", String(selected));
      each.tabIndex = selected ? 0 : -1;
      panelOf(each).hidden = !selected;
    }
    showPlay();
    redraw();
    // a plot that was hidden while the window changed does not know its width
    if (plotly) plots.filter((plot) => visible(plot) && plot.drawn).forEach((plot) => plotly.Plots.resize(plot.chart));
  }

  function moved(key, index) {
    if (key === "ArrowRight") return (index + 1) % tabs.length;
    if (key === "ArrowLeft") return (index + tabs.length - 1) % tabs.length;
    if (key === "Home") return 0;
    if (key === "End") return tabs.length - 1;
    return null;
  }

  // ---- printing

  function startPrinting() {
    if (printing) return;
    printing = true;
    document.querySelectorAll("details").forEach((each) => {
      each.dataset.open = String(each.open);
      each.open = true;
    });
    showPlay();
    redraw();
  }

  function endPrinting() {
    if (!printing) return;
    printing = false;
    document.querySelectorAll("details").forEach((each) => {
      each.open = each.dataset.open === "true";
    });
    redraw();
  }

  // ---- a study that is still running

  const running = document.getElementById("running");
  let said = null; // by the notice, of a page that is old
  const place = `meseta-place ${window.location.pathname}`;

  const RENEWED = 3; // times the seconds until a newer page may be there, after which this one is old

  function inWords(seconds) {
    const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
    const [unit, length] = units.find((each) => seconds >= 2 * each[1]) ?? units.at(-1);
    return `${Math.floor(seconds / length)} ${unit}s`;
  }

  // A run that was killed leaves its last page behind.
  function tellAge() {
    const { again, written } = running.dataset;
    const age = Date.now() / 1000 - Number(written);
    if (age < RENEWED * Number(again)) return;
    said ??= running.textContent.replace("Running:", "Was running:");
    running.textContent = `${said} Not renewed for ${inWords(age)}: the trials take that long, or ` +
      "the run was ended and could not say so.";
  }

  function rememberPlace() {
    const tab = tabs.find((each) => each.getAttribute("aria-selected") === "true");
    try {
      window.sessionStorage.setItem(place, JSON.stringify({ tab: tab?.id, y: window.scrollY }));
    } catch {
      // then the page begins at its top
    }
  }

  // The place before the page loaded itself anew, once.
  function rememberedPlace() {
    try {
      const found = JSON.parse(window.sessionStorage.getItem(place));
      window.sessionStorage.removeItem(place);
      return found;
    } catch {
      return null;
    }
  }

  function loadAnew() {
    tellAge();
    const panel = playground?.closest("[role=tabpanel]");
    if (printing || (panel && !panel.hidden)) return; // somebody tries something
    rememberPlace();
    window.location.reload();
  }

  // ---- start

  const before = rememberedPlace();
  if (running) tellAge();
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => open(tab));
    tab.addEventListener("keydown", (event) => {
      const next = moved(event.key, index);
      if (next === null) return;
      event.preventDefault();
      open(tabs[next]);
      tabs[next].focus();
    });
  });
  if (tablist) {
    tablist.hidden = false;
    open(tabs.find((each) => each.id === before?.tab) ?? tabs[0]);
  }
  themeButton.hidden = false;
  themeButton.addEventListener("click", () => {
    chooseTheme(choices[(choices.indexOf(choice) + 1) % choices.length]);
  });
  chooseTheme(remembered());
  dark.addEventListener("change", redraw);
  window.addEventListener("beforeprint", startPrinting);
  window.addEventListener("afterprint", endPrinting);
  window.matchMedia("print").addEventListener("change", (event) => {
    if (event.matches) startPrinting();
    else endPrinting();
  });
  loadPlots().catch((error) => {
    root.classList.remove("with-plots");
    const notice = document.getElementById("without-plots");
    notice.textContent = `The plots cannot be shown: ${error.message}. All tables and texts are below.`;
    notice.hidden = false;
  }).finally(() => {
    if (running) window.setInterval(loadAnew, 1000 * Number(running.dataset.again));
  });
})();
