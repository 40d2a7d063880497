// Due instances: who could be leased now, and in which order.
//   D1. Order is exact, as for tasks: visible at + priority · ageing (semantics 16). The index is cut by target
//       and priority, within which that is the order of visible at; the heads of the cuts are merged.
//   D2. Only cuts of registered targets are read, and the other conditions (free, not paused, not blocked for
//       this owner) are in the statement: what nobody here can take starves nobody (semantics 14).
//       A quarantined instance is left to runtimes with other code (N5).
//   D3. A suspect comes alone. When it is first in line it is taken before the others; otherwise it waits for
//       the next call, in which it is (semantics 9a).
//   D4. Finding locks nothing. Taking goes by cut and number, past what others take at the same moment, so that many
//       runtimes that find the same line share it.
//   D5. Of a cut that the caller holds back only running instances are read, by an index that has no first starts: the
//       time does not grow with the number of pending instances.

import { AGEING_MS, rankOf, type Ageing } from "../core/provider/ageing.ts";
import { shutOutBy } from "../core/provider/blame.ts";
import type { InstanceCut, LeaseInstancesRequest } from "../core/provider/instances.ts";
import { anyIn, type Arrivals } from "./arrivals.ts";
import { ColumnArrays, plain, texts } from "./column-arrays.ts";
import { flag, integer, integerOrNull, only, text, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { TARGET } from "./instance-rows.ts";
import { Pipeline, type Statement } from "./pipeline.ts";
import { none, probe } from "./probing.ts";

/** Of instances `i`. */
export const FREE = "(i.lease_owner IS NULL OR i.lease_until <= (SELECT @clock()))";
/** `owner` is SQL of the owner as it stands in a JSON array. */
export function takeable(owner: string): string {
  return `
    i.paused IS NULL AND i.status IN ('pending', 'running')
    AND (i.blocked_by IS NULL OR strpos(i.blocked_by, ${owner}) = 0)`;
}

/** `entry` is SQL of what a quarantine under the caller's code has in `blocked_by`. */
function otherCode(entry: string): string {
  return `(i.blocked_by IS NULL OR strpos(i.blocked_by, ${entry}) = 0)`;
}

/** The first message of an instance stands for all: `m` is that, and due. */
const IS_FIRST = `
  m.visible_at <= (SELECT @clock()) AND ${none(`
    FROM @inbox AS e
    WHERE e.instance = m.instance AND NOT e.parked AND (e.visible_at, e.id) < (m.visible_at, m.id)`)}`;
/** D5: the condition of the index inbox_begun, which covers every message of a running instance. */
const HAS_BEGUN = "(m.kind <> 'start' OR m.execution > 1) AND i.status = 'running'";
const OF_CUT = "NOT m.parked AND m.target = c.target AND m.priority = c.priority";

/**
 * All cuts of the targets in the first parameter, as a table: one look-up a priority that there is. The second one has
 * each target's entry for `otherCode`.
 */
const CUTS = `
  WITH RECURSIVE cuts (target, entry, priority) AS (
    SELECT t.target COLLATE "C", t.entry, (
      SELECT m.priority FROM @inbox AS m WHERE NOT m.parked AND m.target = t.target
      ORDER BY m.priority LIMIT 1)
    FROM unnest($1::text[], $2::text[]) AS t (target, entry)
    UNION ALL
    SELECT c.target, c.entry, (
      SELECT m.priority FROM @inbox AS m
      WHERE NOT m.parked AND m.target = c.target AND m.priority > c.priority
      ORDER BY m.priority LIMIT 1)
    FROM cuts AS c WHERE c.priority IS NOT NULL)`;

/** The cuts that are held back. Parameters as in CUTS, and the eighth has their priorities. */
const HELD_BACK = `
  WITH cuts (target, entry, priority) AS (
    SELECT * FROM unnest($1::text[], $2::text[], $8::double precision[]))`;
/** In the other cuts: the eighth and ninth parameter name what is held back. */
const NOT_HELD_BACK = `NOT EXISTS (
  SELECT 1 FROM unnest($8::text[], $9::double precision[]) AS b (target, priority)
  WHERE b.target = c.target AND b.priority = c.priority)`;

const SHARES = new ColumnArrays({
  priority: "double precision",
  share: "bigint",
  target: "text",
  entry: "text",
});

const NAMED = new ColumnArrays({ key: "bigint", entry: "text" });

/** How many of a cut are to be taken. */
export interface Share {
  readonly target: string;
  readonly entry: string;
  readonly priority: number;
  readonly share: number;
  /** Whether pending instances of the cut are held back. */
  readonly isHeldBack: boolean;
}
export interface Line {
  /** Held by the caller already. */
  readonly held: readonly number[];
  readonly shares: readonly Share[];
  /** Who was found free, and is to be taken if he is still first in line then. */
  readonly free: readonly number[];
  /** A suspect, or leases that ended over open steps: by their keys. */
  readonly named: readonly Named[];
  readonly more: boolean;
  /** Something has arrived that is in no inbox yet. */
  readonly arrived: boolean;
  /** When the next message for one of the targets becomes visible that is not yet. */
  readonly nextAt: number | null;
}

interface Named {
  readonly key: number;
  readonly entry: string;
}

interface Head extends Named {
  readonly isHeld: boolean;
  readonly isSuspect: boolean;
  /** Null: it is stranded. */
  readonly cut: (InstanceCut & { readonly isHeldBack: boolean }) | null;
  readonly since: number;
}

export class DueInstances {
  readonly #connection: Connection;
  readonly #arrivals: Arrivals;
  readonly #heads: Statement;
  readonly #begunHeads: Statement;
  readonly #stranded: Statement;
  readonly #nextAt: Statement;
  readonly #takeShares: Statement;
  readonly #takeBegunShares: Statement;
  readonly #takeNamed: Statement;

  constructor(connection: Connection, arrivals: Arrivals) {
    this.#connection = connection;
    this.#arrivals = arrivals;
    const isKnown = "EXISTS (SELECT 1 FROM @runtimes AS r WHERE r.id = $3)";
    const heads = (cuts: string, ofCut: string, ofMessage: string): string => `
      ${cuts}
      SELECT h.key, h.held, h.suspect, h.since, c.target, c.entry, c.priority
      FROM cuts AS c CROSS JOIN LATERAL (
        SELECT i.key, i.suspicion > 0 AS suspect, i.lease_owner IS NOT DISTINCT FROM $3 AS held,
          m.visible_at AS since, m.instance
        FROM @inbox AS m JOIN @instances AS i ON ${probe("i.key", "m.instance")}
        WHERE ${ofMessage} AND ${IS_FIRST} AND (${FREE} OR i.lease_owner = $3) AND ${takeable("$4")}
          AND ${otherCode("c.entry")} AND ($5::boolean OR i.suspicion = 0 OR i.lease_owner = $3)
        ORDER BY m.visible_at, m.instance LIMIT $6::bigint
      ) AS h
      WHERE ${ofCut} AND ${isKnown}
      ORDER BY h.since + c.priority * $7::bigint, h.since, h.key`;
    this.#heads = connection.prepare(
      heads(CUTS, `c.priority IS NOT NULL AND ${NOT_HELD_BACK}`, OF_CUT),
    );
    this.#begunHeads = connection.prepare(heads(HELD_BACK, "true", `${OF_CUT} AND ${HAS_BEGUN}`));
    // No message tells of them.
    this.#stranded = connection.prepare(`
      SELECT i.key, i.suspicion > 0 AS suspect, t.entry FROM @instances AS i
      JOIN unnest($1::text[], $2::text[]) AS t (target, entry) ON t.target = ${TARGET}
      WHERE i.steps_open AND i.lease_until IS NOT NULL AND i.lease_until <= (SELECT @clock())
        AND i.lease_owner <> $3 AND ${takeable("$4")} AND ${otherCode("t.entry")} AND ${isKnown}
      ORDER BY i.lease_until LIMIT $5::bigint`);
    this.#nextAt = connection.prepare(`
      ${CUTS}
      SELECT min(n.at) AS at FROM cuts AS c CROSS JOIN LATERAL (
        SELECT m.visible_at AS at FROM @inbox AS m
        WHERE ${OF_CUT} AND m.visible_at > (SELECT @clock()) ORDER BY m.visible_at LIMIT 1
      ) AS n WHERE c.priority IS NOT NULL`);
    // MATERIALIZED: chosen once, and not again for every row that a plan may look at before it.
    const take = (chosen: string): string => `
      WITH chosen AS MATERIALIZED (${chosen})
      UPDATE @instances AS i SET
        lease_owner = $1, lease_token = $2, lease_until = (SELECT @clock()) + $3::bigint,
        suspicion = i.suspicion + 1
      FROM chosen
      WHERE ${probe("i.key", "chosen.key")} AND EXISTS (SELECT 1 FROM @runtimes AS r WHERE r.id = $1)`;
    const takeShares = (ofMessage: string): string =>
      take(`
        SELECT x.key FROM ${SHARES.from("c", 5)} CROSS JOIN LATERAL (
          SELECT i.key FROM @inbox AS m JOIN @instances AS i ON ${probe("i.key", "m.instance")}
          WHERE ${ofMessage} AND ${IS_FIRST} AND ${FREE} AND ${takeable("$4")}
            AND ${otherCode("c.entry")} AND i.suspicion = 0
            AND i.lease_owner IS DISTINCT FROM $1 -- what ran out stays the caller's, under its token
          ORDER BY m.visible_at, m.instance LIMIT c.share FOR NO KEY UPDATE OF i SKIP LOCKED
        ) AS x`);
    this.#takeShares = connection.prepare(takeShares(OF_CUT));
    this.#takeBegunShares = connection.prepare(takeShares(`${OF_CUT} AND ${HAS_BEGUN}`));
    this.#takeNamed = connection.prepare(
      take(`
        SELECT i.key FROM ${NAMED.from("n", 5)} JOIN @instances AS i ON ${probe("i.key", "n.key")}
        WHERE ${FREE} AND ${takeable("$4")} AND ${otherCode("n.entry")}
        FOR NO KEY UPDATE OF i SKIP LOCKED`),
    );
  }

  async find(request: LeaseInstancesRequest): Promise<Line> {
    const { owner, targets, codes, allowSuspect, limit, ageingMs = AGEING_MS } = request;
    const entries = targets.map((_, index) => shutOutBy(codes?.[index]));
    const wanted = [texts(targets), texts(entries)];
    const caller = [owner, JSON.stringify(owner)];
    const rest = [allowSuspect, limit + 1, ageingMs];
    const heldBack = (request.heldBack ?? []).filter(({ target }) => targets.includes(target));
    const heldTargets = texts(heldBack.map(({ target }) => target));
    const priorities = plain(heldBack.map(({ priority }) => priority));
    const pipeline = new Pipeline();
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
    const stranded = pipeline.add(this.#stranded, [...wanted, ...caller, limit + 1]);
    const next = pipeline.add(this.#nextAt, wanted);
    const arrived = this.#arrivals.look(pipeline);
    await this.#connection.look(pipeline);
    const nextAt = integerOrNull(only(next.rows), "at");
    const due = heads.rows.map((row) => toHead(row, false));
    if (begun !== null) {
      due.push(...begun.rows.map((row) => toHead(row, true)));
      due.sort(inLine({ ageingMs }));
    }
    return {
      ...choose([...due, ...stranded.rows.map(toStranded)], request),
      nextAt,
      arrived: anyIn(arrived.rows),
    };
  }

  /** Takes what was found, unless somebody else has. */
  take(pipeline: Pipeline, request: LeaseInstancesRequest, { shares, named }: Line): void {
    const { owner, token, leaseMs } = request;
    const until = leaseMs === undefined ? null : Math.ceil(leaseMs);
    const lease = [owner, token, until, JSON.stringify(owner)];
    for (const isHeldBack of [false, true]) {
      const some = shares.filter((share) => share.isHeldBack === isHeldBack);
      const statement = isHeldBack ? this.#takeBegunShares : this.#takeShares;
      if (some.length > 0) pipeline.add(statement, [...lease, ...SHARES.values(some)]);
    }
    if (named.length > 0) pipeline.add(this.#takeNamed, [...lease, ...NAMED.values(named)]);
  }
}

function toHead(row: Row, isHeldBack: boolean): Head {
  return {
    key: integer(row, "key"),
    isHeld: flag(row, "held"),
    isSuspect: flag(row, "suspect"),
    entry: text(row, "entry"),
    cut: { target: text(row, "target"), priority: integer(row, "priority"), isHeldBack },
    since: integer(row, "since"),
  };
}

function toStranded(row: Row): Head {
  return {
    key: integer(row, "key"),
    isHeld: false,
    isSuspect: flag(row, "suspect"),
    entry: text(row, "entry"),
    cut: null,
    since: 0, // they come last, in the order of the statement
  };
}

/** The order of the statements, for heads of both. */
function inLine(ageing: Ageing): (a: Head, b: Head) => number {
  const rank = ({ since, cut }: Head): number => rankOf(since, cut?.priority ?? 0, ageing);
  return (a, b) => rank(a) - rank(b) || a.since - b.since || a.key - b.key;
}

/** In order: D3, and no more than the limit. */
function choose(
  heads: readonly Head[],
  { limit, allowSuspect }: LeaseInstancesRequest,
): Omit<Line, "nextAt" | "arrived"> {
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
    if (held.length + free.length >= limit) return { held, ...shareOut(free), more: true };
    if (isHeld) held.push(key);
    else free.push(head);
  }
  if (alone !== null) {
    return { held: [], ...named(alone), more: held.length > 0 };
  }
  return { held, ...shareOut(free), more: suspectWaits };
}

function named(one: Named): Pick<Line, "shares" | "named" | "free"> {
  return { shares: [], named: [one], free: [one.key] };
}

function shareOut(heads: readonly Head[]): Pick<Line, "shares" | "named" | "free"> {
  const shares = new Map<string, Share>();
  const named: Named[] = [];
  for (const head of heads) {
    const { cut, entry } = head;
    if (cut === null) {
      named.push(head);
      continue;
    }
    const id = JSON.stringify([cut.target, cut.priority]);
    shares.set(id, { ...cut, entry, share: (shares.get(id)?.share ?? 0) + 1 });
  }
  return { shares: [...shares.values()], named, free: heads.map(({ key }) => key) };
}
