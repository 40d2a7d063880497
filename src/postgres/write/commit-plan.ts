// Commit plan: splits a group into parts where the order of its items matters.
//   - Common kinds of items are written together, kind by kind (batched-writes.ts); each other item is
//     written alone. An item sees the effects of the items before it in the group, as if they had been
//     committed one after the other.
//   - Items share a part if their order cannot be observed: either every order gives the same result, or
//     both calls were in flight at the same time.

import type { RareItem } from "../../sql/write/rare-items.ts";
import type { CommitItem, TurnItem } from "../../core/provider/commit.ts";
import type { AppendItem } from "../../core/provider/streams.ts";
import type { TaskAddress } from "../../core/provider/tasks.ts";

const BATCHED_KINDS = [
  "start",
  "turn",
  "completion",
  "retry",
  "releaseTask",
  "append",
  "stepOutcome",
  "send",
  "ask",
  "releaseInstance",
] as const;

export type BatchedItem = Extract<CommitItem, { readonly kind: (typeof BATCHED_KINDS)[number] }>;
export type CommitPart =
  | { readonly kind: "together"; readonly items: BatchedItem[] }
  | { readonly kind: "alone"; readonly item: RareItem };

export function planCommit(items: readonly CommitItem[]): CommitPart[] {
  const parts: CommitPart[] = [];
  let current: BatchedItem[] | null = null;
  let touched = new TouchedRows();
  for (const item of items) {
    if (!isBatched(item)) {
      parts.push({ kind: "alone", item });
      current = null;
      continue;
    }
    if (current === null || touched.mustFollow(item)) {
      current = [];
      touched = new TouchedRows();
      parts.push({ kind: "together", items: current });
    }
    touched.note(item);
    current.push(item);
  }
  return parts;
}

/** The instances and tasks that the items of one part have touched so far. */
class TouchedRows {
  readonly #ids = new Set<string>();
  /** With the turn of the instance, if the part has one. */
  readonly #keys = new Map<number, TurnItem | null>();
  readonly #tasks = new Set<string>();
  readonly #streams = new Set<string>();

  note(item: BatchedItem): void {
    switch (item.kind) {
      case "start":
      case "send":
      case "ask":
        this.#ids.add(item.id);
        break;
      case "turn":
        this.#keys.set(item.key, item);
        break;
      case "stepOutcome":
      case "releaseInstance":
        this.#keys.set(item.key, this.#keys.get(item.key) ?? null);
        break;
      case "append":
        this.#streams.add(streamOf(item));
        break;
      case "completion":
      case "retry":
      case "releaseTask":
        this.#tasks.add(addressOf(item.task));
    }
  }

  /**
   * A part writes starts first, then turns, then the rest. An item that this would move before an earlier
   * item of the same instance or task begins a new part. The claims of appends are checked before anything else
   * is written, so an append begins a new part after an item that creates or ends its task.
   */
  mustFollow(item: BatchedItem): boolean {
    switch (item.kind) {
      case "start":
        return this.#ids.has(item.id);
      case "turn":
        return this.#keys.has(item.key);
      case "completion":
      case "retry":
      case "releaseTask":
        return this.#tasks.has(addressOf(item.task));
      case "append": {
        const { task } = item;
        if (this.#tasks.has(addressOf(task)) || this.#streams.has(streamOf(item))) return true;
        const turn = this.#keys.get(task.key) ?? null;
        return turn !== null && changesTask(turn, task);
      }
      case "send":
      case "ask":
      case "stepOutcome":
      case "releaseInstance":
        return false;
    }
  }
}

export function isBatched(item: CommitItem): item is BatchedItem {
  return (BATCHED_KINDS as readonly string[]).includes(item.kind);
}

function changesTask(
  { change, tasks, finished, cancelledTasks }: TurnItem,
  { execution, sequence }: TaskAddress,
): boolean {
  if (change.kind !== "none" || cancelledTasks.includes(sequence)) return true;
  if (tasks.some((task) => task.sequence === sequence)) return true;
  return finished.some((claim) => claim.execution === execution && claim.sequence === sequence);
}

function streamOf({ task, name }: AppendItem): string {
  return `${addressOf(task)}:${name}`;
}

function addressOf({ key, execution, sequence }: TaskAddress): string {
  return `${key}:${execution}:${sequence}`;
}
