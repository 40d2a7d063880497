// Deletion: an instance and its descendants, with all that is theirs, in one transaction (AD3).
//   D1. The rows go, and with them every token: whatever an owner commits later finds nothing to write to, and
//       a key is never given again (N1).
//   D2. A parent that waits for a child hears of its end.

import type { StatementSync } from "node:sqlite";
import type {
  DeletedEnded,
  DeleteEndedRequest,
  DeleteResult,
  Removed,
} from "../core/provider/admin.ts";
import { endCursor, endPlace } from "../core/provider/end-cursor.ts";
import { TERMINAL_STATUSES } from "../core/provider/instances.ts";
import { DELETED } from "../core/provider/outcomes.ts";
import { integer, text, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import type { Endings } from "./ending.ts";
import type { InstanceHead } from "./instance-rows.ts";
import type { Instances } from "./instances.ts";
import type { Transaction } from "./news.ts";
import type { Notifier } from "./notifications.ts";
import type { Tasks } from "./tasks.ts";

/** What is kept of an instance beside its row, its inbox and its tasks. */
const TABLES = ["history", "kv", "requests"];

export class Deletions {
  readonly #instances: Instances;
  readonly #tasks: Tasks;
  readonly #endings: Endings;
  readonly #notifier: Notifier;
  readonly #selectEnded: StatementSync;
  readonly #selectTree: StatementSync;
  readonly #delete: StatementSync;
  readonly #deleteMessages: StatementSync;
  readonly #deleteRows: readonly StatementSync[];

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
      SELECT key, id, completed_at FROM instances
      WHERE status = ? AND completed_at < ? AND parent_id IS NULL AND (completed_at, key) > (?, ?)
      ORDER BY completed_at, key LIMIT ?`);
    this.#selectTree = connection.prepare(`
      WITH RECURSIVE tree (key, id, status) AS (
        SELECT key, id, status FROM instances WHERE id = ?
        UNION
        SELECT child.key, child.id, child.status
        FROM tree CROSS JOIN instances AS child ON child.parent_id = tree.id
      )
      SELECT key, id, status FROM tree`);
    this.#delete = connection.prepare(`
      DELETE FROM instances WHERE key = ?
      RETURNING 1 + past_executions AS executions, last_event + past_events AS events`);
    this.#deleteMessages = connection.prepare("DELETE FROM inbox WHERE instance = ?");
    this.#deleteRows = TABLES.map((table) =>
      connection.prepare(`DELETE FROM ${table} WHERE instance = ?`),
    );
  }

  delete({ id, force }: { readonly id: string; readonly force: boolean }): Promise<DeleteResult> {
    return this.#notifier.write((transaction) => {
      const root = this.#instances.find(id);
      if (root === null) return refused("INSTANCE_NOT_FOUND", `No instance "${id}" exists.`);
      const tree = this.#selectTree.all(id);
      const refusal = force ? null : this.#refusal(root, tree);
      if (refusal !== null) return refusal;
      if (isLive(root)) this.#endings.tellParent(root, DELETED, transaction);
      return { kind: "deleted", ...this.#removeAll(tree, transaction) };
    });
  }

  deleteEnded(request: DeleteEndedRequest): Promise<DeletedEnded> {
    const { status, completedBefore, limit, cursor } = request;
    return this.#notifier.write((transaction) => {
      const [completedAt, key] = endPlace(cursor);
      const roots = this.#selectEnded.all(status, completedBefore, completedAt, key, limit);
      const gone = roots.flatMap((root) => {
        const tree = this.#selectTree.all(text(root, "id"));
        return tree.some((row) => isLive({ status: text(row, "status") })) ? [] : tree;
      });
      const last = roots.length < limit ? undefined : roots.at(-1);
      const next =
        last === undefined ? null : endCursor(integer(last, "completed_at"), integer(last, "key"));
      return { ...this.#removeAll(gone, transaction), cursor: next };
    });
  }

  #refusal({ id, parent }: InstanceHead, tree: readonly Row[]): DeleteResult | null {
    const live = tree.find((row) => isLive({ status: text(row, "status") }));
    if (live !== undefined) {
      const liveId = text(live, "id");
      const which = liveId === id ? "" : `, a descendant of "${id}",`;
      const message = `Instance "${liveId}"${which} has not ended. Terminate it, or delete by force.`;
      return refused("INSTANCE_RUNNING", message);
    }
    if (parent === null || this.#instances.find(parent.id) === null) return null;
    const message = `Instance "${id}" is a child of "${parent.id}". Delete that, or this by force.`;
    return refused("INVALID_ARGUMENT", message);
  }

  #removeAll(tree: readonly Row[], transaction: Transaction): Removed {
    const removed = { instances: 0, executions: 0, events: 0, messages: 0 };
    for (const member of tree) {
      const key = integer(member, "key");
      const row = this.#delete.get(key) ?? {};
      removed.instances += 1;
      removed.executions += integer(row, "executions");
      removed.events += integer(row, "events");
      removed.messages += Number(this.#deleteMessages.run(key).changes);
      this.#tasks.clear(key, transaction);
      for (const statement of this.#deleteRows) statement.run(key);
      transaction.news.changed(text(member, "id"));
    }
    return removed;
  }
}

function isLive({ status }: { readonly status: string }): boolean {
  return !(TERMINAL_STATUSES as readonly string[]).includes(status);
}

function refused(
  code: Extract<DeleteResult, { readonly kind: "refused" }>["code"],
  message: string,
): DeleteResult {
  return { kind: "refused", code, message };
}
