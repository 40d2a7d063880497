// Task leasing: leases the tasks that were found to the runtime that asked for them.
//   - Plain tasks are leased by partition and count, skipping rows that other transactions have locked:
//       many workers that find the same queue share it. Other tasks, and suspects, are leased by their addresses.
//   - A session is claimed in the transaction that leases its task, before the task (sessions.1).
//   - The tasks that a request leased carry its token. If the request is repeated, it returns the same
//       tasks.

import { queueRank, type Ageing } from "../../core/provider/shared/ageing.ts";
import type { LeasedTask, LeaseTasksRequest, SessionClaim } from "../../core/provider/tasks.ts";
import { ColumnArrays, columns } from "../sql/column-arrays.ts";
import { integer, integerOrNull, textOrNull, type Row } from "../../sql/columns.ts";
import { withPerdureErrors, type Connection } from "../connection/connection.ts";
import { Subject } from "../connection/subject.ts";
import type { Statements } from "../connection/statements.ts";
import { dueColumns } from "../read/messages.ts";
import { Pipeline, type Answer, type Value } from "../connection/pipeline.ts";
import type { PostgresScripts } from "../script-store.ts";
import { isRegistered } from "../../sql/lease/runtimes.ts";
import { HAS_RULE } from "../../sql/rows/queue-rows.ts";
import type { Call } from "../../sql/script/statement.ts";
import { addCalls } from "../connection/script-driver.ts";
import type { Sessions } from "./sessions.ts";
import { ADDRESS, inOrder, IS_AT } from "./task-keys.ts";
import { IN_PARTITION, PLAIN, type QueuePartition, type WaitingTask } from "./queue-partitions.ts";
import { LEASED_COLUMNS, toLeasedTask } from "./task-rows.ts";
import { indexEquals } from "../../sql/index-lookup.ts";

const SHARES = new ColumnArrays({
  suspect: "boolean",
  priority: "double precision",
  share: "bigint",
  ...columns("text", "name", "tag_set"),
});
const ADDRESSES = new ColumnArrays(ADDRESS);
/**
 * Whether the death counts for a task with an expired lease, judged by what its worker holds now
 * (blame.ts).
 */
const DEATH_COUNTS = `r.deferred_until IS NULL AND (
  r.deaths = 0 OR r.deaths = 1 AND r.suspect
  OR NOT EXISTS (
      SELECT 1 FROM @instances AS b
      WHERE b.lease_owner = r.lease_owner
        AND (b.suspicion > 1 OR b.suspicion > 0 AND b.steps_open))
    AND NOT EXISTS (
      SELECT 1 FROM @tasks AS b
      WHERE b.lease_owner = r.lease_owner AND b.lease_token <> $2
        AND CASE WHEN r.suspect THEN b.suspect ELSE b.deaths > 0 END
        AND b.deferred_until IS NULL
        AND (b.instance, b.execution, b.sequence) <> (r.instance, r.execution, r.sequence)))`;

const IS_KNOWN = "EXISTS (SELECT 1 FROM @runtimes AS k WHERE k.id = $1)";
const LEASE = `lease_owner = $1, lease_token = $2, lease_until = (SELECT @clock()) + $3::bigint,
  holds_slot = (${HAS_RULE})`;

