// The report of a run with failovers that lose commits: the faults found, the work lost, and whether the run tested enough.

import { countFaults, type Fault } from "../../../faults/kill/faults.ts";

export interface ForgetRecord {
  /** How long the workers worked between the copy and the failover to the copy. */
  readonly tailMs: number;
  /** The events committed in that time and lost; a lower bound. */
  readonly lostEvents: number;
  /** The time from the restart of the server until a worker began new work. */
  readonly resumedMs: number;
}
export interface ForgetReport {
  readonly seed: number;
  readonly forgets: readonly ForgetRecord[];
  /** Leases that workers released because they did not hold them. */
  readonly released: number;
  readonly doneUnderFaults: number;
  readonly instances: number;
  readonly executions: number;
  readonly events: number;
  readonly faults: readonly Fault[];
  /** The folder with logs, kept if the run found faults. */
  readonly folder: string | null;
}

/** Why the run tested too little; empty if it tested enough. */
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
    .map(([what, found, floor]) => `${found} ${what}; at least ${Math.ceil(floor)} are required`);
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
    ...(report.folder === null ? [] : [`    all logs are in ${report.folder}`]),
  ].join("\n");
}
