// A colour of the style sheet as a canvas needs it: `light-dark()` and `var()` are resolved only where they are used.

/** `name` is the name of a custom property, without its dashes. */
export function resolvedColor(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
