// Task takes: giving tasks that were found to whoever asked for them.
//   TT1. Plain tasks are taken by cut and number, past what others take at the same moment: many workers that find
//        the same queue share it. The rest are taken by their addresses.
//   TT2. A session is claimed in the transaction that takes its task, before it (SE1).
//   TT3. What a request took is known by its token: asked again, it is handed over again.

import { rankOf, type Ageing } from "../core/provider/ageing.ts";
import type { LeasedTask, LeaseTasksRequest, SessionClaim } from "../core/provider/tasks.ts";
import { ColumnArrays } from "./column-arrays.ts";
import { integer, integerOrNull, textOrNull, type Row } from "./columns.ts";
import { told, type Connection, type Statements } from "./connection.ts";
import { dueColumns } from "./messages.ts";
import { Pipeline, type Answer, type Statement, type Value } from "./pipeline.ts";
import type { Runtimes } from "./runtimes.ts";
import type { Sessions } from "./sessions.ts";
import { ADDRESS, inOrder, IS_AT } from "./task-claims.ts";
import { IN_CUT, PLAIN, type Cut, type Waiting } from "./task-cuts.ts";
import { LEASED_COLUMNS, toLeasedTask } from "./task-rows.ts";
import { probe } from "./probing.ts";

const SHARES = new ColumnArrays({
  suspect: "boolean",
  priority: "double precision",
  share: "bigint",
  name: "text",
  tag_set: "text",
});
const ADDRESSES = new ColumnArrays(ADDRESS);
/** Of a task whose lease ended by itself: as for the death of its owner, from what that holds now (blame.ts). */
const IS_TO_BLAME = `(
  r.deaths = 0
  OR NOT EXISTS (
      SELECT 1 FROM @instances AS b
      WHERE b.lease_owner = r.lease_owner AND (b.suspicion > 1 OR b.steps_open))
    AND NOT EXISTS (
      SELECT 1 FROM @tasks AS b
      WHERE b.lease_owner = r.lease_owner AND b.lease_token <> $2 AND b.deaths > 0
        AND (b.instance, b.execution, b.sequence) <> (r.instance, r.execution, r.sequence)))`;
const TAKEN = `${LEASED_COLUMNS}, t.available_at`;

export class TaskTakes {
  readonly #connection: Connection;
  readonly #sessions: Sessions;
  readonly #runtimes: Runtimes;
  readonly #takeShares: Statement;
  readonly #takeNamed: Statement;
  readonly #selectTaken: Statement;

