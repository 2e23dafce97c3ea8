// Before anything is painted: the colours that the reader chose last time, or those of the system.
{
  const mode = localStorage.getItem("mode") || "auto";
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.mode = mode;
  document.documentElement.dataset.theme = mode === "auto" ? system : mode;
}
