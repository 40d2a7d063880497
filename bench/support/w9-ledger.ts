// The steps of W9: the log contains those that ran, the histories those that are recorded.
//   A step is identified by its instance and its position in the history.

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

/** Every step run, in order. */
export function entered(setting: Setting): readonly Entered[] {
  const log = logOf(setting);
  if (!existsSync(log)) return [];
  const lines = readFileSync(log, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => {
    const [pid, ...step] = line.split(" ");
    return { pid: Number(pid), step: step.join(" ") };
  });
}

/** The store as the killed process left it: a copy of the file, because opening a file changes it; tables stay. */
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

/** Every recorded step completion, duplicates included. */
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
  /** Steps that ran more than once, with their number of runs. */
  readonly rerun: number;
  /** Those of them that had been recorded before they ran again. */
  readonly rerunRecorded: number;
}

/** `before`: the steps recorded when `killedPid` was killed. */
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
