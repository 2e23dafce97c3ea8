/* The switches of the steps, and the settings of those that have any. */
(() => {
  "use strict";
  const playground = globalThis.literateAttention;
  const {
    STEPS, STEP_TEXTS, acting, attempt, copy, need, readRate, shown, speak, start, tableOf, tables, tell,
  } = playground;
  const { choice, labelled, make, toggle } = globalThis.literateParts;

  const switches = STEPS.map((step) => {
    const [name, what] = STEP_TEXTS[step];
    const hint = make("p", { class: "pg-hint", id: `pg-${step}-hint` });
    const { input, element } = toggle(make("span", { class: "pg-name" }, name), change, { id: `pg-${step}`, "aria-describedby": hint.id });
    const lacks = () => !acting([...shown.state.steps, step]).includes(step);
    // A switch that is disabled could not have the focus, and nobody would hear why.
    input.addEventListener("click", (event) => {
      if (!lacks()) return;
      event.preventDefault();
      speak(() => hint.textContent);
    });
    function change() {
      const wanted = (other) => (other === step ? input.checked : shown.state.steps.includes(other));
      shown.state.steps = STEPS.filter(wanted);
      tell("");
      playground.refresh();
    }
    function fill() {
      input.checked = shown.state.steps.includes(step);
      input.setAttribute("aria-disabled", String(lacks()));
      hint.textContent = lacks() ? `waits for ${STEP_TEXTS[need(step)][0].toLowerCase()} to be switched on` : what;
    }
    return { element: make("div", { class: "pg-step" }, element, hint), fill };
  });

  const tableChoice = choice(
    "Projections of",
    [...Object.entries(tables).map(([name, { label }]) => [name, label]), ["edited", "edited by you"]],
    (value) => {
      if (value !== "edited") shown.state.weights = copy(tables[value].heads);
      tell("");
      playground.refresh();
    },
  );
  const rate = make("input", { type: "text", autocomplete: "off", size: 4, inputmode: "decimal" });
  rate.addEventListener("change", () => {
    const { value, error } = attempt(readRate, rate.value);
    if (error === null) shown.state.dropout.rate = value;
    playground.refresh();
    tell(error === null ? "" : `${error}; ${shown.state.dropout.rate} was kept.`, rate);
  });
  const seed = choice("Random numbers of seed", start.seeds.map((one) => [one, one]), (value) => {
    shown.state.dropout.seed = value;
    tell("");
    playground.refresh();
  });
  const dropoutSettings = make("div", { class: "lp-settings" }, labelled("Dropout rate", rate), seed);

  function fillSettings(steps) {
    for (const { fill } of switches) fill();
    tableChoice.hidden = !steps.includes("projections");
    dropoutSettings.hidden = !steps.includes("dropout");
    tableChoice.querySelector("select").value = tableOf(shown.state.weights, tables) ?? "edited";
    rate.value = shown.state.dropout.rate;
    seed.querySelector("select").value = shown.state.dropout.seed;
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
