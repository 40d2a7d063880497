// The arguments of an ask: checks and encodes them, before anything is written.

import { hash } from "node:crypto";
import type { Duration } from "../../core/time/duration.ts";
import { parseDuration } from "../../core/time/duration.ts";
import { checkMembers, type Members } from "../../core/checks.ts";
import { requestName, type AnyRequest } from "../../core/define/request.ts";
import { parseRequestId } from "../../core/ids/ids.ts";
import { generateRequestId } from "../../core/ids/request-ids.ts";
import { requestMessageName, type RequestMessage } from "../../core/ids/request-messages.ts";
import type { AskItem } from "../../core/provider/asks.ts";
import type { AskStart } from "../../core/provider/commit.ts";
import { defaultCodec, type Codec } from "../../core/values/codec.ts";
import { validateToSend } from "../../core/values/standard-schema.ts";
import type { AskWait } from "./ask-answers.ts";
import type { Store } from "../store.ts";
import { checkSignal } from "../waiting.ts";

/** Options of `handle.ask`. */
export interface AskOptions {
  /** How long to wait for the answer. Then the call rejects with `TIMEOUT`; the request stays sent. Default 30 s. */
  readonly timeout?: Duration;
  /**
   * Repeated calls with the same id send one request and return its answer. Another input or request under the
   * same id raises `KEY_REUSED`.
   */
  readonly requestId?: string;
  /** Ends the wait. The request stays sent. */
  readonly signal?: AbortSignal;
}
const ASK_OPTIONS: Members<AskOptions> = { timeout: true, requestId: true, signal: true };
const TIMEOUT_MS = 30_000;

/** Throws for unknown or invalid options. `others`: options that the caller checks. */
export function checkAsk(options: AskOptions, what: string, others: object = {}): void {
  checkMembers<AskOptions>(options, { ...ASK_OPTIONS, ...others }, what);
  checkSignal(options.signal);
}

export function askWait(request: AnyRequest | string, { timeout, signal }: AskOptions): AskWait {
  const timeoutMs = timeout === undefined ? TIMEOUT_MS : parseDuration(timeout, "timeout");
  return { timeoutMs, signal, request: requestName(request) };
}

export async function askItem(
  store: Store,
  id: string,
  request: AnyRequest | string,
  input: unknown,
  options: Pick<AskOptions, "requestId">,
  start: AskStart | null,
): Promise<AskItem> {
  const name = requestName(request);
  const schema = typeof request === "string" ? undefined : request.input;
  const sent = await validateToSend(schema, input, `input of request "${name}"`);
  const message: RequestMessage = { input: store.codec.encode(sent.value) };
  const { requestId } = options;
  return {
    kind: "ask",
    id,
    name: requestMessageName(name),
    data: JSON.stringify(message),
    ...(requestId === undefined
      ? { requestId: generateRequestId(store.provider.environment) }
      : {
          requestId: parseRequestId(requestId),
          requestDigest: digestOf(name, sent.value, store.codec),
        }),
    asker: null,
    start,
  };
}

/** A codec that encrypts must not leave a digest of the input in the store, so only the name is compared then. */
function digestOf(name: string, input: unknown, codec: Codec): string {
  const parts = codec.sealsFailures === true ? [name] : [name, defaultCodec.encode(input)];
  return hash("sha256", JSON.stringify(parts), "hex");
}