  constructor(connection: Connection, sessions: Sessions, runtimes: Runtimes) {
    this.#connection = connection;
    this.#sessions = sessions;
    this.#runtimes = runtimes;
    const isKnown = "EXISTS (SELECT 1 FROM @runtimes AS k WHERE k.id = $1)";
    const lease =
      "lease_owner = $1, lease_token = $2, lease_until = (SELECT @clock()) + $3::bigint";
    // MATERIALIZED: chosen once, and not again for every row that a plan may look at before it.
    this.#takeShares = connection.prepare(`
      WITH c AS MATERIALIZED (
        SELECT x.* FROM ${SHARES.from("c", 5)} CROSS JOIN LATERAL (
          SELECT r.instance, r.execution, r.sequence FROM @tasks AS r
          WHERE ${PLAIN} AND ${IN_CUT} AND r.available_at <= (SELECT @clock())
            AND (r.avoid = $1 AND r.available_at > (SELECT @clock()) - $4::bigint) IS NOT TRUE
          ORDER BY r.available_at, r.instance, r.execution, r.sequence
          LIMIT c.share FOR UPDATE OF r SKIP LOCKED
        ) AS x
      )
      UPDATE @tasks AS t SET ${lease} FROM c JOIN @instances AS i ON ${probe("i.key", "c.instance")}
      WHERE ${IS_AT} AND ${isKnown} RETURNING ${TAKEN}`);
    this.#takeNamed = connection.prepare(`
      WITH c AS MATERIALIZED (
        SELECT r.instance, r.execution, r.sequence,
          r.lease_owner IS NOT NULL AS overdue,
          CASE WHEN r.lease_owner IS NOT NULL AND ${IS_TO_BLAME} THEN 1 ELSE 0 END AS death
        FROM ${ADDRESSES.from("a", 4)} JOIN @tasks AS r
          ON ${probe("r.instance", "a.instance")} AND r.execution = a.execution AND r.sequence = a.sequence
        WHERE r.lease_owner IS NULL OR r.lease_until <= (SELECT @clock())
        FOR UPDATE OF r SKIP LOCKED
      )
      UPDATE @tasks AS t SET ${lease},
        attempt = t.attempt + c.death, deaths = t.deaths + c.death,
        suspect = t.suspect OR (c.overdue AND t.deaths >= 1),
        available_at = CASE WHEN c.overdue THEN (SELECT @clock()) ELSE t.available_at END
      FROM c JOIN @instances AS i ON ${probe("i.key", "c.instance")}
      WHERE ${IS_AT} AND ${isKnown} RETURNING ${TAKEN}`);
    this.#selectTaken = connection.prepare(`
      SELECT ${TAKEN}, s.token AS session_token FROM @tasks AS t
      JOIN @instances AS i ON ${probe("i.key", "t.instance")}
      LEFT JOIN @sessions AS s ON s.id = t.session AND s.owner = $3
      WHERE t.lease_owner = $1 AND t.lease_token = $2::bigint`);
  }

  async take(request: LeaseTasksRequest, waiting: readonly Waiting[]): Promise<LeasedTask[]> {
    const isPlain = ({ session, overdue }: Waiting): boolean => session === null && !overdue;
    const plain = waiting.filter(isPlain);
    const named = waiting.filter((task) => !isPlain(task));
    const options = { owners: [request.owner] };
    if (named.every(({ session }) => session === null)) {
      const pipeline = new Pipeline();
      const answers = this.#add(pipeline, request, plain, named);
      await told(this.#connection.write(pipeline, options));
      return inLine(answers, waiting, new Map(), request);
    }
    return told(
      this.#connection.transact(options, (statements) =>
        this.#inSessions(statements, request, plain, named),
      ),
    );
  }

  /** Whether anything may be given to it. */
  knows(owner: string): Promise<boolean> {
    return this.#runtimes.isThere(owner);
  }

  /** What was taken under this token before. */
  async again(request: LeaseTasksRequest): Promise<LeasedTask[]> {
    const { owner, token, sessions } = request;
    const values = [owner, token, sessions?.owner ?? null];
    const rows = await this.#connection.read(this.#selectTaken, values);
    const claims = new Map<string, SessionClaim>();
    for (const row of rows) {
      const id = textOrNull(row, "session");
      const held = integerOrNull(row, "session_token");
      if (id !== null && held !== null) claims.set(id, { id, token: held });
    }
    return inLine([rows], [], claims, request);
  }

  async #inSessions(
    statements: Statements,
    request: LeaseTasksRequest,
    plain: readonly Waiting[],
    named: readonly Waiting[],
  ): Promise<LeasedTask[]> {
    if (!(await this.#runtimes.knows(statements, request.owner))) return [];
    const ids = [...new Set(named.flatMap(({ session }) => session ?? []))];
    const claims =
      request.sessions === null
        ? new Map<string, SessionClaim>()
        : await this.#sessions.claim(statements, ids, request.sessions);
    const claimed = named.filter(({ session }) => session === null || claims.has(session));
    const pipeline = new Pipeline();
    const answers = this.#add(pipeline, request, plain, claimed);
    await statements.all(pipeline);
    return inLine(answers, [...plain, ...named], claims, request);
  }

  #add(
    pipeline: Pipeline,
    request: LeaseTasksRequest,
    plain: readonly Waiting[],
    named: readonly Waiting[],
  ): readonly (readonly Row[])[] {
    const { owner, token, leaseMs, avoidMs = 0 } = request;
    const delay = leaseMs === undefined ? null : dueColumns({ delayMs: leaseMs }).delay;
    const lease: Value[] = [owner, token, delay];
    const answers: Answer[] = [];
    if (plain.length > 0) {
      const values = [...lease, Math.ceil(avoidMs), ...SHARES.values(shareOut(plain))];
      answers.push(pipeline.add(this.#takeShares, values));
    }
    if (named.length > 0) {
      const values = [...lease, ...ADDRESSES.values(inOrder([...named]))];
      answers.push(pipeline.add(this.#takeNamed, values));
    }
    return answers.map(({ rows }) => rows);
  }
}

function shareOut(waiting: readonly Waiting[]): (Cut & { readonly share: number })[] {
  const shares = new Map<string, Cut & { readonly share: number }>();
  for (const { suspect, name, tag_set, priority } of waiting) {
    const id = JSON.stringify([suspect, name, tag_set, priority]);
    const share = (shares.get(id)?.share ?? 0) + 1;
    shares.set(id, { suspect, name, tag_set, priority, share });
  }
  return [...shares.values()];
}

/** In the order in which they were found; those that came in the place of others by their own rank. */
function inLine(
  answers: readonly (readonly Row[])[],
  waiting: readonly Waiting[],
  claims: ReadonlyMap<string, SessionClaim>,
  ageing: Ageing,
): LeasedTask[] {
  const ranks = new Map(waiting.map((task) => [addressOf(task), task.rank]));
  const taken = answers.flat().map((row) => {
    const task = toLeasedTask(row);
    const address = { ...task, instance: task.key };
    const rank =
      ranks.get(addressOf(address)) ?? rankOf(integer(row, "available_at"), task.priority, ageing);
    const claim = task.session === null ? undefined : claims.get(task.session);
    return {
      ...address,
      rank,
      task: claim === undefined ? task : { ...task, sessionClaim: claim },
    };
  });
  const sorted = inOrder(taken).toSorted((a, b) => a.rank - b.rank);
  return sorted.map(({ task }) => task);
}

function addressOf({
  instance,
  execution,
  sequence,
}: Omit<Waiting, keyof Cut | "session" | "overdue" | "rank">): string {
  return `${instance}:${execution}:${sequence}`;
}
