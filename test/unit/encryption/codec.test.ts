// The encrypting codec alone: the options it accepts, the texts it writes, the texts it refuses to read.

import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { defaultCodec } from "../../../src/core/values/codec.ts";
import { encryptingCodec, type EncryptingCodecOptions } from "../../../src/encryption/codec.ts";

const [old, young] = [randomBytes(32), randomBytes(32)];
const codec = encryptingCodec({ keys: { old, young }, current: "young" });

test("a value of any kind is restored, and each encoding of a value gives a different text", () => {
  const values = [
    undefined,
    null,
    1,
    "ä🧡",
    { a: [new Date(0), new Map([[1, 2n]])] },
    new Error("x"),
  ];
  for (const value of values) {
    const text = codec.encode(value);
    expect(text).toMatch(/^enc2\.young\.[A-Za-z0-9_-]+$/);
    expect(codec.encode(value)).not.toBe(text);
    expect(defaultCodec.encode(codec.decode(text))).toBe(defaultCodec.encode(value));
  }
});

test("S31: texts encrypted with an earlier key stay readable, and new texts use the current key", () => {
  const before = encryptingCodec({ keys: { old: old.toString("base64") }, current: "old" });
  expect(codec.decode(before.encode("an old secret"))).toBe("an old secret");
  const text = codec.encode(1);
  expect(() => before.decode(text)).toThrow(
    /"young", which the codec does not have \(it has old\)/,
  );
  expect(() => before.decode(text)).toThrow(expect.objectContaining({ code: "KEY_MISSING" }));
});

test("a text from before history rows had seals stays readable", () => {
  const before = encryptingCodec({ keys: { old: Buffer.alloc(32, 7) }, current: "old" });
  const text =
    "enc1.old.CO4jC7vJe9uu8NuDPtOLIqu1YlzQMup9RNTEq_OODNXyQplXX8NSex9tV9jqe5nL6Q0oelSA-wTP";
  expect(before.decode(text)).toEqual({ amount: 100, at: new Date(5) });
  expect(() => before.decode(text.replace("enc1", "enc2"))).toThrow(/was changed/);
});

test("a seal is valid for one text and one key, and names its key", () => {
  const { rowSeal } = codec;
  const seal = rowSeal?.seal("text") ?? "";
  expect(seal).toMatch(/^mac1\.young\.[A-Za-z0-9_-]{43}$/);
  expect(rowSeal?.verify("text", seal)).toBe(true);
  expect(rowSeal?.verify("texu", seal)).toBe(false);
  for (const other of [
    seal.replace("young", "old"),
    seal.replace("mac1", "mac2"),
    "",
    `${seal}A`,
  ]) {
    expect([other, rowSeal?.verify("text", other)]).toEqual([other, false]);
  }
  expect(() => rowSeal?.verify("text", seal.replace("young", "lost"))).toThrow(
    expect.objectContaining({ code: "KEY_MISSING" }),
  );
  expect(rowSeal?.demands(codec.encode(1))).toBe(true);
  expect(rowSeal?.demands("enc1.old.AAAA")).toBe(false);
});

test("S30: flipping a bit or changing or removing a character raises HISTORY_CORRUPT or KEY_MISSING", () => {
  const text = codec.encode({ amount: 100, to: "ada" });
  const [version = "", id = "", encoded = ""] = text.split(".");
  const body = Buffer.from(encoded, "base64url");
  const refused = (tampered: string): void => {
    expect(() => codec.decode(tampered)).toThrow(
      expect.objectContaining({
        code: expect.stringMatching(/^(HISTORY_CORRUPT|KEY_MISSING)$/) as string,
      }),
    );
  };
  for (let bit = 0; bit < body.length * 8; bit++) {
    const flipped = Buffer.from(body);
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    refused(`${version}.${id}.${flipped.toString("base64url")}`);
  }
  for (let at = 0; at < text.length; at++) {
    refused(text.slice(0, at) + text.slice(at + 1));
    refused(text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1));
  }
});

test("S30: a text with a different key id, a different version or in cleartext is refused", () => {
  const same = encryptingCodec({ keys: { a: old, b: old }, current: "a" });
  const text = same.encode("moved");
  expect(() => same.decode(text.replace("enc2.a.", "enc2.b."))).toThrow(/was changed/);
  for (const other of [
    text.replace("enc2", "enc1"),
    text.replace("enc2", "enc3"),
    '"in clear"',
    "",
    "~[]",
    "enc2.a.",
  ]) {
    expect(() => same.decode(other)).toThrow(expect.objectContaining({ code: "HISTORY_CORRUPT" }));
  }
});

test("with `clear` set to `read`, cleartext is readable, and encrypted texts are still verified", () => {
  const lenient = encryptingCodec({ keys: { old }, current: "old", clear: "read" });
  expect(lenient.decode(defaultCodec.encode({ at: new Date(5) }))).toEqual({ at: new Date(5) });
  expect(lenient.decode(lenient.encode("x"))).toBe("x");
  expect(() => lenient.decode(`${lenient.encode("x")}A`)).toThrow();
});

test("the inner codec can be replaced", () => {
  const inner = {
    encode: (value: unknown) => `<${String(value)}>`,
    decode: (text: string) => text,
  };
  const around = encryptingCodec({ keys: { old }, current: "old", inner });
  expect(around.decode(around.encode(7))).toBe("<7>");
});

test("invalid keys raise INVALID_ARGUMENT, and no message contains a key", () => {
  const secret = "c2VjcmV0LXNlY3JldA==";
  const wrong: unknown[] = [
    { keys: {}, current: "a" },
    { keys: { a: old }, current: "b" },
    { keys: { a: secret }, current: "a" },
    { keys: { a: randomBytes(16) }, current: "a" },
    { keys: { a: `${old.toString("base64")}=` }, current: "a" },
    { keys: { a: 7 }, current: "a" },
    { keys: { "a.b": old }, current: "a.b" },
    { keys: { "": old }, current: "" },
    { keys: null, current: "a" },
    { keys: { a: old }, current: "a", clear: "sometimes" },
    { keys: { a: old }, current: "a", inner: {} },
    { keys: { a: old }, current: "a", algorithm: "rot13" },
  ];
  for (const options of wrong) {
    let thrown: unknown;
    try {
      encryptingCodec(options as EncryptingCodecOptions);
    } catch (error) {
      thrown = error;
    }
    expect([options, (thrown as { code?: string } | undefined)?.code]).toEqual([
      options,
      "INVALID_ARGUMENT",
    ]);
    expect(String(thrown)).not.toContain(secret);
  }
});
