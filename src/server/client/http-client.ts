// A client of the HTTP API with the methods of `Client`, for a store on another machine. Its types come from
// the schemas of the server's answers.

import * as v from "valibot";
import { reportOf } from "../../callback/failure.ts";
import type { CompleteOptions, CompleteResult } from "../../client/callbacks/complete.ts";
import type { ListOptions, PruneOptions } from "../../client/admin.ts";
import type { KeptOptions } from "../../client/inspect/kept.ts";
import type { ListFilter } from "../../client/list-filter.ts";
import type { ForkOptions } from "../../client/client.ts";
import type { StartOptions } from "../../client/start-item.ts";
import type {
  InputHint,
  NotFunction,
  OrchestrationArguments,
  OrchestrationOutput,
} from "../../core/context/types.ts";
import type { Orchestration } from "../../core/define/definitions.ts";
import { parseInstanceReference } from "../../core/ids/ids.ts";
import { checkMembers, invalidArgument } from "../../core/checks.ts";
import type { Removed } from "../../core/provider/admin.ts";
import { defined } from "../../core/values/defined.ts";
import { validateToSend } from "../../core/values/standard-schema.ts";
import { readEvents } from "./event-reader.ts";
import { HttpHandle, type HttpRaiseOptions } from "./http-handle.ts";
import { HttpTransport, type HttpClientOptions } from "./http-transport.ts";
import type { Schema } from "../http/parse.ts";
import { ROLES } from "../security/roles.ts";
import { callbackAnswer } from "../schemas/callback.ts";
import { bulkAnswer } from "../schemas/bulk.ts";
import { change, instancePage, started } from "../schemas/instance.ts";
import { whole } from "../schemas/common.ts";
import { keptPage, metrics, overview, queue, removed, runtime } from "../schemas/store.ts";
import { toHttp } from "../views/values.ts";
import { filterBody, filterQueryText, findsNothing } from "../wire/filter.ts";
import { member } from "../wire/instance.ts";

/**
 * The options of `Client.start` without `tx` and without `requestDigest`, which the server derives from the
 * body.
 */
export type HttpStartOptions = Omit<StartOptions, "tx" | "requestDigest">;

/** The bulk operations. */
export type BulkAction =
  | "cancel"
  | "terminate"
  | "pause"
  | "resume"
  | "unblock"
  | "restart"
  | "raise"
  | "delete"
  | "prune";
/** Options of a bulk operation. Some options apply only to some operations. */
export interface BulkOptions {
  readonly dryRun?: boolean;
  readonly limit?: number;
  /** For cancel, terminate and pause. */
  readonly reason?: string;
  /** For raise. */
  readonly name?: string;
  readonly data?: unknown;
  /** For prune. */
  readonly keepLast?: number;
  readonly completedBefore?: Date;
  readonly requestId?: string;
}
/** The result of a bulk operation: how many instances matched, were changed, and were refused. */
export type BulkResult = v.InferOutput<typeof bulkAnswer>;

/** A client of the HTTP API. It has the methods of `Client`, for a store on another machine. */
export class HttpClient {
  readonly #transport: HttpTransport;

  constructor(options: HttpClientOptions) {
    this.#transport = new HttpTransport(options);
  }

