// The list of an instance's streams, and the deletion of old entries.

import { checkInteger, checkMembers, invalidArgument } from "../../core/checks.ts";
import { readableStreamName, type AnyStream } from "../../core/define/stream.ts";
import { notFound, type Store } from "../store.ts";
import type { StreamInfo } from "./entries.ts";

const TRIM_OPTIONS = { before: true } as const;

/** Sorted by name. */
export async function listStreams(store: Store, id: string): Promise<readonly StreamInfo[]> {
  const records = await store.read((provider) => provider.listStreams(id));
  if (records === null) throw notFound(id);
  return records.map((record) => ({ ...record, updatedAt: new Date(record.updatedAt) }));
}

export async function trimStream(
  store: Store,
  id: string,
  stream: AnyStream | string,
  options: { readonly before: number },
): Promise<void> {
  const { name, before } = checkTrim(stream, options, "handle.trim");
  await store.write(id, { kind: "trim", id, name, before });
}

/** Throws for invalid arguments. */
export function checkTrim(
  stream: AnyStream | string,
  options: { readonly before: number },
  what: string,
): { readonly name: string; readonly before: number } {
  const name = readableStreamName(stream);
  checkMembers(options, TRIM_OPTIONS, what);
  const { before }: { readonly before?: number } = options;
  if (before === undefined) throw invalidArgument(`${what} needs the option "before".`);
  checkInteger(before, 0, "before");
  return { name, before };
}
