// Runs one programme on one store and gives its verdict.
//   - "broken": a rule does not hold, or the programme ended with an error.
//   - "not run": this machine cannot run it. It has not passed.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { StoreKind } from "../../test/faults/kill/stores.ts";
import { fastDirectory } from "../../test/support/fast-directory.ts";
import type { Programme, Rule } from "./programme.ts";

export interface Verdict {
  readonly programme: string;
  readonly store: StoreKind;
  readonly verdict: "passed" | "broken" | "not run";
  /** The figure, or the reason why there is none. */
  readonly figure: string;
  readonly numbers: Readonly<Record<string, number>>;
  readonly rules: readonly Rule[];
  readonly tookMs: number;
}

export async function verdictOf(
  programme: Programme,
  { store, size }: { readonly store: StoreKind; readonly size: number },
): Promise<Verdict> {
  const about = { programme: programme.name, store };
  const obstacle = programme.obstacle();
  if (obstacle !== null) {
    return { ...about, verdict: "not run", figure: obstacle, numbers: {}, rules: [], tookMs: 0 };
  }
  const folder = mkdtempSync(join(fastDirectory(), `perdure-world-${programme.name}-`));
  const began = performance.now();
  try {
    const { figure, numbers, rules } = await programme.run({ store, size, folder });
    const isPassed = rules.length > 0 && rules.every(({ holds }) => holds);
    const tookMs = performance.now() - began;
    return { ...about, verdict: isPassed ? "passed" : "broken", figure, numbers, rules, tookMs };
  } catch (error) {
    const found = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const rules = [{ rule: "the programme runs to its end", holds: false, found }];
    const tookMs = performance.now() - began;
    return {
      ...about,
      verdict: "broken",
      figure: "ended with an error",
      numbers: {},
      rules,
      tookMs,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
