// Parses the protocol of PostgreSQL far enough for a proxy to find the end of a call and whether it commits something.

import { Statement } from "../../../src/postgres/connection/pipeline.ts";

const SYNC = "S".charCodeAt(0);
/** A COMMIT is parsed once per connection; later calls use its name. */
const COMMITS = ["COMMIT", new Statement("COMMIT").name];

export function isCommit(call: Buffer): boolean {
  return COMMITS.some((text) => call.includes(text));
}

/** The length of the message that opens a connection; null if it is incomplete. */
export function startLength(buffer: Buffer): number | null {
  if (buffer.length < 4) return null;
  const length = buffer.readInt32BE(0);
  return buffer.length < length ? null : length;
}

/** The length of the first call in the buffer; null if it is incomplete. */
export function callLength(buffer: Buffer): number | null {
  let at = 0;
  while (buffer.length - at >= 5) {
    const type = buffer[at];
    const end = at + 1 + buffer.readInt32BE(at + 1);
    if (end > buffer.length) return null;
    // Parse, Bind, Describe, Execute and Close belong together until a Sync. Every other message is one call.
    if (type === SYNC || !"PBDEC".includes(String.fromCharCode(type ?? 0))) return end;
    at = end;
  }
  return null;
}
