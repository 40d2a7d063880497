// What a run of kills found, how much it had to find, and whether that was enough to count.

import type { CrasherReport } from "./crasher-audit.ts";
import { countFaults, type Fault } from "./faults.ts";
import type { Killed } from "./killer.ts";
import type { RunLine } from "./run-log.ts";
import type { StoreKind } from "./stores.ts";

export interface KillReport {
  readonly store: StoreKind;
  readonly database: string;
  readonly seed: number;
  readonly workers: number;
  readonly kills: number;
  readonly seconds: number;
  /** Kills of processes that had said that they take work; the others died while they opened. */
  readonly readyWhenKilled: number;
  /** Kills in the middle of an activity or a step that had begun there and had not ended. */
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
  /** From a kill to the next run of what it cut off, in milliseconds. */
  readonly recoveryMs: { readonly median: number; readonly p99: number; readonly most: number };
  readonly crashers: CrasherReport;
  /** Instances other than crashers. */
  readonly innocents: {
    /** Instances that were found blocked, and how often one of them was unblocked. */
    readonly blocked: number;
    readonly unblocks: number;
    readonly failed: number;
  };
  readonly faults: readonly Fault[];
  /** What is left to look at when something was found. */
  readonly folder: string | null;
}

/** Kills that hit work under way, and how long that work stood still. */
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
      if (again !== undefined) waits.push(again.at - at); // else it was cancelled meanwhile
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

/** Why the run does not count although nothing was found: too little happened in it. Empty: it counts. */
export function emptiness(report: KillReport, kills: number): readonly string[] {
  const floors: readonly (readonly [string, number, number])[] = [
    ["kills", report.kills, kills],
    ["kills in the middle of work", report.midWork, kills * 0.3], // while a crasher is tried alone, workers are idle
    ["jobs done under kills", report.doneUnderKills, kills / 20],
    ["runs that were cut off", report.runs.cutOff, kills],
    ["runs over again", report.runs.reruns, kills],
    ["raises acknowledged", report.acknowledged.raises, kills / 5],
    ["cancels acknowledged", report.acknowledged.cancels, kills / 50],
    ["crashing turns and steps in quarantine", report.crashers.quarantined, Math.min(2, kills)],
    ["crashing activities that failed as poison", report.crashers.poisoned, 1],
    ["processes that a crasher ended", report.crashers.deaths, report.crashers.started],
  ];
  return floors
    .filter(([, found, floor]) => found < floor)
    .map(([what, found, floor]) => `${found} ${what}; ${Math.ceil(floor)} is the least`);
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
      `${runs.calls} calls, ${runs.runs} runs, ${runs.reruns} of them over again, ${runs.cutOff} cut off`,
    `  taken up again after ${recoveryMs.median} ms (median), ${recoveryMs.p99} ms (p99), ${recoveryMs.most} ms (most)`,
    `  ${crashers.started} crashers: ${report.kills} kills, ${crashers.deaths} deaths by crashers (at most ` +
      `${crashers.mostDeaths} by one), ${crashers.quarantined} crashers blocked, ${crashers.poisoned} failed as poison; ` +
      `${innocents.blocked} innocents blocked, ${innocents.unblocks} unblocks, ${innocents.failed} innocents failed`,
    `  ${faults.join(", ")}`,
    ...report.faults.slice(0, 20).map(({ kind, what }) => `    ${kind}: ${what}`),
    ...(report.folder === null ? [] : [`    all of it is in ${report.folder}`]),
  ].join("\n");
}
