// Tokens: secrets that authenticate callers.
//   - The server stores only SHA-256 hashes. A token has 256 random bits, so its hash needs no salt.
//   - A comparison takes constant time: every entry is compared, completely.
//   - A token never occurs in a log, a URL, an error or an audit entry.
//   - tokens.1: If the source fails, all requests are refused (503). If it has no entries, all requests
//        are refused (401).
//   - The source is called again after one second, so that revoking a token does not need a restart.

import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { isRole, type Principal, type Role } from "./roles.ts";
import { Refusal } from "../http/problems.ts";
import { invalidArgument } from "../../core/checks.ts";

/**
 * A token with its name and role. It must have either `token` or `sha256`. Several entries can share a name.
 */
export interface TokenEntry {
  readonly name: string;
  readonly role: Role;
  /** A token from `createToken`. The server hashes it immediately. */
  readonly token?: string;
  /** Hexadecimal SHA-256 of the token. */
  readonly sha256?: string;
}
/** Returns the current tokens. The server calls it at most once per second. */
export type TokenSource = () => readonly TokenEntry[] | Promise<readonly TokenEntry[]>;

export interface KnownToken extends Principal {
  readonly hash: Buffer;
}

const PREFIX = "pdr_";
/** 32 bytes are 43 characters in base64url. A shorter text cannot encode 256 bits in a common alphabet. */
const CHARS_MIN = 43;
const SOURCE_MS = 1_000;

/** Creates a token and the entry for the server. Show the token once, and store only the entry. */
export function createToken(who: Principal): {
  readonly token: string;
  readonly entry: TokenEntry & { readonly sha256: string };
} {
  const token = PREFIX + randomBytes(32).toString("base64url");
  const entry = { name: who.name, role: who.role, sha256: hashOf(token).toString("hex") };
  known(entry);
  return { token, entry };
}

export class TokenBook {
  readonly #source: TokenSource | null;
  readonly #now: () => number;
  #tokens: readonly KnownToken[] = [];
  #asked: Promise<readonly KnownToken[]> | null = null;
  #askedAt = 0;

  constructor(tokens: readonly TokenEntry[] | TokenSource, now: () => number) {
    this.#source = typeof tokens === "function" ? tokens : null;
    this.#now = now;
    if (typeof tokens !== "function") this.#tokens = tokens.map(known);
  }

  /** The entry of a token. Null: the token is not valid. */
  async find(token: string): Promise<KnownToken | null> {
    return this.findHash(hashOf(token));
  }

  async findHash(wanted: Buffer): Promise<KnownToken | null> {
    let found: KnownToken | null = null;
    for (const entry of await this.#current()) {
      if (timingSafeEqual(entry.hash, wanted)) found = entry;
    }
    return found;
  }

  async #current(): Promise<readonly KnownToken[]> {
    if (this.#source === null) return this.#tokens;
    const now = this.#now();
    if (this.#asked === null || now - this.#askedAt >= SOURCE_MS) {
      this.#askedAt = now;
      this.#asked = ask(this.#source);
    }
    try {
      return await this.#asked;
    } catch (error) {
      throw Object.assign(new Refusal("ACCESS_UNAVAILABLE"), { cause: error });
    }
  }
}

async function ask(source: TokenSource): Promise<readonly KnownToken[]> {
  return (await source()).map(known);
}

function known(entry: TokenEntry): KnownToken {
  const { name, role, token, sha256 } = entry;
  if (typeof name !== "string" || name === "" || name.length > 256) {
    throw invalidArgument("The name of a token must have 1 to 256 characters.");
  }
  if (!isRole(role))
    throw invalidArgument(`The role of token "${name}" must be viewer, operator or admin.`);
  if ((token === undefined) === (sha256 === undefined)) {
    throw invalidArgument(`Token "${name}" must have either token or sha256, not both.`);
  }
  if (token !== undefined) {
    if (typeof token !== "string" || token.length < CHARS_MIN) {
      throw invalidArgument(
        `Token "${name}" is too short to hold 256 random bits; use createToken().`,
      );
    }
    return { name, role, hash: hashOf(token) };
  }
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/i.test(sha256)) {
    throw invalidArgument(`sha256 of token "${name}" must have 64 hexadecimal digits.`);
  }
  return { name, role, hash: Buffer.from(sha256, "hex") };
}

function hashOf(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
