// Sessions: a browser exchanges a token for a cookie, so that its pages do not have to keep the token.
//   - The cookie is HttpOnly and SameSite=Strict. It is Secure except on plain HTTP on this machine,
//        because some browsers would reject it there. Its value is random; the server stores only its hash.
//   - A session has the current rights of its token: revoking the token ends the session (S7).
//   - The server keeps at most SESSIONS_PER_TOKEN_MAX sessions per token and SESSIONS_MAX in total. A
//        token over its limit loses its oldest session. If the server is full, the token with the most
//        sessions loses its oldest one. So a login never ends the only session of another caller while any
//        caller has several.
//   - A session ends after LIFE_MS, and when the process ends.

import { hash, randomBytes } from "node:crypto";

export const SESSIONS_MAX = 1_000;
export const SESSIONS_PER_TOKEN_MAX = 20;
const LIFE_MS = 12 * 3_600_000;

interface Session {
  readonly tokenHash: Buffer;
  readonly until: number;
}

/**
 * The scope of a cookie. Browsers separate cookies by path but not by port, so the port is part of the name.
 */
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

  /** Opens a session and returns its Set-Cookie header. */
  open(tokenHash: Buffer, scope: CookieScope): string {
    const value = randomBytes(32).toString("base64url");
    this.#evict(tokenHash.toString("hex"));
    this.#sessions.set(keyOf(value), { tokenHash, until: this.#now() + LIFE_MS });
    return cookieLine(value, LIFE_MS / 1_000, scope);
  }

  #evict(token: string): void {
    const byToken = Map.groupBy(this.#sessions, ([, session]) => session.tokenHash.toString("hex"));
    const own = byToken.get(token) ?? [];
    const all = [...byToken.values()];
    const most = all.reduce((one, other) => (other.length > one.length ? other : one), own);
    const isFull = this.#sessions.size >= SESSIONS_MAX;
    const from = own.length >= SESSIONS_PER_TOKEN_MAX ? own : isFull ? most : [];
    const [oldest] = from; // the map is ordered by login time
    if (oldest !== undefined) this.#sessions.delete(oldest[0]);
  }

  /** The hash of the session's token. */
  tokenOf(cookie: string): Buffer | null {
    const key = keyOf(cookie);
    const session = this.#sessions.get(key);
    if (session === undefined) return null;
    if (session.until > this.#now()) return session.tokenHash;
    this.#sessions.delete(key);
    return null;
  }

  /** Closes a session and returns the Set-Cookie header that removes the cookie. */
  close(cookie: string | undefined, scope: CookieScope): string {
    if (cookie !== undefined) this.#sessions.delete(keyOf(cookie));
    return cookieLine("", 0, scope);
  }
}

/** The value of the session cookie in a Cookie header. */
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

/** Sessions are looked up by hash, so that the time of a comparison reveals nothing about a cookie. */
function keyOf(value: string): string {
  return hash("sha256", value, "hex");
}
