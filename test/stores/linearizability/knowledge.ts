// Knowledge: the answers that the clients of one history have received. The clients share it, so that they compete for
// the same leases and tasks.
//   - knowledge.1: Lost leases are not forgotten: they are still used occasionally, as stale leases.

import type {
  CommitItem,
  CommitResult,
  LeasedInstances,
  LeasedTasks,
  Message,
  TaskClaim,
} from "../../../src/core/provider/index.ts";
import type { Held } from "../model/caller.ts";
import type { Call } from "../model/calls.ts";

export class Knowledge {
  /** The newest is last. */
  readonly holds: Held[] = [];
  readonly claims: TaskClaim[] = [];
  readonly #messages = new Map<number, number[]>();

  messagesOf(key: number): readonly number[] {
    return this.#messages.get(key) ?? [];
  }

  learn(call: Call, answer: unknown): void {
    switch (call.method) {
      case "commit":
        for (const [index, item] of call.items.entries()) {
          const result = (answer as readonly CommitResult[])[index];
          if (result !== undefined) this.#learnResult(item, result);
        }
        return;
      case "leaseInstances":
        for (const leased of (answer as LeasedInstances).instances) {
          const { key, id, runId, execution, token, lastEvent, messages } = leased;
          this.#hold({ key, id, runId, execution, token, lastEvent, owner: call.request.owner });
          this.#see(key, messages);
        }
        return;
      case "leaseTasks":
        for (const { key, execution, sequence, token } of (answer as LeasedTasks).tasks) {
          this.claims.push({ key, execution, sequence, token });
        }
        return;
      case "takeMessages":
        this.#see(call.from.key, answer as readonly Message[]);
        return;
      default:
    }
  }

  #learnResult(item: CommitItem, result: CommitResult): void {
    if (result.kind === "refused" && result.code === "LEASE_LOST") {
      if ("task" in item) toFront(this.claims, item.task.token);
      else if ("token" in item) toFront(this.holds, item.token);
    }
    if (item.kind === "completion" && result.kind === "done") toFront(this.claims, item.task.token);
    if (item.kind === "start" && result.kind === "started") {
      const { id, runId, lease, firstTurn } = item;
      const { key, execution, leased, due } = result;
      const { owner = "", token = 0 } = lease ?? {};
      if (leased === null && due === undefined) return;
      this.#hold({ key, id, runId, execution, token, lastEvent: 0, owner });
      if (leased !== null) this.#see(key, [leased]);
      if (due === undefined || firstTurn === undefined) return;
      this.#learnResult({ ...firstTurn, key }, { kind: "committed", due });
    }
    if (item.kind !== "turn" || result.kind !== "committed") return;
    const { key, execution, row } = item;
    const held = this.holds.findLast((each) => each.key === key && each.token === item.token);
    if (held !== undefined) {
      const isContinued = item.change.kind === "continued";
      const lastEvent = isContinued ? 0 : (row?.last ?? item.lastEvent);
      this.#hold({ ...held, execution: execution + (isContinued ? 1 : 0), lastEvent });
    }
    for (const { sequence, lease } of item.tasks) {
      if (lease !== null) this.claims.push({ key, execution, sequence, token: lease.token });
    }
    const left = this.messagesOf(key).filter((id) => !item.consumed.includes(id));
    this.#messages.set(key, left);
    this.#see(key, result.due);
  }

  #hold(held: Held): void {
    this.holds.push(held);
  }

  #see(key: number, messages: readonly Message[]): void {
    const ids = new Set([...this.messagesOf(key), ...messages.map(({ id }) => id)]);
    this.#messages.set(key, [...ids]);
  }
}

function toFront(all: { readonly token: number }[], token: number): void {
  const index = all.findLastIndex((each) => each.token === token);
  if (index > 0) all.unshift(...all.splice(index, 1));
}
