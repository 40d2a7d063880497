// Login codes: the command line passes one to the browser instead of a token, because every user of the
// machine can read the arguments of a process, and browsers record addresses in their history.
//   - login-codes.1: A code can be exchanged for a session once, within CODE_MS. It is not valid for any
//        other request.
//   - The server stores only the hash of a code. It keeps at most CODES_MAX codes and drops the oldest
//        first.

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

  /** Returns a new code for the token. */
  issue(token: string): string {
    const code = PREFIX + randomBytes(32).toString("base64url");
    const oldest = this.#codes.size >= CODES_MAX ? this.#codes.keys().next().value : undefined;
    if (oldest !== undefined) this.#codes.delete(oldest);
    const tokenHash = hash("sha256", token, "buffer");
    this.#codes.set(keyOf(code), { tokenHash, until: this.#now() + CODE_MS });
    return code;
  }

  /** Returns the hash of the code's token, and invalidates the code. */
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

/** Codes are looked up by hash, so that the time of a comparison reveals nothing about a code. */
function keyOf(code: string): string {
  return hash("sha256", code, "hex");
}
