// Stream rows: maps rows of streams to the records of the contract.
//   - A chunk that fails its checksum is returned as damaged items, also if it was a reset.

import { CHUNK_KINDS, type NewChunk } from "../../core/provider/shared/streams.ts";
import type { StreamChunk, StreamItemsState, StreamRecord } from "../../core/provider/streams.ts";
import { checksumOf, type ChecksumPart } from "../../core/values/checksum.ts";
import { defined } from "../../core/values/defined.ts";
import { flag, integer, integerOrNull, json, text, word, type Row } from "../columns.ts";

const STATES: readonly StreamItemsState[] = ["settled", "open", "void"];

/** The checksum of a chunk (admin/checksums.ts). */
export function checksumOfChunk(instance: number, name: string, chunk: NewChunk): number {
  return checksumOf(...contentsOf(instance, name, chunk), chunk.first);
}

/** The checksum without the offset. PostgreSQL adds the offset, which only the insert knows. */
export function checksumOfContents(
  instance: number,
  name: string,
  chunk: Omit<NewChunk, "first">,
): number {
  return checksumOf(...contentsOf(instance, name, chunk));
}

function contentsOf(
  instance: number,
  name: string,
  { count, execution, call, kind, data }: Omit<NewChunk, "first">,
): readonly ChecksumPart[] {
  return [instance, name, count, execution, call, kind, data];
}

/** Reads all columns of a chunk, and its state if `hasState`. */
export function toChunk(row: Row, hasState: boolean): StreamChunk {
  const chunk: NewChunk = {
    first: integer(row, "first"),
    count: integer(row, "count"),
    execution: integer(row, "execution"),
    call: integer(row, "call"),
    kind: word(row, "kind", CHUNK_KINDS),
    data: text(row, "data"),
  };
  const { first: offset, count, execution, call, kind } = chunk;
  const checksum = checksumOfChunk(integer(row, "instance"), text(row, "name"), chunk);
  const isDamaged = integerOrNull(row, "checksum") !== checksum;
  if (kind === "reset" && !isDamaged) {
    return { kind: "reset", offset, call, from: integer(row, "data") };
  }
  const values = isDamaged ? undefined : json(row, "data", isTextList);
  const state = hasState ? word(row, "state", STATES) : undefined;
  const items = { kind: "items", offset, call, execution, count, ...defined({ state }) } as const;
  return values === undefined ? { ...items, values: [], damaged: true } : { ...items, values };
}

export function toStreamRecord(row: Row): StreamRecord {
  return {
    name: text(row, "name"),
    first: integer(row, "first"),
    next: integer(row, "next"),
    isClosed: flag(row, "closed"),
    updatedAt: integer(row, "updated_at"),
  };
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((member) => typeof member === "string");
}
