// The keys of an encrypting codec: what was given, checked before anything is encrypted.
//   KY1. A key is 32 bytes, copied: nobody changes it afterwards. No error shows any of it.

import { Buffer } from "node:buffer";
import { createSecretKey, type KeyObject } from "node:crypto";
import { PerdureError } from "../core/errors.ts";

/** 32 random bytes, or their base64 text: `openssl rand -base64 32`. */
export type EncryptionKey = Uint8Array | string;

const KEY_BYTES = 32;

/** It stands in the head of every text, between two points. */
const KEY_ID = /^[A-Za-z0-9_-]{1,64}$/;

const BASE64 = /^(?:[A-Za-z0-9+/]{4}){10}[A-Za-z0-9+/]{3}=?$/;

export class Keyring {
  readonly current: string;
  readonly #keys = new Map<string, KeyObject>();

  constructor(keys: unknown, current: unknown) {
    if (typeof keys !== "object" || keys === null) throw invalid("keys is an object of keys by id");
    for (const [id, key] of Object.entries(keys)) {
      if (!KEY_ID.test(id)) {
        throw invalid(
          `the id of a key is 1 to 64 letters, digits, - and _; this one is not: ${id}`,
        );
      }
      this.#keys.set(id, createSecretKey(bytesOf(id, key)));
    }
    if (typeof current !== "string" || !this.#keys.has(current)) {
      throw invalid(`current is the id of one of the keys (${this.ids})`);
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
    throw invalid(`the key "${id}" is ${KEY_BYTES} bytes, or their base64 text`);
  }
  const bytes = isText ? Buffer.from(key, "base64") : Buffer.from(key);
  if (bytes.length === KEY_BYTES) return bytes;
  throw invalid(`the key "${id}" has ${bytes.length} bytes; AES-256 takes ${KEY_BYTES}`);
}

export function invalid(why: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", `No encrypting codec can be made: ${why}.`);
}
