// Access: from a request to who makes it.
//   AC1. A token in the Authorization header, a session's cookie, or the application's own judge, in this order; a
//        token that is wrong is not made up for by a cookie.
//        A login code counts for opening a session alone (login-codes.ts).
//   AC2. Tokens are taken from that header and from nowhere else: not from the URL, which logs keep.
//   AC3. Failing is closed: a judge or a source that throws is 503, an unknown caller 401 (S8).

import { isLoginCode, LoginCodes } from "./login-codes.ts";
import { isRole, type Principal } from "./roles.ts";
import { Refusal } from "./problems.ts";
import { sessionCookie, Sessions } from "./sessions.ts";
import type { TokenBook } from "./tokens.ts";

/** An application's own way of knowing its users; null: this one is not known. */
export type Authenticate = (request: Request) => Principal | null | Promise<Principal | null>;

export interface Caller extends Principal {
  /** Of the token that the caller showed, if it was one: what a session is made from. */
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

  /** Throws unless the caller is known. */
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
    return this.#judge(request);
  }

  async #judge(request: Request): Promise<Caller | null> {
    if (this.#authenticate === null) return null;
    let principal: Principal | null;
    try {
      // A copy without a body: what the judge reads is not taken from the route.
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

/** A login code is good for this request and for no other (LC1). */
function opensSession(request: Request): boolean {
  return request.method === "POST" && new URL(request.url).pathname.endsWith("/api/v1/session");
}

function callerFrom({ name, role }: Principal, tokenHash: Buffer | null): Caller {
  return { name, role, tokenHash };
}
