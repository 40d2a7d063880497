// Leases of instances: who may write to which.
//   L1. Found (due-instances.ts), then taken, then read, each by a statement with a snapshot of its own: what is
//       handed over is what the lease covers (architecture §4.2).
//   L2. What the caller holds already is handed over under its old token, as news.
//   L3. An orderly release holds its lease against the instance no more (N4).
//   L4. What a request took is known by its token: asked again, because its answer was lost, it hands over the same.
//   L5. Whoever was found due by a message that its last owner consumed meanwhile is given back at once, unharmed.
//       Whoever takes his place in line, free since he was found, does not push another out of it: there is more then.
//   L6. What users' transactions have sent is brought into the inboxes first: whoever hears of nothing finds it here.

import { rankOf, type Ageing } from "../core/provider/ageing.ts";
import type { ReleaseInstanceItem, SimpleResult } from "../core/provider/commit.ts";
import type {
  LeasedInstance,
  LeasedInstances,
  LeaseInstancesRequest,
} from "../core/provider/instances.ts";
import { DONE, LEASE_LOST } from "../core/provider/results.ts";
import type { Arrivals } from "./arrivals.ts";
import { ColumnArrays, plain } from "./column-arrays.ts";
import { flag, integer, text, textOrNull, type Row } from "./columns.ts";
import { told, type Connection } from "./connection.ts";
import { DueInstances, type Line } from "./due-instances.ts";
import { COLUMNS as HISTORY_COLUMNS, rowsOf } from "./history.ts";
import { INBOX_COLUMNS, messagesOf, OF_INSTANCE, ON_SAME_KEY, type Inbox } from "./inbox.ts";
import { TARGET } from "./instance-rows.ts";
import {
  COLUMNS as MESSAGE_COLUMNS,
  dueColumns,
  dueMessages,
  IN_ORDER,
  messageChecksum,
} from "./messages.ts";
import type { NewsDraft } from "./news.ts";
import type { Notifier } from "./notifications.ts";
import { Pipeline, type Statement } from "./pipeline.ts";
import { dueOf, type ReadResults } from "./tasks.ts";
import { none, probe } from "./probing.ts";

const COLUMNS = `
  i.key, i.id, i.run_id, i.name, i.version, i.execution, i.lease_token, i.last_event, i.priority,
  i.copied_until, i.suspicion, i.steps_open`;
/** As #release makes it. */
const WAKE = { kind: "wake", sequence: null, name: null, key: "wake", data: "" } as const;
const LEASES = new ColumnArrays({ key: "bigint", token: "bigint" });
/** What a request took. */
const IS_TAKEN = "i.lease_owner = $1 AND i.lease_token = $2::bigint";
/** How often what was found is looked for anew because others took all of it. */
const ROUNDS = 3;

export class InstanceLeases {
  readonly #connection: Connection;
  readonly #inbox: Inbox;
  readonly #notifier: Notifier;
  readonly #arrivals: Arrivals;
  readonly #dueInstances: DueInstances;
  readonly #countTaken: Statement;
  readonly #giveBack: Statement;
  readonly #selectTaken: Statement;
  readonly #selectMessages: Statement;
  readonly #selectHistory: Statement;
  readonly #selectHeld: Statement;
  readonly #renew: Statement;
  readonly #release: Statement;

