/* The switches of the steps, and the settings of those that have any. */
(() => {
  "use strict";

  const playground = (globalThis.literateAttention ??= {});
  if (!playground.root) return;
  const {
    LARGEST_SEED, STEPS, STEP_TEXTS, STREAMS, attempt, copy, make, shown, readRate, readSeed, speak,
    tables, tell,
  } = playground;

  const switches = STEPS.map((step) => {
    const [name, hint] = STEP_TEXTS[step];
    const input = make("input", {
      type: "checkbox",
      role: "switch",
      id: `pg-${step}`,
      "aria-describedby": `pg-${step}-hint`,
    });
    input.addEventListener("change", () => {
      const wanted = (other) => (other === step ? input.checked : shown.state.steps.includes(other));
      shown.state.steps = STEPS.filter(wanted);
      tell("");
      playground.refresh();
      speak(() => `${playground.equation().words}.`);
    });
    const label = make("label", { for: input.id }, input, make("span", { class: "pg-name" }, name));
    const element = make(
      "div",
      { class: "pg-step" },
      label,
      make("p", { class: "pg-hint", id: `pg-${step}-hint` }, hint),
    );
    return { step, input, element };
  });

  const choice = (options) => {
    const select = make("select");
    select.append(...options.map(([value, text]) => make("option", { value }, text)));
    return select;
  };
  const labelled = (text, control) => {
    control.id = `pg-${text.toLowerCase().replaceAll(" ", "-")}`;
    return make("div", { class: "pg-setting" }, make("label", { for: control.id }, text), control);
  };
  const small = (attributes) => make("input", { type: "text", autocomplete: "off", ...attributes });

  const tableChoice = choice([
    ...Object.entries(tables).map(([name, { label }]) => [name, label]),
    ["edited", "edited by you"],
  ]);
  tableChoice.addEventListener("change", () => {
    if (tableChoice.value !== "edited") shown.state.weights = copy(tables[tableChoice.value].heads);
    tell("");
    playground.refresh();
  });

  const rate = small({ size: 4, inputmode: "decimal" });
  const seed = small({ size: 11, inputmode: "numeric" });
  const stream = choice(Object.entries(STREAMS));
  for (const [input, read, name] of [
    [rate, readRate, "rate"],
    [seed, readSeed, "seed"],
  ]) {
    input.addEventListener("change", () => {
      const { value, error } = attempt(read, input.value);
      if (error === null) shown.state.dropout[name] = value;
      playground.refresh();
      tell(error === null ? "" : `${error}; ${shown.state.dropout[name]} was kept.`);
    });
  }
  stream.addEventListener("change", () => {
    shown.state.dropout.stream = stream.value;
    tell("");
    playground.refresh();
  });
  const again = make("button", { type: "button" }, "Draw again");
  again.addEventListener("click", () => {
    shown.state.dropout.seed = (shown.state.dropout.seed + 1) % (LARGEST_SEED + 1);
    tell("");
    playground.refresh();
    speak(() => `Seed ${shown.state.dropout.seed}.`);
  });
  const projectionSettings = make("div", { class: "pg-settings" }, labelled("Projections of", tableChoice));
  const dropoutSettings = make(
    "div",
    { class: "pg-settings" },
    labelled("Dropout rate", rate),
    labelled("seed", seed),
    labelled("stream", stream),
    again,
  );

  Object.assign(playground, {
    dropoutSettings, projectionSettings, rate, seed, stream, switches, tableChoice,
  });
})();
