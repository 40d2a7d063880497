// The settings of callbacks: their checks, and the addresses that they produce.

import { checkMembers, invalidArgument, type Members } from "../../core/checks.ts";
import type { CallbackSettings } from "../../core/define/callback.ts";
import { showValue } from "../../core/ids/ids.ts";

const SECRETS_MAX = 10;
const SECRET_BYTES_MIN = 32;
const SETTINGS: Members<CallbackSettings> = { secrets: true, baseUrl: true };

export interface ResolvedCallbacks {
  readonly secrets: readonly Buffer[];
  /** Without a slash at its end. */
  readonly baseUrl: string;
}

/** Throws for settings that break a rule. The messages never contain a secret. */
export function resolveCallbacks(settings: CallbackSettings): ResolvedCallbacks {
  checkMembers(settings, SETTINGS, "callbacks");
  return { secrets: secretsOf(settings.secrets), baseUrl: baseUrlOf(settings.baseUrl) };
}

function secretsOf(given: unknown): readonly Buffer[] {
  if (!Array.isArray(given) || given.length < 1 || given.length > SECRETS_MAX) {
    const got = Array.isArray(given) ? `${given.length} of them` : typeof given;
    throw invalidArgument(
      `callbacks.secrets must be a list of 1 to ${SECRETS_MAX} secrets; got ${got}.`,
    );
  }
  return given.map((secret: unknown, index) => {
    const bytes = bytesOf(secret);
    if (bytes !== null && bytes.length >= SECRET_BYTES_MIN) return bytes;
    const got = bytes === null ? typeof secret : `${bytes.length} bytes`;
    const rule = `must be a text or bytes of at least ${SECRET_BYTES_MIN} bytes`;
    throw invalidArgument(`callbacks.secrets[${index}] ${rule}; got ${got}.`);
  });
}

/** A copy, so that the caller may overwrite its secret. */
function bytesOf(secret: unknown): Buffer | null {
  if (typeof secret === "string") return Buffer.from(secret, "utf8");
  return secret instanceof Uint8Array ? Buffer.from(secret) : null;
}

function baseUrlOf(given: unknown): string {
  const url = typeof given === "string" ? URL.parse(given) : null;
  const isPlain = url?.search === "" && url.hash === "" && url.username + url.password === "";
  if (url !== null && isPlain && /^https?:$/.test(url.protocol)) {
    return url.href.replace(/\/+$/, "");
  }
  const rule =
    "must be an http or https address without a query, such as https://example.com/callbacks";
  throw invalidArgument(`callbacks.baseUrl ${rule}; got ${showValue(given)}.`);
}
