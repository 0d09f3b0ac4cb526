"use strict";
/* The part of the page in which settings and tolerances can be moved.

`mesetaPlay(ground, changed)` ties the sliders to the model; `changed(key)` asks the page to draw a
plot again, whose data and layout `figure(key)` returns. */
const mesetaPlay = (ground, changed) => {
  const { SPACE, estimate, percent, plain, signed, withUnit } = mesetaNumbers;
  const { knobs, words, look } = ground;
  const model = mesetaModel.modelOf(ground);
  const [BINS, SIDE, ALONG, LEVELS] = [40, 29, 61, 12];
  const PAUSE = 180; // milliseconds without a movement, before the slower figures follow
  const SLICE = 25; // milliseconds of work at a time
  const today = { settings: knobs.map((knob) => knob.robust), times: knobs.map(() => 1) };
  const state = { settings: [...today.settings], times: [...today.times] };
  const shown = { values: null, reference: null, map: null };
  const ends = { low: Infinity, high: -Infinity }; // of the histogram: it never gets narrower
  let [started, waiting, pause, run] = [false, false, 0, 0];
  const find = (id) => document.getElementById(id);

  function told(knob, value) {
    if (knob.choices) return find(`set-${knobs.indexOf(knob)}`).options[value].text;
    const text = knob.whole ? signed(String(value)) : plain(value, 6);
    return withUnit(text, knob.unit);
  }

  // ---- settings and sliders

  function snapped(knob, value) {
    const inside = Math.min(Math.max(value, knob.low), knob.high);
    if (knob.step === null) return inside;
    const steps = Math.round((inside - knob.low) / knob.step);
    return Number((knob.low + steps * knob.step).toPrecision(12));
  }

  function fromSlider(knob, slider) {
    if (knob.step !== null) return snapped(knob, knob.low + knob.step * Number(slider.value));
    const share = Number(slider.value) / Number(slider.max);
    if (knob.log) return snapped(knob, knob.low * (knob.high / knob.low) ** share);
    return snapped(knob, knob.low + (knob.high - knob.low) * share);
  }

  function place(k) {
    const [knob, value] = [knobs[k], state.settings[k]];
    const slider = find(`set-${k}`);
    if (knob.choices) {
      slider.value = String(value);
      return;
    }
    const steps = (value - knob.low) / (knob.step ?? 1);
    slider.value = String(knob.step === null ? Number(slider.max) * model.shareOf(knob, value) : steps);
    slider.setAttribute("aria-valuetext", told(knob, value));
    find(`set-${k}-number`).value = String(Number(value.toPrecision(knob.whole ? 15 : 6)));
  }

  function placeTolerance(k) {
    find(`tol-${k}`).value = String(state.times[k]);
    find(`tol-${k}-number`).value = String(state.times[k]);
  }

  function sayWidths(row) {
    knobs.forEach((knob, k) => {
      const output = find(`tol-${k}-width`);
      if (!output) return;
      const text = knob.choices
        ? `mistaken ${percent(model.mistakes(k, row, state.times))}`
        : `σ${SPACE}${withUnit(plain(model.spread(k, row, state.times), 3), knob.unit)}`;
      output.textContent = text;
      find(`tol-${k}`).setAttribute("aria-valuetext", `${state.times[k]} times today, ${text}`);
    });
  }

  function go(settings, times) {
    settings.forEach((value, k) => { state.settings[k] = value; });
    times.forEach((value, k) => { state.times[k] = value; });
    knobs.forEach((knob, k) => {
      if (knob.design) place(k);
      if (find(`tol-${k}`)) placeTolerance(k);
    });
    follow();
  }

  // ---- figures

  function inLimits(values, weights) {
    const [low, high] = [words.at_least ?? -Infinity, words.at_most ?? Infinity];
    let share = 0;
    values.forEach((value, j) => { if (value >= low && value <= high) share += weights[j]; });
    return Math.min(1, share);
  }

  // The report has counted the share today with many more draws; what these few are off there, they
  // are nearly off close by. A share of 0 or 1 stays.
  function adjusted(share, key) {
    const [known, own] = [words.meets?.[key], shown.start[key]];
    if (known === undefined || ![share, known, own].every((each) => each > 0 && each < 1)) return share;
    const odds = (share / (1 - share)) * (known / (1 - known)) * ((1 - own) / own);
    return odds / (1 + odds);
  }

  function quick() {
    waiting = false;
    const row = model.rowOf(state.settings);
    const [g, f] = [model.estimate(row, state.times, true), model.estimate(row, state.times, false)];
    shown.values = model.values(row, state.times);
    widen(shown.values);
    say("robust", estimate(g, words.unit), differs(g.mean, shown.start.g.mean));
    say("nominal", estimate(f, words.unit), differs(f.mean, shown.start.f.mean));
    if (find("play-meets")) {
      shown.share = adjusted(inLimits(shown.values.values, shown.values.weights), "value");
      say("meets", percent(shown.share), "");
    }
    sayWidths(row);
    changed("values");
    clearTimeout(pause);
    pause = setTimeout(slow, PAUSE);
  }

  function differs(value, before) {
    const by = value - before;
    const size = Math.abs(by) < 1e-9 * (ground.y_scale || 1) ? 0 : by;
    if (size === 0) return "as at the robust optimum today";
    const where = size > 0 ? "above" : "below";
    return `${withUnit(plain(Math.abs(size), 3), words.unit)} ${where} the robust optimum today`;
  }

  function say(key, text, more) {
    find(`play-${key}`).textContent = text.replace(`${SPACE}±`, " ±"); // a line may end there
    find(`play-${key}-more`).textContent = more;
  }

  function follow() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(quick);
  }

  // What takes longer: the interval of the share, and the map, some of it at a time.
  function slow() {
    const row = model.rowOf(state.settings);
    const meets = find("play-meets");
    if (meets) {
      const [low, high] = [words.at_least ?? -Infinity, words.at_most ?? Infinity];
      const found = model.shareInterval(row, state.times, low, high);
      if (found) {
        const ends = [adjusted(found[0], "low"), adjusted(found[1], "high")];
        const [a, b] = [Math.min(ends[0], shown.share), Math.max(ends[1], shown.share)];
        find("play-meets-more").textContent = `95${SPACE}%: ${percent(a)} to ${percent(b)}`;
      } else find("play-meets-more").textContent = "best guess, without an interval";
    }
    const spoken = ["robust", "nominal", "meets"].filter((key) => find(`play-${key}`))
      .map((key) => `${find(`play-${key}`).closest("div").querySelector("dt").textContent}: ${find(`play-${key}`).textContent}`);
    find("play-said").textContent = spoken.join("; ");
    const mine = ++run;
    const steps = mapSteps();
    const go = () => {
      if (mine !== run) return; // something has moved since
      const until = performance.now() + SLICE;
      while (performance.now() < until) {
        if (steps.next().done) {
          changed("map");
          document.documentElement.dataset.played = String(mine);
          return;
        }
      }
      setTimeout(go);
    };
    go();
  }

  // ---- the histogram

  function widen({ values, weights }) {
    const order = [...values.keys()].sort((a, b) => values[a] - values[b]);
    let sum = 0;
    let [low, high] = [values[order[0]], values[order[order.length - 1]]];
    for (const j of order) {
      sum += weights[j];
      if (sum <= 0.0005) low = values[j];
      if (sum <= 0.9995) high = values[j];
    }
    if (!(high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high)))) {
      const room = 0.02 * Math.max(Math.abs(low), ground.y_scale);
      [low, high] = [low - room, high + room];
    }
    ends.low = Math.min(ends.low, low);
    ends.high = Math.max(ends.high, high);
  }

  function shares({ values, weights }) {
    const counts = new Array(BINS).fill(0);
    const width = (ends.high - ends.low) / BINS;
    values.forEach((value, j) => {
      const bin = Math.floor((value - ends.low) / width);
      if (bin >= 0 && bin < BINS) counts[bin] += weights[j];
      else if (value === ends.high) counts[BINS - 1] += weights[j];
    });
    return counts;
  }

  function histogram() {
    const width = (ends.high - ends.low) / BINS;
    const edges = Array.from({ length: BINS + 1 }, (_, i) => ends.low + i * width);
    const middles = edges.slice(0, -1).map((edge) => edge + width / 2);
    const outline = shares(shown.reference);
    const hover = (counts) => counts.map((share, i) =>
      `${plain(edges[i], 4)} to ${plain(edges[i + 1], 4)}: ${percent(share)}`);
    const here = shares(shown.values);
    const limits = [words.at_least, words.at_most].filter((value) => value !== null);
    return {
      data: [
        {
          type: "bar", x: middles, y: here, width, name: "this design", marker: { color: look.robust, opacity: 0.75 },
          hovertext: hover(here), hoverinfo: "text",
        },
        {
          type: "scatter", mode: "lines", x: edges, y: [...outline, outline[BINS - 1]], name: "robust optimum today",
          line: { shape: "hv", color: look.soft, width: 1.5 }, hovertext: hover(outline), hoverinfo: "text",
        },
      ],
      layout: {
        height: look.height.values,
        bargap: 0,
        xaxis: { title: { text: words.title }, range: [ends.low, ends.high] },
        yaxis: { title: { text: "share" }, tickformat: ".0%", rangemode: "tozero" },
        shapes: limits.filter((value) => value > ends.low && value < ends.high).map((value) => ({
          type: "line", x0: value, x1: value, y0: 0, y1: 1, yref: "paper",
          line: { color: look.warning, width: 1.5, dash: "dot" },
        })),
      },
    };
  }

  // ---- the map, or the curve along one parameter

  function along(k, num) {
    const knob = knobs[k];
    if (knob.choices) return Array.from({ length: knob.choices }, (_, i) => i);
    const spread = Array.from({ length: num }, (_, i) => {
      const share = i / (num - 1);
      return snapped(knob, knob.log ? knob.low * (knob.high / knob.low) ** share : knob.low + (knob.high - knob.low) * share);
    });
    return [...new Set(spread)];
  }

  function* mapSteps() {
    const [x, y] = ["across", "up"].map((key) => Number(find(`play-${key}`)?.value ?? -1));
    const at = { settings: [...state.settings], times: [...state.times] };
    if (y < 0 || y === x) {
      const xs = along(x, ALONG);
      const curves = { g: [], f: [] };
      for (const value of xs) {
        at.settings[x] = value;
        const row = model.rowOf(at.settings);
        curves.g.push(model.estimate(row, at.times, true));
        curves.f.push(model.estimate(row, at.times, false));
        yield;
      }
      shown.map = { x, y: -1, xs, curves, settings: [...state.settings] };
      return;
    }
    const [xs, ys] = [along(x, SIDE), along(y, SIDE)];
    const z = [];
    for (const up of ys) {
      const line = [];
      for (const across of xs) {
        at.settings[x] = across;
        at.settings[y] = up;
        line.push(model.meanOfG(model.rowOf(at.settings), at.times));
        yield;
      }
      z.push(line);
    }
    shown.map = { x, y, xs, ys, z, settings: [...state.settings] };
  }

  const labelled = (k, values) => (knobs[k].choices ? values.map((i) => knobs[k].labels[i]) : values);

  function axis(k) {
    const knob = knobs[k];
    const title = { text: knob.title };
    if (knob.choices) {
      return { title, type: "category", categoryorder: "array", categoryarray: knob.labels, range: [-0.5, knob.choices - 0.5] };
    }
    const scale = knob.log ? Math.log10 : (v) => v;
    const [low, high] = [scale(knob.low), scale(knob.high)];
    const room = 0.02 * (high - low);
    return { title, type: knob.log ? "log" : "linear", range: [low - room, high + room], exponentformat: "power" };
  }

  function mapFigure() {
    if (!shown.map) return null;
    return shown.map.y < 0 ? curve(shown.map) : surface(shown.map);
  }

  const mark = (x, y, name, key) => ({
    type: "scatter", mode: "markers", x: [x], y: [y], name, hoverinfo: "name", cliponaxis: false,
    marker: { symbol: look[`${key}_symbol`], size: 13, color: look[key], line: { color: "#fdfdfd", width: 1.5 } },
  });
  const ring = (x, y) => ({
    type: "scatter", mode: "markers", x: [x], y: [y], name: "this design", hoverinfo: "name", cliponaxis: false,
    marker: { symbol: "circle", size: 13, color: "#fdfdfd", line: { color: "#20262b", width: 4 } },
  });

  function surface({ x, y, xs, ys, z, settings }) {
    const all = z.flat();
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const discrete = knobs[x].choices || knobs[y].choices;
    const slot = (letter, k) => (knobs[k].choices ? `%{${letter}}` : `%{${letter}:.4~g}`);
    const colors = {
      x: labelled(x, xs), y: labelled(y, ys), z, zmin: low, zmax: high, colorscale: look.scale,
      colorbar: { thickness: 12, outlinewidth: 0 },
      hovertemplate: `${knobs[x].title}: ${slot("x", x)}<br>${knobs[y].title}: ${slot("y", y)}<br>%{z:.4~g}<extra></extra>`,
    };
    const at = (k, value) => labelled(k, [value])[0];
    const points = ["robust", "nominal"].map((key) =>
      mark(at(x, knobs[x][key]), at(y, knobs[y][key]), `${key} optimum`, key));
    points.push(ring(at(x, settings[x]), at(y, settings[y])));
    const lines = high > low ? { contours: { coloring: "heatmap" }, ncontours: LEVELS, line: { width: 0.6, color: "rgba(255, 255, 255, 0.6)" } } : {};
    return {
      data: [{ type: discrete ? "heatmap" : "contour", ...colors, ...(discrete ? {} : lines) }, ...points],
      layout: { height: look.height.map, xaxis: axis(x), yaxis: axis(y), hoverdistance: 8 },
      told: `Map of the robust value over two parameters, from ${plain(low, 4)} to ${plain(high, 4)}.`,
    };
  }

  function curve({ x, xs, curves, settings }) {
    const places = labelled(x, xs);
    const discrete = knobs[x].choices > 0;
    const data = [];
    const series = [["nominal value (f)", curves.f, "nominal", "dash"], ["robust value (g)", curves.g, "robust", "solid"]];
    for (const [name, values, key, dash] of series) {
      const hovertext = values.map((value, i) => `${knobs[x].title}: ${discrete ? places[i] : plain(xs[i], 4)}<br>${name}: ${estimate(value, "")}`);
      const symbol = look[`${key}_symbol`];
      if (discrete) {
        data.push({
          type: "scatter", mode: "markers", x: places, y: values.map((v) => v.mean), name,
          error_y: { type: "data", array: values.map((v) => 1.959964 * v.std) },
          marker: { color: look[key], symbol, size: 11 }, hovertext, hoverinfo: "text",
        });
        continue;
      }
      if (model.intervals) {
        data.push({
          type: "scatter", mode: "lines", x: [...places, ...[...places].reverse()], fill: "toself",
          y: [...values.map((v) => v.high), ...values.map((v) => v.low).reverse()],
          fillcolor: look[key === "robust" ? "band" : "nominal_band"], line: { width: 0 }, hoverinfo: "skip", showlegend: false,
        });
      }
      data.push({
        type: "scatter", mode: "lines", x: places, y: values.map((v) => v.mean), name,
        line: { color: look[key], width: 2, dash }, hovertext, hoverinfo: "text",
      });
    }
    const here = model.meanOfG(model.rowOf(settings), state.times);
    data.push(ring(labelled(x, [settings[x]])[0], here));
    return {
      data,
      layout: { height: look.height.map, xaxis: axis(x), yaxis: { title: { text: words.title } } },
      told: "The robust and the nominal value along one parameter.",
    };
  }

  // ---- start

  function listen() {
    knobs.forEach((knob, k) => {
      if (knob.design) {
        const slider = find(`set-${k}`);
        const number = find(`set-${k}-number`);
        slider.addEventListener("input", () => {
          state.settings[k] = knob.choices ? Number(slider.value) : fromSlider(knob, slider);
          place(k);
          follow();
        });
        number?.addEventListener("change", () => {
          if (Number.isFinite(number.valueAsNumber)) state.settings[k] = snapped(knob, number.valueAsNumber);
          place(k);
          follow();
        });
      }
      const tolerance = find(`tol-${k}`);
      if (!tolerance) return;
      const number = find(`tol-${k}-number`);
      const read = (value) => {
        if (Number.isFinite(value)) state.times[k] = Math.min(Math.max(value, 0), 2);
        placeTolerance(k);
        follow();
      };
      tolerance.addEventListener("input", () => read(Number(tolerance.value)));
      number.addEventListener("change", () => read(number.valueAsNumber));
    });
    const nominal = knobs.map((knob) => knob.nominal);
    find("play-to-robust").addEventListener("click", () => go(today.settings, state.times));
    find("play-to-nominal").addEventListener("click", () => go(nominal, state.times));
    find("play-to-reset").addEventListener("click", () => {
      ends.low = Infinity;
      ends.high = -Infinity;
      widen(shown.reference);
      go(today.settings, today.times);
    });
    document.querySelector(".controls").addEventListener("submit", (event) => event.preventDefault());
    for (const [key, k] of [["across", ground.pair[0]], ["up", ground.pair[1]]]) {
      const select = find(`play-${key}`);
      if (!select) continue;
      select.value = String(k);
      select.addEventListener("change", slow);
    }
  }

  return {
    model,
    // Once it is looked at; computing costs nothing before.
    show() {
      if (started) return;
      started = true;
      const row = model.rowOf(today.settings);
      shown.start = { g: model.estimate(row, today.times, true), f: model.estimate(row, today.times, false) };
      shown.reference = model.values(row, today.times);
      widen(shown.reference);
      shown.start.value = inLimits(shown.reference.values, shown.reference.weights);
      [shown.start.low, shown.start.high] = model.shareInterval(
        row, today.times, words.at_least ?? -Infinity, words.at_most ?? Infinity) ?? [];
      listen();
      go(today.settings, today.times);
      waiting = false;
      quick();
    },
    figure(key) {
      if (!started) return null;
      return key === "values" ? histogram() : mapFigure();
    },
  };
};
