// Tags: which workers may take a task (semantics 15).
//   - tags.1: A task's tags are a set. They are recorded and stored sorted and unique, so that equal sets are
//       equal texts.
//   - Tags are compared exactly, character by character, without trimming or case folding.
//   - Stores that filter tasks and runtimes that lease a new task directly share the rule in this file.

import { invalidArgument } from "../checks.ts";
import { checkStorable, showValue } from "./ids.ts";
import type { TagFilter } from "../provider/tasks.ts";

/** Whether a worker with this filter takes a task with these tags. Null means the same as an empty list. */
export function acceptsTags(filter: TagFilter, tags: readonly string[] | null): boolean {
  if (filter === "any") return true;
  if (filter === "none") return false;
  if (tags === null || tags.length === 0) return filter === "untagged" || filter.untagged;
  if (filter === "untagged") return false;
  return tags.every((tag) => filter.tags.includes(tag));
}

/**
 * The tags of a call as they are recorded. An empty list means no tags, whatever the activity's defaults are.
 * The run checks the limits at the call (limits.1).
 */
export function normalizeTags(tags: unknown, what: string): readonly string[] {
  const list: readonly unknown[] = typeof tags === "string" ? [tags] : listOf(tags, what);
  for (const tag of list) checkTag(tag, what);
  return [...new Set(list as readonly string[])].toSorted();
}

/** Throws unless the value is a runtime's tag filter. The number of tags of a worker has no limit. */
export function checkTagFilter(filter: unknown): void {
  if (filter === "untagged" || filter === "any" || filter === "none") return;
  const wanted = '"untagged", "any", "none" or { tags, untagged }';
  if (typeof filter !== "object" || filter === null || Array.isArray(filter)) {
    throw invalidArgument(`tags of a runtime must be ${wanted}; got ${showValue(filter)}.`);
  }
  const { tags, untagged, ...rest } = filter as Readonly<Record<string, unknown>>;
  if (typeof untagged !== "boolean" || Object.keys(rest).length > 0) {
    throw invalidArgument(`tags of a runtime must be ${wanted}; untagged must be true or false.`);
  }
  const list = listOf(tags, "The runtime");
  for (const tag of list) checkTag(tag, "The runtime");
  if (list.length === 0) {
    const instead = 'use "untagged" or "none" instead';
    throw invalidArgument(`A runtime's list of tags must not be empty; ${instead}.`);
  }
}

function listOf(tags: unknown, what: string): readonly unknown[] {
  if (Array.isArray(tags)) return tags;
  throw invalidArgument(`${what}: tags must be a list of texts; got ${showValue(tags)}.`);
}

function checkTag(tag: unknown, what: string): void {
  if (typeof tag !== "string" || tag === "") {
    const got = showValue(tag);
    throw invalidArgument(`${what}: a tag must be a text of at least one character; got ${got}.`);
  }
  checkStorable(tag, `${what}: tag`);
}
