// Before anything is painted: the colours that the reader chose last time, or those of the system. A browser may refuse
// to keep anything; then the scripts of the page, the theme's included, find a store that forgets.
{
  try {
    localStorage.getItem("mode");
  } catch {
    const nothing = { getItem: () => null, setItem: () => {}, removeItem: () => {} };
    Object.defineProperty(globalThis, "localStorage", { value: nothing });
  }
  const kept = localStorage.getItem("mode");
  const mode = ["light", "dark"].includes(kept) ? kept : "auto";
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.mode = mode;
  document.documentElement.dataset.theme = mode === "auto" ? system : mode;
}
