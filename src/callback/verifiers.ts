// Verifiers: they check that a delivery of a webhook comes from the service that signs with the secret.
//   - A verifier receives the bytes of the body as they arrived. Parsed and serialized again, they would differ.
//   - GitHub signs no timestamp. A recorded delivery can be sent again, and its event id keeps it without effect.

import { invalidArgument } from "../core/checks.ts";
import { fromHex, isRecent, isSigned, keysOf, type Secrets } from "./signatures.ts";

/** A request to a webhook, before its body is parsed. */
export interface Delivery {
  /** The body, byte for byte. */
  readonly body: Uint8Array;
  readonly headers: Headers;
  /** The store's time, in milliseconds since 1970. */
  readonly now: number;
}

/**
 * Checks a delivery. False: the signature is not valid, and the answer is 401. `reply`: the delivery is valid and is
 * not an event, such as a challenge; the text is the answer, and no instance starts.
 */
export type Verifier = (delivery: Delivery) => Verdict | Promise<Verdict>;
/** What a verifier returns. */
export type Verdict = boolean | { readonly reply: string };

/** Verifies webhooks of Stripe by the endpoint's secret (`whsec_…`). */
export function stripe(secrets: Secrets): Verifier {
  const keys = keysOf(secrets, "stripe");
  return ({ body, headers, now }) => {
    const fields = (headers.get("stripe-signature") ?? "").split(",").map((field) => {
      const at = field.indexOf("=");
      return { name: field.slice(0, at).trim(), value: field.slice(at + 1).trim() };
    });
    const timestamp = fields.find(({ name }) => name === "t")?.value;
    if (!isRecent(timestamp, now)) return false;
    const signatures = fields.filter(({ name }) => name === "v1");
    const bytes = signatures.map(({ value }) => fromHex(value));
    return isSigned(keys, [`${timestamp}.`, body], bytes);
  };
}

/** Verifies webhooks of GitHub by the secret of the webhook. */
export function github(secrets: Secrets): Verifier {
  const keys = keysOf(secrets, "github");
  return ({ body, headers }) => {
    const [, hex] = /^sha256=(.*)$/.exec(headers.get("x-hub-signature-256") ?? "") ?? [];
    return hex !== undefined && isSigned(keys, [body], [fromHex(hex)]);
  };
}

/**
 * Verifies requests of Slack (events, commands, interactions) by the signing secret of the app. It answers the
 * challenge with which Slack checks the address of an app.
 */
export function slack(secrets: Secrets): Verifier {
  const keys = keysOf(secrets, "slack");
  return ({ body, headers, now }) => {
    const timestamp = headers.get("x-slack-request-timestamp") ?? undefined;
    if (!isRecent(timestamp, now)) return false;
    const [, hex] = /^v0=(.*)$/.exec(headers.get("x-slack-signature") ?? "") ?? [];
    if (hex === undefined) return false;
    if (!isSigned(keys, [`v0:${timestamp}:`, body], [fromHex(hex)])) return false;
    const reply = challengeIn(body);
    return reply === undefined ? true : { reply };
  };
}

/** Verifies webhooks by the convention Standard Webhooks, with secrets in the form `whsec_` and Base64. */
export function standardWebhooks(secrets: Secrets): Verifier {
  const keys = keysOf(secrets, "standardWebhooks", keyOfText);
  return ({ body, headers, now }) => {
    const id = headers.get("webhook-id");
    const timestamp = headers.get("webhook-timestamp") ?? undefined;
    if (id === null || !isRecent(timestamp, now)) return false;
    const listed = (headers.get("webhook-signature") ?? "").split(" ");
    const signatures = listed.flatMap((one) => {
      const [, text] = /^v1,([A-Za-z\d+/]+={0,2})$/.exec(one) ?? [];
      return text === undefined ? [] : [Buffer.from(text, "base64")];
    });
    return isSigned(keys, [`${id}.${timestamp}.`, body], signatures);
  };
}

const SECRET_PREFIX = "whsec_";

function keyOfText(secret: string): Buffer {
  const text = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
  if (/^[A-Za-z\d+/]+={0,2}$/.test(text)) return Buffer.from(text, "base64");
  throw invalidArgument("A secret of standardWebhooks must be Base64, with or without whsec_.");
}

/** Slack's challenge. The body is verified and within the size limit. */
function challengeIn(body: Uint8Array): string | undefined {
  if (body[0] !== OPEN_BRACE) return undefined; // commands and interactions are forms
  try {
    const given = JSON.parse(Buffer.from(body).toString()) as {
      readonly type?: unknown;
      readonly challenge?: unknown;
    };
    const { type, challenge } = given;
    return type === "url_verification" && typeof challenge === "string" ? challenge : undefined;
  } catch {
    return undefined; // The body's parser reports it.
  }
}

const OPEN_BRACE = 123;
