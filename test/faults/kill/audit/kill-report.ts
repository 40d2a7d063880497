// The report of a kill run: its faults, the amount of work it did, and whether that work is enough for the run to
// count.

import type { CrasherReport } from "./crasher-audit.ts";
import { countFaults, type Fault } from "../faults.ts";
import type { Killed } from "../killer.ts";
import type { RunLine } from "./run-log.ts";
import type { StoreKind } from "../stores.ts";

export interface KillReport {
  readonly store: StoreKind;
  readonly database: string;
  readonly seed: number;
  readonly workers: number;
  readonly kills: number;
  readonly seconds: number;
  /** Kills of processes that had reported ready; the other processes died while they opened the store. */
  readonly readyWhenKilled: number;
  /** Kills of processes that were running an activity or a step. */
  readonly midWork: number;
  readonly acknowledged: {
    readonly starts: number;
    readonly raises: number;
    readonly cancels: number;
    readonly results: number;
  };
  readonly doneUnderKills: number;
  readonly stored: {
    readonly instances: number;
    readonly executions: number;
    readonly events: number;
  };
  readonly runs: {
    readonly calls: number;
    readonly runs: number;
    readonly reruns: number;
    readonly cutOff: number;
  };
  /** From a kill to the next run of the interrupted work, in milliseconds. */
  readonly recoveryMs: { readonly median: number; readonly p99: number; readonly most: number };
  readonly crashers: CrasherReport;
  /** Instances other than crashers. */
  readonly innocents: {
    /** Instances that were ever found blocked, and how often the operator unblocked one. */
    readonly blocked: number;
    readonly unblocks: number;
    readonly failed: number;
  };
  readonly faults: readonly Fault[];
  /** The folder with the store and the logs, kept when the run found faults. */
  readonly folder: string | null;
}

/** Counts kills that interrupted work, and measures how long that work waited for its next run. */
export function recoveryOf(
  killed: readonly Killed[],
  lines: readonly RunLine[],
): Pick<KillReport, "midWork" | "recoveryMs"> {
  const byPid = Map.groupBy(lines, ({ pid }) => pid);
  const begins = Map.groupBy(
    lines.filter(({ what }) => what === "begin"),
    ({ key }) => key,
  );
  let midWork = 0;
  const waits: number[] = [];
  for (const { pid, at } of killed) {
    const own = byPid.get(pid) ?? [];
    const ended = new Set(own.filter(({ what }) => what === "end").map(runOf));
    const cut = own.filter((line) => line.what === "begin" && !ended.has(runOf(line)));
    if (cut.length > 0) midWork++;
    for (const { key } of cut) {
      const again = begins.get(key)?.find((line) => line.pid !== pid && line.at >= at);
      if (again !== undefined) waits.push(again.at - at); // undefined: it was cancelled meanwhile
    }
  }
  waits.sort((a, b) => a - b);
  const quantile = (part: number): number => waits[Math.ceil(part * waits.length) - 1] ?? 0;
  return {
    midWork,
    recoveryMs: { median: quantile(0.5), p99: quantile(0.99), most: quantile(1) },
  };
}

function runOf({ key, attempt }: RunLine): string {
  return `${key} ${attempt}`;
}

/** The reasons why the run does not count although it found no fault: too little happened. Empty if it counts. */
export function emptiness(report: KillReport, kills: number): readonly string[] {
  const floors: readonly (readonly [string, number, number])[] = [
    ["kills", report.kills, kills],
    ["kills in the middle of work", report.midWork, kills * 0.3], // while one worker tries a crasher alone, the others are idle
    ["jobs done under kills", report.doneUnderKills, kills / 20],
    ["runs that a kill interrupted", report.runs.cutOff, kills],
    ["reruns", report.runs.reruns, kills],
    ["raises acknowledged", report.acknowledged.raises, kills / 5],
    ["cancels acknowledged", report.acknowledged.cancels, kills / 50],
    ["crashing turns and steps in quarantine", report.crashers.quarantined, Math.min(2, kills)],
    ["crashing activities that failed as poison", report.crashers.poisoned, 1],
    ["processes that a crasher ended", report.crashers.deaths, report.crashers.started],
  ];
  return floors
    .filter(([, found, floor]) => found < floor)
    .map(([what, found, floor]) => `${found} ${what}; ${Math.ceil(floor)} is the minimum`);
}

export function describeKills(report: KillReport): string {
  const { acknowledged, stored, runs, recoveryMs, crashers, innocents } = report;
  const faults = Object.entries(countFaults(report.faults)).map(([kind, n]) => `${kind} ${n}`);
  return [
    `${report.database}, ${report.workers} workers, seed ${report.seed}`,
    `  ${report.kills} kills in ${report.seconds.toFixed(1)} s: ${report.readyWhenKilled} of processes that took work, ` +
      `${report.midWork} in the middle of an activity or a step`,
    `  ${acknowledged.starts} starts, ${acknowledged.raises} raises, ${acknowledged.cancels} cancels and ` +
      `${acknowledged.results} results acknowledged; ${report.doneUnderKills} jobs done under kills`,
    `  ${stored.instances} instances, ${stored.executions} executions, ${stored.events} events; ` +
      `${runs.calls} calls, ${runs.runs} runs, ${runs.reruns} of them reruns, ${runs.cutOff} interrupted`,
    `  interrupted work resumed after ${recoveryMs.median} ms (median), ${recoveryMs.p99} ms (p99), ${recoveryMs.most} ms (most)`,
    `  ${crashers.started} crashers: ${report.kills} kills, ${crashers.deaths} deaths by crashers (at most ` +
      `${crashers.mostDeaths} by one), ${crashers.quarantined} crashers blocked, ${crashers.poisoned} failed as poison; ` +
      `${innocents.blocked} innocents blocked, ${innocents.unblocks} unblocks, ${innocents.failed} innocents failed`,
    `  ${faults.join(", ")}`,
    ...report.faults.slice(0, 20).map(({ kind, what }) => `    ${kind}: ${what}`),
    ...(report.folder === null ? [] : [`    the store and the logs are in ${report.folder}`]),
  ].join("\n");
}
