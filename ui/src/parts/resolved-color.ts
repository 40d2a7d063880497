// Resolves a colour of the style sheet for a canvas: `light-dark()` and `var()` need an element to be
// resolved.

/** `name`: the name of a CSS custom property without its dashes. */
export function resolvedColor(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
