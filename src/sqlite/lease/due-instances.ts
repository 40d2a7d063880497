// Due instances: finds the instances that can be leased now, in queue order.
//   - The order is exact, as for tasks: visible at + priority · ageing (semantics 16). The index is
//       partitioned by target and priority, and within a partition the order is that of visible at. The
//       first instances of the partitions are merged.
//   - Only partitions of registered targets are read. The other conditions (free, not paused, not blocked
//       for this owner) are in the statement, so instances that this runtime cannot lease do not starve the
//       others (semantics 14). A quarantined instance is left to runtimes with other code
//       (provider.instances.5).
//   - sqlite.due-instances.1: Of a partition that the caller holds back, only running instances are read,
//       through an index without first starts. The cost does not grow with the number of pending instances.
//   - A suspect is leased alone. If it is first in the queue, it is leased before the others; otherwise it
//       waits for the next call, in which it is first (semantics 9a).

import type { StatementSync } from "node:sqlite";
import { queueRank, type Ageing } from "../../core/provider/shared/ageing.ts";
import { excludingEntry } from "../../core/provider/shared/blame.ts";
import type { InstanceCut, LeaseInstancesRequest } from "../../core/provider/instances.ts";
import { integer, integerOrNull, text, textOrNull, type Row } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";
import { nextDistinctRow } from "../sql/loose-index-scan.ts";
import { TARGET } from "../read/inbox.ts";
import { isRegistered } from "../../sql/lease/runtimes.ts";
import { WAITING_AT } from "../../sql/write/enqueue-keys.ts";

/** Conditions on instances. ?1 is now; ?3 is the owner as a JSON string. */
export const LEASE_IS_FREE = "(lease_owner IS NULL OR lease_until <= ?1)";
export const TAKEABLE = `
  paused IS NULL AND status IN ('pending', 'running')
  AND (blocked_by IS NULL OR instr(blocked_by, ?3) = 0)`;

export interface FoundInstances {
  /** Instances that the caller already holds. */
  readonly held: readonly number[];
  readonly free: readonly number[];
  readonly more: boolean;
}

interface PartitionCursor {
  readonly rows: Iterator<Row>;
  readonly priority: number;
  head: Row;
}

export class DueInstances extends Subject {
  readonly #nextPartition = this.prepare(
    nextDistinctRow("inbox", "parked = 0", ["target", "priority"]),
  );
  /** One per partition, because all partitions are read at the same time. */
  readonly #selectDue: StatementSync[] = [];
  /** The same for partitions that are held back (sqlite.due-instances.1). */
  readonly #selectBegun: StatementSync[] = [];
  // Instances with open steps whose lease has expired; no message makes them due.
  readonly #selectStranded = this.prepare(`
    SELECT key, suspicion, 0 AS held, ${TARGET} AS target, blocked_by FROM instances
    WHERE steps_open = 1 AND lease_until IS NOT NULL AND lease_until <= ?1
      AND lease_owner <> ?2 AND ${TAKEABLE}
    ORDER BY lease_until`);
  readonly #selectNextAt = this.prepare(`
    SELECT min(visible_at) AS at FROM inbox
    WHERE parked = 0 AND target = ? AND priority = ? AND visible_at > ?`);

  find(request: LeaseInstancesRequest, now: number): FoundInstances {
    const { owner, limit, busy = 0, allowSuspect } = request;
    if (!this.connection.run(isRegistered(owner))) return { held: [], free: [], more: false };
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
      const isFull = free.length >= limit || held.length + free.length >= limit + busy;
      if (isFull) return { held, free, more: true };
      (isHeld ? held : free).push(key);
    }
    if (alone !== null) return { held: [], free: [alone], more: held.length > 0 };
    return { held, free, more: suspectWaits };
  }

  /** When the next message for one of the targets becomes visible. */
  nextAt(targets: readonly string[], now: number): number | null {
    let nextAt: number | null = null;
    for (const { target, priority } of this.#partitions(new Set(targets))) {
      const row = this.#selectNextAt.get(target, priority, now);
      const at = row === undefined ? null : integerOrNull(row, "at");
      if (at !== null && at < (nextAt ?? WAITING_AT)) nextAt = at; // enqueue-keys.3
    }
    return nextAt;
  }

  *#rows(request: LeaseInstancesRequest, now: number): Iterable<Row> {
    const { owner } = request;
    const shutOut = shutOutByTarget(request);
    const heldBack = new Set(request.heldBack?.map(partitionKey));
    const caller = [now, owner, JSON.stringify(owner)] as const;
    const cursors: PartitionCursor[] = [];
    try {
      for (const partition of this.#partitions(shutOut)) {
        const { target, priority } = partition;
        const statement = heldBack.has(partitionKey(partition))
          ? this.#begun(cursors.length)
          : this.#due(cursors.length);
        const entry = shutOut.get(target) ?? "";
        const rows = statement.iterate(...caller, target, priority, entry);
        const { value, done } = rows.next();
        if (done !== true) cursors.push({ rows, priority, head: value });
      }
      while (cursors.length > 0) {
        const first = cursors.reduce((a, b) => (rank(b, request) < rank(a, request) ? b : a));
        yield first.head;
        const { value, done } = first.rows.next();
        if (done === true) cursors.splice(cursors.indexOf(first), 1);
        else first.head = value;
      }
    } finally {
      for (const cursor of cursors) cursor.rows.return?.();
    }
    for (const row of this.#selectStranded.iterate(...caller)) {
      const entry = shutOut.get(text(row, "target"));
      if (entry === undefined || textOrNull(row, "blocked_by")?.includes(entry) === true) continue;
      yield row;
    }
  }

  *#partitions(targets: { has(target: string): boolean }): Iterable<InstanceCut> {
    let last: InstanceCut = { target: "", priority: 0 };
    for (;;) {
      const row = this.#nextPartition.get(last.target, last.priority);
      if (row === undefined) return;
      last = { target: text(row, "target"), priority: integer(row, "priority") };
      if (targets.has(last.target)) yield last;
    }
  }

  #due(index: number): StatementSync {
    return (this.#selectDue[index] ??= this.#prepare(""));
  }

  /** The condition of the index inbox_begun, which covers every message of a running instance. */
  #begun(index: number): StatementSync {
    return (this.#selectBegun[index] ??= this.#prepare(`
      AND (m.kind <> 'start' OR m.execution > 1) AND status = 'running'`));
  }

  #prepare(condition: string): StatementSync {
    return this.connection.prepare(`
      SELECT instances.key, suspicion, lease_owner IS ?2 AS held, m.visible_at AS since
      FROM inbox AS m CROSS JOIN instances ON instances.key = m.instance
      WHERE m.parked = 0 AND m.target = ?4 AND m.priority = ?5 AND m.visible_at <= ?1
        ${condition} AND (${LEASE_IS_FREE} OR lease_owner = ?2) AND ${TAKEABLE}
        AND (blocked_by IS NULL OR instr(blocked_by, ?6) = 0)
      ORDER BY m.visible_at, m.instance`);
  }
}

/** The text that must not be in `blocked_by`, per target. */
function shutOutByTarget({ targets, codes }: LeaseInstancesRequest): ReadonlyMap<string, string> {
  return new Map(targets.map((target, index) => [target, excludingEntry(codes?.[index])]));
}

function partitionKey({ target, priority }: InstanceCut): string {
  return `${priority} ${target}`;
}

function rank({ head, priority }: PartitionCursor, ageing: Ageing): number {
  return queueRank(integer(head, "since"), priority, ageing);
}
