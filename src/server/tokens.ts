// Tokens: who may come in, by a secret that only its holder knows.
//   TK1. The server keeps SHA-256 hashes alone. A token has 256 random bits, so that its hash needs no salt.
//   TK2. Comparing takes the same time whatever matches: every entry is compared, in full.
//   TK3. A token stands in no log, URL, error or audit line.
//   TK4. A source that fails lets nobody in (503); one that holds nothing lets nobody in (401).
//   TK5. A source is asked again after a second, so that a revoked token is refused without a restart.

import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { PerdureError } from "../core/errors.ts";
import { isRole, type Principal, type Role } from "./roles.ts";
import { Refusal } from "./problems.ts";

/** One of `token` and `sha256`. Several entries may have one name: two live tokens while one is replaced. */
export interface TokenEntry {
  readonly name: string;
  readonly role: Role;
  /** As made by `createToken`; hashed at once. */
  readonly token?: string;
  /** Hexadecimal SHA-256 of the token. */
  readonly sha256?: string;
}
/** Asked at most once a second. */
export type TokenSource = () => readonly TokenEntry[] | Promise<readonly TokenEntry[]>;

export interface KnownToken extends Principal {
  readonly hash: Buffer;
}

const PREFIX = "pdr_";
/** 32 bytes are 43 characters of base64url: what is shorter cannot hold 256 bits in a usual alphabet. */
const CHARS_MIN = 43;
const SOURCE_MS = 1_000;

/** A new secret, and what the server needs of it. Show the token once; keep the entry. */
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

  /** Whose it is; null: nobody's. */
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
    throw invalid("A token has a name of 1 to 256 characters.");
  }
  if (!isRole(role)) throw invalid(`The role of token "${name}" is viewer, operator or admin.`);
  if ((token === undefined) === (sha256 === undefined)) {
    throw invalid(`Token "${name}" has either token or sha256.`);
  }
  if (token !== undefined) {
    if (typeof token !== "string" || token.length < CHARS_MIN) {
      throw invalid(`Token "${name}" is too short to hold 256 random bits; use createToken().`);
    }
    return { name, role, hash: hashOf(token) };
  }
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/i.test(sha256)) {
    throw invalid(`sha256 of token "${name}" is 64 hexadecimal digits.`);
  }
  return { name, role, hash: Buffer.from(sha256, "hex") };
}

function hashOf(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

function invalid(message: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", message);
}
