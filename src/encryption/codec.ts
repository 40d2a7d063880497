// The encrypting codec: another codec's texts, under AES-256-GCM.
//   EC1. A text is `enc2.<key id>.<base64url of nonce, ciphertext, tag>`. No text of the default codec begins so.
//        `enc1` is the same and is still read: it was written before rows of history had seals.
//   EC2. The nonce is 96 random bits for each text, so one value has many texts; replay compares values (M3).
//   EC3. Version and key id are authenticated with the text: nothing of it can be changed, or moved under another head,
//        and be read. Which row it stands in is not, because values are copied between rows; rows of history have
//        seals of their own (seal.ts). `enc2` in the first event of a history says that it must have them.
//   EC4. A text in clear is refused, unless it is asked for: whoever can write to the store could put one there.
//   EC5. The random numbers are taken at import, so that no guard or test that replaces them is in between.

import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { defaultCodec, type Codec } from "../core/codec.ts";
import { PerdureError } from "../core/errors.ts";
import { checkChoice, checkMembers, type Members } from "../core/known-members.ts";
import { invalid, Keyring, type EncryptionKey } from "./keys.ts";
import { rowSeal } from "./seal.ts";

export type { EncryptionKey } from "./keys.ts";

/** What `encryptingCodec` takes. */
export interface EncryptingCodecOptions {
  /** Every key that stored texts may be encrypted with, by an id of letters, digits, `-` and `_`. */
  readonly keys: Readonly<Record<string, EncryptionKey>>;
  /** The id of the key that new texts are encrypted with. */
  readonly current: string;
  /** What makes text of values. Default: `defaultCodec`. */
  readonly inner?: Codec;
  /** Texts that were written in clear, before encryption was turned on. Default "refuse". */
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

const drawBytes = randomBytes; // EC5

/**
 * A codec that encrypts every value with AES-256-GCM, and the messages, stacks and causes of errors with them. Names,
 * ids, attributes, keys of key-values and reasons stay readable. Rows of history are bound to their instance, execution
 * and place. A text or row that was changed or moved is `HISTORY_CORRUPT`, one whose key is not there `KEY_MISSING`;
 * the instance is blocked, not failed.
 */
export function encryptingCodec(options: EncryptingCodecOptions): Codec {
  checkMembers(options, OPTIONS, "encryptingCodec");
  const { keys, current, inner = defaultCodec, clear = "refuse" } = options;
  checkChoice(clear, ["refuse", "read"], "clear");
  if (typeof inner.encode !== "function" || typeof inner.decode !== "function") {
    throw invalid("inner has the methods encode and decode");
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
  // Of the texts that decode to one body, only the one that was written is taken.
  if (body.length < NONCE_BYTES + TAG_BYTES || body.toString("base64url") !== encoded) {
    throw corrupt("a stored value is no encrypted text");
  }
  const nonce = body.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(authenticated(version, id));
  decipher.setAuthTag(body.subarray(-TAG_BYTES));
  try {
    const clear = decipher.update(body.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([clear, decipher.final()]).toString("utf8");
  } catch (cause) {
    throw corrupt(`a stored value was changed, or "${id}" is another key than it was`, cause);
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
