// Tags: which workers may take a task (semantics 15).
//   TG1. A task's tags are a set: recorded and stored sorted and unique, so that equal sets are equal texts.
//   TG2. Equality is exact, character by character; nothing is trimmed or folded.
//   TG3. The rule stands here once, for stores that filter and for runtimes that give leases at birth.

import { PerdureError } from "./errors.ts";
import { checkStorable } from "./ids.ts";
import type { TagFilter } from "./provider/tasks.ts";

/** Whether a worker with this filter takes a task with these tags; null and none at all are the same. */
export function acceptsTags(filter: TagFilter, tags: readonly string[] | null): boolean {
  if (filter === "any") return true;
  if (filter === "none") return false;
  if (tags === null || tags.length === 0) return filter === "untagged" || filter.untagged;
  if (filter === "untagged") return false;
  return tags.every((tag) => filter.tags.includes(tag));
}

/** The tags of a call as they are recorded; limits are the runtime's to judge, at the call (LM1). An empty list says: none, whatever the defaults are. */
export function normalizeTags(tags: unknown, what: string): readonly string[] {
  const list: readonly unknown[] = typeof tags === "string" ? [tags] : listOf(tags, what);
  for (const tag of list) checkTag(tag, what);
  return [...new Set(list as readonly string[])].toSorted();
}

/** A runtime's filter, checked; how many tags a worker has is its own business. */
export function checkTagFilter(filter: unknown): void {
  if (filter === "untagged" || filter === "any" || filter === "none") return;
  const wanted = '"untagged", "any", "none" or { tags, untagged }';
  if (typeof filter !== "object" || filter === null || Array.isArray(filter)) {
    throw invalid(`tags of a runtime is ${wanted}, not ${shown(filter)}.`);
  }
  const { tags, untagged, ...rest } = filter as Readonly<Record<string, unknown>>;
  if (typeof untagged !== "boolean" || Object.keys(rest).length > 0) {
    throw invalid(`tags of a runtime is ${wanted}; untagged is true or false.`);
  }
  const list = listOf(tags, "The runtime");
  for (const tag of list) checkTag(tag, "The runtime");
  if (list.length === 0) {
    throw invalid('A runtime\'s list of tags is not empty; say "untagged" or "none" instead.');
  }
}

function listOf(tags: unknown, what: string): readonly unknown[] {
  if (Array.isArray(tags)) return tags;
  throw invalid(`${what} has tags that are no list of texts: ${shown(tags)}.`);
}

function checkTag(tag: unknown, what: string): void {
  if (typeof tag !== "string" || tag === "") {
    throw invalid(`${what} has a tag that is not a text with at least one character.`);
  }
  checkStorable(tag, `${what}: tag`);
}

function shown(value: unknown): string {
  return typeof value === "string" ? `"${value}"` : typeof value;
}

function invalid(message: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", message);
}
