// Receives calls: one method per route of `callbacks`.
//   - The checks are in this order: rate of the address, token, rate of the token, body, value. The body is read only
//        if the token is ours, so every other token gets the same answer whatever else the request has (answers.1).
//   - A webhook must read its body to check its signature. Its size, its time and the number of requests are limited.
//   - The answer follows the commit: a call that got 200 is durable, and repeating it changes nothing.

import type { Client } from "../client/client.ts";
import type { TokenInfo } from "../client/callbacks/complete.ts";
import { isPerdureError } from "../core/errors/errors.ts";
import type { CallbackSpan } from "../core/telemetry/telemetry.ts";
import { defined } from "../core/values/defined.ts";
import { readBytes } from "./http/body-bytes.ts";
import { inTime } from "./http/in-time.ts";
import { peerAddress } from "./http/peer-address.ts";
import { RateBuckets } from "./http/rate-buckets.ts";
import { page, Refused, responseTo, type Answer } from "./answers.ts";
import { parseBody } from "./body.ts";
import { failureOf } from "./failure.ts";
import { chosenHeaders, type CallbacksSettings } from "./options.ts";
import { formPage } from "./page.ts";
import { answerOf } from "./refusals.ts";
import { traceParentOf } from "./trace-parent.ts";
import type { Webhook } from "./webhook.ts";

/** A request, and what the host environment says about it. */
export interface Incoming {
  readonly request: Request;
  readonly environment: unknown;
}
type Handler = (token: string, info: TokenInfo, request: Request) => Promise<Answer>;

const REPEAT = "repeat the request; a repeated request changes nothing.";

export class Receiver {
  readonly #client: Client;
  readonly #settings: CallbacksSettings;
  readonly #addresses: RateBuckets;
  readonly #tokens: RateBuckets;
  #running = 0;

  constructor(client: Client, settings: CallbacksSettings) {
    const { environment } = client.provider;
    const { addressPerSecond, tokenPerSecond } = settings.limits;
    const now = (): number => environment.monotonic();
    const perSecond = (rate: number): RateBuckets =>
      new RateBuckets({ perSecond: rate, burst: rate }, now);
    this.#client = client;
    this.#settings = settings;
    this.#addresses = perSecond(addressPerSecond);
    this.#tokens = perSecond(tokenPerSecond);
  }

  /** `POST /{token}` */
  complete(incoming: Incoming, token: string): Promise<Response> {
    return this.#call(incoming, token, async (_token, info, request) => {
      const value = await this.#body(request);
      const headers = chosenHeaders(request.headers, this.#settings.headers);
      const schema = this.#settings.schemas.get(info.name);
      const options =
        info.kind === "activity"
          ? {}
          : { ...(Object.keys(headers).length === 0 ? {} : { headers }), ...defined({ schema }) };
      return { code: await this.#inTime(this.#client.complete(token, value, options)) };
    });
  }

