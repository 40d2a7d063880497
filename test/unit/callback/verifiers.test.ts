// The verifiers of webhooks, with the test vectors that the services publish.

import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import {
  github,
  slack,
  standardWebhooks,
  stripe,
  type Delivery,
  type Verifier,
} from "../../../src/callback/index.ts";

interface Vector {
  readonly service: string;
  readonly make: (secrets: string | readonly string[]) => Verifier;
  readonly secret: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The header with the signature. */
  readonly signed: string;
  /** In seconds; undefined: the service signs no time. */
  readonly at?: number;
}

const STRIPE_EVENT = `${JSON.stringify(
  {
    id: "evt_123",
    object: "event",
    account: "acct_123",
    api_version: "2017-05-25",
    created: 1533204620,
    data: {
      object: {
        id: "cus_123",
        object: "customer",
        created: 123456789,
        email: "test@stripe.com",
        livemode: false,
        metadata: {},
      },
    },
    livemode: false,
    pending_webhooks: 1,
    request: { id: "req_123", idempotency_key: "idempotency-key-123" },
    type: "customer.created",
  },
  null,
  2,
)}\n`;

const VECTORS: readonly Vector[] = [
  {
    // The tests of stripe-dotnet; v0 is a signature of a scheme for tests, which must not count.
    service: "Stripe",
    make: stripe,
    secret: "webhook_secret",
    body: STRIPE_EVENT,
    headers: {
      "stripe-signature":
        "t=1533204620,v1=2220f87ef101a04665f11cdf770523143f875572008577fa0f20882ddb9cc3c7," +
        "v0=63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef",
    },
    signed: "stripe-signature",
    at: 1_533_204_620,
  },
  {
    // GitHub's documentation: validating webhook deliveries.
    service: "GitHub",
    make: github,
    secret: "It's a Secret to Everybody",
    body: "Hello, World!",
    headers: {
      "x-hub-signature-256":
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    },
    signed: "x-hub-signature-256",
  },
  {
    // Slack's documentation: verifying requests.
    service: "Slack",
    make: slack,
    secret: "8f742231b10e8888abcd99yyyzzz85a5",
    body:
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V" +
      "&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=" +
      "&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554" +
      "%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
    headers: {
      "x-slack-request-timestamp": "1531420618",
      "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    },
    signed: "x-slack-signature",
    at: 1_531_420_618,
  },
  {
    // The libraries of Standard Webhooks.
    service: "Standard Webhooks",
    make: standardWebhooks,
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    body: '{"test": 2432232314}',
    headers: {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
    signed: "webhook-signature",
    at: 1_614_265_330,
  },
];
const TIMED = VECTORS.filter(({ at }) => at !== undefined);

test.each(VECTORS)("$service: the published vector is accepted", async (vector) => {
  expect(await vector.make(vector.secret)(deliveryOf(vector))).toBe(true);
});

test.each(VECTORS)(
  "$service: any change of body, signature or secret is refused",
  async (vector) => {
    const { make, secret, headers, signed, body } = vector;
    const verify = make(secret);
    const signature = (headers[signed] ?? "").replace(/,v0=.*$/, "");
    expect(await verify(deliveryOf({ ...vector, body: `${body} ` }))).toBe(false);
    expect(await verify(deliveryOf({ ...vector, body: "" }))).toBe(false);
    expect(await make(otherSecret(secret))(deliveryOf(vector))).toBe(false);
    for (const wrong of [
      "",
      " ",
      "=",
      signature.slice(0, -2),
      `${signature}00`,
      signature.replace(/[0-9]/, (digit) => String((Number(digit) + 1) % 10)),
      signature.replace(/(?:v0|v1|sha256)[=,]/, ""),
      signature.replace(/v1|v0|sha256/, "v9"),
      `${signature},`.repeat(30),
    ]) {
      const changed = { ...vector, headers: { ...headers, [signed]: wrong } };
      expect([wrong, await verify(deliveryOf(changed))]).toEqual([wrong, false]);
    }
    for (const name of Object.keys(headers)) {
      const { [name]: _removed, ...rest } = headers;
      expect([name, await verify(deliveryOf({ ...vector, headers: rest }))]).toEqual([name, false]);
    }
  },
);

test.each(TIMED)(
  "S39: $service: a signature counts for five minutes of the store's clock",
  async (vector) => {
    const verify = vector.make(vector.secret);
    const at = vector.at ?? 0;
    for (const [offset, expected] of [
      [-301, false],
      [-300, true],
      [0, true],
      [300, true],
      [301, false],
    ] as const) {
      const delivery = { ...deliveryOf(vector), now: (at + offset) * 1_000 };
      expect([offset, await verify(delivery)]).toEqual([offset, expected]);
    }
  },
);

test.each(VECTORS)(
  "S43: $service: while a secret is replaced, both secrets are accepted",
  async (vector) => {
    const other = otherSecret(vector.secret);
    expect(await vector.make([other, vector.secret])(deliveryOf(vector))).toBe(true);
    expect(await vector.make([vector.secret, other])(deliveryOf(vector))).toBe(true);
    expect(await vector.make([other])(deliveryOf(vector))).toBe(false);
  },
);

test.each(VECTORS)(
  "$service: a missing, empty or surplus secret is refused, and no message has it",
  ({ make }) => {
    for (const secrets of [
      "",
      [],
      ["a2V5", ""],
      Array.from({ length: 11 }, () => "a2V5"),
      undefined,
    ]) {
      // A program may pass a variable of its environment that is not set.
      expect(() => make(secrets as string)).toThrow(/must be (?:given|a text)/);
    }
    expect(() => standardWebhooks("whsec_not base64!")).toThrow(
      /^(?!.*not base64!).*must be Base64/,
    );
  },
);

test("Stripe: during a rotation at Stripe, one of several signatures is enough", async () => {
  const [vector] = VECTORS;
  if (vector === undefined) throw new Error("the vector of Stripe is missing");
  const extra = `v1=${"0".repeat(64)},`;
  const signature = (vector.headers["stripe-signature"] ?? "").replace("v1=", `${extra}v1=`);
  const headers = { "stripe-signature": signature };
  expect(await stripe(vector.secret)(deliveryOf({ ...vector, headers }))).toBe(true);
});

test("Standard Webhooks: one of several signatures is enough, and other schemes do not count", async () => {
  const vector = VECTORS[3];
  if (vector === undefined) throw new Error("the vector of Standard Webhooks is missing");
  const signature = vector.headers["webhook-signature"] ?? "";
  const verify = standardWebhooks(vector.secret);
  const withSignature = (text: string) =>
    verify(deliveryOf({ ...vector, headers: { ...vector.headers, "webhook-signature": text } }));
  expect(await withSignature(`v1,${Buffer.alloc(32).toString("base64")} ${signature}`)).toBe(true);
  expect(await withSignature(signature.replace("v1,", "v1a,"))).toBe(false);
});

test("Slack: a signed challenge is answered with its text, an unsigned one is refused", async () => {
  const body = JSON.stringify({ type: "url_verification", token: "t", challenge: "3eZbrw1a" });
  const hex = createHmac("sha256", "secret").update(`v0:1000:${body}`).digest("hex");
  const delivery = (signature: string): Delivery => ({
    body: Buffer.from(body),
    headers: new Headers({
      "x-slack-request-timestamp": "1000",
      "x-slack-signature": `v0=${signature}`,
    }),
    now: 1_000_000,
  });
  expect(await slack("secret")(delivery(hex))).toEqual({ reply: "3eZbrw1a" });
  expect(await slack("secret")(delivery("0".repeat(64)))).toBe(false);
});

test("Slack: only a challenge of the right type and form is answered; other requests are events", async () => {
  for (const body of [
    JSON.stringify({ type: "event_callback", challenge: "3eZbrw1a" }),
    JSON.stringify({ type: "url_verification", challenge: 7 }),
    JSON.stringify({ type: "url_verification" }),
    "{ not JSON",
    "payload=%7B%7D",
    "",
  ]) {
    const hex = createHmac("sha256", "secret").update(`v0:1000:${body}`).digest("hex");
    const headers = new Headers({
      "x-slack-request-timestamp": "1000",
      "x-slack-signature": `v0=${hex}`,
    });
    const delivery = { body: Buffer.from(body), headers, now: 1_000_000 };
    expect([body, await slack("secret")(delivery)]).toEqual([body, true]);
  }
});

test("Stripe: the fields of the header may be in any order and may have spaces around them", async () => {
  const [vector] = VECTORS;
  if (vector === undefined) throw new Error("the vector of Stripe is missing");
  const [time, signature] = (vector.headers["stripe-signature"] ?? "").split(",");
  const verify = (header: string) =>
    stripe(vector.secret)(deliveryOf({ ...vector, headers: { "stripe-signature": header } }));
  expect(await verify(`${signature},${time}`)).toBe(true);
  expect(await verify(`${time} , ${signature}`)).toBe(true);
  expect(await verify(`${time?.replace("=", " = ")},${signature?.replace("=", " = ")}`)).toBe(true);
});

test("Stripe: up to twenty signatures of one delivery are compared", async () => {
  const [vector] = VECTORS;
  if (vector === undefined) throw new Error("the vector of Stripe is missing");
  const signature = vector.headers["stripe-signature"] ?? "";
  const withOthers = (count: number) => {
    const headers = { "stripe-signature": `v1=${"0".repeat(64)},`.repeat(count) + signature };
    return stripe(vector.secret)(deliveryOf({ ...vector, headers }));
  };
  expect([await withOthers(19), await withOthers(20)]).toEqual([true, false]);
});

test("a signature with other characters before it is refused", async () => {
  for (const [index, prefix] of [
    [1, "x"],
    [2, "x"],
    [3, "x"],
  ] as const) {
    const vector = VECTORS[index];
    if (vector === undefined) throw new Error(`vector ${index} is missing`);
    const headers = { ...vector.headers, [vector.signed]: prefix + vector.headers[vector.signed] };
    const delivery = deliveryOf({ ...vector, headers });
    expect([vector.service, await vector.make(vector.secret)(delivery)]).toEqual([
      vector.service,
      false,
    ]);
  }
});

test("a hexadecimal signature with other characters before it is refused", async () => {
  const digest = createHmac("sha256", "secret").update("body").digest("hex");
  const verify = (hex: string) => {
    const headers = new Headers({ "x-hub-signature-256": `sha256=${hex}` });
    return github("secret")({ body: Buffer.from("body"), headers, now: 0 });
  };
  expect(await verify(digest)).toBe(true);
  expect(await verify(digest.toUpperCase())).toBe(true);
  for (const wrong of [`00${digest}`, `x${digest}`, `${digest}00`, digest.slice(1)]) {
    expect([wrong, await verify(wrong)]).toEqual([wrong, false]);
  }
});

test("Standard Webhooks: a signature without padding counts, and a delivery without an id does not", async () => {
  const secret = Buffer.from("a secret of some length").toString("base64");
  const verify = (id: string | null, padded: boolean) => {
    const signed = createHmac("sha256", Buffer.from(secret, "base64"));
    const base64 = signed.update(`${String(id)}.1000.body`).digest("base64");
    const signature = `v1,${padded ? base64 : base64.replace("=", "")}`;
    const headers = new Headers({ "webhook-timestamp": "1000", "webhook-signature": signature });
    if (id !== null) headers.set("webhook-id", id);
    return standardWebhooks(secret)({ body: Buffer.from("body"), headers, now: 1_000_000 });
  };
  expect([await verify("m1", true), await verify("m1", false)]).toEqual([true, true]);
  expect(await verify(null, true)).toBe(false);
  expect(() => standardWebhooks("not base64!YWJj")).toThrow("must be Base64");
});

test("ten secrets are accepted, and the error for too many names the verifier", async () => {
  const vector = VECTORS[1];
  if (vector === undefined) throw new Error("the vector of GitHub is missing");
  const others = Array.from({ length: 9 }, (_, index) => `other ${index}`);
  expect(await github([...others, vector.secret])(deliveryOf(vector))).toBe(true);
  for (const [name, make] of Object.entries({ stripe, github, slack, standardWebhooks })) {
    expect(() => make([])).toThrow(`${name} must be given 1 to 10 secrets; got 0.`);
  }
});

function deliveryOf({ body, headers, at = 0 }: Vector): Delivery {
  return { body: Buffer.from(body), headers: new Headers({ ...headers }), now: at * 1_000 };
}

function otherSecret(secret: string): string {
  return secret.startsWith("whsec_") ? "whsec_b3RoZXItc2VjcmV0LW9mLTMyLWJ5dGVz" : `${secret}x`;
}
