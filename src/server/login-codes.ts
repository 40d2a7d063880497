// Login codes: what the command line hands to a browser in place of a token. Arguments of a process are visible to every
// user of the machine, and an address stays in the history of a browser.
//   LC1. A code can be exchanged for a session, once, within CODE_MS of its making. It opens nothing else.
//   LC2. The server keeps its hash. At most CODES_MAX wait; the oldest makes room.

import { hash, randomBytes } from "node:crypto";

const PREFIX = "pdc_";
const CODE_MS = 60_000;
const CODES_MAX = 10;

export class LoginCodes {
  readonly #codes = new Map<string, { readonly tokenHash: Buffer; readonly until: number }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A new code that stands for the token. */
  issue(token: string): string {
    const code = PREFIX + randomBytes(32).toString("base64url");
    const oldest = this.#codes.size >= CODES_MAX ? this.#codes.keys().next().value : undefined;
    if (oldest !== undefined) this.#codes.delete(oldest);
    const tokenHash = hash("sha256", token, "buffer");
    this.#codes.set(keyOf(code), { tokenHash, until: this.#now() + CODE_MS });
    return code;
  }

  /** The hash of the token that the code stands for; the code is used up. */
  redeem(code: string): Buffer | null {
    const key = keyOf(code);
    const found = this.#codes.get(key);
    this.#codes.delete(key);
    return found !== undefined && found.until > this.#now() ? found.tokenHash : null;
  }
}

export function isLoginCode(bearer: string): boolean {
  return bearer.startsWith(PREFIX);
}

/** Looked up by its hash, so that no comparison of secrets is made that could be timed. */
function keyOf(code: string): string {
  return hash("sha256", code, "hex");
}
