// The duration of a check says nothing about a secret (S44).

import type * as nodeCrypto from "node:crypto";
import { expect, onTestFinished, test, vi } from "vitest";
import { Client } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { Signer } from "../../../src/client/callbacks/signer.ts";
import { OTHER_SECRET, SECRET } from "./support.ts";

const compared = vi.hoisted(() => ({ calls: 0 }));
vi.mock("node:crypto", async (original) => {
  const crypto = await original<typeof nodeCrypto>();
  return {
    ...crypto,
    timingSafeEqual: (a: Buffer, b: Buffer) => {
      compared.calls += 1;
      return crypto.timingSafeEqual(a, b);
    },
  };
});

test("S44: a token is compared with every secret in constant time, whichever of them signed it, and if none did", async () => {
  const provider = await SqliteProvider.open(":memory:");
  onTestFinished(() => provider.close());
  const baseUrl = "https://example.com/callbacks";
  const secrets = [SECRET, OTHER_SECRET, "a-third-secret-of-at-least-32-bytes-for-tests"];
  const client = new Client(provider, { callbacks: { secrets, baseUrl } });
  const tokens = await Promise.all(
    secrets.map(async (secret) => {
      const signer = new Signer(provider, { secrets: [secret], baseUrl });
      await signer.open();
      return signer.sign(CALL).token;
    }),
  );
  const [token = ""] = tokens;
  const last = token.endsWith("A") ? "B" : "A";
  const forged = [`${token.slice(0, -1)}${last}`, `${token.slice(0, -43)}${"A".repeat(43)}`];
  for (const one of tokens) {
    compared.calls = 0;
    expect(client.readToken(one)).toMatchObject({ kind: "callback", name: "answer" });
    expect(compared.calls).toBe(secrets.length);
  }
  for (const one of forged) {
    compared.calls = 0;
    expect(() => client.readToken(one)).toThrow("The token is not valid.");
    expect(compared.calls).toBe(secrets.length);
  }
});

const CALL = {
  kind: "callback",
  instanceId: "i",
  runId: "r",
  execution: 1,
  sequence: 2,
  attempt: 0,
  orchestration: "o",
  name: "answer",
  expiresAt: 0,
  isChecked: false,
} as const;
