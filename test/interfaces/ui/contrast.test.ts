// WCAG 1.4.11: fields, bars and drawings that a user must see have a contrast of 3:1 or more to their background.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../support/source-files.ts";

const STYLES = join(projectRoot, "ui", "src", "styles");
const LEAST = 3;
const GROUNDS = ["surface", "surface-2", "bg"];

interface Sides {
  readonly light: string;
  readonly dark: string;
}

/** The colours of tokens.css, with `var(…)` resolved. */
function tokens(): ReadonlyMap<string, Sides> {
  const text = readFileSync(join(STYLES, "tokens.css"), "utf8");
  const found = new Map<string, Sides>();
  for (const [, name = "", light = "", dark = ""] of text.matchAll(
    /--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g,
  )) {
    found.set(name, { light, dark });
  }
  for (const [, name = "", other = ""] of text.matchAll(/--([\w-]+): var\(--([\w-]+)\)/g)) {
    const same = found.get(other);
    if (same !== undefined) found.set(name, same);
  }
  return found;
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

test("black on white has the greatest contrast", () => {
  expect(contrast("#000000", "#ffffff")).toBeCloseTo(21);
});

test("outlines, bars and drawings reach 3:1 on every surface, in light and dark", () => {
  const colors = tokens();
  const drawn = [...colors.keys()].filter((name) => name.endsWith("-fill"));
  expect(drawn).toContain("timer-fill");
  expect(drawn).toContain("activity-fill");
  const poor = ["line-strong", "focus", ...drawn].flatMap((name) =>
    GROUNDS.flatMap((ground) =>
      (["light", "dark"] as const).flatMap((side) => {
        const ratio = contrast(colors.get(name)?.[side] ?? "", colors.get(ground)?.[side] ?? "");
        return ratio >= LEAST ? [] : [`${name} on ${ground}, ${side}: ${ratio.toFixed(2)}`];
      }),
    ),
  );
  expect(poor).toEqual([]);
});

test.each([
  ["parts.css", ".input", "border", "--line-strong"],
  ["parts.css", ".button", "border", "--line-strong"],
  ["timeline.css", ".bar", "background", "--kind-fill"],
  ["timeline.css", '.bar[data-outcome="open"]', "border", "--kind-fill"],
  [
    "timeline.css",
    ".moment-slider input::-webkit-slider-runnable-track",
    "background",
    "--line-strong",
  ],
  ["flow.css", '[data-state="idle"]', "--node-line", "--line-strong"],
  ["flow.css", ".flow-edge", "stroke", "--line-strong"],
  ["pages.css", ".depth meter", "border", "--line-strong"],
])("%s: %s takes its %s from %s", (file, selector, property, token) => {
  const text = readFileSync(join(STYLES, file), "utf8");
  const at = text.indexOf(`\n${selector} {`);
  expect(at).toBeGreaterThan(-1);
  const rule = text.slice(at, text.indexOf("}", at));
  expect(rule).toMatch(new RegExp(`\\n  ${property}: [^;]*var\\(${token}\\)`));
});
