// The report of a run of outages: the faults found, the outages, and whether the run tested enough.

import { countFaults, type Fault } from "../../../faults/kill/faults.ts";
import type { RunLine } from "../../../faults/kill/audit/run-log.ts";
import { SIGNS, type OutageKind } from "./faults.ts";

export interface OutageRecord {
  readonly kind: OutageKind;
  /** When the outage began, by the host's wall clock. */
  readonly at: number;
  /** The time from the end of the outage until every worker began new work. */
  readonly resumedMs: number;
}
export interface OutageReport {
  readonly seed: number;
  /** `inFlight`: activities and steps that were running when the outage began. */
  readonly outages: readonly (OutageRecord & { readonly inFlight: number })[];
  /** `after` counts commits that were executed and whose answer was lost. */
  readonly cuts: { readonly before: number; readonly after: number };
  readonly listeners: { readonly frozen: number; readonly ever: number };
  /** How often the workers received each SQLSTATE. */
  readonly states: Readonly<Record<string, number>>;
  readonly doneUnderFaults: number;
  readonly instances: number;
  readonly executions: number;
  readonly events: number;
  readonly faults: readonly Fault[];
  /** The folder with logs, kept if the run found faults. */
  readonly folder: string | null;
}

export function inFlightAt(lines: readonly RunLine[], at: number): number {
  let count = 0;
  for (const line of lines) {
    if (line.at <= at) count += line.what === "begin" ? 1 : -1;
  }
  return count;
}

/** Why the run tested too little; empty if it tested enough. */
export function outageEmptiness(
  report: OutageReport,
  { outages, cuts }: { readonly outages: number; readonly cuts: number },
): readonly string[] {
  const hit = report.outages.filter(({ inFlight }) => inFlight > 0).length;
  const received = (kind: OutageKind): number =>
    SIGNS[kind].reduce((sum, state) => sum + (report.states[state] ?? 0), 0);
  const { before, after } = report.cuts;
  const floors: readonly (readonly [string, number, number])[] = [
    ["outages", report.outages.length, outages],
    ["outages with work in flight", hit, outages * 0.6],
    ["commits cut", before + after, cuts],
    ["commits whose answer was lost", after, cuts * 0.3],
    ["listeners half open", report.listeners.frozen, 2],
    ["listeners in total", report.listeners.ever, report.listeners.frozen * 2],
    ["connections ended by an operator", received("terminated"), 4],
    ["writes refused as read-only", received("read-only"), 4],
    ["connections refused", received("exhausted"), 4],
    ["jobs done under faults", report.doneUnderFaults, outages * 5],
  ];
  return floors
    .filter(([, found, floor]) => found < floor)
    .map(([what, found, floor]) => `${found} ${what}; at least ${Math.ceil(floor)} are required`);
}

export function describeOutages(report: OutageReport): string {
  const { cuts, listeners, outages } = report;
  const byKind = Map.groupBy(outages, ({ kind }) => kind);
  const kinds = [...byKind].map(([kind, all]) => {
    const most = Math.max(...all.map(({ resumedMs }) => resumedMs));
    return `${all.length} ${kind} (at work again after at most ${Math.round(most)} ms)`;
  });
  const faults = Object.entries(countFaults(report.faults)).map(([kind, n]) => `${kind} ${n}`);
  const states = Object.entries(report.states).map(([state, n]) => `${state} ${n}`);
  return [
    `PostgreSQL, seed ${report.seed}: ${kinds.join(", ")}`,
    `  work in flight at the outages: ${outages.map(({ inFlight }) => inFlight).join(", ")}`,
    `  ${cuts.before + cuts.after} commits cut, ${cuts.after} of them executed and not answered; ` +
      `${listeners.frozen} listeners half open, ${listeners.ever} in total; SQLSTATEs: ${states.join(", ")}`,
    `  ${report.doneUnderFaults} jobs done under faults; ${report.instances} instances, ` +
      `${report.executions} executions, ${report.events} events`,
    `  ${faults.join(", ")}`,
    ...report.faults.slice(0, 20).map(({ kind, what }) => `    ${kind}: ${what}`),
    ...(report.folder === null ? [] : [`    all logs are in ${report.folder}`]),
  ].join("\n");
}
