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
  const { dataset } = document.documentElement;
  dataset.mode = ["light", "dark"].includes(kept) ? kept : "auto";
  globalThis.showColours = () => {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    dataset.theme = dataset.mode === "auto" ? system : dataset.mode;
  };
  globalThis.showColours();
}
