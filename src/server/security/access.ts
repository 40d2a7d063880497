// Access: finds the caller of a request.
//   - The server checks the token in the Authorization header, then the session cookie, then the option
//        `authenticate`. If a request has an invalid token, its cookie is ignored.
//   - A login code can only open a session (login-codes.ts).
//   - Tokens are accepted only in the Authorization header, not in the URL, because logs record URLs.
//   - Access fails closed: if `authenticate` or the token source throws, the answer is 503; an unknown
//        caller gets 401 (S8).

import { isLoginCode, LoginCodes } from "./login-codes.ts";
import { isRole, type Principal } from "./roles.ts";
import { Refusal } from "../http/problems.ts";
import { sessionCookie, Sessions } from "./sessions.ts";
import type { TokenBook } from "./tokens.ts";

/** Identifies a caller by the application's own means. Returns null for an unknown caller. */
export type Authenticate = (request: Request) => Principal | null | Promise<Principal | null>;

export interface Caller extends Principal {
  /** The hash of the caller's token. A session is opened from it. Null: the caller sent no token. */
  readonly tokenHash: Buffer | null;
}

export class Access {
  readonly sessions: Sessions;
  readonly codes: LoginCodes;
  readonly #book: TokenBook | null;
  readonly #authenticate: Authenticate | null;

  constructor(options: {
    readonly book: TokenBook | null;
    readonly authenticate: Authenticate | null;
    readonly now: () => number;
  }) {
    this.#book = options.book;
    this.#authenticate = options.authenticate;
    this.sessions = new Sessions(options.now);
    this.codes = new LoginCodes(options.now);
  }

  /** Throws UNAUTHENTICATED if the caller is unknown. */
  async callerOf(request: Request, port: string): Promise<Caller> {
    const caller = await this.#find(request, port);
    if (caller !== null) return caller;
    throw new Refusal("UNAUTHENTICATED", undefined, { "WWW-Authenticate": "Bearer" });
  }

  async #find(request: Request, port: string): Promise<Caller | null> {
    const authorization = request.headers.get("authorization");
    const bearer = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? "")?.[1];
    if (bearer !== undefined && this.#book !== null && isLoginCode(bearer)) {
      const tokenHash = opensSession(request) ? this.codes.redeem(bearer) : null;
      const found = tokenHash === null ? null : await this.#book.findHash(tokenHash);
      return found === null ? null : callerFrom(found, found.hash);
    }
    if (bearer !== undefined && this.#book !== null) {
      const found = await this.#book.find(bearer);
      if (found !== null) return callerFrom(found, found.hash);
    }
    if (authorization === null && this.#book !== null) {
      const cookie = sessionCookie(request.headers.get("cookie"), port);
      const tokenHash = cookie === undefined ? null : this.sessions.tokenOf(cookie);
      const found = tokenHash === null ? null : await this.#book.findHash(tokenHash);
      if (found !== null) return callerFrom(found, null);
    }
    return this.#byApplication(request);
  }

  async #byApplication(request: Request): Promise<Caller | null> {
    if (this.#authenticate === null) return null;
    let principal: Principal | null;
    try {
      // A copy without the body: the route still has to read the body.
      principal = await this.#authenticate(new Request(request.url, { headers: request.headers }));
    } catch (error) {
      throw Object.assign(new Refusal("ACCESS_UNAVAILABLE"), { cause: error });
    }
    if (principal === null) return null;
    if (typeof principal?.name === "string" && isRole(principal.role)) {
      return callerFrom(principal, null);
    }
    const cause = new TypeError("authenticate returned neither null nor { name, role }");
    throw Object.assign(new Refusal("ACCESS_UNAVAILABLE"), { cause });
  }
}

/** Whether the request opens a session: the only request that a login code is valid for (login-codes.1). */
function opensSession(request: Request): boolean {
  return request.method === "POST" && new URL(request.url).pathname.endsWith("/api/v1/session");
}

function callerFrom({ name, role }: Principal, tokenHash: Buffer | null): Caller {
  return { name, role, tokenHash };
}
