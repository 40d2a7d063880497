// A programme of `npm run world`: one thing that happens to a product in operation, its figure, and the rules that decide.

import type { StoreKind } from "../../test/faults/kill/stores.ts";

export interface Programme {
  readonly name: string;
  /** One sentence: what happens to the product. */
  readonly what: string;
  readonly stores: readonly StoreKind[];
  /** Why this machine cannot run the programme; null if it can. */
  readonly obstacle: () => string | null;
  readonly run: (setting: Setting) => Promise<Finding>;
}

export interface Setting {
  readonly store: StoreKind;
  /** Multiplies the sizes of the programme; 1 is the default. */
  readonly size: number;
  /** An empty folder for files. The runner deletes it afterwards. */
  readonly folder: string;
}

export interface Finding {
  /** The result in words and numbers of a user. */
  readonly figure: string;
  /** The same as data. */
  readonly numbers: Readonly<Record<string, number>>;
  readonly rules: readonly Rule[];
}

export interface Rule {
  readonly rule: string;
  readonly holds: boolean;
  /** What was found instead; empty if the rule holds. */
  readonly found: string;
}

/** A rule with the violations that were found. */
export function rule(text: string, violations: readonly string[]): Rule {
  const [first = "", ...others] = violations;
  const found = others.length === 0 ? first : `${first}, and ${others.length} more`;
  return { rule: text, holds: violations.length === 0, found };
}

/** The rule that a measured value does not exceed a limit. */
export function limit(what: string, value: number, max: number, unit: string): Rule {
  const found = `${round(value)} ${unit}`;
  return rule(`${what}: at most ${round(max)} ${unit}`, value <= max ? [] : [found]);
}

/** The rule that the programme met enough of the fault it is about. */
export function floor(what: string, value: number, min: number): Rule {
  return rule(
    `${what}: at least ${min}, or the run shows nothing`,
    value >= min ? [] : [`${value}`],
  );
}

/** A default number times the size, at least `min`. */
export function scaled(count: number, size: number, min = 1): number {
  return Math.max(min, Math.round(count * size));
}

/** Three significant digits. */
export function round(value: number): number {
  return Number(value.toPrecision(3));
}

export function seconds(ms: number): string {
  return ms < 1_000 ? `${round(ms)} ms` : `${round(ms / 1_000)} s`;
}
