// The encrypting codec: encrypts the texts of another codec with AES-256-GCM.
//   - An encrypted text is `enc2.<key id>.<base64url of nonce, ciphertext, tag>`. No text of the default
//        codec begins with this prefix. `enc1` is the same format, written before history rows had seals;
//        it is still read.
//   - The nonce is 96 random bits per text, so one value has many texts. Replay therefore compares values,
//        not texts (matching.1).
//   - GCM authenticates version and key id together with the text: a changed text, or a text with another
//        version or key id, cannot be decrypted. It does not authenticate the row, because values are
//        copied between rows. History rows have separate seals for that (seal.ts). `enc2` in the first
//        event of a history means that every row must have a seal.
//   - Clear text raises an error unless `clear` is "read": otherwise anyone with write access to the store
//        could insert values.
//   - encryption.codec.1: The module takes its reference to `randomBytes` at import, so that a later
//        replacement of the function, by a guard or a test, does not affect it.

import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { defaultCodec, type Codec } from "../core/values/codec.ts";
import { PerdureError } from "../core/errors/errors.ts";
import { checkChoice, checkMembers, type Members } from "../core/checks.ts";
import { invalidOptions, Keyring, type EncryptionKey } from "./keys.ts";
import { rowSeal } from "./seal.ts";

export type { EncryptionKey } from "./keys.ts";

/** Options of `encryptingCodec`. */
export interface EncryptingCodecOptions {
  /** All keys that stored values may be encrypted with, by id. An id has letters, digits, `-` and `_`. */
  readonly keys: Readonly<Record<string, EncryptionKey>>;
  /** The id of the key that encrypts new values. */
  readonly current: string;
  /** The codec that converts values to text before encryption. Default: `defaultCodec`. */
  readonly inner?: Codec;
  /** How to handle values that were stored before encryption was turned on. Default "refuse". */
  readonly clear?: "refuse" | "read";
}

const VERSION = "enc2";
const OLD_VERSION = "enc1";
const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const TEXT = /^(enc[12])\.([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]+)$/;
const OPTIONS: Members<EncryptingCodecOptions> = {
  keys: true,
  current: true,
  inner: true,
  clear: true,
};

const drawBytes = randomBytes; // encryption.codec.1

/**
 * A codec that encrypts every value with AES-256-GCM, including the messages, stacks and causes of errors.
 * Names, ids, attributes, keys of key-values and reasons stay readable. History rows are bound to their
 * instance, execution and position. A changed or moved value or row raises `HISTORY_CORRUPT`; a missing key
 * raises `KEY_MISSING`. Both block the instance and do not fail it.
 */
export function encryptingCodec(options: EncryptingCodecOptions): Codec {
  checkMembers(options, OPTIONS, "encryptingCodec");
  const { keys, current, inner = defaultCodec, clear = "refuse" } = options;
  checkChoice(clear, ["refuse", "read"], "clear");
  if (typeof inner.encode !== "function" || typeof inner.decode !== "function") {
    throw invalidOptions("inner must have the methods encode and decode");
  }
  const keyring = new Keyring(keys, current);
  return {
    encode: (value) => encrypt(inner.encode(value), keyring),
    decode(text) {
      if (clear === "read" && !isEncrypted(text)) return inner.decode(text);
      return inner.decode(decrypt(text, keyring));
    },
    sealsFailures: true,
    rowSeal: rowSeal(keyring, (value) => value.startsWith(`${VERSION}.`)),
  };
}

function encrypt(text: string, keyring: Keyring): string {
  const id = keyring.current;
  const nonce = drawBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, keyring.find(id), nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(authenticated(VERSION, id));
  const body = Buffer.concat([
    nonce,
    cipher.update(text, "utf8"),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  return `${VERSION}.${id}.${body.toString("base64url")}`;
}

function decrypt(text: string, keyring: Keyring): string {
  const [, version, id, encoded] = TEXT.exec(text) ?? [];
  if (version === undefined || id === undefined || encoded === undefined)
    throw corrupt("a stored value is not encrypted");
  const key = keyring.find(id);
  const body = Buffer.from(encoded, "base64url");
  // Several base64url texts decode to the same bytes. Accept only the canonical one, which is what was
  // written.
  if (body.length < NONCE_BYTES + TAG_BYTES || body.toString("base64url") !== encoded) {
    throw corrupt("a stored value is not a valid encrypted text");
  }
  const nonce = body.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(authenticated(version, id));
  decipher.setAuthTag(body.subarray(-TAG_BYTES));
  try {
    const clear = decipher.update(body.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([clear, decipher.final()]).toString("utf8");
  } catch (cause) {
    throw corrupt(`a stored value was changed, or the key "${id}" has different bytes now`, cause);
  }
}

function isEncrypted(text: string): boolean {
  return text.startsWith(`${VERSION}.`) || text.startsWith(`${OLD_VERSION}.`);
}

function authenticated(version: string, id: string): Buffer {
  return Buffer.from(`perdure.${version}.${id}`);
}

function corrupt(message: string, cause?: unknown): PerdureError {
  return new PerdureError("HISTORY_CORRUPT", message, cause === undefined ? undefined : { cause });
}
