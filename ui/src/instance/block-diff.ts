// Compares the two sides of a nondeterminism error member by member.

import type { Block, Sketch } from "../api/types.ts";

export interface DiffLine {
  readonly name: string;
  readonly recorded: string | null;
  readonly requested: string | null;
  readonly isSame: boolean;
}

const MEMBERS = [
  "kind",
  "name",
  "id",
  "node",
  "scheduled",
  "input",
  "since",
  "session",
  "tags",
] as const;

/** Null if the block has another cause. */
export function diffOf({ recorded, requested }: Block): readonly DiffLine[] | null {
  if (recorded === undefined && requested === undefined) return null;
  const old = recorded ?? null;
  const asked = requested ?? null;
  return MEMBERS.flatMap((name) => {
    const before = textOf(old, name);
    const after = textOf(asked, name);
    if (before === null && after === null && name !== "kind") return [];
    return [{ name, recorded: before, requested: after, isSame: before === after }];
  });
}

function textOf(sketch: Sketch | null, name: (typeof MEMBERS)[number]): string | null {
  // The server can be older than this page, so any member can be missing.
  const value: unknown = sketch === null ? undefined : Reflect.get(sketch, name);
  if (value === undefined) return null;
  return Array.isArray(value) ? value.join(", ") : String(value);
}
