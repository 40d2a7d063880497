// Instance leases: which runtime may write to which instance.
//   - Instances are found (lease/due-instances.ts), then leased, then read, each by a statement with its
//       own snapshot. The returned state is the state that the lease covers.
//   - postgres.leases.1: An instance that the caller already holds is returned under its old token, with
//       its new messages (`fresh: false`).
//   - After an orderly release, the lease no longer counts against the instance (provider.instances.4).
//   - postgres.leases.2: The instances that a request leased carry its token. If the request is repeated
//       because its answer was lost, it returns the same instances.
//   - postgres.leases.3: If the previous owner consumed the due message of an instance after the search,
//       the new lease is released at once and does not count. If an instance that became free in the
//       meantime was leased instead of one that was found, the answer says that there is more, and when
//       to search again (postgres.locked-rows.1).
//   - postgres.leases.4: Messages that user transactions have sent are moved into the inboxes first, so
//       that a runtime without notifications finds them here.

import { queueRank, type Ageing } from "../../core/provider/shared/ageing.ts";
import type { ReleaseInstanceItem, SimpleResult } from "../../core/provider/commit.ts";
import type {
  LeasedInstance,
  LeasedInstances,
  LeaseInstancesRequest,
} from "../../core/provider/instances.ts";
import { DONE, LEASE_LOST } from "../../core/provider/results.ts";
import type { Outbox } from "../transactions/outbox.ts";
import { ColumnArrays, plain } from "../sql/column-arrays.ts";
import { flag, integer, text } from "../../sql/columns.ts";
import { withPerdureErrors, type Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import { retryLocked } from "./locked-rows.ts";
import { DueInstances, type FoundInstances } from "./due-instances.ts";
import { COLUMNS as HISTORY_COLUMNS, rowsOf } from "../read/history.ts";
import { INBOX_COLUMNS, messagesOf, OF_INSTANCE, ON_SAME_KEY, type Inbox } from "../read/inbox.ts";
import { TARGET, toLeased } from "../../sql/rows/instance-rows.ts";
import { dueColumns, messageChecksum } from "../read/messages.ts";
import { IN_ORDER, MESSAGE_COLUMNS } from "../../sql/rows/messages.ts";
import type { ChangeDraft } from "../notify/change-draft.ts";
import type { ChangeNotifier } from "../notify/change-notifier.ts";
import { Pipeline } from "../connection/pipeline.ts";
import { toDue } from "../../sql/script/scope.ts";
import type { ReadResults } from "./tasks.ts";
import { exists, notExists, indexEquals } from "../../sql/index-lookup.ts";

const COLUMNS = `
  i.key, i.id, i.run_id, i.name, i.version, i.execution, i.lease_token, i.last_event, i.priority,
  i.copied_until, i.suspicion, i.blocked, i.steps_open`;
/** The message that #release inserts. */
const WAKE = { kind: "wake", sequence: null, name: null, key: "wake", data: "" } as const;
const LEASES = new ColumnArrays({ key: "bigint", token: "bigint" });
const RELEASES = new ColumnArrays({ key: "bigint", token: "bigint", wakes: "boolean" });
/** The instances that a request has leased. */
const IS_LEASED = "i.lease_owner = $1 AND i.lease_token = $2::bigint";
/** How often the search is repeated because other runtimes leased everything that was found. */
const ROUNDS = 3;

interface LeaseParts {
  readonly inbox: Inbox;
  readonly notifier: ChangeNotifier;
  readonly outbox: Outbox;
}

export class InstanceLeases extends Subject {
  readonly #parts: LeaseParts;
  readonly #dueInstances: DueInstances;
  readonly #countLeased = this.prepare(`
    SELECT count(*) AS taken FROM @instances AS i WHERE ${IS_LEASED}`);
  readonly #releaseIdle = this.prepare(`
    UPDATE @instances AS i SET
      lease_owner = NULL, lease_token = NULL, lease_until = NULL, suspicion = i.suspicion - 1
    WHERE ${IS_LEASED} AND NOT i.steps_open AND ${notExists(`
      FROM @inbox AS m
      WHERE m.instance = i.key AND NOT m.parked AND m.visible_at <= (SELECT @clock())`)}`);
  readonly #selectLeased = this.prepare(`
    SELECT ${COLUMNS} FROM @instances AS i WHERE ${IS_LEASED}`);
  readonly #selectMessages = this.prepare(`
    SELECT ${MESSAGE_COLUMNS}
    FROM @instances AS i CROSS JOIN LATERAL @due_messages(i.key, $3::bigint) AS m
    WHERE ${IS_LEASED} ORDER BY i.key + 0, ${IN_ORDER}`);
  readonly #selectHistory = this.prepare(`
    SELECT ${HISTORY_COLUMNS} FROM @instances AS i
    JOIN @history AS h ON ${indexEquals("h.instance", "i.key")} AND h.execution = i.execution
    WHERE ${IS_LEASED} ORDER BY i.key + 0, h.first`);
  readonly #selectHeld = this.prepare(`
    SELECT ${COLUMNS} FROM unnest($2::bigint[]) AS k (key)
    CROSS JOIN LATERAL (SELECT x.* FROM @instances AS x WHERE x.key = k.key OFFSET 0) AS i
    WHERE i.lease_owner = $1`); // index-lookup.2: the caller may hold thousands of instances
  readonly #renew = this.prepare(`
    UPDATE @instances AS i SET lease_until = CASE WHEN i.lease_until IS NULL THEN NULL
      ELSE (SELECT @clock()) + $${LEASES.width + 1}::bigint END
    FROM ${LEASES.from("t")} WHERE ${indexEquals("i.key", "t.key")} AND i.lease_token = t.token RETURNING i.key`);
  readonly #release = this.prepare(`
    WITH freed AS (
      UPDATE @instances AS i SET
        lease_owner = NULL, lease_token = NULL, lease_until = NULL,
        suspicion = greatest(i.suspicion - 1, 0)
      FROM ${RELEASES.from("t")} WHERE ${indexEquals("i.key", "t.key")} AND i.lease_token = t.token
      RETURNING t.n, i.steps_open AND t.wakes AS wakes, i.*
    ), woken AS (
      INSERT INTO @inbox (${INBOX_COLUMNS})
      SELECT ${OF_INSTANCE}, (SELECT @clock()), i.execution, NULL, 'wake', NULL, 'wake', '',
        ${messageChecksum(WAKE)}
      FROM freed AS i WHERE i.wakes ${ON_SAME_KEY}
    )
    SELECT i.n, i.id, i.lease_owner, ${TARGET} AS target, i.wakes OR ${exists(`
      FROM @inbox AS m
      WHERE m.instance = i.key AND NOT m.parked AND m.visible_at <= (SELECT @clock())`)} AS due
    FROM freed AS i`);

  constructor(connection: Connection, parts: LeaseParts) {
    super(connection);
    this.#parts = parts;
    this.#dueInstances = new DueInstances(connection, parts.outbox);
  }

  async lease(request: LeaseInstancesRequest): Promise<LeasedInstances> {
    this.#parts.notifier.serves(request.owner, { targets: request.targets });
    for (let round = 1; ; round += 1) {
      const found = await this.#find(request);
      const { shares, named, held, more, nextAt } = found;
      const mustLease = request.again === true || shares.length + named.length > 0;
      if (!mustLease && held.length === 0) return { instances: [], more, nextAt };
      const instances = mustLease
        ? await this.#lease(request, found)
        : await this.#readHeld(request, held);
      if (instances.length === 0 && round < ROUNDS) continue;
      const taken = new Set(instances.map(({ key }) => key));
      const isLeft = found.free.some((key) => !taken.has(key)); // or another runtime has leased it
      const retryAt = isLeft ? retryLocked(this.connection.now(), nextAt) : nextAt;
      return { instances, more: more || isLeft, nextAt: retryAt };
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
    await withPerdureErrors(this.connection.write(pipeline));
    const held = new Set(answer.rows.map((row) => integer(row, "key")));
    return leases.filter(({ key }) => !held.has(key)).map(({ key }) => key);
  }

  /** The returned function reads the results, in order, after the run. */
  release(
    pipeline: Pipeline,
    items: readonly ReleaseInstanceItem[],
    changes: ChangeDraft,
  ): ReadResults {
    const sorted = items
      .map(({ key, token, stepsWait }, index) => ({ key, token, wakes: stepsWait !== true, index }))
      .sort((a, b) => a.key - b.key);
    const answer = pipeline.add(this.#release, RELEASES.values(sorted));
    return () => {
      const results = items.map((): SimpleResult => LEASE_LOST);
      for (const row of answer.rows) {
        results[sorted[integer(row, "n") - 1]?.index ?? -1] = DONE;
        if (flag(row, "due")) changes.due(text(row, "id"), toDue(row));
      }
      return results;
    };
  }

  /** If instances carry the request's token already, they are the whole answer (postgres.leases.2). */
  async #find(request: LeaseInstancesRequest): Promise<FoundInstances> {
    if (request.again === true) {
      const { owner, token } = request;
      const rows = await this.connection.read(this.#countLeased, [owner, token]);
      if (integer(rows[0] ?? {}, "taken") > 0) return LEASED_EARLIER;
    }
    const found = await this.#dueInstances.find(request);
    if (!found.arrived) return found;
    await this.#parts.outbox.drainAll(); // postgres.leases.4
    return this.#dueInstances.find(request);
  }

  async #lease(request: LeaseInstancesRequest, found: FoundInstances): Promise<LeasedInstance[]> {
    const { owner, token, messagesMax } = request;
    const pipeline = new Pipeline();
    this.#dueInstances.lease(pipeline, request, found);
    // What an earlier request with this token leased is returned completely (postgres.leases.2).
    if (found !== LEASED_EARLIER) pipeline.add(this.#releaseIdle, [owner, token]);
    const rows = pipeline.add(this.#selectLeased, [owner, token]);
    const messages = pipeline.add(this.#selectMessages, [owner, token, messagesMax]);
    const history = pipeline.add(this.#selectHistory, [owner, token]);
    const readHeld = this.#addHeld(pipeline, request, found.held);
    await withPerdureErrors(this.connection.write(pipeline, { owners: [owner] }));
    const messagesByKey = messagesOf(messages);
    const historyByKey = rowsOf(history);
    const taken = rows.rows.map((row): LeasedInstance => {
      const leased = toLeased(row);
      const { key } = leased;
      return {
        ...leased,
        suspicion: leased.suspicion - 1, // the row already counts this lease
        fresh: true,
        messages: messagesByKey.get(key) ?? [],
        history: historyByKey.get(key) ?? [],
      };
    });
    const keys = new Set(taken.map(({ key }) => key)); // released and leased again
    return [...readHeld().filter(({ key }) => !keys.has(key)), ...inQueueOrder(taken, request)];
  }

  async #readHeld(
    request: LeaseInstancesRequest,
    held: readonly number[],
  ): Promise<LeasedInstance[]> {
    const pipeline = new Pipeline();
    const read = this.#addHeld(pipeline, request, held);
    await this.connection.readPipeline(pipeline);
    return read();
  }

  /** postgres.leases.1 */
  #addHeld(
    pipeline: Pipeline,
    { owner, messagesMax }: LeaseInstancesRequest,
    held: readonly number[],
  ): () => LeasedInstance[] {
    if (held.length === 0) return () => [];
    const rows = pipeline.add(this.#selectHeld, [owner, plain(held)]);
    const asked = held.map((key) => ({ key, messages_max: messagesMax }));
    const due = this.#parts.inbox.due(pipeline, asked);
    return () => {
      const messages = messagesOf(due);
      return rows.rows.map((row) => {
        const leased = toLeased(row);
        return { ...leased, fresh: false, messages: messages.get(leased.key) ?? [], history: [] };
      });
    };
  }
}

/** In the order of lease/due-instances.ts; instances without a due message come last. */
function inQueueOrder(taken: LeasedInstance[], ageing: Ageing): LeasedInstance[] {
  const rank = ({ messages, priority }: LeasedInstance): number => {
    const since = Math.min(...messages.map(({ visibleAt }) => visibleAt)); // none: Infinity
    return queueRank(since, priority, ageing);
  };
  return taken.sort((a, b) => (rank(a) === rank(b) ? a.key - b.key : rank(a) - rank(b)));
}

const LEASED_EARLIER: FoundInstances = {
  held: [],
  shares: [],
  free: [],
  named: [],
  more: true,
  nextAt: null,
  arrived: false,
};
