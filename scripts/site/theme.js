// Light or dark: follows the system until the reader chooses. Folds the navigation on small screens.

const root = document.documentElement;
const kept = localStorage.getItem("theme");
if (kept !== null) root.dataset.theme = kept;

addEventListener("DOMContentLoaded", () => {
  document.querySelector("#theme").addEventListener("click", () => {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const next = (root.dataset.theme ?? system) === "dark" ? "light" : "dark";
    root.dataset.theme = next;
    localStorage.setItem("theme", next);
  });
  if (matchMedia("(max-width: 48rem)").matches) {
    document.querySelector("nav details").removeAttribute("open");
  }
});
