// The audit of crashers: each is quarantined or poisoned by the documented rule, and no process ended for another
// reason.

import { crasherKind, POISONED } from "../crashers.ts";
import type { Fault } from "../faults.ts";
import type { CrashLine } from "./run-log.ts";

export interface CrasherReport {
  readonly started: number;
  /** Processes that crashers ended. */
  readonly deaths: number;
  /** The most processes that one crasher ended. */
  readonly mostDeaths: number;
  /** Crashing turns and steps in quarantine, and crashing activities that failed as poison. */
  readonly quarantined: number;
  readonly poisoned: number;
}

/** The fields of an instance that the audit reads; null if the instance does not exist. */
export type Described = {
  readonly status: string;
  readonly blocked?: { readonly code: string };
  readonly output?: unknown;
} | null;

export interface CrasherAudit {
  readonly crashers: ReadonlyMap<string, Described>;
  readonly lines: readonly CrashLine[];
  /** Processes that ended although the test did not kill them. */
  readonly ended: readonly number[];
}

export function auditCrashers({ crashers, lines, ended }: CrasherAudit) {
  const faults: Fault[] = [];
  const setAside: string[] = [];
  for (const [id, described] of crashers) {
    const fault = crasherFault(id, described);
    if (fault === null) setAside.push(id);
    else faults.push(fault);
  }
  const crashed = new Set(lines.map(({ pid }) => pid));
  for (const pid of ended.filter((each) => !crashed.has(each))) {
    faults.push({ kind: "unsound", what: `process ${pid} ended without a crasher` });
  }
  const byInstance = Map.groupBy(lines, ({ instance }) => instance);
  const poisoned = setAside.filter((id) => crasherKind(id) === "activity").length;
  const report: CrasherReport = {
    started: crashers.size,
    deaths: ended.length,
    mostDeaths: Math.max(0, ...[...byInstance.values()].map((own) => own.length)),
    quarantined: setAside.length - poisoned,
    poisoned,
  };
  return { faults, report };
}

/** Null if the crasher is quarantined or poisoned as the rule demands. */
export function crasherFault(id: string, described: Described): Fault | null {
  if (described === null) return { kind: "lost", what: `${id} was started and does not exist` };
  const { status, blocked, output } = described;
  const kind = status === "running" || status === "pending" ? "stuck" : "ended";
  if (crasherKind(id) === "activity") {
    if (status === "completed" && output === POISONED) return null;
    const found = `${status} with ${JSON.stringify(output)}`;
    return { kind, what: `${id} is ${found}, not completed with "${POISONED}"` };
  }
  if (blocked?.code === "QUARANTINE") return null;
  return { kind, what: `${id} ends its process and is ${status}, not in quarantine` };
}
