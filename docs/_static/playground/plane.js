/* The vectors in the plane: two of their numbers as arrows, whose tips can be dragged, or moved with arrow keys. */
(() => {
  "use strict";
  const playground = globalThis.literateAttention;
  const { LARGEST, acting, contextOf, remarkOn, show, shown, speak, start, tell } = playground;
  const { choice, clamp, draw, make, place, range } = globalThis.literateParts;

  const SIZE = 300;
  const REACHES = [1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100];
  const ROOM = 1.15;
  const FAR = 4;
  const LABEL = { letter: 7.5, height: 14, gap: 9 };

  let axes = [0, 1];
  let view = null;
  let dragged = null;

  const lines = { x: draw("line", { class: "pg-axis" }), y: draw("line", { class: "pg-axis" }) };
  const ends = { x: draw("text", { class: "pg-tick" }), y: draw("text", { class: "pg-tick" }) };
  const names = { x: draw("text", { class: "pg-tick" }), y: draw("text", { class: "pg-tick" }) };
  const arrows = start.words.map((_, row) => {
    const shaft = draw("line", { class: "pg-shaft" });
    const tie = draw("line", { class: "pg-tie" });
    const ring = draw("circle", { class: "pg-ring", r: 4 });
    const label = draw("text", { class: "pg-label" });
    const [hit, tip] = [draw("circle", { class: "pg-hit", r: 16 }), draw("circle", { class: "pg-tip", r: 5 })];
    const handle = draw(
      "g",
      {
        class: "pg-handle", role: "slider", tabindex: 0, "aria-roledescription": "vector",
        "aria-valuemin": -LARGEST, "aria-valuemax": LARGEST,
      },
      hit, tip, label,
    );
    handle.addEventListener("keydown", (event) => nudge(event, row));
    return { shaft, tie, ring, label, hit, tip, handle };
  });
  const svg = draw(
    "svg",
    { class: "pg-plane", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "group" },
    ...[lines, ends, names].flatMap(({ x, y }) => [x, y]),
    ...arrows.flatMap(({ shaft, tie, ring }) => [shaft, tie, ring]),
    ...arrows.map(({ handle }) => handle),
  );
  place(svg, { "aria-label": "The vectors in the plane. Arrow keys move the one that has the focus." });

  const across = (x) => ((x - view.low) / (view.high - view.low)) * SIZE;
  const up = (y) => SIZE - across(y);

  /** All that is drawn, with some room around it, and always the origin. */
  function viewOf(points) {
    const most = Math.max(...points.flat().map(Math.abs));
    const reach = REACHES.find((one) => most <= ROOM * one) ?? LARGEST;
    return { reach, low: Math.min(...points.flat()) < 0 ? -ROOM * reach : -0.25 * reach, high: ROOM * reach };
  }

  /** Context vectors lie in this plane only while they are averages of these very vectors. */
  function contexts() {
    const steps = acting(shown.state.steps);
    return steps.includes("softmax") && !steps.includes("projections") && !steps.includes("dropout")
      ? shown.result.context
      : null;
  }

  /** What rings are, or why there are none where one would look for them. */
  function aboutRings(areThere) {
    const steps = acting(shown.state.steps);
    if (areThere) return "A ring is a context vector, tied to its word.";
    if (!steps.includes("softmax")) return "";
    return steps.includes("projections")
      ? "No rings here: context vectors are now made of the values V, which have numbers of their own."
      : "No rings here: after dropout a row of weights no longer adds up to 1.";
  }

  const inPlane = (vector) => axes.map((axis) => vector[axis]);

  function fillPlane() {
    const { words, embeddings } = shown.state;
    const tips = embeddings.map(inPlane);
    const rings = contexts()?.map(inPlane);
    if (dragged === null) view = viewOf(tips);
    place(lines.x, { x1: 0, x2: SIZE, y1: up(0), y2: up(0) });
    place(lines.y, { x1: across(0), x2: across(0), y1: 0, y2: SIZE });
    place(ends.x, { x: across(view.reach), y: up(0) + 13, "text-anchor": "middle" });
    place(ends.y, { x: across(0) - 4, y: up(view.reach) + 4, "text-anchor": "end" });
    ends.x.textContent = ends.y.textContent = view.reach;
    place(names.x, { x: across(view.reach / 2), y: up(0) + 13, "text-anchor": "middle" });
    place(names.y, { x: across(0) + 6, y: 12 });
    [names.x.textContent, names.y.textContent] = axes.map((axis) => `number ${axis + 1}`);
    const taken = tips.map(([x, y]) => ({ left: across(x) - 5, top: up(y) - 5, width: 10, height: 10 }));
    arrows.forEach(({ shaft, tie, ring, label, hit, tip, handle }, i) => {
      const [x, y] = [across(tips[i][0]), up(tips[i][1])];
      place(shaft, { x1: across(0), y1: up(0), x2: x, y2: y });
      for (const circle of [hit, tip]) place(circle, { cx: x, cy: y });
      label.textContent = words[i];
      place(label, placeFor(words[i], x, y, taken));
      const at = rings ? [across(rings[i][0]), up(rings[i][1])] : [x, y];
      place(ring, { cx: at[0], cy: at[1] });
      place(tie, { x1: x, y1: y, x2: at[0], y2: at[1] });
      for (const one of [ring, tie]) one.classList.toggle("pg-away", !rings);
      const [a, b] = tips[i];
      place(handle, {
        "aria-label": words[i],
        "aria-valuenow": a,
        "aria-valuetext": `number ${axes[0] + 1}: ${show(a, 2)}, number ${axes[1] + 1}: ${show(b, 2)}`,
      });
    });
    ringLegend.textContent = aboutRings(rings !== undefined);
    ringLegend.hidden = ringLegend.textContent === "";
  }

  /** Where a word can be read: beside its tip, on the first side where nothing else stands. */
  function placeFor(word, x, y, taken) {
    const { letter, height, gap } = LABEL;
    const width = letter * word.length;
    const sides = [
      { left: x + gap, top: y - height / 2 },
      { left: x - gap - width, top: y - height / 2 },
      { left: x - width / 2, top: y - gap - height },
      { left: x - width / 2, top: y + gap },
      { left: x + gap, top: y + height / 2 },
      { left: x + gap, top: y - 1.5 * height },
    ].map((side) => ({ ...side, width, height }));
    const isFree = (side) =>
      side.left >= 0 && side.left + width <= SIZE && !taken.some((other) => overlaps(side, other));
    const side = sides.find(isFree) ?? sides[0];
    taken.push(side);
    return { x: side.left, y: side.top + 0.8 * height };
  }
  const overlaps = (a, b) =>
    a.left < b.left + b.width && b.left < a.left + a.width && a.top < b.top + b.height && b.top < a.top + a.height;

  // Dragging, and arrow keys

  function move(row, point) {
    point.forEach((x, i) => {
      shown.state.embeddings[row][axes[i]] = clamp(Number(x.toFixed(2)), -LARGEST, LARGEST);
    });
    playground.refresh();
    tell(remarkOn(row), arrows[row].handle);
    speak(() => contextOf(row), 700);
  }

  function nudge(event, row) {
    if (event.altKey || event.ctrlKey || event.metaKey) return; // the browser's own
    const near = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const far = { Home: [-FAR, 0], End: [FAR, 0], PageUp: [0, FAR], PageDown: [0, -FAR] }[event.key];
    if (!near && !far) return;
    event.preventDefault();
    const [right, upwards] = near ?? far;
    const step = (event.shiftKey && near ? FAR : 1) * 0.05 * 10 ** Math.floor(Math.log10(view.reach));
    const [x, y] = inPlane(shown.state.embeddings[row]);
    move(row, [x + right * step, y + upwards * step]);
  }

  function pointAt({ clientX, clientY }) {
    const box = svg.getBoundingClientRect();
    const value = (share) => view.low + clamp(share, 0, 1) * (view.high - view.low);
    return [value((clientX - box.left) / box.width), value(1 - (clientY - box.top) / box.height)];
  }

  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !event.target.closest(".pg-handle")) return;
    const [x, y] = pointAt(event);
    const away = shown.state.embeddings.map(inPlane).map(([a, b]) => Math.hypot(a - x, b - y));
    dragged = away.indexOf(Math.min(...away)); // tips may lie on each other
    event.preventDefault();
    arrows[dragged].handle.focus({ preventScroll: true });
    svg.setPointerCapture(event.pointerId);
  });
  // A finger that begins at a tip drags it; anywhere else it scrolls the page. `touch-action` does nothing inside an svg.
  svg.addEventListener(
    "touchstart",
    (event) => {
      if (event.target.closest(".pg-handle")) event.preventDefault();
    },
    { passive: false },
  );
  svg.addEventListener("pointermove", (event) => {
    if (dragged !== null) move(dragged, pointAt(event));
  });
  svg.addEventListener("lostpointercapture", () => {
    dragged = null;
    fillPlane();
  });

  const pairs = [[0, 1], [0, 2], [1, 2]];
  const axesChoice = choice("The plane shows numbers", pairs.map(([a, b], i) => [i, `${a + 1} and ${b + 1}`]), (value) => {
    axes = pairs[Number(value)];
    fillPlane();
  });
  const legend = make("p", { class: "lp-legend" }, "Drag a tip, or move it with arrow keys, with Shift in larger steps.");
  const ringLegend = make("p", { class: "lp-legend" });
  const plane = {
    element: make("div", { class: "pg-plane-box pg-place" }, svg, legend, ringLegend, axesChoice),
    mark: (rows) =>
      range(arrows.length).forEach((i) => {
        for (const one of [arrows[i].handle, arrows[i].shaft]) one.classList.toggle("pg-marked", rows.includes(i));
      }),
  };

  Object.assign(playground, { fillPlane, plane });
})();
