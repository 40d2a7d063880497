// Segments: a group cut where the order of its items matters.
//   SG1. Items of the everyday kinds are written together, kind by kind (batch.ts); the others one by one. An item
//        sees what those before it in the group have done, as if they came one after the other.
//   SG2. Together is written what gives the same in any order, and what nobody could have told apart: two calls of
//        which neither had returned when the other was made.

import type { CommitItem } from "../core/provider/commit.ts";
import type { TaskAddress } from "../core/provider/tasks.ts";

const EVERYDAY = [
  "start",
  "turn",
  "completion",
  "retry",
  "releaseTask",
  "stepOutcome",
  "send",
  "releaseInstance",
] as const;

export type EverydayItem = Extract<CommitItem, { readonly kind: (typeof EVERYDAY)[number] }>;
export type RareItem = Exclude<CommitItem, EverydayItem>;
export type Segment =
  | { readonly kind: "together"; readonly items: EverydayItem[] }
  | { readonly kind: "alone"; readonly item: RareItem };

export function segmentsOf(items: readonly CommitItem[]): Segment[] {
  const segments: Segment[] = [];
  let current: EverydayItem[] | null = null;
  let met = new Meetings();
  for (const item of items) {
    if (!isEveryday(item)) {
      segments.push({ kind: "alone", item });
      current = null;
      continue;
    }
    if (current === null || met.mustFollow(item)) {
      current = [];
      met = new Meetings();
      segments.push({ kind: "together", items: current });
    }
    met.note(item);
    current.push(item);
  }
  return segments;
}

/** What the items of a segment have touched so far. */
class Meetings {
  readonly #ids = new Set<string>();
  readonly #turns = new Set<number>();
  readonly #tasks = new Set<string>();

  note(item: EverydayItem): void {
    switch (item.kind) {
      case "start":
      case "send":
        this.#ids.add(item.id);
        break;
      case "turn":
      case "stepOutcome":
      case "releaseInstance":
        this.#turns.add(item.key);
        break;
      case "completion":
      case "retry":
      case "releaseTask":
        this.#tasks.add(addressOf(item.task));
    }
  }

  /** Within a segment starts come first, then turns, then the rest: what would come before what it follows, waits. */
  mustFollow(item: EverydayItem): boolean {
    switch (item.kind) {
      case "start":
        return this.#ids.has(item.id);
      case "turn":
        return this.#turns.has(item.key);
      case "completion":
      case "retry":
      case "releaseTask":
        return this.#tasks.has(addressOf(item.task));
      case "send":
      case "stepOutcome":
      case "releaseInstance":
        return false;
    }
  }
}

function isEveryday(item: CommitItem): item is EverydayItem {
  return (EVERYDAY as readonly string[]).includes(item.kind);
}

function addressOf({ key, execution, sequence }: TaskAddress): string {
  return `${key}:${execution}:${sequence}`;
}
