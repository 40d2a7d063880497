// Tokens: what a callback's address says, signed with HMAC-SHA-256.
//   - token.1: A token is `v1.<payload>.<signature>`, both in base64url. The signature covers everything before it. No
//        text that `sign` did not write is accepted: the signature is compared as text, so that a second spelling of the
//        same bytes is refused too.
//   - token.2: All secrets are tried, in constant time. A refusal never says why.
//   - Whether the store is the one of the token, and whether the callback is still open, is decided later (complete.ts).

import { createHmac, timingSafeEqual } from "node:crypto";
import type { CallbackCall } from "../../core/define/callback.ts";
import { PerdureError } from "../../core/errors/errors.ts";

/** A token of the longest ids and names has fewer characters. */
const LENGTH_MAX = 8_192;
const FORM = /^(v1\.[A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/;
const KINDS = { c: "callback", t: "activity" } as const;

/** What a token says. */
export interface TokenClaims extends CallbackCall {
  readonly storeId: string;
}

type Payload = readonly [
  kind: keyof typeof KINDS,
  storeId: string,
  instanceId: string,
  runId: string,
  execution: number,
  sequence: number,
  attempt: number,
  orchestration: string,
  name: string,
  expiresAt: number,
  isChecked: 0 | 1,
];
/** The types of the payload, in order. */
const TYPES = [
  ...["string", "string", "string", "string"],
  ...["number", "number", "number", "string", "string", "number", "number"],
];

export function signToken(claims: TokenClaims, secret: Buffer): string {
  const payload: Payload = [
    claims.kind === "callback" ? "c" : "t",
    claims.storeId,
    claims.instanceId,
    claims.runId,
    claims.execution,
    claims.sequence,
    claims.attempt,
    claims.orchestration,
    claims.name,
    claims.expiresAt,
    claims.isChecked ? 1 : 0,
  ];
  const text = `v1.${Buffer.from(JSON.stringify(payload)).toString("base64url")}`;
  return `${text}.${signatureOf(text, secret)}`;
}

/** Throws TOKEN_INVALID unless one of the secrets has signed the token. */
export function readToken(token: unknown, secrets: readonly Buffer[]): TokenClaims {
  const isText = typeof token === "string" && token.length <= LENGTH_MAX;
  const [, text, signature] = (isText ? FORM.exec(token) : null) ?? [];
  if (text === undefined || signature === undefined) throw invalidToken();
  const given = Buffer.from(signature);
  let isSigned = false;
  for (const secret of secrets) {
    // Not `||=`: every secret is tried (token.2).
    const isEqual = timingSafeEqual(given, Buffer.from(signatureOf(text, secret)));
    isSigned = isSigned || isEqual;
  }
  if (!isSigned) throw invalidToken();
  return claimsOf(text);
}

/** The same error for every token that this store did not sign (token.2). */
export function invalidToken(): PerdureError {
  return new PerdureError("TOKEN_INVALID", "The token is not valid.");
}

/** The prefix keeps the signatures apart from others that the same secret may make. */
function signatureOf(text: string, secret: Buffer): string {
  return createHmac("sha256", secret).update("perdure.callback:").update(text).digest("base64url");
}

function claimsOf(text: string): TokenClaims {
  const payload = payloadOf(text);
  if (payload === null) throw invalidToken();
  const [kind, storeId, instanceId, runId, execution, sequence] = payload;
  const [, , , , , , attempt, orchestration, name, expiresAt, isChecked] = payload;
  return {
    kind: KINDS[kind],
    storeId,
    instanceId,
    runId,
    execution,
    sequence,
    attempt,
    orchestration,
    name,
    expiresAt,
    isChecked: isChecked === 1,
  };
}

/** Null: another version of this package signed it, with another payload. */
function payloadOf(text: string): Payload | null {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text.slice("v1.".length), "base64url").toString());
  } catch {
    return null;
  }
  if (!Array.isArray(value) || value.length !== TYPES.length) return null;
  const isTyped = TYPES.every((type, index) => typeof value[index] === type);
  return isTyped && Object.hasOwn(KINDS, String(value[0])) ? (value as unknown as Payload) : null;
}
