"use strict";
// Charts that answer: exact values under the pointer or the arrow keys, zoom along x, curves that
// can be hidden.  Texts only ever become text nodes, so nothing in a label can turn into markup.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const LEFT = 58, RIGHT = 14, TOP = 12, BOTTOM = 46, COLOURS = 6, SPACING = 70, SHORT = 12;
  const style = (index) => `s${index % COLOURS} d${Math.floor(index / COLOURS) % 4}`;

  function add(parent, tag, attributes = {}, text) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return parent.appendChild(element);
  }

  function addHtml(parent, tag, className, text) {
    const element = document.createElement(tag);
    element.className = className;
    if (text !== undefined) element.textContent = text;
    return parent.appendChild(element);
  }

  function linearTicks(low, high, count) {
    const rough = (high - low) / count;
    const power = Math.floor(Math.log10(rough));
    const size = [1, 2, 5, 10].find((s) => s * 10 ** power >= 0.75 * rough);
    const step = size * 10 ** power;
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i <= Math.floor(high / step + 1e-9); i += 1) {
      ticks.push(Number((i * step).toPrecision(12)));
    }
    return ticks;
  }

  function doublingTicks(smallest, low, high, count) {
    const first = Math.ceil(Math.log2(low / smallest) - 1e-9);
    const last = Math.floor(Math.log2(high / smallest) + 1e-9);
    const every = Math.max(1, Math.ceil((last - first + 1) / count));
    const ticks = [];
    for (let power = first; power <= last; power += 1) {
      if (power % every === 0) ticks.push(smallest * 2 ** power);
    }
    return ticks;
  }

  function short(value) {
    for (const [suffix, unit] of [["T", 1e12], ["B", 1e9], ["M", 1e6], ["k", 1e3]]) {
      if (Math.abs(value) >= Math.max(unit, 1e4)) {
        return Number((value / unit).toPrecision(4)) + suffix;
      }
    }
    return String(Number(value.toPrecision(6)));
  }

  const exact = (value) => (Number.isInteger(value) ? value : Number(value.toPrecision(6)))
    .toLocaleString("en", { maximumFractionDigits: 12 });

  // The number of points at or before x.
  function upTo(xs, x) {
    let low = 0, high = xs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (xs[middle] <= x) low = middle + 1; else high = middle;
    }
    return low;
  }

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
      this.plot = figure.querySelector(".plot");
      this.svg = this.plot.querySelector("svg");
      this.spoken = figure.querySelector("output");
      this.hidden = new Set();
      this.range = this.data.xRange;
      this.cursor = null;
      this.svg.removeAttribute("aria-labelledby");
      this.svg.setAttribute("aria-label", `${this.data.title}. ${this.data.description}`);
      this.tip = addHtml(this.plot, "div", "tip");
      this.tip.hidden = true;
      this.all = addHtml(this.plot, "button", "all", "Show all");
      this.all.type = "button";
      this.listen();
      this.draw();
    }

    get visible() {
      return this.data.series.map((series, index) => ({ ...series, index }))
        .filter((series) => !this.hidden.has(series.index));
    }

    isShown(value) { return value !== null && (!this.data.log || value > 0); }

    // Values that can be seen: inside the range, with the neighbour on either side.
    values(series) {
      const first = Math.max(0, upTo(series.x, this.range[0]) - 1);
      const last = upTo(series.x, this.range[1]) + (series.step ? 0 : 1);
      return [series.y, series.low, series.high].filter(Boolean)
        .flatMap((column) => column.slice(first, last)).filter((value) => this.isShown(value));
    }

    yRange() {
      const { log, room, yRange, xRange } = this.data;
      if (yRange && this.range === xRange) return yRange;
      let low = Infinity, high = -Infinity;
      for (const series of this.visible) {
        for (const value of this.values(series)) {
          low = Math.min(low, value);
          high = Math.max(high, value);
        }
      }
      if (low > high) return yRange || (log ? [1, 2] : [0, 1]);
      if (log) return [low / 2 ** room, high * 2 ** room];
      const span = high - low;
      const more = span > 1e-9 * Math.max(Math.abs(low), Math.abs(high))
        ? room * span : Math.abs(high) / 10 || 1;
      return [low - more, high + more];
    }

    draw() {
      const width = Math.max(240, this.plot.clientWidth), height = this.data.height;
      this.width = width;
      this.floor = height - BOTTOM;
      const [x0, x1] = this.range;
      const scale = this.data.log ? Math.log2 : (value) => value;
      const [y0, y1] = this.yRange().map(scale);
      this.x = (value) => LEFT + ((value - x0) / (x1 - x0)) * (width - LEFT - RIGHT);
      this.y = (value) => this.floor - ((scale(value) - y0) / (y1 - y0)) * (this.floor - TOP);
      this.position = (pixel) => x0 + ((pixel - LEFT) / (width - LEFT - RIGHT)) * (x1 - x0);
      this.svg.replaceChildren();
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.drawAxes();
      this.drawCurves();
      this.cursorLayer = add(this.svg, "g", { class: "cursor" });
      this.all.hidden = this.range === this.data.xRange;
      this.show();
    }

    drawAxes() {
      const { svg, floor, width } = this;
      const [low, high] = this.yRange();
      const count = Math.max(3, Math.floor((floor - TOP) / 32));
      const ticks = this.data.log
        ? doublingTicks(this.data.smallest || low, low, high, count)
        : linearTicks(low, high, Math.min(count, 5));
      for (const value of ticks) {
        const y = this.y(value);
        add(svg, "path", { class: "grid", d: `M${LEFT} ${y}H${width - RIGHT}` });
        add(svg, "text", { class: "tick end", x: LEFT - 8, y: y + 4 }, short(value));
      }
      const across = Math.min(7, Math.max(4, (width - LEFT - RIGHT) / 60));
      for (const value of linearTicks(...this.range, across)) {
        const x = this.x(value);
        add(svg, "path", { class: "axis", d: `M${x} ${floor}v5` });
        add(svg, "text", { class: "tick mid", x, y: floor + 19 }, short(value));
      }
      add(svg, "path", { class: "axis", d: `M${LEFT} ${floor}H${width - RIGHT}` });
      const middle = (LEFT + width - RIGHT) / 2;
      add(svg, "text", { class: "label mid", x: middle, y: this.data.height - 8 }, this.data.xLabel);
      if (this.data.smallest === null) {
        add(svg, "text", { class: "mid", x: middle, y: floor / 2 }, "no data");
      }
    }

    drawCurves() {
      const id = `${this.figure.id}-clip`;
      const clip = add(this.svg, "clipPath", { id });
      const [width, height] = [this.width - LEFT - RIGHT, this.floor - TOP];
      // Room above and below, so that a line along the edge keeps its full width.
      add(clip, "rect", { x: LEFT - 1, y: TOP - 3, width: width + 2, height: height + 6 });
      const layer = add(this.svg, "g", { "clip-path": `url(#${id})` });
      this.drawMarks(layer);
      for (const series of this.visible) if (series.low) this.drawBand(layer, series);
      for (const series of this.visible) this.drawCurve(layer, series);
      for (const series of this.visible) this.drawPoints(series);
      this.drawRings();
    }

    drawMarks(layer) {
      const names = this.data.series.map((series) => series.name);
      const [top, kind] = this.data.fewLines ? [TOP, "mark"] : [this.floor - SHORT, "mark short"];
      for (const mark of this.data.marks) {
        const index = names.indexOf(mark.series);
        if (this.hidden.has(index) || mark.on_curve) continue;
        const colour = index < 0 ? kind : `${kind} ${style(index)}`;
        add(layer, "path", { class: colour, d: `M${this.x(mark.at)} ${top}V${this.floor}` });
      }
    }

    // Marks that stand on the curve of their series.
    drawRings() {
      for (const series of this.visible) {
        for (const mark of this.data.marks) {
          if (!mark.on_curve || !mark.label || mark.series !== series.name) continue;
          const height = this.heightAt(series, mark.at);
          if (!this.isShown(height)) continue;
          const [cx, cy] = [this.x(mark.at), this.y(height)];
          if (!this.isInside(cx, cy)) continue;
          add(this.svg, "circle", { class: `ring ${style(series.index)}`, cx, cy, r: 4.5 });
        }
      }
    }

    // The curve's height at x, on the line between two points; null beyond its ends.
    heightAt({ x: xs, y: ys, step }, x) {
      const after = upTo(xs, x), before = after - 1;
      if (before < 0 || (after === xs.length && xs[before] !== x)) return null;
      const [low, high] = [ys[before], ys[Math.min(after, xs.length - 1)]];
      if (step || xs[before] === x || low === null || high === null) return low;
      return low + ((high - low) * (x - xs[before])) / (xs[after] - xs[before]);
    }

    isInside(x, y) {
      return x > LEFT - 1 && x < this.width - RIGHT + 1 && y > TOP - 1 && y < this.floor + 1;
    }

    // Points on the screen, apart wherever a value is missing.
    runs(xs, ys) {
      const runs = [[]];
      ys.forEach((y, i) => {
        if (this.isShown(y)) runs.at(-1).push([this.x(xs[i]), this.y(y)]);
        else if (runs.at(-1).length) runs.push([]);
      });
      return runs.filter((run) => run.length);
    }

    corners(run, step) {
      if (!step) return run;
      return run.flatMap(([x, y], i) => (i ? [[x, run[i - 1][1]], [x, y]] : [[x, y]]));
    }

    path(points) { return "M" + points.map(([x, y]) => `${x.toFixed(2)} ${y.toFixed(2)}`).join("L"); }

    drawCurve(layer, series) {
      const runs = this.runs(series.x, series.y);
      const d = runs.map((run) => this.path(this.corners(run, series.step))).join("");
      add(layer, "path", { class: `curve ${style(series.index)}`, d });
    }

    // Shapes along the curve that tell it from others, and every point without a line.
    drawPoints(series) {
      const runs = this.runs(series.x, series.y);
      const told = this.data.series.length > 1 ? runs : runs.filter((run) => run.length === 1);
      let last = -Infinity;
      for (const [x, y] of told.flat()) {
        if (!this.isInside(x, y) || x - last < SPACING) continue;
        last = x;
        this.drawPoint(this.svg, series.index, x, y);
      }
    }

    drawPoint(layer, index, x, y) {
      add(layer, "use", { class: `point ${style(index)}`, href: `#shape${index % COLOURS}`, x, y });
    }

    drawBand(layer, series) {
      const whole = series.low.map((low, i) => this.isShown(low) && this.isShown(series.high[i]));
      const [lows, highs] = [series.low, series.high].map((column) =>
        this.runs(series.x, column.map((value, i) => (whole[i] ? value : null))));
      const d = highs.map((high, i) => this.path([
        ...this.corners(high, series.step), ...this.corners(lows[i], series.step).reverse(),
      ]) + "Z").join("");
      add(layer, "path", { class: `band ${style(series.index)}`, d });
    }

    // The point of a series that is nearest to x; for steps the one whose value holds there.
    nearest(series, x) {
      const after = upTo(series.x, x);
      const candidates = series.step ? [after - 1] : [after - 1, after];
      return candidates.filter((i) => i >= 0 && i < series.x.length && this.isShown(series.y[i]))
        .sort((a, b) => Math.abs(series.x[a] - x) - Math.abs(series.x[b] - x))[0];
    }

    pointAt(pixel, height) {
      const x = Math.min(this.range[1], Math.max(this.range[0], this.position(pixel)));
      const found = this.visible.map((series) => {
        const i = this.nearest(series, x);
        if (i === undefined) return null;
        const across = Math.round(Math.abs(this.x(series.x[i]) - pixel));
        return { x: series.x[i], across, along: Math.abs(this.y(series.y[i]) - height) };
      }).filter((point) => point && point.x >= this.range[0] && point.x <= this.range[1]);
      found.sort((a, b) => a.across - b.across || a.along - b.along);
      return found.length ? found[0].x : null;
    }

    readings() {
      return this.visible.map((series) => {
        const i = this.nearest(series, this.cursor);
        if (i === undefined) return null;
        const x = series.x[i];
        const far = Math.abs(this.x(x) - this.x(this.cursor)) > 24;
        const over = this.cursor > series.x.at(-1) || this.cursor < series.x[0];
        if (series.step ? over : far) return null;
        const band = series.low && this.isShown(series.low[i]) && this.isShown(series.high[i])
          ? ` (${exact(series.low[i])} to ${exact(series.high[i])})` : "";
        const place = !series.step && x !== this.cursor ? ` at ${exact(x)}` : "";
        const drawnAt = series.step ? this.cursor : x;
        return { series, x: drawnAt, y: series.y[i], text: exact(series.y[i]) + band + place };
      }).filter(Boolean);
    }

    show() {
      this.cursorLayer.replaceChildren();
      this.tip.replaceChildren();
      const readings = this.cursor === null ? [] : this.readings();
      this.tip.hidden = !readings.length;
      if (!readings.length) return;
      const x = this.x(this.cursor);
      add(this.cursorLayer, "path", { d: `M${x} ${TOP}V${this.floor}` });
      addHtml(this.tip, "div", "at", `${this.data.xLabel} ${exact(this.cursor)}`);
      for (const { series, x: at, y, text } of readings) {
        this.drawPoint(this.cursorLayer, series.index, this.x(at), this.y(y));
        const line = addHtml(this.tip, "div", style(series.index));
        addHtml(line, "span", "name", series.name);
        addHtml(line, "span", "value", text);
      }
      for (const label of this.labelsAt(this.cursor)) addHtml(this.tip, "div", "at", label);
      this.tip.classList.toggle("left", x > this.width / 2);
      const place = x > this.width / 2 ? this.width - x + 12 : x + 12;
      this.tip.style.setProperty("--x", `${place}px`);
    }

    get shownMarks() {
      const names = this.data.series.map((series) => series.name);
      return this.data.marks.filter((mark) => !this.hidden.has(names.indexOf(mark.series)));
    }

    labelsAt(x) {
      return this.shownMarks.filter((mark) => mark.at === x && (mark.note || mark.label))
        .map((mark) => (mark.series ? `${mark.series}: ` : "") + (mark.note || mark.label));
    }

    point(x) { this.cursor = x; this.show(); }

    zoom(low, high) {
      const [first, last] = this.data.xRange;
      const range = [Math.max(first, low), Math.min(last, high)];
      if (range[1] - range[0] < (last - first) * 1e-6) return;
      this.range = range[0] === first && range[1] === last ? this.data.xRange : range;
      this.draw();
    }

    reset() { this.range = this.data.xRange; this.draw(); }

    listen() {
      for (const button of this.figure.querySelectorAll(".legend button")) {
        button.addEventListener("click", () => this.toggle(button));
      }
      this.all.addEventListener("click", () => { this.reset(); this.plot.focus(); });
      this.plot.addEventListener("keydown", (event) => this.key(event));
      this.plot.addEventListener("blur", () => this.point(null));
      this.listenToPointer();
      new ResizeObserver(() => {
        if (Math.max(240, this.plot.clientWidth) !== this.width) this.draw();
      }).observe(this.plot);
    }

    listenToPointer() {
      const { svg } = this;
      let start = null, shade = null;
      const place = (event) => {
        const box = svg.getBoundingClientRect();
        const scale = this.width / box.width;
        return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
      };
      const stop = () => { start = null; shade?.remove(); shade = null; };
      svg.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        start = place(event)[0];
        svg.setPointerCapture(event.pointerId);
      });
      svg.addEventListener("pointermove", (event) => {
        const [x, y] = place(event);
        this.point(this.pointAt(x, y));
        if (start === null || Math.abs(x - start) < 6) return;
        shade ??= add(svg, "rect", { class: "shade", y: TOP, height: this.floor - TOP });
        shade.setAttribute("x", Math.min(start, x));
        shade.setAttribute("width", Math.abs(x - start));
      });
      svg.addEventListener("pointerup", (event) => {
        const [x, y] = place(event);
        const ends = shade && [start, x].map(this.position).sort((a, b) => a - b);
        stop();
        if (ends) this.zoom(...ends); else this.point(this.pointAt(x, y));
      });
      svg.addEventListener("pointercancel", stop);
      svg.addEventListener("pointerleave", () => { if (start === null) this.point(null); });
      svg.addEventListener("dblclick", () => this.reset());
    }

    toggle(button) {
      const index = Number(button.dataset.series);
      if (!this.hidden.delete(index)) this.hidden.add(index);
      button.setAttribute("aria-pressed", String(!this.hidden.has(index)));
      this.draw();
    }

    key(event) {
      if (event.target !== this.plot || event.ctrlKey || event.metaKey || event.altKey) return;
      const { key } = event;
      if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(key)) this.step(key);
      else if (key === "+" || key === "=") this.zoomBy(0.5);
      else if (key === "-") this.zoomBy(2);
      else if (key === "0") this.reset();
      else if (key === "Escape") this.point(null);
      else return;
      event.preventDefault();
      this.spoken.textContent = [...this.tip.children]
        .map((line) => [...line.childNodes].map((part) => part.textContent).join(" ")).join("; ");
    }

    step(key) {
      const xs = [...new Set(this.visible.flatMap((series) =>
        series.x.filter((x, i) => this.isShown(series.y[i]))))]
        .filter((x) => x >= this.range[0] && x <= this.range[1]).sort((a, b) => a - b);
      if (!xs.length) return;
      const here = this.cursor === null ? -1 : upTo(xs, this.cursor) - 1;
      const there = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: xs.length - 1 }[key];
      this.point(xs[Math.min(xs.length - 1, Math.max(0, there))]);
    }

    zoomBy(factor) {
      const [low, high] = this.range;
      const centre = this.cursor ?? (low + high) / 2;
      this.zoom(centre - (centre - low) * factor, centre + (high - centre) * factor);
    }
  }

  for (const figure of document.querySelectorAll("figure.chart")) new Chart(figure);
})();
