// Scope: what a script knows of the transaction that it runs in.

import { text, textOrNull, type Row } from "../columns.ts";

/**
 * Which runtime can process a due instance: its owner or, if it has none, any runtime that registers the
 * target.
 */
export interface Due {
  readonly owner: string | null;
  readonly target: string;
}

/** The changes to publish after the commit. SQLite's notifications carry fewer details. */
export interface Changes {
  due(instanceId: string, due: Due): void;
  changed(instanceId: string): void;
  /** Tasks of that name wait in the queue; ANY_TASK stands for every name. */
  queued(name: string): void;
  /** A stream of the instance has entries, was closed or settled. */
  streamed(instanceId: string): void;
  /** A task of the instance was deleted while a worker may be running it. */
  withdrawn(instanceId: string): void;
}

/** Stands for every task name: tasks of any name may be waiting. */
export const ANY_TASK = "";

export interface Scope {
  /** The store's time when the transaction began. */
  readonly now: number;
  readonly changes: Changes;
}

/** Adds the instances of rows with the columns id, lease_owner and target. */
export function addDue(rows: readonly Row[], changes: Changes): void {
  for (const row of rows) changes.due(text(row, "id"), toDue(row));
}

export function toDue(row: Row): Due {
  return { owner: textOrNull(row, "lease_owner"), target: text(row, "target") };
}