  /** `POST /{token}/fail` */
  fail(incoming: Incoming, token: string): Promise<Response> {
    return this.#call(incoming, token, async (_token, _info, request) => {
      await this.#inTime(this.#client.fail(token, failureOf(await this.#body(request))));
      return { code: "failed" };
    });
  }

  /** `POST /{token}/heartbeat` */
  heartbeat(incoming: Incoming, token: string): Promise<Response> {
    return this.#call(incoming, token, async () => {
      await this.#inTime(this.#client.heartbeat(token));
      return { code: "extended" };
    });
  }

  /** `GET /{token}`: the page with the button. It changes nothing (page.1). */
  async page(incoming: Incoming, token: string): Promise<Response> {
    const { request } = incoming;
    try {
      return await this.#admitted(incoming, async () => {
        const { kind, name, expiresAt } = await this.#checked(token);
        if (expiresAt !== undefined && expiresAt.getTime() <= this.#client.provider.now()) {
          throw new Refused({ code: "CALLBACK_CLOSED" });
        }
        const fields = [...new URL(request.url).searchParams];
        const texts = this.#settings.page({ kind, name, fields });
        return page(formPage({ fields, texts, ...defined({ expiresAt }) }));
      });
    } catch (error) {
      return responseTo(request, this.#answerTo(error));
    }
  }

  /** `POST /webhook/{name}` */
  async webhook(incoming: Incoming, name: string): Promise<Response> {
    const { request } = incoming;
    const found = this.#settings.webhooks.get(name);
    if (found === undefined) return this.notFound(incoming);
    const span = { kind: "webhook", name, instanceId: undefined } as const;
    return responseTo(
      request,
      await this.#ended(incoming, () => this.#observed(span, () => this.#delivery(found, request))),
    );
  }

  /** Every other path (answers.1). */
  async notFound(incoming: Incoming): Promise<Response> {
    const answer = await this.#ended(incoming, () =>
      Promise.reject(new Refused({ code: "NOT_FOUND" })),
    );
    return responseTo(incoming.request, answer);
  }

  async #call(incoming: Incoming, token: string, handle: Handler): Promise<Response> {
    const answer = await this.#ended(incoming, async () => {
      const info = await this.#checked(token);
      const { kind, name, instanceId } = info;
      return this.#observed({ kind, name, instanceId }, () =>
        handle(token, info, incoming.request),
      );
    });
    return responseTo(incoming.request, answer);
  }

  /** Counts the calls that end before they are observed. */
  async #ended(incoming: Incoming, work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await this.#admitted(incoming, work);
    } catch (error) {
      const answer = this.#answerTo(error);
      this.#client.telemetry?.callbackOver?.("unknown", answer.code.toLowerCase());
      return answer;
    }
  }

  /** Runs the work inside a span. Never rejects: an error becomes an answer. */
  async #observed(span: CallbackSpan, work: () => Promise<Answer>): Promise<Answer> {
    const { telemetry } = this.#client;
    const attempt = async (): Promise<Answer> => {
      try {
        return await work();
      } catch (error) {
        return this.#answerTo(error);
      }
    };
    if (telemetry === null) return attempt();
    const ended = async (): Promise<{ readonly outcome: string; readonly answer: Answer }> => {
      const answer = await attempt();
      const outcome = answer.code.toLowerCase();
      if (span.instanceId === undefined) return { outcome, answer };
      const traceParent = await traceParentOf(this.#client, span.instanceId);
      return { outcome, answer, ...defined({ traceParent }) };
    };
    const { outcome, answer } = await (telemetry.callback?.(span, ended) ?? ended());
    telemetry.callbackOver?.(span.kind, outcome);
    return answer;
  }

  /** Counts the request for its address, and limits the number of concurrent requests. */
  async #admitted<T>({ request, environment }: Incoming, work: () => Promise<T>): Promise<T> {
    const { limits, trustProxy } = this.#settings;
    checkRate(this.#addresses, peerAddress(request.headers, environment, trustProxy));
    if (this.#running >= limits.requestsMax) {
      throw new Refused({ code: "UNAVAILABLE", headers: { "Retry-After": "1" } });
    }
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
    }
  }

  /** Only tokens of this store have a bucket, so other tokens cannot fill the buckets. */
  async #checked(token: string): Promise<TokenInfo> {
    const info = await this.#inTime(this.#client.checkToken(token));
    checkRate(this.#tokens, token);
    return info;
  }

  async #delivery(webhook: Webhook, request: Request): Promise<Answer> {
    const { headers } = request;
    const body = await this.#bytes(request);
    const now = this.#client.provider.now();
    const verdict = await webhook.verify({ body, headers, now });
    if (verdict === false) throw new Refused({ code: "SIGNATURE_INVALID", headers: CHALLENGE });
    if (verdict !== true) return { code: "replied", text: verdict.reply };
    const event = await this.#parsed(body, headers);
    const chosen = chosenHeaders(headers, webhook.headers);
    const id = await this.#inTime(webhook.begin(this.#client, event, chosen));
    return { code: id === null ? "ignored" : "started" };
  }

  async #body(request: Request): Promise<unknown> {
    return this.#parsed(await this.#bytes(request), request.headers);
  }

  async #bytes(request: Request): Promise<Uint8Array> {
    const { bodyBytesMax, bodyMs } = this.#settings.limits;
    const read = await readBytes(request, { bytesMax: bodyBytesMax, ms: bodyMs });
    if (read.kind === "bytes") return read.bytes;
    // The rest of the body is not read, so the connection cannot be used again.
    const headers = { Connection: "close" };
    if (read.kind === "slow") throw new Refused({ code: "BODY_SLOW", headers });
    const detail = `The body must have at most ${bodyBytesMax} bytes.`;
    throw new Refused({ code: "BODY_TOO_LARGE", detail, headers });
  }

  async #parsed(bytes: Uint8Array, headers: Headers): Promise<unknown> {
    try {
      return await parseBody(bytes, headers.get("content-type"), this.#settings.limits);
    } catch (error) {
      if (!isPerdureError(error, "INVALID_ARGUMENT")) throw error;
      throw new Refused({ code: "BODY_INVALID", detail: error.message });
    }
  }

  #inTime<T>(work: Promise<T>): Promise<T> {
    return inTime(work, this.#settings.limits.answerMs, REPEAT);
  }

  /** The answer to an error. Only the log has the details of an unexpected one. */
  #answerTo(error: unknown): Answer {
    const answer = answerOf(error);
    if (answer.code === "INTERNAL") {
      this.#settings.log("error", "a received callback failed", { error });
    }
    return answer;
  }
}

/** Status 401 requires the header. */
const CHALLENGE = { "WWW-Authenticate": "Signature" };

function checkRate(buckets: RateBuckets, key: string): void {
  const waitSeconds = buckets.take(key);
  if (waitSeconds === 0) return;
  throw new Refused({ code: "RATE_LIMITED", headers: { "Retry-After": String(waitSeconds) } });
}
