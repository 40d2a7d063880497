// The keyring of an encrypting codec: checks all keys before the first value is encrypted.
//   - A key is 32 bytes. The keyring copies it, so later changes to the caller's array have no effect. No
//        error message contains key material.

import { Buffer } from "node:buffer";
import { createSecretKey, type KeyObject } from "node:crypto";
import { invalidArgument } from "../core/checks.ts";
import { PerdureError } from "../core/errors/errors.ts";

/** 32 random bytes, or their base64 text: `openssl rand -base64 32`. */
export type EncryptionKey = Uint8Array | string;

const KEY_BYTES = 32;

/** The key id is part of every encrypted text, between two dots. */
const KEY_ID = /^[A-Za-z0-9_-]{1,64}$/;

const BASE64 = /^(?:[A-Za-z0-9+/]{4}){10}[A-Za-z0-9+/]{3}=?$/;

export class Keyring {
  readonly current: string;
  readonly #keys = new Map<string, KeyObject>();

  constructor(keys: unknown, current: unknown) {
    if (typeof keys !== "object" || keys === null)
      throw invalidOptions("keys must be an object of keys by id");
    for (const [id, key] of Object.entries(keys)) {
      if (!KEY_ID.test(id)) {
        throw invalidOptions(
          `the id of a key must be 1 to 64 letters, digits, "-" and "_"; got "${id}"`,
        );
      }
      this.#keys.set(id, createSecretKey(bytesOf(id, key)));
    }
    if (typeof current !== "string" || !this.#keys.has(current)) {
      throw invalidOptions(`current must be the id of one of the keys (${this.ids})`);
    }
    this.current = current;
  }

  get ids(): string {
    return [...this.#keys.keys()].join(", ");
  }

  find(id: string): KeyObject {
    const key = this.#keys.get(id);
    if (key !== undefined) return key;
    const message = `a stored value is encrypted with the key "${id}", which the codec does not have (it has ${this.ids})`;
    throw new PerdureError("KEY_MISSING", message);
  }
}

function bytesOf(id: string, key: unknown): Buffer {
  const isText = typeof key === "string" && BASE64.test(key);
  if (!isText && !(key instanceof Uint8Array)) {
    throw invalidOptions(`the key "${id}" must be ${KEY_BYTES} bytes, or their base64 text`);
  }
  const bytes = isText ? Buffer.from(key, "base64") : Buffer.from(key);
  if (bytes.length === KEY_BYTES) return bytes;
  throw invalidOptions(
    `the key "${id}" must have ${KEY_BYTES} bytes (AES-256); got ${bytes.length}`,
  );
}

export function invalidOptions(why: string): PerdureError {
  return invalidArgument(`Invalid options of encryptingCodec: ${why}.`);
}
