// Due instances: finds the instances that can be leased now, in queue order.
//   - The order is exact, as for tasks: visible at + priority · ageing (semantics 16). The index is
//       partitioned by target and priority, and within a partition the order is that of visible at. The
//       first instances of the partitions are merged.
//   - Only partitions of registered targets are read. The other conditions (free, not paused, not blocked
//       for this owner) are in the statement, so instances that this runtime cannot lease do not starve the
//       others (semantics 14). A quarantined instance is left to runtimes with other code
//       (provider.instances.5).
//   - postgres.due-instances.1: A suspect is leased alone. If it is first in the queue, it is leased before
//       the others; otherwise it waits for the next call, in which it is first (semantics 9a).
//   - postgres.due-instances.2: Finding locks nothing. Leasing goes by partition and count and skips rows
//       that other transactions have locked, so many runtimes that find the same queue share it.
//   - postgres.due-instances.3: Of a partition that the caller holds back, only running instances are read,
//       through an index without first starts. The cost does not grow with the number of pending instances.
//   - postgres.due-instances.4: Every statement has its own snapshot and clock. The outbox and the time of the
//       next message are read before the queue: a message that arrives or becomes due between two statements
//       is then in the queue that is read last.

import { AGEING_MS, queueRank, type Ageing } from "../../core/provider/shared/ageing.ts";
import { excludingEntry } from "../../core/provider/shared/blame.ts";
import type { InstanceCut, LeaseInstancesRequest } from "../../core/provider/instances.ts";
import { anyIn, type Outbox } from "../transactions/outbox.ts";
import { ColumnArrays, columns, plain, texts } from "../sql/column-arrays.ts";
import { flag, integer, integerOrNull, only, text, type Row } from "../../sql/columns.ts";
import type { Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import { TARGET } from "../../sql/rows/instance-rows.ts";
import { Pipeline } from "../connection/pipeline.ts";
import { notExists, indexEquals } from "../../sql/index-lookup.ts";
import { WAITING_AT } from "../../sql/write/enqueue-keys.ts";

/** Condition on instances `i`: no runtime holds the lease, or the lease has expired. */
export const LEASE_IS_FREE = "(i.lease_owner IS NULL OR i.lease_until <= (SELECT @clock()))";
/** `owner` is SQL for the owner as a JSON string. */
export function takeable(owner: string): string {
  return `
    i.paused IS NULL AND i.status IN ('pending', 'running')
    AND (i.blocked_by IS NULL OR strpos(i.blocked_by, ${owner}) = 0)`;
}

/** `entry` is SQL for the text that a quarantine under the caller's code puts into `blocked_by`. */
function notQuarantined(entry: string): string {
  return `(i.blocked_by IS NULL OR strpos(i.blocked_by, ${entry}) = 0)`;
}

/** Whether `m` is due and the first ready message of its instance, which represents the instance. */
const IS_FIRST = `
  m.visible_at <= (SELECT @clock()) AND ${notExists(`
    FROM @inbox AS e
    WHERE e.instance = m.instance AND NOT e.parked AND (e.visible_at, e.id) < (m.visible_at, m.id)`)}`;
/**
 * postgres.due-instances.3: the condition of the index inbox_begun, which covers every message of a running
 * instance.
 */
const HAS_BEGUN = "(m.kind <> 'start' OR m.execution > 1) AND i.status = 'running'";
const IN_PARTITION = "NOT m.parked AND m.target = c.target AND m.priority = c.priority";

/**
 * All partitions of the targets in $1, as a table, with one index lookup per existing priority. $2 holds
 * each target's entry for `notQuarantined`.
 */
const PARTITIONS = `
  WITH RECURSIVE partitions (target, entry, priority) AS (
    SELECT t.target COLLATE "C", t.entry, (
      SELECT m.priority FROM @inbox AS m WHERE NOT m.parked AND m.target = t.target
      ORDER BY m.priority LIMIT 1)
    FROM unnest($1::text[], $2::text[]) AS t (target, entry)
    UNION ALL
    SELECT c.target, c.entry, (
      SELECT m.priority FROM @inbox AS m
      WHERE NOT m.parked AND m.target = c.target AND m.priority > c.priority
      ORDER BY m.priority LIMIT 1)
    FROM partitions AS c WHERE c.priority IS NOT NULL)`;

/** The partitions that are held back. Parameters as in PARTITIONS; $8 holds their priorities. */
const HELD_BACK = `
  WITH partitions (target, entry, priority) AS (
    SELECT * FROM unnest($1::text[], $2::text[], $8::double precision[]))`;
/** For the other partitions: $8 and $9 name the partitions that are held back. */
const NOT_HELD_BACK = `NOT EXISTS (
  SELECT 1 FROM unnest($8::text[], $9::double precision[]) AS b (target, priority)
  WHERE b.target = c.target AND b.priority = c.priority)`;

const SHARES = new ColumnArrays({
  priority: "double precision",
  share: "bigint",
  ...columns("text", "target", "entry"),
});

const NAMED = new ColumnArrays({ key: "bigint", entry: "text" });

/** How many instances of a partition are to be leased. */
export interface Share {
  readonly target: string;
  readonly entry: string;
  readonly priority: number;
  readonly share: number;
  /** Whether pending instances of the partition are held back. */
  readonly isHeldBack: boolean;
}
export interface FoundInstances {
  /** Instances that the caller already holds. */
  readonly held: readonly number[];
  readonly shares: readonly Share[];
  /** Free instances. They are leased if they are still first in the queue then. */
  readonly free: readonly number[];
  /** A suspect, or instances with open steps whose lease has expired. They are leased by key. */
  readonly named: readonly Named[];
  readonly more: boolean;
  /** Whether arrivals exist that are not in an inbox yet. */
  readonly arrived: boolean;
  /** When the next message for one of the targets becomes visible. */
  readonly nextAt: number | null;
}

interface Named {
  readonly key: number;
  readonly entry: string;
}

interface Head extends Named {
  readonly isHeld: boolean;
  readonly isSuspect: boolean;
  /** Null for an instance with open steps whose lease has expired. */
  readonly partition: (InstanceCut & { readonly isHeldBack: boolean }) | null;
  readonly since: number;
}

const IS_KNOWN = "EXISTS (SELECT 1 FROM @runtimes AS r WHERE r.id = $3)";
const heads = (partitions: string, ofPartition: string, ofMessage: string): string => `
  ${partitions}
  SELECT h.key, h.held, h.suspect, h.since, c.target, c.entry, c.priority
  FROM partitions AS c CROSS JOIN LATERAL (
    SELECT i.key, i.suspicion > 0 AS suspect, i.lease_owner IS NOT DISTINCT FROM $3 AS held,
      m.visible_at AS since, m.instance
    FROM @inbox AS m JOIN @instances AS i ON ${indexEquals("i.key", "m.instance")}
    WHERE ${ofMessage} AND ${IS_FIRST} AND (${LEASE_IS_FREE} OR i.lease_owner = $3) AND ${takeable("$4")}
      AND ${notQuarantined("c.entry")} AND ($5::boolean OR i.suspicion = 0 OR i.lease_owner = $3)
    ORDER BY m.visible_at, m.instance LIMIT $6::bigint
  ) AS h
  WHERE ${ofPartition} AND ${IS_KNOWN}
  ORDER BY h.since + c.priority * $7::bigint, h.since, h.key`;
// MATERIALIZED: the rows are chosen once, not again for every row that a plan visits.
const lease = (chosen: string): string => `
  WITH chosen AS MATERIALIZED (${chosen})
  UPDATE @instances AS i SET
    lease_owner = $1, lease_token = $2, lease_until = (SELECT @clock()) + $3::bigint,
    suspicion = i.suspicion + 1
  FROM chosen
  WHERE ${indexEquals("i.key", "chosen.key")} AND EXISTS (SELECT 1 FROM @runtimes AS r WHERE r.id = $1)`;
const leaseShares = (ofMessage: string): string =>
  lease(`
    SELECT x.key FROM ${SHARES.from("c", 5)} CROSS JOIN LATERAL (
      SELECT i.key FROM @inbox AS m JOIN @instances AS i ON ${indexEquals("i.key", "m.instance")}
      WHERE ${ofMessage} AND ${IS_FIRST} AND ${LEASE_IS_FREE} AND ${takeable("$4")}
        AND ${notQuarantined("c.entry")} AND i.suspicion = 0
        AND i.lease_owner IS DISTINCT FROM $1 -- an expired lease of the caller stays under its old token
      ORDER BY m.visible_at, m.instance LIMIT c.share FOR NO KEY UPDATE OF i SKIP LOCKED
    ) AS x`);

export class DueInstances extends Subject {
  readonly #outbox: Outbox;
  readonly #heads = this.prepare(
    heads(PARTITIONS, `c.priority IS NOT NULL AND ${NOT_HELD_BACK}`, IN_PARTITION),
  );
  readonly #begunHeads = this.prepare(heads(HELD_BACK, "true", `${IN_PARTITION} AND ${HAS_BEGUN}`));
  // Instances with open steps whose lease has expired; no message makes them due.
  readonly #stranded = this.prepare(`
    SELECT i.key, i.suspicion > 0 AS suspect, t.entry FROM @instances AS i
    JOIN unnest($1::text[], $2::text[]) AS t (target, entry) ON t.target = ${TARGET}
    WHERE i.steps_open AND i.lease_until IS NOT NULL AND i.lease_until <= (SELECT @clock())
      AND i.lease_owner <> $3 AND ${takeable("$4")} AND ${notQuarantined("t.entry")} AND ${IS_KNOWN}
    ORDER BY i.lease_until LIMIT $5::bigint`);
  readonly #nextAt = this.prepare(`
    ${PARTITIONS}
    SELECT min(n.at) AS at FROM partitions AS c CROSS JOIN LATERAL (
      SELECT m.visible_at AS at FROM @inbox AS m
      WHERE ${IN_PARTITION} AND m.visible_at > (SELECT @clock()) ORDER BY m.visible_at LIMIT 1
    ) AS n WHERE c.priority IS NOT NULL`);
  readonly #leaseShares = this.prepare(leaseShares(IN_PARTITION));
  readonly #leaseBegunShares = this.prepare(leaseShares(`${IN_PARTITION} AND ${HAS_BEGUN}`));
  readonly #leaseNamed = this.prepare(
    lease(`
      SELECT i.key FROM ${NAMED.from("n", 5)} JOIN @instances AS i ON ${indexEquals("i.key", "n.key")}
      WHERE ${LEASE_IS_FREE} AND ${takeable("$4")} AND ${notQuarantined("n.entry")}
      FOR NO KEY UPDATE OF i SKIP LOCKED`),
  );

  constructor(connection: Connection, outbox: Outbox) {
    super(connection);
    this.#outbox = outbox;
  }

  async find(request: LeaseInstancesRequest): Promise<FoundInstances> {
    const { owner, targets, codes, allowSuspect, ageingMs = AGEING_MS } = request;
    const { limit, busy = 0 } = request;
    const most = limit + busy + 1;
    const entries = targets.map((_, index) => excludingEntry(codes?.[index]));
    const wanted = [texts(targets), texts(entries)];
    const caller = [owner, JSON.stringify(owner)];
    const rest = [allowSuspect, most, ageingMs];
    const heldBack = (request.heldBack ?? []).filter(({ target }) => targets.includes(target));
    const heldTargets = texts(heldBack.map(({ target }) => target));
    const priorities = plain(heldBack.map(({ priority }) => priority));
    const pipeline = new Pipeline();
    // postgres.due-instances.4
    const arrived = this.#outbox.look(pipeline);
    const next = pipeline.add(this.#nextAt, wanted);
    const asked = [...wanted, ...caller, ...rest, heldTargets, priorities];
    const heads = pipeline.add(this.#heads, asked);
    const heldEntries = texts(heldBack.map(({ target }) => entries[targets.indexOf(target)] ?? ""));
    const begun =
      heldBack.length === 0
        ? null
        : pipeline.add(this.#begunHeads, [
            heldTargets,
            heldEntries,
            ...caller,
            ...rest,
            priorities,
          ]);
    const stranded = pipeline.add(this.#stranded, [...wanted, ...caller, most]);
    await this.connection.readPipeline(pipeline);
    const nextAt = integerOrNull(only(next.rows), "at");
    const due = heads.rows.map((row) => toHead(row, false));
    if (begun !== null) {
      due.push(...begun.rows.map((row) => toHead(row, true)));
      due.sort(inQueueOrder({ ageingMs }));
    }
    return {
      ...choose([...due, ...stranded.rows.map(toStranded)], request),
      nextAt: nextAt !== null && nextAt >= WAITING_AT ? null : nextAt, // enqueue-keys.3
      arrived: anyIn(arrived.rows),
    };
  }

  /** Leases what was found, unless another runtime has leased it. */
  lease(
    pipeline: Pipeline,
    request: LeaseInstancesRequest,
    { shares, named }: FoundInstances,
  ): void {
    const { owner, token, leaseMs } = request;
    const until = leaseMs === undefined ? null : Math.ceil(leaseMs);
    const lease = [owner, token, until, JSON.stringify(owner)];
    for (const isHeldBack of [false, true]) {
      const some = shares.filter((share) => share.isHeldBack === isHeldBack);
      const statement = isHeldBack ? this.#leaseBegunShares : this.#leaseShares;
      if (some.length > 0) pipeline.add(statement, [...lease, ...SHARES.values(some)]);
    }
    if (named.length > 0) pipeline.add(this.#leaseNamed, [...lease, ...NAMED.values(named)]);
  }
}

function toHead(row: Row, isHeldBack: boolean): Head {
  return {
    key: integer(row, "key"),
    isHeld: flag(row, "held"),
    isSuspect: flag(row, "suspect"),
    entry: text(row, "entry"),
    partition: { target: text(row, "target"), priority: integer(row, "priority"), isHeldBack },
    since: integer(row, "since"),
  };
}

function toStranded(row: Row): Head {
  return {
    key: integer(row, "key"),
    isHeld: false,
    isSuspect: flag(row, "suspect"),
    entry: text(row, "entry"),
    partition: null,
    since: 0, // they come last, in the order of the statement
  };
}

/** The order of the statements, for the merged rows of both. */
function inQueueOrder(ageing: Ageing): (a: Head, b: Head) => number {
  const rank = ({ since, partition }: Head): number =>
    queueRank(since, partition?.priority ?? 0, ageing);
  return (a, b) => rank(a) - rank(b) || a.since - b.since || a.key - b.key;
}

/** Chooses in queue order, at most as many as requested, and a suspect alone (postgres.due-instances.1). */
function choose(
  heads: readonly Head[],
  { limit, busy = 0, allowSuspect }: LeaseInstancesRequest,
): Omit<FoundInstances, "nextAt" | "arrived"> {
  const seen = new Set<number>();
  const held: number[] = [];
  const free: Head[] = [];
  let suspectWaits = false;
  let alone: Named | null = null;
  for (const head of heads) {
    const { key, isHeld, isSuspect } = head;
    if (seen.has(key)) continue;
    seen.add(key);
    if (alone !== null) return { held: [], ...named(alone), more: true };
    if (!isHeld && isSuspect) {
      if (allowSuspect && free.length === 0) alone = head;
      suspectWaits ||= allowSuspect;
      continue;
    }
    const isFull = free.length >= limit || held.length + free.length >= limit + busy;
    if (isFull) return { held, ...toShares(free), more: true };
    if (isHeld) held.push(key);
    else free.push(head);
  }
  if (alone !== null) {
    return { held: [], ...named(alone), more: held.length > 0 };
  }
  return { held, ...toShares(free), more: suspectWaits };
}

function named(one: Named): Pick<FoundInstances, "shares" | "named" | "free"> {
  return { shares: [], named: [one], free: [one.key] };
}

function toShares(heads: readonly Head[]): Pick<FoundInstances, "shares" | "named" | "free"> {
  const shares = new Map<string, Share>();
  const named: Named[] = [];
  for (const head of heads) {
    const { partition, entry } = head;
    if (partition === null) {
      named.push(head);
      continue;
    }
    const id = JSON.stringify([partition.target, partition.priority]);
    shares.set(id, { ...partition, entry, share: (shares.get(id)?.share ?? 0) + 1 });
  }
  return { shares: [...shares.values()], named, free: heads.map(({ key }) => key) };
}
