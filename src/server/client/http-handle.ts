// A handle of one instance over HTTP.

import * as v from "valibot";
import { checkFork } from "../../client/repair/fork.ts";
import { checkRestart, type RestartOptions } from "../../client/repair/restart.ts";
import { checkRewind, type RewindOptions } from "../../client/repair/rewind.ts";
import { askWait, checkAsk, type AskOptions } from "../../client/calls/ask-item.ts";
import type { RaiseOptions } from "../../client/calls/raise.ts";
import type { ResultOptions } from "../../client/handle.ts";
import type { AskArguments, RequestOutput } from "../../core/context/types.ts";
import type { AnyStream, StreamValue } from "../../core/define/stream.ts";
import { checkValue, type AnyRequest, type ValueDef } from "../../core/define/request.ts";
import { parseDuration } from "../../core/time/duration.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import { fromFailure } from "../../core/errors/failure.ts";
import { checkMembers } from "../../core/checks.ts";
import { OrchestrationError } from "../../core/errors/outcome-errors.ts";
import { RequestError } from "../../core/errors/request-error.ts";
import { parseRequestId } from "../../core/ids/ids.ts";
import { generateRequestId } from "../../core/ids/request-ids.ts";
import { systemEnvironment } from "../../core/time/system-environment.ts";
import { validateToSend } from "../../core/values/standard-schema.ts";
import { forkBody, restartBody, rewindBody, type HttpForkOptions } from "./repairs.ts";
import { readEvents } from "./event-reader.ts";
import { readHttpStream } from "./http-streams.ts";
import {
  because,
  noAnswerYet,
  numbers,
  untilFound,
  type Found,
  type NotYet,
  type Query,
} from "./waits.ts";
import { streamError, type HttpTransport, type ProblemOutput } from "./http-transport.ts";
import type { Schema } from "../http/parse.ts";
import { value } from "../schemas/common.ts";
import { historyEvent, historyPage, timeline } from "../schemas/history.ts";
import type { UnreadOptions } from "../../client/inspect/unread.ts";
import type { StreamInfo } from "../../client/streams/entries.ts";
import { checkTrim } from "../../client/streams/list-and-trim.ts";
import {
  checkReadStream,
  type ReadStreamOptions,
  type StreamReader,
} from "../../client/streams/read-stream.ts";
import { checkWait, type WaitOptions } from "../../client/waiting.ts";
import {
  completedWork,
  execution,
  instance,
  keyValue,
  outcome,
  requestAnswer,
  started,
  statistics,
  tree,
  unreadPage,
} from "../schemas/instance.ts";
import { node, nodeOutcome } from "../schemas/node.ts";
import { rewindReport } from "../schemas/repair.ts";
import { streamInfo } from "../schemas/streams.ts";
import { toHttp } from "../views/values.ts";
import { failureFromHttp } from "../wire/failure.ts";
import { member } from "../wire/instance.ts";

export type { HttpForkOptions } from "./repairs.ts";
/** The report of a rewind over HTTP: what it did or, with `dryRun`, would do. */
export type HttpRewindReport = v.InferOutput<typeof rewindReport>;
/** An instance as the HTTP client returns it, with `Date` objects and decoded values. */
export type HttpInstance = v.InferOutput<typeof instance>;
/** The options of `Handle.raise` without `tx` and without `requestDigest`, which the server derives. */
export type HttpRaiseOptions = Omit<RaiseOptions, "tx" | "requestDigest">;

/** A handle of one instance over HTTP. It has the methods of `Handle`. */
export class HttpHandle<O = unknown> {
  readonly id: string;
  readonly #transport: HttpTransport;

  constructor(transport: HttpTransport, id: string) {
    this.id = id;
    this.#transport = transport;
  }

