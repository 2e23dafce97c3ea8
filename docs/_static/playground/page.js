/* Everything shown follows from the state. The tour, the experiments, links, and starting over change it. */
(() => {
  "use strict";
  const playground = globalThis.literateAttention;
  const {
    EXPERIMENTS, PREFIX, TOUR, acting, STEP_TEXTS, atStop, attempt, attend, attention, beginning, equations, experiment,
    explain, fillContext, fillHeads, fillInputs, fillPlane, fillSettings, firstChosen, formulas, front, headPanels,
    inputBox, outputs, plane, readLink, root, settings, shown, speak, spoken, start, story, tell, writeLink,
  } = playground;
  const { bring, button, list, make, stepper, toggle } = globalThis.literateParts;

  const tour = stepper({
    name: "Tour",
    count: TOUR.length,
    onStep(stop) {
      open(atStop(TOUR[stop]), TOUR[stop].chosen, TOUR[stop].first);
      bringIntoSight();
      return sentenceOf(stop);
    },
  });
  const sentenceOf = (stop) => `Tour, ${stop + 1} of ${TOUR.length}: ${TOUR[stop].sentence}`;

  /** What changes at a stop is seen together with the tour. */
  function bringIntoSight() {
    if (!flow.isConnected) return;
    const bar = tour.element.parentNode.getBoundingClientRect();
    const { top, bottom } = matrices[flow.dataset.first][0].getBoundingClientRect();
    if (top < bar.bottom || bottom > globalThis.innerHeight) root.scrollIntoView();
  }

  const chapter = make("a", {});
  const readOn = make("p", { class: "pg-chapter" }, "In the book: ", chapter);
  tour.element.append(readOn);

  /** A stop leads back to its chapter, which the page links to further down. */
  function leadBack({ chapter: name }) {
    const link = document.querySelector(`.bd-article a[href*="story/${name}"]`);
    readOn.hidden = !link;
    if (!link) return;
    chapter.href = link.href;
    chapter.textContent = link.textContent;
  }

  const offTour = (steps) => {
    const on = list(steps.map((step) => STEP_TEXTS[step][0].toLowerCase())) || "no step";
    return `You are off the tour, with ${on} switched on. Back, Next and the slider lead back to it.`;
  };

  const told = make("p", { class: "pg-told" });
  const experimentButtons = Object.values(EXPERIMENTS).map((one) => {
    const onClick = () => {
      open(experiment(one), { kind: "weight", head: 0, row: 1, column: 1 });
      speak(one.tell);
    };
    return { one, button: button(one.name, onClick) };
  });

  const linkField = make("input", { type: "text", readonly: true, class: "pg-link", hidden: true, "aria-label": "Link to these settings" });
  const share = button("Copy link", async () => {
    const link = `${location.href.split("#")[0]}#${writeLink(shown.state, start)}`;
    history.replaceState(null, "", link);
    linkField.value = link;
    linkField.hidden = false;
    linkField.select();
    const copied = await navigator.clipboard?.writeText(link).then(
      () => true,
      () => false,
    );
    if (linkField.hidden) return; // meanwhile there are other settings
    tell(copied ? "The link was copied. It opens these very settings." : "Copy the link here.");
  });
  const reset = button("Start over", () => {
    history.replaceState(null, "", location.href.split("#")[0]);
    shown.state = beginning();
    tour.go(0);
    root.scrollIntoView(); // the page is shorter now
    tour.element.querySelector("button:last-of-type").focus({ preventScroll: true });
    tell("Everything is as it was at the start.", null);
  });

  const moreDigits = toggle("Four decimals", ({ target }) => {
    shown.digits = target.checked ? 4 : 2;
    refresh();
  });

  function open(next, chosen = null, first = "attention") {
    shown.state = next;
    shown.result = shown.before = null;
    arrange(first);
    shown.chosen = { ...(chosen ?? firstChosen) };
    shown.stageWanted = null;
    linkField.hidden = true;
    tell("");
    refresh();
  }

  function openLink() {
    const fragment = location.hash.slice(1);
    if (!fragment.startsWith(PREFIX)) return false;
    const { value, error } = attempt(readLink, fragment, start);
    if (root.contains(document.activeElement)) document.activeElement.blur(); // what has the focus is not filled
    open(value ?? beginning());
    if (error !== null) tell(`This link cannot be opened: ${error}. Here is the book\u2019s example instead.`, null);
    return true;
  }

  /** A chapter leads to its stop of the tour. */
  function openStop() {
    const [, stop] = /^#playground-stop-([1-8])$/.exec(location.hash) ?? [];
    if (stop) tour.go(stop - 1);
    return Boolean(stop);
  }

  function refresh() {
    const { state } = shown;
    shown.before ??= shown.result;
    shown.result = attend(state);
    const steps = acting(state.steps);
    const { head = 0, column } = shown.chosen;
    if (head >= shown.result.heads.length) shown.chosen.head = 0;
    if (shown.chosen.kind === "context" && column >= shown.result.context[0].length) shown.chosen.column = 0;

    fillSettings(steps);
    fillInputs(state);
    fillPlane();
    flow.classList.toggle("pg-two-heads", steps.includes("heads"));
    fillHeads(steps);
    fillContext();
    formulas.replaceChildren(...equations());
    const link = writeLink(state, start);
    if (!linkField.value.endsWith(`#${link}`)) linkField.hidden = true;
    const stop = tour.step();
    const isOnTour = writeLink(atStop(TOUR[stop]), start) === link;
    tour.say(isOnTour ? sentenceOf(stop) : offTour(steps));
    tour.element.classList.toggle("pg-off", !isOnTour);
    leadBack(TOUR[stop]);
    told.textContent = (isOnTour && TOUR[stop].tell?.()) || "";
    for (const { one, button: its } of experimentButtons) {
      const steps = state.steps.filter((step) => step !== one.free);
      const isOn = writeLink(experiment(one), start) === writeLink({ ...state, steps }, start);
      its.setAttribute("aria-pressed", String(isOn));
      if (isOn) told.textContent = one.tell();
    }
    explain(shown.chosen);
  }

  const flow = make("div", { class: "pg-flow" });
  const projections = headPanels.map(({ element }) => element);
  const matrices = { inputs: [inputBox], projections, attention: [attention], outputs: [outputs] };

  /** What a stop is about comes first, the plane beside it, and the rest in the order of the computation. */
  function arrange(first) {
    if (flow.dataset.first === first) return;
    flow.dataset.first = first;
    const others = Object.keys(matrices).filter((name) => name !== first);
    flow.replaceChildren(told, ...matrices[first], plane.element, ...others.flatMap((name) => matrices[name]));
  }

  // A change is marked until the next one begins.
  for (const kind of ["focusin", "pointerdown"]) {
    root.addEventListener(kind, () => (shown.before = null), { capture: true });
  }
  const own = make(
    "details",
    { class: "pg-own pg-place" },
    make("summary", {}, "On your own: switch steps, try an experiment, ask for more decimals"),
    ...settings,
    make("div", { class: "lp-settings" }, ...experimentButtons.map(({ button: its }) => its), moreDigits.element),
  );
  const bar = (name, ...content) => make("div", { class: "lp-settings pg-place", role: "group", "aria-label": name }, ...content);

  playground.refresh = refresh;
  bring("playground", (fill) => {
    own.open = openLink();
    if (!own.open && !openStop()) tour.go(0);
    const guide = make("section", { class: "pg-tour", "aria-label": "A tour of eight stops" }, tour.element);
    // What sticks to the top covers as much as it is high.
    new ResizeObserver(() => root.style.setProperty("--pg-bar", `${guide.offsetHeight}px`)).observe(guide);
    fill(
      guide,
      front,
      own,
      make("div", { class: "pg-equation" }, formulas),
      make("div", { class: "pg-desk" }, flow, story),
      bar("Share or start over", share, reset, linkField),
      spoken,
    );
    globalThis.addEventListener("hashchange", () => openLink() || openStop());
  });
})();
