// A store in a file with encrypted values. A test can open it several times; it is removed after the test.

import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { encryptingCodec } from "../../../src/encryption/index.ts";
import { Perdure, type OpenOptions, type RuntimeOptions } from "../../../src/index.ts";

export const KEYS = { k1: randomBytes(32), k2: randomBytes(32).toString("base64") };

export const first = encryptingCodec({ keys: { k1: KEYS.k1 }, current: "k1" });
export const both = encryptingCodec({ keys: KEYS, current: "k2" });
export const second = encryptingCodec({ keys: { k2: KEYS.k2 }, current: "k2" });

type Options = RuntimeOptions & Required<Pick<OpenOptions, "register">>;

export class Vault {
  readonly log: string[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), "perdure-encryption-"));

  constructor() {
    onTestFinished(() => rmSync(this.#folder, { recursive: true, force: true }));
  }

  get address(): string {
    return `sqlite:${join(this.#folder, "store.db")}`;
  }

  /** Opens the store without an instance cache, so that every turn replays its whole history. */
  async open({ register, ...runtime }: Options): Promise<Perdure> {
    const perdure = await Perdure.open(this.address, {
      register,
      runtime: {
        stickyCacheMax: 0,
        log: (level, message, fields) =>
          void this.log.push(`${level} ${message} ${JSON.stringify(fields)}`),
        ...runtime,
      },
    });
    onTestFinished(() => perdure.close({ graceMs: 0 }));
    return perdure;
  }

  /** All bytes on disk, including the write-ahead log. */
  bytes(): Buffer {
    const files = readdirSync(this.#folder).map((name) => readFileSync(join(this.#folder, name)));
    return Buffer.concat(files);
  }
}

/** Waits until the instance waits for an event. */
export async function untilWaiting(perdure: Perdure, id: string): Promise<void> {
  for await (const info of perdure.client.get(id).watch()) {
    if (info.waitingFor.some((wait) => wait.kind === "event")) return;
  }
}

/** Waits until the instance is blocked and returns the block. */
export async function untilBlocked(perdure: Perdure, id: string) {
  for await (const { blocked } of perdure.client.get(id).watch()) {
    if (blocked !== undefined) return blocked;
  }
  throw new Error(`instance "${id}" ended without a block`);
}