export class TaskLeasing extends Subject {
  readonly #sessions: Sessions;
  readonly #scripts: PostgresScripts;
  // MATERIALIZED: the rows are chosen once, not again for every row that a plan visits.
  readonly #leaseShares = this.prepare(`
    WITH c AS MATERIALIZED (
      SELECT x.* FROM ${SHARES.from("c", 5)} CROSS JOIN LATERAL (
        SELECT r.instance, r.execution, r.sequence FROM @tasks AS r
        WHERE ${PLAIN} AND ${IN_PARTITION} AND r.available_at <= (SELECT @clock())
          AND (r.avoid = $1 AND r.available_at > (SELECT @clock()) - $4::bigint) IS NOT TRUE
        ORDER BY r.available_at, r.instance, r.execution, r.sequence
        LIMIT c.share FOR UPDATE OF r SKIP LOCKED
      ) AS x
    )
    UPDATE @tasks AS t SET ${LEASE} FROM c JOIN @instances AS i ON ${indexEquals("i.key", "c.instance")}
    WHERE ${IS_AT} AND ${IS_KNOWN} RETURNING ${LEASED_COLUMNS}`);
  readonly #leaseNamed = this.prepare(`
    WITH c AS MATERIALIZED (
      SELECT r.instance, r.execution, r.sequence,
        r.lease_owner IS NOT NULL AS overdue,
        CASE WHEN r.lease_owner IS NOT NULL AND ${DEATH_COUNTS} THEN 1 ELSE 0 END AS death
      FROM ${ADDRESSES.from("a", 4)} JOIN @tasks AS r
        ON ${indexEquals("r.instance", "a.instance")} AND r.execution = a.execution AND r.sequence = a.sequence
      WHERE r.lease_owner IS NULL OR r.lease_until <= (SELECT @clock())
      FOR UPDATE OF r SKIP LOCKED
    )
    UPDATE @tasks AS t SET ${LEASE},
      attempt = t.attempt + c.death, deaths = t.deaths + c.death,
      suspect = t.suspect OR (c.overdue AND t.deferred_until IS NULL AND t.deaths >= 1),
      available_at = CASE WHEN c.overdue THEN (SELECT @clock()) ELSE t.available_at END
    FROM c JOIN @instances AS i ON ${indexEquals("i.key", "c.instance")}
    WHERE ${IS_AT} AND ${IS_KNOWN} RETURNING ${LEASED_COLUMNS}`);
  readonly #selectLeased = this.prepare(`
    SELECT ${LEASED_COLUMNS}, s.token AS session_token FROM @tasks AS t
    JOIN @instances AS i ON ${indexEquals("i.key", "t.instance")}
    LEFT JOIN @sessions AS s ON s.id = t.session AND s.owner = $3
    WHERE t.lease_owner = $1 AND t.lease_token = $2::bigint`);

  constructor(connection: Connection, sessions: Sessions, scripts: PostgresScripts) {
    super(connection);
    this.#sessions = sessions;
    this.#scripts = scripts;
  }

  async lease(request: LeaseTasksRequest, waiting: readonly WaitingTask[]): Promise<LeasedTask[]> {
    const { plain, named } = split(waiting);
    const options = { owners: [request.owner] };
    if (named.every(({ session }) => session === null)) {
      const pipeline = new Pipeline();
      const answers = this.#add(pipeline, request, plain, named);
      await withPerdureErrors(this.connection.write(pipeline, options));
      return inQueueOrder(answers, waiting, new Map(), request);
    }
    return withPerdureErrors(
      this.connection.transact(options, (statements) =>
        this.#inSessions(statements, request, plain, named),
      ),
    );
  }

  /** The same for a registered runtime, in a transaction that has locked the queues. It also runs `records`. */
  leaseWithin(
    statements: Statements,
    request: LeaseTasksRequest,
    waiting: readonly WaitingTask[],
    records: readonly Call[],
  ): Promise<LeasedTask[]> {
    const { plain, named } = split(waiting);
    return this.#leaseNow(statements, request, { plain, named, records });
  }

  /** Whether the runtime is registered and may get leases. */
  isRegistered(owner: string): Promise<boolean> {
    return this.#scripts.read(() => isRegistered(owner));
  }

  /** The tasks that carry the token of this request already. */
  async readLeased(request: LeaseTasksRequest): Promise<LeasedTask[]> {
    const { owner, token, sessions } = request;
    const values = [owner, token, sessions?.owner ?? null];
    const rows = await this.connection.read(this.#selectLeased, values);
    const claims = new Map<string, SessionClaim>();
    for (const row of rows) {
      const id = textOrNull(row, "session");
      const sessionToken = integerOrNull(row, "session_token");
      if (id !== null && sessionToken !== null) claims.set(id, { id, token: sessionToken });
    }
    return inQueueOrder([rows], [], claims, request);
  }

  async #inSessions(
    statements: Statements,
    request: LeaseTasksRequest,
    plain: readonly WaitingTask[],
    named: readonly WaitingTask[],
  ): Promise<LeasedTask[]> {
    if (!(await statements.script(isRegistered(request.owner)))) return [];
    return this.#leaseNow(statements, request, { plain, named, records: [] });
  }

  /** The runtime must be registered. */
  async #leaseNow(
    statements: Statements,
    request: LeaseTasksRequest,
    { plain, named, records }: NewLeases,
  ): Promise<LeasedTask[]> {
    const ids = [...new Set(named.flatMap(({ session }) => session ?? []))];
    const claims =
      request.sessions === null || ids.length === 0
        ? new Map<string, SessionClaim>()
        : await this.#sessions.claim(statements, ids, request.sessions);
    const claimed = named.filter(({ session }) => session === null || claims.has(session));
    const pipeline = new Pipeline();
    const answers = this.#add(pipeline, request, plain, claimed);
    addCalls(pipeline, records, this.connection.statements);
    await statements.all(pipeline);
    return inQueueOrder(answers, [...plain, ...named], claims, request);
  }

  #add(
    pipeline: Pipeline,
    request: LeaseTasksRequest,
    plain: readonly WaitingTask[],
    named: readonly WaitingTask[],
  ): readonly (readonly Row[])[] {
    const { owner, token, leaseMs, avoidMs = 0 } = request;
    const delay = leaseMs === undefined ? null : dueColumns({ delayMs: leaseMs }).delay;
    const lease: Value[] = [owner, token, delay];
    const answers: Answer[] = [];
    if (plain.length > 0) {
      const values = [...lease, Math.ceil(avoidMs), ...SHARES.values(toShares(plain))];
      answers.push(pipeline.add(this.#leaseShares, values));
    }
    if (named.length > 0) {
      const values = [...lease, ...ADDRESSES.values(inOrder([...named]))];
      answers.push(pipeline.add(this.#leaseNamed, values));
    }
    return answers.map(({ rows }) => rows);
  }
}

interface NewLeases {
  readonly plain: readonly WaitingTask[];
  readonly named: readonly WaitingTask[];
  /** Further statements of the same round trip. */
  readonly records: readonly Call[];
}

function split(waiting: readonly WaitingTask[]): Omit<NewLeases, "records"> {
  const isPlain = ({ session, suspect, queued }: WaitingTask): boolean =>
    session === null && !suspect && queued === undefined;
  return { plain: waiting.filter(isPlain), named: waiting.filter((task) => !isPlain(task)) };
}

function toShares(
  waiting: readonly WaitingTask[],
): (QueuePartition & { readonly share: number })[] {
  const shares = new Map<string, QueuePartition & { readonly share: number }>();
  for (const { suspect, name, tag_set, priority } of waiting) {
    const id = JSON.stringify([suspect, name, tag_set, priority]);
    const share = (shares.get(id)?.share ?? 0) + 1;
    shares.set(id, { suspect, name, tag_set, priority, share });
  }
  return [...shares.values()];
}

/** In the order in which they were found. A task that replaced another one is placed by its own rank. */
function inQueueOrder(
  answers: readonly (readonly Row[])[],
  waiting: readonly WaitingTask[],
  claims: ReadonlyMap<string, SessionClaim>,
  ageing: Ageing,
): LeasedTask[] {
  const places = new Map(waiting.map((task) => [addressOf(task), task]));
  const taken = answers.flat().map((row) => {
    const task = toLeasedTask(row);
    const address = { ...task, instance: task.key };
    const place = places.get(addressOf(address));
    const rank = place?.rank ?? queueRank(integer(row, "available_at"), task.priority, ageing);
    const claim = task.session === null ? undefined : claims.get(task.session);
    return {
      ...address,
      rank,
      position: place?.position ?? 0,
      task: claim === undefined ? task : { ...task, sessionClaim: claim },
    };
  });
  const sorted = inOrder(taken).toSorted((a, b) => a.rank - b.rank || a.position - b.position);
  return sorted.map(({ task }) => task);
}

function addressOf({
  instance,
  execution,
  sequence,
}: Pick<WaitingTask, "instance" | "execution" | "sequence">): string {
  return `${instance}:${execution}:${sequence}`;
}
