// Calls from outside, made by a client: complete, fail and heartbeat, by the token of a callback or of an activity.
//   - complete.1: The signature is checked before anything is read. A token of another store raises the same error as a
//        forged one.
//   - complete.2: A repeated call changes nothing and returns like the first one, also with another value, even one that
//        the schema refuses. A call for something that no longer waits raises CALLBACK_CLOSED.
//   - complete.3: If this process knows the schema of the callback, a value that the schema refuses raises
//        INVALID_ARGUMENT and nothing is written. Otherwise the receiver checks the value ("accepted").

import { threw } from "../../core/attempts/run-attempt.ts";
import { checkMembers, invalidArgument, type Members } from "../../core/checks.ts";
import type { CallbackCall, CallbackSettings } from "../../core/define/callback.ts";
import type { CallbackCreated } from "../../core/history/events.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { showValue } from "../../core/ids/ids.ts";
import type { CallbackMessage } from "../../core/ids/callback-messages.ts";
import type { CallbackTarget, TaskCall } from "../../core/provider/callbacks.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { validateToSend, type StandardSchema } from "../../core/values/standard-schema.ts";
import type { Store } from "../store.ts";
import { CallbackSchemas } from "./schemas.ts";
import { resolveCallbacks, type ResolvedCallbacks } from "./settings.ts";
import { addressOf } from "./signer.ts";
import { invalidToken, readToken, type TokenClaims } from "./token.ts";

/** Options of `client.complete`. */
export interface CompleteOptions {
  /** Headers of the call, for the code that waits, with names in lower case. Only for `ctx.callback`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Checks the value instead of a schema that this process has learned. Only for `ctx.callback`. */
  readonly schema?: StandardSchema;
}
const COMPLETE_OPTIONS: Members<CompleteOptions> = { headers: true, schema: true };
const HEADERS_CHARS_MAX = 16_384;

/**
 * The result of `client.complete`. "accepted": the callback has a schema that this process does not know, so its
 * receiver checks the value.
 */
export type CompleteResult = "completed" | "accepted";

/** What a token says. */
export interface TokenInfo {
  /** "callback": a wait of `ctx.callback`. "activity": an activity that called `completeLater`. */
  readonly kind: "callback" | "activity";
  /** The name of the callback or of the activity. */
  readonly name: string;
  readonly instanceId: string;
  /** The name of the orchestration that waits. */
  readonly orchestration: string;
  /** When the wait times out. Absent: never, or it is an activity. */
  readonly expiresAt?: Date;
}

/** The part of a client that handles callbacks. */
export class ClientCallbacks {
  readonly #store: Store;
  readonly #settings: ResolvedCallbacks | null;
  readonly #schemas: CallbackSchemas;
  #storeId: string | null = null;

  constructor(store: Store, settings: CallbackSettings | undefined) {
    this.#store = store;
    this.#settings = settings === undefined ? null : resolveCallbacks(settings);
    this.#schemas = CallbackSchemas.of(store.provider);
  }

  get isConfigured(): boolean {
    return this.#settings !== null;
  }

