// Settle: what became of an item whose commit threw (I14).
//   T1. A failed transaction of SQLite is rolled back before its error leaves, so this connection is in none
//       and may be asked.
//   T2. Null means that nothing was written, or that nobody can tell; sending it again is harmless then,
//       because its token is compared again.

import type { StatementSync } from "node:sqlite";
import type {
  CommitItem,
  CommitResult,
  NewInstance,
  SendItem,
  StartItem,
  TurnItem,
} from "../core/provider/commit.ts";
import { isTerminalStatus } from "../core/provider/instances.ts";
import { isCancelledBy } from "../core/provider/outcomes.ts";
import { DONE, isOtherRequest, KEY_REUSED } from "../core/provider/results.ts";
import { integerOrNull } from "./columns.ts";
import type { Connection } from "./connection.ts";
import type { Inbox } from "./inbox.ts";
import type { Instances } from "./instances.ts";
import type { KeptMessages } from "./kept.ts";
import type { Requests } from "./requests.ts";
import type { StepOutcomes } from "./step-outcomes.ts";
import type { Tasks } from "./tasks.ts";

export class Settlement {
  readonly #connection: Connection;
  readonly #instances: Instances;
  readonly #inbox: Inbox;
  readonly #tasks: Tasks;
  readonly #requests: Requests;
  readonly #kept: KeptMessages;
  readonly #stepOutcomes: StepOutcomes;
  readonly #selectCommit: StatementSync;

  constructor(
    connection: Connection,
    parts: {
      readonly instances: Instances;
      readonly inbox: Inbox;
      readonly tasks: Tasks;
      readonly requests: Requests;
      readonly kept: KeptMessages;
      readonly stepOutcomes: StepOutcomes;
    },
  ) {
    this.#connection = connection;
    this.#instances = parts.instances;
    this.#inbox = parts.inbox;
    this.#tasks = parts.tasks;
    this.#requests = parts.requests;
    this.#kept = parts.kept;
    this.#stepOutcomes = parts.stepOutcomes;
    this.#selectCommit = connection.prepare(
      "SELECT last_commit, lease_token FROM instances WHERE key = ?",
    );
  }

  settle(item: CommitItem): Promise<CommitResult | null> {
    return this.#connection.read(() => this.#settle(item));
  }

  #settle(item: CommitItem): CommitResult | null {
    switch (item.kind) {
      case "turn":
        return this.#turn(item);
      case "start":
        return this.#start(item);
      case "completion":
        return this.#tasks.find(item.task) === null ? DONE : null;
      case "retry":
      case "releaseTask": {
        const task = this.#tasks.find(item.task);
        return task === null || task.token === null ? DONE : null;
      }
      case "send":
        return this.#send(item);
      case "cancel":
        return isCancelledBy(this.#instances.find(item.id), item) ? DONE : null;
      case "terminate":
        return this.#instances.find(item.id)?.error === item.terminated ? DONE : null;
      case "block":
        return this.#instances.get(item.key)?.blocked === item.reason ? DONE : null;
      case "stepOutcome":
        return this.#stepOutcomes.isWaiting(item) ? DONE : null;
      case "pause":
        return this.#instances.find(item.id)?.paused === item.info ? DONE : null;
      case "resume":
        return this.#isLiveAndUnpaused(item.id) ? DONE : null;
      case "unblock":
        return null; // once more takes away no more
      case "fork":
        return this.#fork(item.instance);
      case "releaseInstance":
        return this.#instances.get(item.key)?.token === null ? DONE : null;
    }
  }

  #turn({ key, commitId, token, messagesMax }: TurnItem): CommitResult | null {
    const row = this.#selectCommit.get(key);
    if (row === undefined || integerOrNull(row, "last_commit") !== commitId) return null;
    const held = integerOrNull(row, "lease_token") === token;
    const due = held ? this.#inbox.due(key, this.#connection.now(), messagesMax) : [];
    return { kind: "committed", due };
  }

  #start(item: StartItem): CommitResult | null {
    const { id, runId, lease } = item;
    const found = this.#instances.find(id);
    if (found === null) return null;
    const { key, execution, token, status } = found;
    // Another start has followed, or this one met an instance that was there.
    if (found.runId !== runId) return this.#requests.findStart(key, item);
    const held = lease !== null && token === lease.token && !isTerminalStatus(status);
    return { kind: "started", key, execution, leased: held ? this.#inbox.findStart(key) : null };
  }

  #fork({ id, runId }: NewInstance): CommitResult | null {
    const found = this.#instances.find(id);
    if (found?.runId !== runId) return null;
    return { kind: "started", key: found.key, execution: 1, leased: null };
  }

  #send(item: SendItem): CommitResult | null {
    const target = this.#instances.find(item.id);
    if (target === null) return this.#kept.find(item, this.#connection.now());
    const request = { instance: target.key, kind: "send", id: item.requestId } as const;
    const earlier = this.#requests.find(request);
    if (earlier === null) return null;
    return isOtherRequest(earlier.digest, item.requestDigest) ? KEY_REUSED : DONE;
  }

  #isLiveAndUnpaused(id: string): boolean {
    const found = this.#instances.find(id);
    return found !== null && found.paused === null && !isTerminalStatus(found.status);
  }
}
