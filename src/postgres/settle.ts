// Settle: what became of an item whose commit threw (I14).
//   T1. Before anything is read, whatever that commit may still be doing is over or barred (bar.ts): what is found
//       then stays so.
//   T2. Null means that nothing was written, or that nobody can tell; sending it again is harmless then,
//       because its token is compared again.

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
import { messagesOf, type Inbox } from "./inbox.ts";
import type { Instances } from "./instances.ts";
import type { KeptMessages } from "./kept.ts";
import { Pipeline, type Statement, type Value } from "./pipeline.ts";
import type { Requests } from "./requests.ts";
import type { StepOutcomes } from "./step-outcomes.ts";
import type { TaskHolds } from "./task-holds.ts";

export class Settlement {
  readonly #connection: Connection;
  readonly #instances: Instances;
  readonly #inbox: Inbox;
  readonly #holds: TaskHolds;
  readonly #requests: Requests;
  readonly #kept: KeptMessages;
  readonly #stepOutcomes: StepOutcomes;
  readonly #selectCommit: Statement;
  readonly #reading: {
    run: (statement: Statement, values?: readonly Value[]) => ReturnType<Connection["read"]>;
  };

  constructor(
    connection: Connection,
    parts: {
      readonly instances: Instances;
      readonly inbox: Inbox;
      readonly holds: TaskHolds;
      readonly requests: Requests;
      readonly kept: KeptMessages;
      readonly stepOutcomes: StepOutcomes;
    },
  ) {
    this.#connection = connection;
    this.#instances = parts.instances;
    this.#inbox = parts.inbox;
    this.#holds = parts.holds;
    this.#requests = parts.requests;
    this.#kept = parts.kept;
    this.#stepOutcomes = parts.stepOutcomes;
    this.#selectCommit = connection.prepare(
      "SELECT last_commit, lease_token FROM @instances WHERE key = $1",
    );
    this.#reading = { run: (statement, values) => connection.read(statement, values) };
  }

  async settle(item: CommitItem): Promise<CommitResult | null> {
    await this.#connection.settled(); // T1
    switch (item.kind) {
      case "turn":
        return this.#turn(item);
      case "start":
        return this.#start(item);
      case "completion":
        return (await this.#holds.find(item.task)) === null ? DONE : null;
      case "retry":
      case "releaseTask": {
        const task = await this.#holds.find(item.task);
        return task === null || task.token === null ? DONE : null;
      }
      case "send":
        return this.#send(item);
      case "cancel":
        return isCancelledBy(await this.#instances.peek(item.id), item) ? DONE : null;
      case "terminate":
        return (await this.#instances.peek(item.id))?.error === item.terminated ? DONE : null;
      case "block":
        return (await this.#instances.peekByKey(item.key))?.blocked === item.reason ? DONE : null;
      case "stepOutcome":
        return (await this.#stepOutcomes.isWritten(item)) ? DONE : null;
      case "pause":
        return (await this.#instances.peek(item.id))?.paused === item.info ? DONE : null;
      case "resume":
        return (await this.#isLiveAndUnpaused(item.id)) ? DONE : null;
      case "unblock":
        return null; // once more takes away no more
      case "fork":
        return this.#fork(item.instance);
      case "releaseInstance":
        return (await this.#instances.peekByKey(item.key))?.token === null ? DONE : null;
    }
  }

  async #turn({ key, commitId, token, messagesMax }: TurnItem): Promise<CommitResult | null> {
    const [row] = await this.#connection.read(this.#selectCommit, [key]);
    if (row === undefined || integerOrNull(row, "last_commit") !== commitId) return null;
    if (integerOrNull(row, "lease_token") !== token) return { kind: "committed", due: [] };
    const pipeline = new Pipeline();
    const due = this.#inbox.due(pipeline, [{ key, messages_max: messagesMax }]);
    await this.#connection.look(pipeline);
    return { kind: "committed", due: messagesOf(due).get(key) ?? [] };
  }

  async #start(item: StartItem): Promise<CommitResult | null> {
    const { id, runId, lease } = item;
    const found = await this.#instances.peek(id);
    if (found === null) return null;
    const { key, execution, token, status } = found;
    // Another start has followed, or this one met an instance that was there.
    if (found.runId !== runId) return this.#requests.findStart(this.#reading, key, item);
    const held = lease !== null && token === lease.token && !isTerminalStatus(status);
    const leased = held ? await this.#inbox.findStart(this.#reading, key) : null;
    return { kind: "started", key, execution, leased };
  }

  async #fork({ id, runId }: NewInstance): Promise<CommitResult | null> {
    const found = await this.#instances.peek(id);
    if (found?.runId !== runId) return null;
    return { kind: "started", key: found.key, execution: 1, leased: null };
  }

  async #send(item: SendItem): Promise<CommitResult | null> {
    const target = await this.#instances.peek(item.id);
    if (target === null) return this.#kept.find(this.#reading, item);
    const request = { instance: target.key, kind: "send", id: item.requestId } as const;
    const earlier = await this.#requests.find(this.#reading, request);
    if (earlier === null) return null;
    return isOtherRequest(earlier.digest, item.requestDigest) ? KEY_REUSED : DONE;
  }

  async #isLiveAndUnpaused(id: string): Promise<boolean> {
    const found = await this.#instances.peek(id);
    return found !== null && found.paused === null && !isTerminalStatus(found.status);
  }
}
