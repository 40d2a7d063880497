// A client of the HTTP API with the methods of `Client`, for a store on another machine. Its types come from
// the schemas of the server's answers.

import * as v from "valibot";
import { reportOf } from "../../callback/failure.ts";
import type { CompleteOptions, CompleteResult } from "../../client/callbacks/complete.ts";
import type {
  CountsOptions,
  InstanceCount,
  ListOptions,
  ListQuery,
  PruneOptions,
} from "../../client/admin.ts";
import type { KeptOptions } from "../../client/inspect/kept.ts";
import type { ListFilter } from "../../client/list-filter.ts";
import type { BulkFilter } from "../../client/bulk/selection.ts";
import type { CutPoint } from "../../core/repair/cut.ts";
import {
  checkJob,
  checkJobInput,
  type AnyJob,
  type EnqueueOptions,
} from "../../client/jobs/job-item.ts";
import type { PauseQueueOptions } from "../../client/queues/pause-queue.ts";
import type { RetryFailedOptions } from "../../client/queues/retry-failed.ts";
import type { StartOptions } from "../../client/start-item.ts";
import type {
  ActivityOutput,
  EnqueueArguments,
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
import { HttpHandle, type HttpForkOptions, type HttpRaiseOptions } from "./http-handle.ts";
import { HttpTransport, type HttpClientOptions } from "./http-transport.ts";
import type { Schema } from "../http/parse.ts";
import { ROLES } from "../security/roles.ts";
import { callbackAnswer } from "../schemas/callback.ts";
import { bulkAnswer } from "../schemas/bulk.ts";
import { change, counts, instancePage, started } from "../schemas/instance.ts";
import { whole } from "../schemas/common.ts";
import { queue, queueDetail } from "../schemas/queues.ts";
import { keptPage, metrics, overview, removed, runtime } from "../schemas/store.ts";
import { toHttp, valueToHttp } from "../views/values.ts";
import { attributesToHttp } from "../wire/attributes.ts";
import { filterBody, filterQueryText, findsNothing } from "../wire/filter.ts";
import { member } from "../wire/instance.ts";

/**
 * The options of `Client.start` without `tx` and without `requestDigest`, which the server derives from the
 * body.
 */
export type HttpStartOptions = Omit<StartOptions, "tx" | "requestDigest">;

/** The options of `Client.enqueue` without `tx` and without `requestDigest`. */
export type HttpEnqueueOptions = Omit<EnqueueOptions, "tx" | "requestDigest">;

/** The bulk operations. */
export type BulkAction =
  | "cancel"
  | "terminate"
  | "pause"
  | "resume"
  | "unblock"
  | "restart"
  | "rewind"
  | "raise"
  | "delete"
  | "prune";
/** Options of a bulk operation. Some options apply only to some operations. */
export interface BulkOptions {
  readonly dryRun?: boolean;
  readonly limit?: number;
  /** Goes on where an earlier call with the same filter stopped: its `cursor`. */
  readonly cursor?: string;
  /** For cancel, terminate, pause, restart and rewind. */
  readonly reason?: string;
  /** For restart and rewind: the person for whom the caller acts. Default: the caller. */
  readonly by?: string;
  /** For rewind: either `to` or `before`. */
  readonly to?: "failure";
  readonly before?: CutPoint;
  /** For rewind. */
  readonly tree?: boolean;
  /** For restart. */
  readonly input?: unknown;
  readonly version?: string;
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
    const { requestId, at, events, attributes, context, ...rest } = options;
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
      ...member("context", toHttp(context)),
      ...rest,
      ...defined({ at: at?.toISOString(), attributes: attributes && attributesToHttp(attributes) }),
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

  /** Enqueues a job, like `Client.enqueue`. The server knows its name only, so a worker writes its first turn. */
  async enqueue<J extends AnyJob, I extends NotFunction<I, InputHint>>(
    target: J,
    ...args: EnqueueArguments<J, I, HttpEnqueueOptions>
  ): Promise<HttpHandle<ActivityOutput<J>>> {
    const [input, options = {}]: [input?: unknown, options?: HttpEnqueueOptions] = args;
    const { requestId, at, attributes, context, ...rest } = options;
    const name = checkJob(target, "client.enqueue");
    await checkJobInput(target, input);
    const body = {
      ...member("input", toHttp(input)),
      ...member("context", toHttp(context)),
      ...defined({
        ...rest,
        at: at?.toISOString(),
        attributes: attributes && attributesToHttp(attributes),
      }),
    };
    const path = ["queues", name, "jobs"];
    const request = { method: "POST", path, body, answer: started } as const;
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
    query: ListQuery = {},
    given: ListOptions = {},
  ): Promise<v.InferOutput<typeof instancePage>> {
    const { cursor, limit, orderBy, order, waits, ...filter } = query;
    const options = { ...defined({ cursor, limit, orderBy, order, waits }), ...given };
    const paging = Object.entries(options).map(([name, one]) => [name, String(one)] as const);
    const texts = [...filterQueryText(filter), ...paging];
    if (findsNothing(filter)) return Promise.resolve({ items: [] });
    return this.#get(["instances"], instancePage, texts);
  }
  /** How many instances there are by status, by name, or by both. */
  async counts(options: CountsOptions = {}): Promise<readonly InstanceCount[]> {
    checkMembers(options, { by: true }, "client.counts");
    const query = (options.by ?? []).map((each) => ["by", each] as const);
    return (await this.#get(["counts"], counts, query)).items;
  }
  async count(filter: ListFilter = {}): Promise<number> {
    if (findsNothing(filter)) return 0;
    const answer = v.object({ count: whole });
    return (await this.#get(["count"], answer, filterQueryText(filter))).count;
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
  fork(id: string, options: HttpForkOptions): Promise<HttpHandle> {
    return this.get(id).fork(options);
  }

  /** Applies one operation to all instances that match the filter. With `dryRun` it only checks them. */
  bulk(action: BulkAction, filter: BulkFilter, options: BulkOptions = {}): Promise<BulkResult> {
    const { requestId, data, completedBefore, input, ...rest } = options;
    const body = {
      filter: filterBody(filter),
      ...rest,
      ...member("data", toHttp(data)),
      ...("input" in options ? { input: valueToHttp(input) } : {}),
      ...defined({ completedBefore: completedBefore?.toISOString() }),
    };
    const path = ["bulk", action];
    return this.#transport.json({ method: "POST", path, body, answer: bulkAnswer, requestId });
  }

  overview(): Promise<v.InferOutput<typeof overview>> {
    return this.#get(["overview"], overview);
  }
  metrics(): Promise<v.InferOutput<typeof metrics>> {
    return this.#get(["metrics"], metrics);
  }
  async queues(): Promise<readonly v.InferOutput<typeof queue>[]> {
    return (await this.#get(["queues"], v.object({ items: v.array(queue) }))).items;
  }
  queue(name: string): Promise<v.InferOutput<typeof queueDetail>> {
    return this.#get(["queues", name], queueDetail);
  }
  /** Pauses a queue, like `Client.pauseQueue`. The server records the name of the caller as `by`. */
  async pauseQueue(name: string, options: Pick<PauseQueueOptions, "reason"> = {}): Promise<void> {
    checkMembers(options, { reason: true }, "client.pauseQueue");
    const path = ["queues", name, "pause"];
    await this.#transport.send({ method: "POST", path, body: defined(options), answer: null });
  }
  async resumeQueue(name: string): Promise<void> {
    const path = ["queues", name, "resume"];
    await this.#transport.send({ method: "POST", path, body: {}, answer: null });
  }
  /** Retries the failed jobs of a name, like `Client.retryFailed`. At most 100 refused jobs are listed. */
  retryFailed(name: string, options: RetryFailedOptions = {}): Promise<BulkResult> {
    const { requestId, ...rest } = options;
    const path = ["queues", name, "retry-failed"];
    const request = { method: "POST", path, answer: bulkAnswer, requestId } as const;
    return this.#transport.json({ ...request, body: defined(rest) });
  }
  /** One page of the events that wait for instances that do not exist yet, and of expired ones. */
  kept(options: KeptOptions = {}): Promise<v.InferOutput<typeof keptPage>> {
    const query = Object.entries(options).map(([name, one]) => [name, String(one)] as const);
    return this.#get(["kept"], keptPage, query);
  }
  async runtimes(): Promise<readonly v.InferOutput<typeof runtime>[]> {
    return (await this.#get(["runtimes"], v.object({ items: v.array(runtime) }))).items;
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
    return this.#get(["session"], answer);
  }

  #get<S extends Schema>(
    path: readonly string[],
    answer: S,
    query: readonly (readonly [string, string])[] = [],
  ): Promise<v.InferOutput<S>> {
    return this.#transport.json({ method: "GET", path, query, answer });
  }
}