  /** Waits for the end of the instance and returns its output. Rejects with OrchestrationError. */
  async result(options: ResultOptions = {}): Promise<O> {
    checkWait(options, "handle.result", { execution: true });
    const { execution: number, ...wait } = options;
    const what = `Instance "${this.id}" did not end`;
    const found = await this.#until(wait, what, async (query) => {
      const asked = [...query, ...numbers({ execution: number })];
      const answer = await this.#get(["result"], outcome, asked, wait.signal);
      return answer.ended ? { found: answer } : because(answer.reason);
    });
    if (found.error === undefined) return found.output as O; // typed by the definition
    const failure = failureFromHttp(found.error.failure);
    const cause = fromFailure(failure);
    throw new OrchestrationError({
      kind: found.error.kind,
      instanceId: this.id,
      failure,
      cause,
    });
  }

  async exists(): Promise<boolean> {
    try {
      await this.describe();
      return true;
    } catch (error) {
      if (isPerdureError(error, "INSTANCE_NOT_FOUND")) return false;
      throw error;
    }
  }

  describe(): Promise<HttpInstance> {
    return this.#get([], instance);
  }

  /** A stream of the states of the instance until it ends. Reconnects when the connection breaks. */
  async *watch(
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<HttpInstance, void, undefined> {
    checkMembers(options, { signal: true }, "handle.watch");
    const { signal } = options;
    for (;;) {
      const path = ["instances", this.id, "watch"];
      const response = await this.#transport.send({ method: "GET", path, answer: null, signal });
      if (response.body === null) return;
      try {
        for await (const { event, data } of readEvents(response.body)) {
          if (event === "end") return;
          if (event === "error") throw streamError(JSON.parse(data));
          yield v.parse(instance, JSON.parse(data));
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof TypeError)) throw error; // fetch throws TypeError when the connection breaks
      }
    }
  }

  /** Reads a stream of the instance until it is over. Resumes when the connection breaks. */
  stream<S extends AnyStream | string>(
    stream: S,
    options: ReadStreamOptions = {},
  ): StreamReader<StreamValue<S>> {
    const path = [
      "instances",
      this.id,
      "streams",
      checkReadStream(stream, options, "handle.stream"),
    ];
    // typed by the definition
    return readHttpStream(this.#transport, path, options) as StreamReader<StreamValue<S>>;
  }
  /** The streams of the instance, sorted by name. */
  async streams(): Promise<readonly StreamInfo[]> {
    return (await this.#get(["streams"], v.object({ items: v.array(streamInfo) }))).items;
  }
  /** Deletes the entries of a stream before an offset. An offset beyond the end means the end. */
  async trim(stream: AnyStream | string, options: { readonly before: number }): Promise<void> {
    const { name, before } = checkTrim(stream, options, "handle.trim");
    const path = ["instances", this.id, "streams", name, "trim"];
    await this.#transport.send({ method: "POST", path, body: { before }, answer: null });
  }

  /** Sends an event. The store keeps it until the instance reads it. */
  raise(event: string, data?: unknown, options: HttpRaiseOptions = {}): Promise<void> {
    const { requestId, ...rest } = options;
    return this.#post(
      "events",
      { name: event, ...member("data", toHttp(data)), ...rest },
      requestId,
    );
  }

  /** Sends a request and waits for its answer. Rejects with RequestError if the instance refuses it. */
  async ask<R extends AnyRequest | string>(
    request: R,
    ...rest: AskArguments<R, AskOptions>
  ): Promise<RequestOutput<R>> {
    const [input, options = {}]: [input?: unknown, options?: AskOptions] = rest;
    checkAsk(options, "handle.ask");
    const { timeoutMs, request: name, signal } = askWait(request, options);
    const schema = typeof request === "string" ? undefined : request.input;
    const sent = await validateToSend(schema, input, `input of request "${name}"`);
    // All calls of one ask use one id, so that a later call waits for the request that the first call sent.
    const requestId =
      options.requestId === undefined
        ? generateRequestId(systemEnvironment)
        : parseRequestId(options.requestId);
    const what = `Instance "${this.id}" did not answer request "${name}"`;
    const found = await untilFound(timeoutMs, what, async (waitMs) => {
      const asked = this.#transport.json({
        method: "POST",
        path: ["instances", this.id, "requests", name],
        body: { ...member("input", toHttp(sent.value)), timeoutMs: waitMs, requestId },
        answer: requestAnswer,
        signal,
        refusal: (given) => requestError(this.id, name, given),
      });
      return asked.then((found) => ({ found }), noAnswerYet);
    });
    return found.answer as RequestOutput<R>; // typed by the definition
  }

  /** Reads a typed value as of the instance's last commit, also after its end. Undefined: it is not set. */
  async read<T>(value: ValueDef<T>): Promise<T | undefined> {
    checkValue(value, "handle.read");
    const { name, as } = value;
    if (as === "key") return (await this.#key(name)).value as T | undefined; // typed by the definition
    const { customStatus, attributes } = await this.describe();
    const attribute = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
    return (as === "status" ? customStatus : attribute) as T | undefined;
  }

  /** Requests cancellation. The server records the name of the token as `by`. */
  cancel(reason?: string): Promise<void> {
    return this.#post("cancel", because(reason));
  }
  terminate(reason?: string): Promise<void> {
    return this.#post("terminate", because(reason));
  }
  pause(reason?: string): Promise<void> {
    return this.#post("pause", because(reason));
  }
  resume(): Promise<void> {
    return this.#post("resume", {});
  }
  unblock(): Promise<void> {
    return this.#post("unblock", {});
  }
  /** Goes on at the failed call, or before a call or an event, like `Handle.rewind`. */
  async rewind(options: RewindOptions): Promise<HttpRewindReport> {
    checkRewind(options);
    const { requestId } = options;
    const path = ["instances", this.id, "rewind"];
    const request = {
      method: "POST",
      path,
      body: rewindBody(options),
      answer: rewindReport,
    } as const;
    return this.#transport.json({ ...request, requestId });
  }
  /** Runs an ended instance again from the start, like `Handle.restart`. */
  async restart(options: RestartOptions = {}): Promise<void> {
    checkRestart(options);
    return this.#post("restart", restartBody(options), options.requestId);
  }

  /** Starts a new instance with a copy of this one's history up to an event. */
  async fork(options: HttpForkOptions): Promise<HttpHandle> {
    checkFork(options);
    const path = ["instances", this.id, "fork"];
    const request = { method: "POST", path, body: forkBody(options), answer: started } as const;
    const { id } = await this.#transport.json({ ...request, requestId: options.requestId });
    return new HttpHandle(this.#transport, id);
  }

  /** A page of an execution's events. Pass `next` as `after` to get the next page. */
  history(
    options: { execution?: number; after?: number; limit?: number; payloadChars?: number } = {},
  ): Promise<v.InferOutput<typeof historyPage>> {
    return this.#get(["history"], historyPage, numbers(options));
  }
  event(
    sequence: number,
    options: { execution?: number } = {},
  ): Promise<v.InferOutput<typeof historyEvent>> {
    return this.#get(["history", String(sequence)], historyEvent, numbers(options));
  }
  timeline(
    options: { execution?: number; after?: number; limit?: number } = {},
  ): Promise<v.InferOutput<typeof timeline>> {
    return this.#get(["timeline"], timeline, numbers(options));
  }

  async executions(): Promise<readonly v.InferOutput<typeof execution>[]> {
    return (await this.#get(["executions"], v.object({ items: v.array(execution) }))).items;
  }
  /** The activities, steps and children that an execution completed; `restart` runs them again. */
  async completedWork(
    options: { execution?: number } = {},
  ): Promise<readonly v.InferOutput<typeof completedWork>[]> {
    checkMembers(options, { execution: true }, "handle.completedWork");
    const answer = v.object({ items: v.array(completedWork) });
    return (await this.#get(["completed"], answer, numbers(options))).items;
  }
  unread(options: UnreadOptions = {}): Promise<v.InferOutput<typeof unreadPage>> {
    const query = Object.entries(options).map(([name, one]) => [name, String(one)] as const);
    return this.#get(["unread"], unreadPage, query);
  }
  tree(): Promise<v.InferOutput<typeof tree>> {
    return this.#get(["tree"], tree);
  }
  stats(): Promise<v.InferOutput<typeof statistics>> {
    return this.#get(["stats"], statistics);
  }

  /** The state of a flow's node. Undefined: the flow has not reached the node. */
  async node(path: string): Promise<v.InferOutput<typeof node> | undefined> {
    return (await this.#get(["nodes", path], v.object({ node: v.exactOptional(node) }))).node;
  }
  /** Waits until a flow's node has ended and returns its value. Rejects with its error. */
  async nodeResult(path: string, options: WaitOptions = {}): Promise<unknown> {
    checkWait(options, "the result of a node");
    const found = await this.#until(options, `Node "${path}" did not end`, async (query) => {
      const address = ["nodes", path, "result"];
      const answer = await this.#get(address, nodeOutcome, query, options.signal);
      return answer.ended ? { found: answer } : because(answer.reason);
    });
    if (found.failure === undefined) return found.output;
    throw fromFailure(failureFromHttp(found.failure));
  }

  /** The instance's key-values. */
  readonly kv = {
    get: async (key: string): Promise<unknown> => (await this.#key(key)).value,
    entries: async (): Promise<readonly (readonly [key: string, value: unknown])[]> => {
      const item = v.object({ key: v.string(), value: v.exactOptional(value) });
      const { items } = await this.#get(["kv"], v.object({ items: v.array(item) }));
      return items.map(({ key, value: held }) => [key, held] as const);
    },
    /** Waits until the key exists. */
    waitFor: async (key: string, options: WaitOptions = {}): Promise<unknown> => {
      checkWait(options, "handle.kv.waitFor");
      const what = `Instance "${this.id}" did not set the key "${key}"`;
      const found = await this.#until(options, what, async (query) => {
        const answer = await this.#key(key, query, options.signal);
        return answer.found ? { found: answer } : because(answer.reason);
      });
      return found.value;
    },
  };

  /** Repeats a waiting request until it finds a result or the timeout expires. */
  async #until<T extends object>(
    options: WaitOptions,
    what: string,
    ask: (query: Query) => Promise<Found<T> | NotYet>,
  ): Promise<T> {
    const { timeout, onBlocked } = options;
    const timeoutMs = timeout === undefined ? Infinity : parseDuration(timeout, "timeout");
    const stuck: Query = onBlocked === undefined ? [] : [["onBlocked", onBlocked]];
    return untilFound(timeoutMs, what, (waitMs) => ask([["timeout", String(waitMs)], ...stuck]));
  }

  #key(
    key: string,
    query: Query = [],
    signal?: AbortSignal,
  ): Promise<v.InferOutput<typeof keyValue>> {
    return this.#get(["kv", key], keyValue, query, signal);
  }

  #get<S extends Schema>(
    path: readonly string[],
    answer: S,
    query: Query = [],
    signal?: AbortSignal,
  ): Promise<v.InferOutput<S>> {
    const whole = ["instances", this.id, ...path];
    return this.#transport.json({ method: "GET", path: whole, answer, query, signal });
  }

  async #post(operation: string, body: object, requestId?: string): Promise<void> {
    const path = ["instances", this.id, operation];
    await this.#transport.send({ method: "POST", path, body, answer: null, requestId });
  }
}

/** Undefined: the problem is not a refusal of the instance. */
function requestError(
  instanceId: string,
  request: string,
  { kind, failure: shape }: ProblemOutput,
): RequestError | undefined {
  if (kind === undefined || shape === undefined) return undefined;
  const failure = failureFromHttp(shape);
  return new RequestError({ kind, instanceId, request, failure, cause: fromFailure(failure) });
}
