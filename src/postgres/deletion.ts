// Deletion: an instance and its descendants, with all that is theirs, in one transaction (AD3).
//   D1. The rows go, and with them every token: whatever an owner commits later finds nothing to write to, and
//       a key is never given again (N1).
//   D2. A parent that waits for a child hears of its end.
//   D3. The whole tree is locked before anything is judged; a turn that was under way may have added to it, so it is
//       looked at until it stays as it is.
//   D4. A sweep waits for no lock: it skips an instance, and a whole tree, that another transaction is changing. So it
//       cannot take part in a deadlock. Descendants are read again after they were locked; a tree that has changed in
//       between is left for the next sweep.

import type {
  DeletedEnded,
  DeleteEndedRequest,
  DeleteResult,
  Removed,
} from "../core/provider/admin.ts";
import { endCursor, endPlace } from "../core/provider/end-cursor.ts";
import { TERMINAL_STATUSES } from "../core/provider/instances.ts";
import { DELETED } from "../core/provider/outcomes.ts";
import { plain } from "./column-arrays.ts";
import { integer, text, type Row } from "./columns.ts";
import type { Connection, Statements } from "./connection.ts";
import type { Endings } from "./ending.ts";
import type { InstanceHead } from "./instance-rows.ts";
import type { Instances } from "./instances.ts";
import type { NewsDraft } from "./news.ts";
import type { Notifier } from "./notifications.ts";
import { Pipeline, type Statement } from "./pipeline.ts";
import type { Tasks } from "./tasks.ts";
import { probe } from "./probing.ts";

/** What is kept of an instance beside its row, its inbox and its tasks. */
const TABLES = ["history", "kv", "requests"];

export class Deletions {
  readonly #instances: Instances;
  readonly #tasks: Tasks;
  readonly #endings: Endings;
  readonly #notifier: Notifier;
  readonly #selectEnded: Statement;
  readonly #selectTrees: Statement;
  readonly #lockFree: Statement;
  readonly #selectTree: Statement;
  readonly #delete: Statement;
  readonly #deleteMessages: Statement;
  readonly #deleteRows: readonly Statement[];

