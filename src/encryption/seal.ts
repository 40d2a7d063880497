// Seals of history rows: HMAC-SHA256 over a row and its position (core/history/seal.ts).
//   - A seal is `mac1.<key id>.<base64url of the MAC>`, made with the current key. The MAC covers version
//        and key id.
//   - The MAC key is derived from the encryption key with HKDF, so that each key has one purpose.

import { Buffer } from "node:buffer";
import {
  createHmac,
  createSecretKey,
  hkdfSync,
  timingSafeEqual,
  type KeyObject,
} from "node:crypto";
import type { RowSeal } from "../core/values/codec.ts";
import type { Keyring } from "./keys.ts";

const VERSION = "mac1";
const HASH = "sha256";
const KEY_BYTES = 32;
const SEAL = /^mac1\.([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{43})$/;

export function rowSeal(keyring: Keyring, demands: RowSeal["demands"]): RowSeal {
  const derived = new Map<string, KeyObject>();
  const keyOf = (id: string): KeyObject => {
    const known = derived.get(id);
    if (known !== undefined) return known;
    const bytes = hkdfSync(HASH, keyring.find(id), "", `perdure.${VERSION}`, KEY_BYTES);
    const key = createSecretKey(Buffer.from(bytes));
    derived.set(id, key);
    return key;
  };
  const macOf = (id: string, text: string): Buffer =>
    createHmac(HASH, keyOf(id)).update(`${VERSION}.${id}\n`).update(text).digest();
  return {
    seal: (text) =>
      `${VERSION}.${keyring.current}.${macOf(keyring.current, text).toString("base64url")}`,
    verify(text, seal) {
      const [, id, encoded] = SEAL.exec(seal) ?? [];
      if (id === undefined || encoded === undefined) return false;
      const found = Buffer.from(encoded, "base64url");
      const wanted = macOf(id, text);
      return found.length === wanted.length && timingSafeEqual(found, wanted);
    },
    demands,
  };
}
