// Signatures of webhooks: HMAC-SHA-256 with one of several secrets.
//   - signatures.1: Every given signature is compared with every secret, in constant time and without an early
//        end, so that the duration of a check says nothing about a secret or about its position (S44).
//   - signatures.2: A timestamp is accepted within TOLERANCE_S of the store's clock, in both directions, so that a
//        recorded delivery cannot be sent again later (S39).
//   - The secrets are in no message and in no property of a verifier.

import { createHmac, timingSafeEqual } from "node:crypto";
import { invalidArgument } from "../core/checks.ts";

/** One secret, or several while a secret is being replaced. */
export type Secrets = string | readonly string[];

const SECRETS_MAX = 10;
/** Senders put one signature per secret into a header. A header with more of them is not from a sender. */
const SIGNATURES_MAX = 20;
const TOLERANCE_S = 300;
const DIGEST_BYTES = 32;

/** The keys of the secrets. Throws unless there are 1 to 10 secrets, none of them empty. */
export function keysOf(
  secrets: Secrets,
  verifier: string,
  keyOf: (secret: string) => Buffer = (secret) => Buffer.from(secret),
): readonly Buffer[] {
  const list: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets];
  if (list.length === 0 || list.length > SECRETS_MAX) {
    const rule = `${verifier} must be given 1 to ${SECRETS_MAX} secrets; got ${list.length}.`;
    throw invalidArgument(rule);
  }
  return list.map((secret) => {
    if (typeof secret === "string" && secret !== "") return keyOf(secret);
    throw invalidArgument(`A secret of ${verifier} must be a text that is not empty.`);
  });
}

/** Whether one of the signatures is the HMAC-SHA-256 of the parts with one of the keys (signatures.1). */
export function isSigned(
  keys: readonly Buffer[],
  parts: readonly (string | Uint8Array)[],
  signatures: readonly Buffer[],
): boolean {
  if (signatures.length > SIGNATURES_MAX) return false;
  let matches = 0;
  for (const key of keys) {
    const hmac = createHmac("sha256", key);
    for (const part of parts) hmac.update(part);
    const digest = hmac.digest();
    for (const signature of signatures) {
      const comparable = signature.byteLength === DIGEST_BYTES;
      matches |= Number(timingSafeEqual(digest, comparable ? signature : ABSENT) && comparable);
    }
  }
  return matches === 1;
}

const ABSENT = Buffer.alloc(DIGEST_BYTES);

/** Whether the timestamp, in whole seconds, is near the store's time (signatures.2). */
export function isRecent(timestamp: string | undefined, nowMs: number): timestamp is string {
  if (timestamp === undefined || !/^\d{1,12}$/.test(timestamp)) return false;
  return Math.abs(nowMs / 1_000 - Number(timestamp)) <= TOLERANCE_S;
}

/** The bytes of a signature in hexadecimal form. Empty if the text is not such a signature. */
export function fromHex(text: string): Buffer {
  return Buffer.from(/^[\da-f]{64}$/i.test(text) ? text : "", "hex");
}
