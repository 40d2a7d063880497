// Due instances: who could be leased now, and in which order.
//   D1. Order is exact, as for tasks: visible at + priority · ageing (semantics 16). The index is cut by target
//       and priority, within which that is the order of visible at; the cuts are merged.
//   D2. Only cuts of registered targets are read, and the other conditions (free, not paused, not blocked for
//       this owner) are in the statement: what nobody here can take starves nobody (semantics 14).
//       A quarantined instance is left to runtimes with other code (N5).
//   D4. Of a cut that the caller holds back only running instances are read, by an index that has no first starts: the
//       time does not grow with the number of pending instances.
//   D3. A suspect comes alone. When it is first in line it is taken before the others; otherwise it waits for
//       the next call, in which it is (semantics 9a).

import type { StatementSync } from "node:sqlite";
import { rankOf, type Ageing } from "../core/provider/ageing.ts";
import { shutOutBy } from "../core/provider/blame.ts";
import type { InstanceCut, LeaseInstancesRequest } from "../core/provider/instances.ts";
import { integer, integerOrNull, text, textOrNull, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { nextCut } from "./cuts.ts";
import { TARGET } from "./inbox.ts";
import type { Runtimes } from "./runtimes.ts";

/** Of instances. ?1 now, ?3 the owner as it stands in a JSON array. */
export const FREE = "(lease_owner IS NULL OR lease_until <= ?1)";
export const TAKEABLE = `
  paused IS NULL AND status IN ('pending', 'running')
  AND (blocked_by IS NULL OR instr(blocked_by, ?3) = 0)`;

export interface Candidates {
  /** Held by the caller already. */
  readonly held: readonly number[];
  readonly free: readonly number[];
  readonly more: boolean;
}

interface Line {
  readonly rows: Iterator<Row>;
  readonly priority: number;
  head: Row;
}

export class DueInstances {
  readonly #connection: Connection;
  readonly #runtimes: Runtimes;
  readonly #nextCut: StatementSync;
  /** One per cut, because all are read at the same time. */
  readonly #selectDue: StatementSync[] = [];
  /** The same for cuts that are held back (D4). */
  readonly #selectBegun: StatementSync[] = [];
  readonly #selectStranded: StatementSync;
  readonly #selectNextAt: StatementSync;

  constructor(connection: Connection, runtimes: Runtimes) {
    this.#connection = connection;
    this.#runtimes = runtimes;
    this.#nextCut = connection.prepare(nextCut("inbox", "parked = 0", ["target", "priority"]));
    // Leases that ended by themselves over open steps: no message tells of them.
    this.#selectStranded = connection.prepare(`
      SELECT key, suspicion, 0 AS held, ${TARGET} AS target, blocked_by FROM instances
      WHERE steps_open = 1 AND lease_until IS NOT NULL AND lease_until <= ?1
        AND lease_owner <> ?2 AND ${TAKEABLE}
      ORDER BY lease_until`);
    this.#selectNextAt = connection.prepare(`
      SELECT min(visible_at) AS at FROM inbox
      WHERE parked = 0 AND target = ? AND priority = ? AND visible_at > ?`);
  }

  find(request: LeaseInstancesRequest, now: number): Candidates {
    const { owner, limit, allowSuspect } = request;
    if (!this.#runtimes.knows(owner)) return { held: [], free: [], more: false };
    const seen = new Set<number>();
    const held: number[] = [];
    const free: number[] = [];
    let suspectWaits = false;
    let alone: number | null = null;
    for (const row of this.#rows(request, now)) {
      const key = integer(row, "key");
      if (seen.has(key)) continue;
      seen.add(key);
      if (alone !== null) return { held: [], free: [alone], more: true };
      const isHeld = integer(row, "held") === 1;
      if (!isHeld && integer(row, "suspicion") > 0) {
        if (allowSuspect && free.length === 0) alone = key;
        suspectWaits ||= allowSuspect;
        continue;
      }
      if (held.length + free.length >= limit) return { held, free, more: true };
      (isHeld ? held : free).push(key);
    }
    if (alone !== null) return { held: [], free: [alone], more: held.length > 0 };
    return { held, free, more: suspectWaits };
  }

  /** When the next message for one of these becomes visible that is not yet. */
  nextAt(targets: readonly string[], now: number): number | null {
    let nextAt: number | null = null;
    for (const { target, priority } of this.#cuts(new Set(targets))) {
      const row = this.#selectNextAt.get(target, priority, now);
      const at = row === undefined ? null : integerOrNull(row, "at");
      if (at !== null && (nextAt === null || at < nextAt)) nextAt = at;
    }
    return nextAt;
  }

  *#rows(request: LeaseInstancesRequest, now: number): Iterable<Row> {
    const { owner } = request;
    const shutOut = shutOutByTarget(request);
    const heldBack = new Set(request.heldBack?.map(cutKey));
    const caller = [now, owner, JSON.stringify(owner)] as const;
    const lines: Line[] = [];
    try {
      for (const cut of this.#cuts(shutOut)) {
        const { target, priority } = cut;
        const statement = heldBack.has(cutKey(cut))
          ? this.#begun(lines.length)
          : this.#due(lines.length);
        const entry = shutOut.get(target) ?? "";
        const rows = statement.iterate(...caller, target, priority, entry);
        const { value, done } = rows.next();
        if (done !== true) lines.push({ rows, priority, head: value });
      }
      while (lines.length > 0) {
        const first = lines.reduce((a, b) => (rank(b, request) < rank(a, request) ? b : a));
        yield first.head;
        const { value, done } = first.rows.next();
        if (done === true) lines.splice(lines.indexOf(first), 1);
        else first.head = value;
      }
    } finally {
      for (const line of lines) line.rows.return?.();
    }
    for (const row of this.#selectStranded.iterate(...caller)) {
      const entry = shutOut.get(text(row, "target"));
      if (entry === undefined || textOrNull(row, "blocked_by")?.includes(entry) === true) continue;
      yield row;
    }
  }

  *#cuts(targets: { has(target: string): boolean }): Iterable<InstanceCut> {
    let last: InstanceCut = { target: "", priority: 0 };
    for (;;) {
      const row = this.#nextCut.get(last.target, last.priority);
      if (row === undefined) return;
      last = { target: text(row, "target"), priority: integer(row, "priority") };
      if (targets.has(last.target)) yield last;
    }
  }

  #due(index: number): StatementSync {
    return (this.#selectDue[index] ??= this.#prepare(""));
  }

  /** The condition of the index inbox_begun covers every message of a running instance. */
  #begun(index: number): StatementSync {
    return (this.#selectBegun[index] ??= this.#prepare(
      "AND (m.kind <> 'start' OR m.execution > 1) AND status = 'running'",
    ));
  }

  #prepare(condition: string): StatementSync {
    return this.#connection.prepare(`
      SELECT instances.key, suspicion, lease_owner IS ?2 AS held, m.visible_at AS since
      FROM inbox AS m CROSS JOIN instances ON instances.key = m.instance
      WHERE m.parked = 0 AND m.target = ?4 AND m.priority = ?5 AND m.visible_at <= ?1
        ${condition} AND (${FREE} OR lease_owner = ?2) AND ${TAKEABLE}
        AND (blocked_by IS NULL OR instr(blocked_by, ?6) = 0)
      ORDER BY m.visible_at, m.instance`);
  }
}

/** What must not be in `blocked_by`, per target. */
function shutOutByTarget({ targets, codes }: LeaseInstancesRequest): ReadonlyMap<string, string> {
  return new Map(targets.map((target, index) => [target, shutOutBy(codes?.[index])]));
}

function cutKey({ target, priority }: InstanceCut): string {
  return `${priority} ${target}`;
}

function rank({ head, priority }: Line, ageing: Ageing): number {
  return rankOf(integer(head, "since"), priority, ageing);
}