  /** Checks only the signature. */
  read(token: string): TokenInfo {
    return infoOf(this.#claims(token));
  }

  /** Checks the signature and the store (complete.1). */
  async check(token: string): Promise<TokenInfo> {
    return infoOf(await this.#ofThisStore(token));
  }

  async complete(
    token: string,
    value: unknown,
    options: CompleteOptions = {},
  ): Promise<CompleteResult> {
    const claims = await this.#ofThisStore(token);
    checkMembers(options, COMPLETE_OPTIONS, "client.complete");
    if (claims.kind === "activity") {
      for (const name of Object.keys(options)) throw onlyForCallbacks(name, claims);
      const output = this.#store.codec.encode(value);
      await this.#callTask(claims, { kind: "complete", output });
      return "completed";
    }
    const { schema = this.#schemas.find(claims.orchestration, claims.name) } = options;
    const { expiresAt } = claims;
    const item = { kind: "callback", ...targetOf(claims), expiresAt } as const;
    let data: string;
    try {
      data = await this.#messageOf(claims, value, schema, options.headers);
    } catch (error) {
      const earlier = await this.#store.read((p: Provider) => p.settle({ ...item, data: "" }));
      if (earlier !== null) return "completed"; // complete.2
      throw error;
    }
    await this.#store.write(claims.instanceId, { ...item, data });
    return claims.isChecked && schema === undefined ? "accepted" : "completed";
  }

  /** JSON text of CallbackMessage. Throws if the value is refused or cannot be stored (complete.3). */
  async #messageOf(
    { name }: TokenClaims,
    value: unknown,
    schema: StandardSchema | undefined,
    headers: CompleteOptions["headers"],
  ): Promise<string> {
    const sent = await validateToSend(schema, value, `value of callback "${name}"`);
    const { codec } = this.#store;
    const message: CallbackMessage = {
      value: codec.encode(sent.value),
      ...(headers === undefined ? {} : { headers: codec.encode(checkedHeaders(headers)) }),
    };
    return JSON.stringify(message);
  }

  async fail(token: string, error: unknown): Promise<void> {
    const claims = await this.#ofThisStore(token);
    if (claims.kind === "callback") throw onlyForActivities("client.fail", claims);
    const { failure, retryAfterMs } = threw(error, this.#store.codec);
    const random = this.#store.provider.environment.random();
    const { attempt } = claims;
    const text = JSON.stringify(failure);
    await this.#callTask(claims, { kind: "fail", attempt, failure: text, retryAfterMs, random });
  }

  async heartbeat(token: string): Promise<void> {
    const claims = await this.#ofThisStore(token);
    if (claims.kind === "callback") throw onlyForActivities("client.heartbeat", claims);
    await this.#callTask(claims, { kind: "heartbeat", attempt: claims.attempt });
  }

  /** The addresses of the callbacks of a fork, as codec texts. Without settings, such a history cannot be forked. */
  async addressesIn(
    fork: Pick<CallbackCall, "runId" | "orchestration"> & { readonly id: string },
  ): Promise<(created: CallbackCreated & { readonly sequence: number }) => string> {
    const { id: instanceId, runId, orchestration } = fork;
    const run = { kind: "callback", instanceId, runId, execution: 1, orchestration } as const;
    const storeId = this.isConfigured ? await this.#readStoreId() : null;
    return ({ name, sequence, expiresAt = 0, checked = false }) => {
      const call = { ...run, sequence, attempt: 0, name, expiresAt, isChecked: checked };
      return this.#store.codec.encode(addressOf(call, this.#configured(), storeId));
    };
  }

  async #callTask(claims: TokenClaims, call: TaskCall): Promise<void> {
    const item = { kind: "callTask", ...targetOf(claims), call } as const;
    await this.#store.write(claims.instanceId, item);
  }

  /** complete.1 */
  async #ofThisStore(token: string): Promise<TokenClaims> {
    const claims = this.#claims(token);
    if (claims.storeId === this.#storeId) return claims;
    // The id is read again, because a move may have changed it (provider.transfer.4).
    this.#storeId = await this.#readStoreId();
    if (claims.storeId !== this.#storeId) throw invalidToken();
    return claims;
  }

  #readStoreId(): Promise<string> {
    return this.#store.read((provider: Provider) => provider.storeId());
  }

  #claims(token: string): TokenClaims {
    return readToken(token, this.#configured().secrets);
  }

  #configured(): ResolvedCallbacks {
    if (this.#settings !== null) return this.#settings;
    const message =
      "This client has no callbacks. Open the store with Perdure.open(address, { callbacks: { secrets, baseUrl } }).";
    throw new PerdureError("NOT_CONFIGURED", message);
  }
}

function infoOf({ kind, name, instanceId, orchestration, expiresAt }: TokenClaims): TokenInfo {
  const info = { kind, name, instanceId, orchestration };
  return expiresAt === 0 ? info : { ...info, expiresAt: new Date(expiresAt) };
}

function targetOf({ instanceId: id, runId, execution, sequence }: CallbackCall): CallbackTarget {
  return { id, runId, execution, sequence };
}

function checkedHeaders(given: unknown): Readonly<Record<string, string>> {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw invalidArgument(`headers must be an object of texts; got ${showValue(given)}.`);
  }
  let characters = 0;
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    if (typeof value !== "string" || name !== name.toLowerCase()) {
      const rule = "must have a name in lower case and a text as its value";
      throw invalidArgument(`Header ${showValue(name)} ${rule}; got ${showValue(value)}.`);
    }
    characters += name.length + value.length;
  }
  if (characters <= HEADERS_CHARS_MAX) return { ...given };
  const message = `headers must have at most ${HEADERS_CHARS_MAX} characters; got ${characters}.`;
  throw new PerdureError("LIMIT_EXCEEDED", message);
}

function onlyForCallbacks(option: string, { name }: TokenClaims): PerdureError {
  const what = `client.complete: ${option} has a meaning only for ctx.callback`;
  return invalidArgument(`${what}; the token belongs to activity "${name}".`);
}

function onlyForActivities(what: string, { name }: TokenClaims): PerdureError {
  return invalidArgument(
    `${what} works only for an activity that called completeLater; the token belongs to callback "${name}".`,
  );
}
