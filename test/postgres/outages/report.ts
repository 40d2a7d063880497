// What a run of outages found, how much it had to find, and whether that was enough to count.

import { countFaults, type Fault } from "../../kill/faults.ts";
import type { RunLine } from "../../kill/run-log.ts";
import { SIGNS, type OutageKind } from "./faults.ts";

export interface OutageRecord {
  readonly kind: OutageKind;
  /** When it struck, by the host's wall clock. */
  readonly at: number;
  /** From the moment the database was back until every worker had begun something new. */
  readonly resumedMs: number;
}
export interface OutageReport {
  readonly seed: number;
  /** `underWay`: activities and steps that had begun when it struck and had not ended. */
  readonly outages: readonly (OutageRecord & { readonly underWay: number })[];
  /** `after` are commits that were carried out and whose answer was lost. */
  readonly cuts: { readonly before: number; readonly after: number };
  readonly listeners: { readonly frozen: number; readonly ever: number };
  /** How often the workers were told each SQLSTATE. */
  readonly states: Readonly<Record<string, number>>;
  readonly doneUnderFaults: number;
  readonly instances: number;
  readonly executions: number;
  readonly events: number;
  readonly faults: readonly Fault[];
  /** What is left to look at when something was found. */
  readonly folder: string | null;
}

export function underWayAt(lines: readonly RunLine[], at: number): number {
  let count = 0;
  for (const line of lines) {
    if (line.at <= at) count += line.what === "begin" ? 1 : -1;
  }
  return count;
}

/** Why the run does not count although nothing was found: too little happened in it. Empty: it counts. */
export function outageEmptiness(
  report: OutageReport,
  { outages, cuts }: { readonly outages: number; readonly cuts: number },
): readonly string[] {
  const hit = report.outages.filter(({ underWay }) => underWay > 0).length;
  const told = (kind: OutageKind): number =>
    SIGNS[kind].reduce((sum, state) => sum + (report.states[state] ?? 0), 0);
  const { before, after } = report.cuts;
  const floors: readonly (readonly [string, number, number])[] = [
    ["outages", report.outages.length, outages],
    ["outages with work under way", hit, outages * 0.6],
    ["commits cut", before + after, cuts],
    ["commits whose answer was lost", after, cuts * 0.3],
    ["listeners half open", report.listeners.frozen, 2],
    ["listeners ever", report.listeners.ever, report.listeners.frozen * 2],
    ["connections ended by an operator", told("terminated"), 4],
    ["writes refused as read-only", told("read-only"), 4],
    ["connections refused", told("exhausted"), 4],
    ["jobs done under faults", report.doneUnderFaults, outages * 5],
  ];
  return floors
    .filter(([, found, floor]) => found < floor)
    .map(([what, found, floor]) => `${found} ${what}; ${Math.ceil(floor)} is the least`);
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
    `  work under way when they struck: ${outages.map(({ underWay }) => underWay).join(", ")}`,
    `  ${cuts.before + cuts.after} commits cut, ${cuts.after} of them carried out and not answered; ` +
      `${listeners.frozen} listeners half open, ${listeners.ever} ever; told: ${states.join(", ")}`,
    `  ${report.doneUnderFaults} jobs done under faults; ${report.instances} instances, ` +
      `${report.executions} executions, ${report.events} events`,
    `  ${faults.join(", ")}`,
    ...report.faults.slice(0, 20).map(({ kind, what }) => `    ${kind}: ${what}`),
    ...(report.folder === null ? [] : [`    all of it is in ${report.folder}`]),
  ].join("\n");
}
