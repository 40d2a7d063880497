// Sessions: a token exchanged for a cookie, so that a page in a browser need not hold the token.
//   SN1. The cookie is HttpOnly and SameSite=Strict; Secure except on plain HTTP of this machine, where some
//        browsers would not keep it. Its value is random; the server keeps its hash.
//   SN2. A session is worth what its token is worth now: revoking the token ends it (S7).
//   SN3. At most SESSIONS_PER_TOKEN_MAX per token, and SESSIONS_MAX in all. The oldest session of the token makes room;
//        if the server is full, the oldest of the token that has the most. So no login ends the only session of
//        another caller while somebody else has several. A session ends after LIFE_MS, and with the process.

import { hash, randomBytes } from "node:crypto";

export const SESSIONS_MAX = 1_000;
export const SESSIONS_PER_TOKEN_MAX = 20;
const LIFE_MS = 12 * 3_600_000;

interface Session {
  readonly tokenHash: Buffer;
  readonly until: number;
}

/** Where a cookie is valid: browsers tell paths apart, but not ports. */
export interface CookieScope {
  readonly port: string;
  readonly path: string;
  readonly secure: boolean;
}

export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The Set-Cookie line of a new session. */
  open(tokenHash: Buffer, scope: CookieScope): string {
    const value = randomBytes(32).toString("base64url");
    this.#makeRoom(tokenHash.toString("hex"));
    this.#sessions.set(keyOf(value), { tokenHash, until: this.#now() + LIFE_MS });
    return cookieLine(value, LIFE_MS / 1_000, scope);
  }

  #makeRoom(token: string): void {
    const byToken = Map.groupBy(this.#sessions, ([, session]) => session.tokenHash.toString("hex"));
    const own = byToken.get(token) ?? [];
    const all = [...byToken.values()];
    const most = all.reduce((one, other) => (other.length > one.length ? other : one), own);
    const isFull = this.#sessions.size >= SESSIONS_MAX;
    const from = own.length >= SESSIONS_PER_TOKEN_MAX ? own : isFull ? most : [];
    const [oldest] = from; // in the order of the map, which is that of their logins
    if (oldest !== undefined) this.#sessions.delete(oldest[0]);
  }

  /** The hash of the token that the session stands for. */
  tokenOf(cookie: string): Buffer | null {
    const key = keyOf(cookie);
    const session = this.#sessions.get(key);
    if (session === undefined) return null;
    if (session.until > this.#now()) return session.tokenHash;
    this.#sessions.delete(key);
    return null;
  }

  /** The Set-Cookie line that takes it away. */
  close(cookie: string | undefined, scope: CookieScope): string {
    if (cookie !== undefined) this.#sessions.delete(keyOf(cookie));
    return cookieLine("", 0, scope);
  }
}

/** The session's cookie among all that the browser sent. */
export function sessionCookie(header: string | null, port: string): string | undefined {
  const name = `${cookieName(port)}=`;
  const found = header?.split(";").find((part) => part.trim().startsWith(name));
  return found?.trim().slice(name.length);
}

function cookieName(port: string): string {
  return `perdure_${port}`;
}

function cookieLine(value: string, ageSeconds: number, scope: CookieScope): string {
  const secure = scope.secure ? "; Secure" : "";
  const rest = `Path=${scope.path}; Max-Age=${ageSeconds}; HttpOnly; SameSite=Strict${secure}`;
  return `${cookieName(scope.port)}=${value}; ${rest}`;
}

/** Looked up by its hash, so that no comparison of secrets is made that could be timed. */
function keyOf(value: string): string {
  return hash("sha256", value, "hex");
}