  constructor(
    connection: Connection,
    parts: { readonly inbox: Inbox; readonly notifier: Notifier; readonly arrivals: Arrivals },
  ) {
    this.#connection = connection;
    this.#inbox = parts.inbox;
    this.#notifier = parts.notifier;
    this.#arrivals = parts.arrivals;
    this.#dueInstances = new DueInstances(connection, parts.arrivals);
    this.#countTaken = connection.prepare(
      `SELECT count(*) AS taken FROM @instances AS i WHERE ${IS_TAKEN}`,
    );
    this.#giveBack = connection.prepare(`
      UPDATE @instances AS i SET
        lease_owner = NULL, lease_token = NULL, lease_until = NULL, suspicion = i.suspicion - 1
      WHERE ${IS_TAKEN} AND NOT i.steps_open AND ${none(`
        FROM @inbox AS m
        WHERE m.instance = i.key AND NOT m.parked AND m.visible_at <= (SELECT @clock())`)}`);
    this.#selectTaken = connection.prepare(`
      SELECT ${COLUMNS} FROM @instances AS i WHERE ${IS_TAKEN}`);
    this.#selectMessages = connection.prepare(`
      SELECT i.key AS instance, ${MESSAGE_COLUMNS}
      FROM @instances AS i CROSS JOIN LATERAL (${dueMessages("i.key", "$3::bigint")}) AS m
      WHERE ${IS_TAKEN} ORDER BY i.key + 0, ${IN_ORDER}`);
    this.#selectHistory = connection.prepare(`
      SELECT ${HISTORY_COLUMNS} FROM @instances AS i
      JOIN @history AS h ON ${probe("h.instance", "i.key")} AND h.execution = i.execution
      WHERE ${IS_TAKEN} ORDER BY i.key + 0, h.first`);
    this.#selectHeld = connection.prepare(`
      SELECT ${COLUMNS} FROM unnest($2::bigint[]) AS k (key) JOIN @instances AS i ON ${probe("i.key", "k.key")}
      WHERE i.lease_owner = $1`);
    this.#renew = connection.prepare(`
      UPDATE @instances AS i SET lease_until = CASE WHEN i.lease_until IS NULL THEN NULL
        ELSE (SELECT @clock()) + $${LEASES.width + 1}::bigint END
      FROM ${LEASES.from("t")} WHERE ${probe("i.key", "t.key")} AND i.lease_token = t.token RETURNING i.key`);
    this.#release = connection.prepare(`
      WITH freed AS (
        UPDATE @instances AS i SET
          lease_owner = NULL, lease_token = NULL, lease_until = NULL,
          suspicion = greatest(i.suspicion - 1, 0)
        FROM ${LEASES.from("t")} WHERE ${probe("i.key", "t.key")} AND i.lease_token = t.token
        RETURNING t.n, i.*
      ), woken AS (
        INSERT INTO @inbox (${INBOX_COLUMNS})
        SELECT ${OF_INSTANCE}, (SELECT @clock()), i.execution, NULL, 'wake', NULL, 'wake', '',
          ${messageChecksum(WAKE)}
        FROM freed AS i WHERE i.steps_open ${ON_SAME_KEY}
      )
      SELECT i.n, i.id, i.lease_owner, ${TARGET} AS target, i.steps_open OR EXISTS (
        SELECT 1 FROM @inbox AS m
        WHERE m.instance = i.key AND NOT m.parked AND m.visible_at <= (SELECT @clock())) AS due
      FROM freed AS i`);
  }

  async lease(request: LeaseInstancesRequest): Promise<LeasedInstances> {
    this.#notifier.serves(request.owner, { targets: request.targets });
    for (let round = 1; ; round += 1) {
      const line = await this.#find(request);
      const { shares, named, held, more, nextAt } = line;
      const isFree = request.again === true || shares.length + named.length > 0;
      if (!isFree && held.length === 0) return { instances: [], more, nextAt };
      const instances = isFree ? await this.#take(request, line) : await this.#news(request, held);
      if (instances.length === 0 && round < ROUNDS) continue;
      const taken = new Set(instances.map(({ key }) => key));
      const isLeft = line.free.some((key) => !taken.has(key)); // or somebody else has it
      return { instances, more: more || isLeft, nextAt };
    }
  }

  async renew(
    leases: readonly { readonly key: number; readonly token: number }[],
    leaseMs: number,
  ): Promise<number[]> {
    if (leases.length === 0) return [];
    const pipeline = new Pipeline();
    const sorted = leases.toSorted((a, b) => a.key - b.key);
    const { delay } = dueColumns({ delayMs: leaseMs });
    const answer = pipeline.add(this.#renew, [...LEASES.values(sorted), delay]);
    await told(this.#connection.write(pipeline));
    const held = new Set(answer.rows.map((row) => integer(row, "key")));
    return leases.filter(({ key }) => !held.has(key)).map(({ key }) => key);
  }

  /** What is returned reads the results, in order, when the answer is there. */
  release(pipeline: Pipeline, items: readonly ReleaseInstanceItem[], news: NewsDraft): ReadResults {
    const sorted = items
      .map(({ key, token }, index) => ({ key, token, index }))
      .sort((a, b) => a.key - b.key);
    const answer = pipeline.add(this.#release, LEASES.values(sorted));
    return () => {
      const results = items.map((): SimpleResult => LEASE_LOST);
      for (const row of answer.rows) {
        results[sorted[integer(row, "n") - 1]?.index ?? -1] = DONE;
        if (flag(row, "due")) news.due(text(row, "id"), dueOf(row));
      }
      return results;
    };
  }

  /** Whatever is under the request's token already is all of its answer (L4). */
  async #find(request: LeaseInstancesRequest): Promise<Line> {
    if (request.again === true) {
      const { owner, token } = request;
      const rows = await this.#connection.read(this.#countTaken, [owner, token]);
      if (integer(rows[0] ?? {}, "taken") > 0) return ALREADY;
    }
    const line = await this.#dueInstances.find(request);
    if (!line.arrived) return line;
    await this.#arrivals.bringAll(); // L6
    return this.#dueInstances.find(request);
  }

  async #take(request: LeaseInstancesRequest, line: Line): Promise<LeasedInstance[]> {
    const { owner, token, messagesMax } = request;
    const pipeline = new Pipeline();
    this.#dueInstances.take(pipeline, request, line);
    // What an earlier request under this token took is handed over whole (L4).
    if (line !== ALREADY) pipeline.add(this.#giveBack, [owner, token]);
    const rows = pipeline.add(this.#selectTaken, [owner, token]);
    const messages = pipeline.add(this.#selectMessages, [owner, token, messagesMax]);
    const history = pipeline.add(this.#selectHistory, [owner, token]);
    const readNews = this.#addNews(pipeline, request, line.held);
    await told(this.#connection.write(pipeline, { owners: [owner] }));
    const messagesByKey = messagesOf(messages);
    const historyByKey = rowsOf(history);
    const taken = rows.rows.map((row): LeasedInstance => {
      const leased = toLeased(row);
      const { key } = leased;
      return {
        ...leased,
        suspicion: leased.suspicion - 1, // the row as it is now counts this lease too
        fresh: true,
        messages: messagesByKey.get(key) ?? [],
        history: historyByKey.get(key) ?? [],
      };
    });
    const keys = new Set(taken.map(({ key }) => key)); // held when found, let go, and taken anew
    return [...readNews().filter(({ key }) => !keys.has(key)), ...inLine(taken, request)];
  }

  async #news(request: LeaseInstancesRequest, held: readonly number[]): Promise<LeasedInstance[]> {
    const pipeline = new Pipeline();
    const read = this.#addNews(pipeline, request, held);
    await this.#connection.look(pipeline);
    return read();
  }

  /** L2 */
  #addNews(
    pipeline: Pipeline,
    { owner, messagesMax }: LeaseInstancesRequest,
    held: readonly number[],
  ): () => LeasedInstance[] {
    if (held.length === 0) return () => [];
    const rows = pipeline.add(this.#selectHeld, [owner, plain(held)]);
    const asked = held.map((key) => ({ key, messages_max: messagesMax }));
    const due = this.#inbox.due(pipeline, asked);
    return () => {
      const messages = messagesOf(due);
      return rows.rows.map((row) => {
        const leased = toLeased(row);
        return { ...leased, fresh: false, messages: messages.get(leased.key) ?? [], history: [] };
      });
    };
  }
}

/** As due-instances.ts found them; those of whom no message tells are last. */
function inLine(taken: LeasedInstance[], ageing: Ageing): LeasedInstance[] {
  const rank = ({ messages, priority }: LeasedInstance): number => {
    const since = Math.min(...messages.map(({ visibleAt }) => visibleAt)); // none: Infinity
    return rankOf(since, priority, ageing);
  };
  return taken.sort((a, b) => (rank(a) === rank(b) ? a.key - b.key : rank(a) - rank(b)));
}

const ALREADY: Line = {
  held: [],
  shares: [],
  free: [],
  named: [],
  more: true,
  nextAt: null,
  arrived: false,
};

function toLeased(row: Row): Omit<LeasedInstance, "fresh" | "messages" | "history"> {
  return {
    key: integer(row, "key"),
    id: text(row, "id"),
    runId: text(row, "run_id"),
    name: text(row, "name"),
    version: textOrNull(row, "version"),
    execution: integer(row, "execution"),
    token: integer(row, "lease_token"),
    lastEvent: integer(row, "last_event"),
    priority: integer(row, "priority"),
    copiedUntil: integer(row, "copied_until"),
    suspicion: integer(row, "suspicion"),
    stepsOpen: flag(row, "steps_open"),
  };
}
