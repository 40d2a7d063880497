// Tokens: only texts that a secret has signed are accepted, and no error says why one is refused.

import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { readToken, signToken, type TokenClaims } from "../../../../src/client/callbacks/token.ts";
import { seededNumbers } from "../../../../src/testing/seeded-numbers.ts";

const SECRET = Buffer.from("the current secret, which has at least 32 bytes");
const PREVIOUS = Buffer.from("the previous secret, which has at least 32 bytes");
const CLAIMS: TokenClaims = {
  kind: "callback",
  storeId: "5".repeat(32),
  instanceId: "order-1",
  runId: "a".repeat(32),
  execution: 1,
  sequence: 2,
  attempt: 0,
  orchestration: "order",
  name: "paid",
  expiresAt: 0,
  isChecked: false,
};

function refused(token: unknown, secrets: readonly Buffer[] = [SECRET]): unknown {
  try {
    return readToken(token, secrets);
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return `${code}: ${message}`;
  }
}
const INVALID = "TOKEN_INVALID: The token is not valid.";

test("a token says what it was signed with", () => {
  const all: readonly TokenClaims[] = [
    CLAIMS,
    { ...CLAIMS, kind: "activity", attempt: 3, name: "render", execution: 12, sequence: 99_999 },
    {
      ...CLAIMS,
      expiresAt: 1_767_225_600_000,
      isChecked: true,
      instanceId: 'a "b" \\ ü 🎬::sub::2',
    },
  ];
  for (const claims of all) {
    const token = signToken(claims, SECRET);
    expect(token).toMatch(/^v1\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$/);
    expect(readToken(token, [SECRET])).toEqual(claims);
  }
});

test("tokens of every accepted secret are read, those of others are not", () => {
  const old = signToken(CLAIMS, PREVIOUS);
  expect(readToken(old, [SECRET, PREVIOUS])).toEqual(CLAIMS);
  expect(refused(old)).toBe(INVALID);
  expect(refused(old, [])).toBe(INVALID);
});

test("a token of the longest ids and names is read", () => {
  const claims = {
    ...CLAIMS,
    instanceId: '"'.repeat(1_024),
    orchestration: "\\".repeat(256),
    name: '"'.repeat(256),
  };
  expect(readToken(signToken(claims, SECRET), [SECRET])).toEqual(claims);
});

test("a signed token that is longer than every real one is refused", () => {
  const token = signToken({ ...CLAIMS, name: "x".repeat(9_000) }, SECRET);
  expect(refused(token)).toBe(INVALID);
});

test("a signed payload that is not JSON is refused", () => {
  const text = `v1.${Buffer.from("not JSON").toString("base64url")}`;
  const hmac = createHmac("sha256", SECRET).update("perdure.callback:").update(text);
  expect(refused(`${text}.${hmac.digest("base64url")}`)).toBe(INVALID);
});

test("a value that is not a token is refused with the same error", () => {
  const token = signToken(CLAIMS, SECRET);
  const [version, payload = "", signature = ""] = token.split(".");
  const unsigned = Buffer.from(JSON.stringify(["c"])).toString("base64url");
  const values: readonly unknown[] = [
    ...["", ".", "..", "v1", "v1..", token.slice(1), ` ${token}`, `${token} `, `${token}\n`],
    ...[`v2.${payload}.${signature}`, `${version}.${payload}`, `${payload}.${signature}`],
    ...[
      `v1.${unsigned}.${signature}`,
      `v1.${payload}=.${signature}`,
      `v1.${payload}.${signature}=`,
    ],
    ...[`v1.${payload}.${"A".repeat(43)}`, "x".repeat(1_000_000), token.repeat(100)],
    ...[undefined, null, 7, {}, [token], Buffer.from(token), new String(token)],
  ];
  for (const value of values) expect(refused(value), String(value).slice(0, 80)).toBe(INVALID);
});

// token.1
test("a second spelling of the same signature bytes is refused", () => {
  const token = signToken(CLAIMS, SECRET);
  const last = token.at(-1) ?? "";
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const bytes = (text: string): string => Buffer.from(text.slice(-43), "base64url").toString("hex");
  const others = [...alphabet].map((letter) => token.slice(0, -1) + letter);
  const same = others.filter((other) => bytes(other) === bytes(token));
  expect(same.length).toBeGreaterThan(1); // base64url has two unused bits here
  for (const other of others) expect(refused(other) === INVALID).toBe(other.at(-1) !== last);
});

test("a signed payload of another form is refused", () => {
  const sign = (payload: unknown): string => {
    const text = `v1.${Buffer.from(JSON.stringify(payload)).toString("base64url")}`;
    const hmac = createHmac("sha256", SECRET).update("perdure.callback:").update(text);
    return `${text}.${hmac.digest("base64url")}`;
  };
  const good = ["c", "s", "i", "r", 1, 2, 0, "o", "n", 0, 0];
  expect(refused(sign(good))).toMatchObject({ storeId: "s", instanceId: "i" });
  const bad = [good.slice(1), [...good, 1], ["x", ...good.slice(1)], good.with(4, "1"), {}, null];
  for (const payload of bad) expect(refused(sign(payload))).toBe(INVALID);
});

test("no random change of a token is accepted", () => {
  const seed = Number(process.env["PERDURE_SEED"] ?? Date.now() % 2 ** 31);
  const draw = seededNumbers(seed);
  const upTo = (max: number): number => draw() % max;
  const characters = "ABCabc019-_.~=+/ \u0000é%";
  const changes: readonly ((text: string) => string)[] = [
    (text) => text.slice(0, upTo(text.length)),
    (text) => text + characters[upTo(characters.length)],
    (text) => text.slice(1 + upTo(5)),
    (text) => {
      const at = upTo(text.length);
      return text.slice(0, at) + (characters[upTo(characters.length)] ?? "") + text.slice(at + 1);
    },
    (text) => {
      const at = upTo(text.length);
      return text.slice(0, at) + (characters[upTo(characters.length)] ?? "") + text.slice(at);
    },
    (text) => {
      const [a, b] = [upTo(text.length), upTo(text.length)].toSorted((x, y) => x - y);
      return text.slice(0, a) + [...text.slice(a, b)].reverse().join("") + text.slice(b);
    },
    (text) => text.toLowerCase(),
    (text) => {
      const [head, payload = "", signature] = text.split(".");
      const json = Buffer.from(payload, "base64url").toString();
      const other = json.replace(/\d/, (digit) => String((Number(digit) + 1 + upTo(8)) % 10));
      return [head, Buffer.from(other).toString("base64url"), signature].join(".");
    },
  ];
  for (let round = 0; round < 3_000; round++) {
    const claims = { ...CLAIMS, sequence: upTo(1_000), instanceId: `i-${upTo(1_000_000)}` };
    const token = signToken(claims, SECRET);
    let changed = token;
    for (let times = 1 + upTo(3); times > 0; times--) {
      changed = changes[upTo(changes.length)]?.(changed) ?? changed;
    }
    if (changed === token) continue;
    expect(refused(changed), `seed ${seed}, round ${round}: ${changed}`).toBe(INVALID);
  }
});