  constructor(
    connection: Connection,
    parts: {
      readonly instances: Instances;
      readonly tasks: Tasks;
      readonly endings: Endings;
      readonly notifier: Notifier;
    },
  ) {
    this.#instances = parts.instances;
    this.#tasks = parts.tasks;
    this.#endings = parts.endings;
    this.#notifier = parts.notifier;
    this.#selectEnded = connection.prepare(`
      SELECT key, completed_at FROM @instances
      WHERE failed = ($1::text <> 'completed') AND status = $1::text AND completed_at < $2::bigint
        AND parent_id IS NULL AND (completed_at, key) > ($3::bigint, $4::bigint)
      ORDER BY completed_at, key LIMIT $5::bigint FOR NO KEY UPDATE SKIP LOCKED`);
    this.#lockFree = connection.prepare(`
      SELECT i.key FROM unnest($1::bigint[]) AS k (key)
      JOIN @instances AS i ON ${probe("i.key", "k.key")} FOR NO KEY UPDATE OF i SKIP LOCKED`);
    this.#selectTrees = connection.prepare(`
      WITH RECURSIVE tree AS (
        SELECT i.key AS root, i.key, i.id, i.status
        FROM unnest($1::bigint[]) AS k (key) JOIN @instances AS i ON ${probe("i.key", "k.key")}
        UNION
        SELECT tree.root, child.key, child.id, child.status FROM tree CROSS JOIN LATERAL (
          SELECT c.key, c.id, c.status FROM @instances AS c WHERE c.parent_id = tree.id OFFSET 0
        ) AS child
      )
      SELECT root, key, id, status FROM tree`);
    this.#selectTree = connection.prepare(`
      WITH RECURSIVE tree AS (
        SELECT key, id, status FROM @instances WHERE id = $1
        UNION
        SELECT child.key, child.id, child.status FROM tree CROSS JOIN LATERAL (
          SELECT c.key, c.id, c.status FROM @instances AS c WHERE c.parent_id = tree.id OFFSET 0
        ) AS child
      )
      SELECT key, id, status FROM tree`);
    const ofKeys = "unnest($1::bigint[]) AS k (key)";
    this.#delete = connection.prepare(`
      WITH gone AS (
        DELETE FROM @instances AS i USING ${ofKeys} WHERE ${probe("i.key", "k.key")}
        RETURNING 1 + i.past_executions AS executions, i.last_event + i.past_events AS events
      )
      SELECT count(*) AS instances, coalesce(sum(executions), 0) AS executions,
        coalesce(sum(events), 0) AS events FROM gone`);
    const ofInstance = (table: string): Statement =>
      connection.prepare(
        `DELETE FROM @${table} AS t USING ${ofKeys} WHERE ${probe("t.instance", "k.key")}`,
      );
    this.#deleteMessages = ofInstance("inbox");
    this.#deleteRows = TABLES.map(ofInstance);
  }

  delete({ id, force }: { readonly id: string; readonly force: boolean }): Promise<DeleteResult> {
    return this.#notifier.transact(async (statements, news) => {
      await this.#instances.lockFamily(statements, id); // the parent too (D2)
      // Before its tree: whoever is born in between is in none that was looked at earlier.
      const root = await this.#instances.find(statements, id);
      if (root === null) return refused("INSTANCE_NOT_FOUND", `No instance "${id}" exists.`);
      const tree = await this.#lockTree(statements, id);
      const refusal = force ? null : await this.#refusal(statements, root, tree);
      if (refusal !== null) return refusal;
      if (isLive(root)) await this.#endings.tellParent(statements, root, DELETED, news);
      return { kind: "deleted", ...(await this.#removeAll(statements, tree, news)) };
    });
  }

  deleteEnded(request: DeleteEndedRequest): Promise<DeletedEnded> {
    const { status, completedBefore, limit, cursor } = request;
    return this.#notifier.transact(async (statements, news) => {
      const values = [status, Math.floor(completedBefore), ...endPlace(cursor), limit];
      const roots = await statements.run(this.#selectEnded, values);
      const gone = await this.#endedTrees(statements, roots);
      const last = roots.length < limit ? undefined : roots.at(-1);
      const next =
        last === undefined ? null : endCursor(integer(last, "completed_at"), integer(last, "key"));
      const removed = gone.length === 0 ? NOTHING : await this.#removeAll(statements, gone, news);
      return { ...removed, cursor: next };
    });
  }

  /** D4: the members of those trees that have ended as a whole, all of them locked. */
  async #endedTrees(statements: Statements, roots: readonly Row[]): Promise<readonly Row[]> {
    if (roots.length === 0) return [];
    const keys = roots.map((row) => integer(row, "key"));
    const locked = new Set(keys);
    const seen = await statements.run(this.#selectTrees, [plain(keys)]);
    const below = seen.map((row) => integer(row, "key")).filter((key) => !locked.has(key));
    if (below.length === 0) return seen;
    const free = await statements.run(this.#lockFree, [plain(below.toSorted((a, b) => a - b))]);
    for (const row of free) locked.add(integer(row, "key"));
    const members = await statements.run(this.#selectTrees, [plain(keys)]);
    const kept = new Set(
      members
        .filter(
          (row) => isLive({ status: text(row, "status") }) || !locked.has(integer(row, "key")),
        )
        .map((row) => integer(row, "root")),
    );
    return members.filter((row) => !kept.has(integer(row, "root")));
  }

  /** D3 */
  async #lockTree(statements: Statements, id: string): Promise<readonly Row[]> {
    let locked = new Set<number>();
    for (;;) {
      const tree = await statements.run(this.#selectTree, [id]);
      const keys = tree.map((row) => integer(row, "key"));
      if (keys.every((key) => locked.has(key))) return tree;
      const pipeline = new Pipeline();
      this.#instances.lock(pipeline, { keys, ids: [] });
      await statements.all(pipeline);
      locked = new Set(keys);
    }
  }

  async #refusal(
    statements: Statements,
    { id, parent }: InstanceHead,
    tree: readonly Row[],
  ): Promise<DeleteResult | null> {
    const live = tree.find((row) => isLive({ status: text(row, "status") }));
    if (live !== undefined) {
      const liveId = text(live, "id");
      const which = liveId === id ? "" : `, a descendant of "${id}",`;
      const message = `Instance "${liveId}"${which} has not ended. Terminate it, or delete by force.`;
      return refused("INSTANCE_RUNNING", message);
    }
    if (parent === null || (await this.#instances.find(statements, parent.id)) === null)
      return null;
    const message = `Instance "${id}" is a child of "${parent.id}". Delete that, or this by force.`;
    return refused("INVALID_ARGUMENT", message);
  }

  async #removeAll(
    statements: Statements,
    tree: readonly Row[],
    news: NewsDraft,
  ): Promise<Removed> {
    const keys = plain(tree.map((row) => integer(row, "key")).toSorted((a, b) => a - b));
    const pipeline = new Pipeline();
    const deleted = pipeline.add(this.#delete, [keys]);
    // Tasks before messages: a completion that comes between takes its message along.
    const tasks = this.#tasks.clear(
      pipeline,
      tree.map((row) => integer(row, "key")),
    );
    const messages = pipeline.add(this.#deleteMessages, [keys]);
    for (const statement of this.#deleteRows) pipeline.add(statement, [keys]);
    await statements.all(pipeline);
    const withTasks = new Set(tasks?.rows.map((row) => integer(row, "instance")));
    for (const row of tree) {
      const id = text(row, "id");
      news.changed(id);
      if (withTasks.has(integer(row, "key"))) news.withdrawn(id);
    }
    const row = deleted.rows[0] ?? {};
    return {
      instances: integer(row, "instances"),
      executions: integer(row, "executions"),
      events: integer(row, "events"),
      messages: messages.count,
    };
  }
}

const NOTHING: Removed = { instances: 0, executions: 0, events: 0, messages: 0 };

function isLive({ status }: { readonly status: string }): boolean {
  return !(TERMINAL_STATUSES as readonly string[]).includes(status);
}

function refused(
  code: Extract<DeleteResult, { readonly kind: "refused" }>["code"],
  message: string,
): DeleteResult {
  return { kind: "refused", code, message };
}
