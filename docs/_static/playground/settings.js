/* The switches of the steps, and the settings of those that have any. */
(() => {
  "use strict";

  const playground = (globalThis.literateAttention ??= {});
  if (!playground.root) return;
  const {
    LARGEST_SEED, STEPS, STEP_TEXTS, STREAMS, acting, attempt, copy, need, shown, readRate, readSeed, speak,
    tableOf, tables, tell,
  } = playground;
  const { button, choice, labelled, make } = globalThis.literateParts;

  const switches = STEPS.map((step) => {
    const [name, what] = STEP_TEXTS[step];
    const hint = make("p", { class: "pg-hint", id: `pg-${step}-hint` });
    const input = make("input", {
      type: "checkbox",
      role: "switch",
      id: `pg-${step}`,
      autocomplete: "off",
      "aria-describedby": hint.id,
    });
    const lacks = () => !acting([...shown.state.steps, step]).includes(step);
    // A switch that is disabled could not have the focus, and nobody would hear why.
    input.addEventListener("click", (event) => {
      if (!lacks()) return;
      event.preventDefault();
      speak(() => hint.textContent);
    });
    input.addEventListener("change", () => {
      const wanted = (other) => (other === step ? input.checked : shown.state.steps.includes(other));
      shown.state.steps = STEPS.filter(wanted);
      tell("");
      playground.refresh();
      speak(() => `${playground.equation().words}.`);
    });
    const label = make("label", { for: input.id }, input, make("span", { class: "pg-name" }, name));
    function fill() {
      input.checked = shown.state.steps.includes(step);
      input.setAttribute("aria-disabled", String(lacks()));
      hint.textContent = lacks() ? `waits for ${STEP_TEXTS[need(step)][0].toLowerCase()} to be switched on` : what;
    }
    return { element: make("div", { class: "pg-step" }, label, hint), fill };
  });

  const small = (attributes) => make("input", { type: "text", autocomplete: "off", ...attributes });

  const tableChoice = choice(
    "Projections of",
    [...Object.entries(tables).map(([name, { label }]) => [name, label]), ["edited", "edited by you"]],
    (value) => {
      if (value !== "edited") shown.state.weights = copy(tables[value].heads);
      tell("");
      playground.refresh();
    },
  );
  const rate = small({ size: 4, inputmode: "decimal" });
  const seed = small({ size: 11, inputmode: "numeric" });
  const stream = choice("Random numbers of", Object.entries(STREAMS), (value) => {
    shown.state.dropout.stream = value;
    tell("");
    playground.refresh();
  });
  for (const [input, read, name] of [
    [rate, readRate, "rate"],
    [seed, readSeed, "seed"],
  ]) {
    input.addEventListener("change", () => {
      const { value, error } = attempt(read, input.value);
      if (error === null) shown.state.dropout[name] = value;
      playground.refresh();
      tell(error === null ? "" : `${error}; ${shown.state.dropout[name]} was kept.`, input);
    });
  }
  const again = button("Draw again", () => {
    shown.state.dropout.seed = (shown.state.dropout.seed + 1) % (LARGEST_SEED + 1);
    tell("");
    playground.refresh();
    speak(() => `Seed ${shown.state.dropout.seed}.`);
  });
  const dropoutSettings = make(
    "div",
    { class: "lp-settings" },
    labelled("Dropout rate", rate),
    labelled("Seed", seed),
    stream,
    again,
  );

  function fillSettings(steps) {
    for (const { fill } of switches) fill();
    tableChoice.hidden = !steps.includes("projections");
    dropoutSettings.hidden = !steps.includes("dropout");
    tableChoice.querySelector("select").value = tableOf(shown.state.weights, tables) ?? "edited";
    rate.value = shown.state.dropout.rate;
    seed.value = shown.state.dropout.seed;
    stream.querySelector("select").value = shown.state.dropout.stream;
  }

  const settings = [
    make(
      "fieldset",
      { class: "pg-steps" },
      make("legend", {}, "Steps"),
      ...switches.map(({ element }) => element),
    ),
    tableChoice,
    dropoutSettings,
  ];

  Object.assign(playground, { fillSettings, settings });
})();