  /** Starts an instance. When the promise resolves, the instance is stored durably and will run. */
  async start<
    C extends Orchestration<never, unknown> | string,
    I extends NotFunction<I, InputHint>,
  >(
    target: C,
    ...args: OrchestrationArguments<C, I, HttpStartOptions>
  ): Promise<HttpHandle<OrchestrationOutput<C>>> {
    const [input, options = {}]: [input?: unknown, options?: HttpStartOptions] = args;
    const { requestId, at, events, ...rest } = options;
    const name = typeof target === "string" ? target : target.name;
    const schema = typeof target === "string" ? undefined : target.options.input;
    const sent = await validateToSend(schema, input, `input of "${name}"`);
    if (sent.isOutput) {
      const rule = `The schema of the input of "${name}" must be synchronous`;
      throw invalidArgument(`${rule} for a start over HTTP: the worker checks the input again.`);
    }
    const body = {
      name,
      ...(typeof target === "string" ? {} : { version: target.version }),
      ...member("input", toHttp(sent.value)),
      ...rest,
      ...defined({ at: at?.toISOString() }),
      ...(events === undefined
        ? {}
        : {
            events: events.map((event) => ({
              name: event.name,
              ...member("data", toHttp(event.data)),
            })),
          }),
    };
    const request = { method: "POST", path: ["instances"], body, answer: started } as const;
    const { id } = await this.#transport.json({ ...request, requestId });
    return new HttpHandle(this.#transport, id);
  }

  /** A handle for an instance id. The instance does not have to exist. */
  get<I, O>(orchestration: Orchestration<I, O>, id: string): HttpHandle<O>;
  get(id: string): HttpHandle;
  get(first: Orchestration<never, unknown> | string, id?: string): HttpHandle {
    const reference = parseInstanceReference(typeof first === "string" ? first : id);
    return new HttpHandle(this.#transport, reference);
  }

  async raise(
    id: string,
    event: string,
    data?: unknown,
    options?: HttpRaiseOptions,
  ): Promise<void> {
    await this.get(id).raise(event, data, options);
  }

  /** Completes a callback, or an activity that completes later, like `Client.complete`. */
  async complete(
    token: string,
    value?: unknown,
    options: Pick<CompleteOptions, "headers"> = {},
  ): Promise<CompleteResult> {
    checkMembers(options, { headers: true }, "client.complete");
    const body = { token, ...member("value", toHttp(value)), ...defined(options) };
    const path = ["callbacks", "complete"];
    const answer = callbackAnswer;
    return (await this.#transport.json({ method: "POST", path, body, answer })).status;
  }
  /** Reports a failed attempt, like `Client.fail`. HTTP carries the name and the message of the error. */
  async fail(token: string, error: unknown): Promise<void> {
    const body = { token, error: reportOf(error) };
    const path = ["callbacks", "fail"];
    await this.#transport.send({ method: "POST", path, body, answer: null });
  }
  /** Reports that the work goes on, like `Client.heartbeat`. */
  async heartbeat(token: string): Promise<void> {
    const path = ["callbacks", "heartbeat"];
    await this.#transport.send({ method: "POST", path, body: { token }, answer: null });
  }

  list(
    filter: ListFilter = {},
    options: ListOptions = {},
  ): Promise<v.InferOutput<typeof instancePage>> {
    const paging = Object.entries(options).map(([name, one]) => [name, String(one)] as const);
    const query = [...filterQueryText(filter), ...paging];
    if (findsNothing(filter)) return Promise.resolve({ items: [] });
    return this.#get("instances", instancePage, query);
  }
  async count(filter: ListFilter = {}): Promise<number> {
    if (findsNothing(filter)) return 0;
    const answer = v.object({ count: whole });
    return (await this.#get("count", answer, filterQueryText(filter))).count;
  }

  async delete(id: string, options: { readonly force?: boolean } = {}): Promise<Removed> {
    checkMembers(options, { force: true }, "client.delete");
    const query = options.force === true ? [["force", "true"] as const] : [];
    const path = ["instances", id];
    return this.#transport.json({ method: "DELETE", path, query, answer: removed });
  }
  prune(
    id: string,
    options: Omit<PruneOptions, "completedBefore"> & { completedBefore?: Date } = {},
  ): Promise<Removed> {
    const { completedBefore, ...rest } = options;
    const before = defined({ completedBefore: completedBefore?.toISOString() });
    const path = ["instances", id, "prune"];
    return this.#transport.json({
      method: "POST",
      path,
      body: { ...rest, ...before },
      answer: removed,
    });
  }
  fork(id: string, options: ForkOptions & { requestId?: string }): Promise<HttpHandle> {
    return this.get(id).fork(options);
  }

  /** Applies one operation to all instances that match the filter. With `dryRun` it only counts them. */
  bulk(action: BulkAction, filter: ListFilter, options: BulkOptions = {}): Promise<BulkResult> {
    const { requestId, data, completedBefore, ...rest } = options;
    const body = {
      filter: filterBody(filter),
      ...rest,
      ...member("data", toHttp(data)),
      ...defined({ completedBefore: completedBefore?.toISOString() }),
    };
    const path = ["bulk", action];
    return this.#transport.json({ method: "POST", path, body, answer: bulkAnswer, requestId });
  }

  overview(): Promise<v.InferOutput<typeof overview>> {
    return this.#get("overview", overview);
  }
  metrics(): Promise<v.InferOutput<typeof metrics>> {
    return this.#get("metrics", metrics);
  }
  async queues(): Promise<readonly v.InferOutput<typeof queue>[]> {
    return (await this.#get("queues", v.object({ items: v.array(queue) }))).items;
  }
  /** One page of the events that wait for instances that do not exist yet, and of expired ones. */
  kept(options: KeptOptions = {}): Promise<v.InferOutput<typeof keptPage>> {
    const query = Object.entries(options).map(([name, one]) => [name, String(one)] as const);
    return this.#get("kept", keptPage, query);
  }
  async runtimes(): Promise<readonly v.InferOutput<typeof runtime>[]> {
    return (await this.#get("runtimes", v.object({ items: v.array(runtime) }))).items;
  }
  /**
   * A stream of batches of changed instance ids. `all`: any instance may have changed. Ends with the
   * connection.
   */
  async *changes(
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<v.InferOutput<typeof change>, void, undefined> {
    const { signal } = options;
    const request = { method: "GET", path: ["changes"], answer: null, signal } as const;
    const { body } = await this.#transport.send(request);
    if (body === null) return;
    for await (const { event, data } of readEvents(body)) {
      if (event === "change") yield v.parse(change, JSON.parse(data));
    }
  }
  /** The name and role that the server assigns to this client. */
  session(): Promise<{ name: string; role: (typeof ROLES)[number]; readOnly: boolean }> {
    const answer = v.object({ name: v.string(), role: v.picklist(ROLES), readOnly: v.boolean() });
    return this.#get("session", answer);
  }

  #get<S extends Schema>(
    path: string,
    answer: S,
    query: readonly (readonly [string, string])[] = [],
  ): Promise<v.InferOutput<S>> {
    return this.#transport.json({ method: "GET", path: [path], query, answer });
  }
}
