// What the theme would write as scripts into each page. Our policy allows scripts in files only.
DOCUMENTATION_OPTIONS.search_as_you_type = true;

// A page that was opened from a disk may not fetch its neighbours, so results come without excerpts.
DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = location.protocol !== "file:";

// The index is the largest script of all, and comes when somebody begins to search.
const loadIndex = () => {
  if (document.getElementById("search-index")) return;
  const script = document.createElement("script");
  script.id = "search-index";
  script.src = `${document.documentElement.dataset.content_root}searchindex.js`;
  document.head.append(script);
};
document.addEventListener("focusin", ({ target }) => {
  if (target.closest(".bd-search")) loadIndex();
});
const searchField = document.querySelector(".bd-search-container input");
if (searchField) {
  loadIndex();
  searchField.focus();
}

// A formula that is too wide scrolls in its box: also by keyboard. The theme does the same for code.
const reachFormulas = () => {
  for (const box of document.querySelectorAll(".formula")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
addEventListener("resize", reachFormulas);
addEventListener("load", reachFormulas);

// Paper is white, whatever the screen is.
addEventListener("beforeprint", () => {
  document.documentElement.dataset.theme = "light";
});
addEventListener("afterprint", () => {
  const { mode } = document.documentElement.dataset;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = mode === "auto" ? system : mode;
});
