// What a run of failovers that lose commits found, how much was lost in it, and whether that was enough to count.

import { countFaults, type Fault } from "../../kill/faults.ts";

export interface ForgetRecord {
  /** How long the workers worked after the copy, before its state came back. */
  readonly tailMs: number;
  /** Events that were committed in that time and lost; a lower bound. */
  readonly lostEvents: number;
  /** From the moment the server was back until a worker had begun something new. */
  readonly resumedMs: number;
}
export interface ForgetReport {
  readonly seed: number;
  readonly forgets: readonly ForgetRecord[];
  /** Leases that workers found in the store and did not hold. */
  readonly released: number;
  readonly doneUnderFaults: number;
  readonly instances: number;
  readonly executions: number;
  readonly events: number;
  readonly faults: readonly Fault[];
  /** What is left to look at when something was found. */
  readonly folder: string | null;
}

/** Why the run does not count although nothing was found: too little happened in it. Empty: it counts. */
export function forgetEmptiness(report: ForgetReport, forgets: number): readonly string[] {
  const lossy = report.forgets.filter(({ lostEvents }) => lostEvents > 0).length;
  const floors: readonly (readonly [string, number, number])[] = [
    ["failovers", report.forgets.length, forgets],
    ["failovers that lost events", lossy, forgets * 0.8],
    ["leases released", report.released, 1],
    ["jobs done under faults", report.doneUnderFaults, forgets],
  ];
  return floors
    .filter(([, found, floor]) => found < floor)
    .map(([what, found, floor]) => `${found} ${what}; ${Math.ceil(floor)} is the least`);
}

export function describeForgets(report: ForgetReport): string {
  const { forgets } = report;
  const most = Math.max(0, ...forgets.map(({ resumedMs }) => resumedMs));
  const faults = Object.entries(countFaults(report.faults)).map(([kind, n]) => `${kind} ${n}`);
  return [
    `PostgreSQL, seed ${report.seed}: ${forgets.length} failovers that lost commits (at work again after at most ${Math.round(most)} ms)`,
    `  events lost: ${forgets.map(({ lostEvents }) => lostEvents).join(", ")}; ` +
      `${report.released} leases released that no worker held`,
    `  ${report.doneUnderFaults} jobs done under faults; ${report.instances} instances, ` +
      `${report.executions} executions, ${report.events} events`,
    `  ${faults.join(", ")}`,
    ...report.faults.slice(0, 20).map(({ kind, what }) => `    ${kind}: ${what}`),
    ...(report.folder === null ? [] : [`    all of it is in ${report.folder}`]),
  ].join("\n");
}
