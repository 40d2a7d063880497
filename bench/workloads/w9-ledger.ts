// What became of the steps of W9: the log says which were entered, the histories which are recorded.
//   A step is named by its instance and its place in the history.

import { strict as assert } from "node:assert";
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Setting } from "../subject.ts";
import { withPerdure } from "./open.ts";
import { idOf, INSTANCES, logOf, STEPS } from "./w9-worker.ts";

export interface Entered {
  readonly pid: number;
  readonly step: string;
}

/** Every time that a step was entered, in order. */
export function entered(setting: Setting): readonly Entered[] {
  const log = logOf(setting);
  if (!existsSync(log)) return [];
  const lines = readFileSync(log, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => {
    const [pid, ...step] = line.split(" ");
    return { pid: Number(pid), step: step.join(" ") };
  });
}

/** The store as the killed process left it: a file that is opened is changed, so a copy of it; tables are not. */
export function snapshot(setting: Setting): Setting {
  if (setting.store !== "sqlite") return setting;
  const directory = join(setting.directory, "snapshot");
  mkdirSync(directory);
  for (const file of ["bench.db", "bench.db-wal"]) {
    const from = join(setting.directory, file);
    if (existsSync(from)) cpSync(from, join(directory, file));
  }
  return { ...setting, directory };
}

/** Every step whose completion is recorded, as often as it is. */
export function recorded(setting: Setting): Promise<readonly string[]> {
  return withPerdure(setting, { autoStart: false }, async ({ client }) => {
    const steps: string[] = [];
    for (let i = 0; i < INSTANCES; i++) {
      for (const event of await client.get(idOf(i)).history()) {
        if (event.kind === "ActivityCompleted") steps.push(`${idOf(i)} ${event.scheduled}`);
      }
    }
    return steps;
  });
}

export interface Account {
  /** Steps that are not recorded although all instances are done. */
  readonly lost: number;
  /** Steps entered more than once, by how often. */
  readonly rerun: number;
  /** Those of them that were recorded before. */
  readonly rerunRecorded: number;
}

/** `before`: what was recorded when `killedPid` was killed. */
export async function account(
  setting: Setting,
  { killedPid, before }: { readonly killedPid: number; readonly before: readonly string[] },
): Promise<Account> {
  const runs = entered(setting);
  const after = await recorded(setting);
  const distinct = new Set(after);
  assert.equal(distinct.size, after.length, "no step is recorded twice");
  const kept = new Set(before);
  const late = runs.filter(({ pid, step }) => pid !== killedPid && kept.has(step));
  return {
    lost: INSTANCES * STEPS - distinct.size,
    rerun: runs.length - new Set(runs.map(({ step }) => step)).size,
    rerunRecorded: late.length,
  };
}
