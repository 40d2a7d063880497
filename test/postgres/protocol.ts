// PostgreSQL's protocol, read far enough for a proxy to know where a call ends and whether it commits something.

import { Statement } from "../../src/postgres/pipeline.ts";

const SYNC = "S".charCodeAt(0);
/** A COMMIT is parsed once on a connection; from then on it goes by its name. */
const COMMITS = ["COMMIT", new Statement("COMMIT").name];

export function isCommit(call: Buffer): boolean {
  return COMMITS.some((text) => call.includes(text));
}

/** How long the message is that opens a connection; null: it is not all there. */
export function startLength(buffer: Buffer): number | null {
  if (buffer.length < 4) return null;
  const length = buffer.readInt32BE(0);
  return buffer.length < length ? null : length;
}

/** How many bytes it is to the end of the call; before the first one, messages are calls of their own. */
export function callLength(buffer: Buffer): number | null {
  let at = 0;
  while (buffer.length - at >= 5) {
    const type = buffer[at];
    const end = at + 1 + buffer.readInt32BE(at + 1);
    if (end > buffer.length) return null;
    // Parse, Bind, Describe, Execute and Close go on until a Sync; everything else stands alone.
    if (type === SYNC || !"PBDEC".includes(String.fromCharCode(type ?? 0))) return end;
    at = end;
  }
  return null;
}
