// The streams of W14, with their readers.

import { strict as assert } from "node:assert";
import type { Handle } from "../../src/index.ts";
import { stream } from "../../src/stream/index.ts";
import type { Token, TokenTimes } from "../tokens.ts";

export const tokens = stream<Token>("tokens");

/** Reads the stream to its end: every offset once and in order, and no reset. Returns the number of tokens. */
export async function readTokens(
  handle: Pick<Handle<unknown>, "stream">,
  times: TokenTimes,
): Promise<number> {
  let next = 0;
  for await (const entry of handle.stream(tokens)) {
    if (entry.kind === "end") return next;
    assert.equal(entry.kind, "item", "no activity ran twice");
    assert.equal(entry.offset, next++, "offsets have no gaps");
    times.add(entry.value, entry.offset);
  }
  throw new Error("The stream has no end.");
}
