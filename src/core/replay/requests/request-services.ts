// Request services: code that accepts requests, as a loop (`ctx.requests`) or as a handler (`ctx.serve`).
//   - One command opens a service. A request that is handed over needs no further command, so a request costs
//       its receipt and its answer.
//   - A name has at most one open service.
//   - request-services.1: Schemas and `validate` run when a turn receives the request. A request that they refuse
//       is answered and not recorded. A request that arrived before the service was opened is recorded, and is
//       checked when the service takes it.
//   - request-services.2: A handler that throws refuses its request. The instance goes on.

import { asyncContext } from "../../context/async-context.ts";
import type { ServeOptions, Task } from "../../context/types.ts";
import { invalidArgument } from "../../checks.ts";
import type { AnyRequest } from "../../define/request.ts";
import { requestName } from "../../define/request.ts";
import { isPerdureError } from "../../errors/errors.ts";
import { encodeJsonSchemas } from "../../values/json-schemas.ts";
import { verdictOf, type StandardSchema } from "../../values/standard-schema.ts";
import { openCall } from "../calls.ts";
import { cancelTask } from "../cancel.ts";
import { decode } from "../delivery.ts";
import type { OpenRequests } from "../open-task.ts";
import type { ReceivedRequest, RequestService } from "./request-box.ts";
import { OpenRequest } from "./request-call.ts";
import type { Run } from "../run.ts";
import { Scope } from "../scope.ts";

type Definitions = ReadonlyMap<string, AnyRequest | null>;
export type Handler = (input: unknown, call: OpenRequest) => unknown;
type Validate = NonNullable<ServeOptions["validate"]>;

/** The requests of these names, one at a time, in order of arrival. */
export function requestLoop(
  run: Run,
  given: readonly (AnyRequest | string)[],
): AsyncIterable<OpenRequest> {
  const definitions = definitionsOf(given, "ctx.requests");
  return { [Symbol.asyncIterator]: () => new RequestLoop(run, definitions) };
}

/** Runs the handler for every request of that name. */
export function serveRequests(
  run: Run,
  request: AnyRequest | string,
  handler: Handler,
  { serial = false, validate }: { serial?: boolean; validate?: Validate },
): Task<unknown> {
  const definitions = definitionsOf([request], "ctx.serve");
  const service = new RequestServer(run, definitions, handler, { serial, validate });
  const task = openCall(run, (scope, settle) => {
    const sequence = recordService(run, service);
    if (sequence === null) return null;
    service.scope = scope;
    const name = service.names.join(", ");
    return { kind: "requests", sequence, scope, name, service, ...settle };
  });
  service.takeUnread();
  return task;
}

/** Records the command that opens the service. Null: the run is over. */
function recordService(run: Run, service: Service): number | null {
  for (const name of service.wanted) {
    if (run.requests.serviceOf(name) === undefined) continue;
    const rule = "is already served; a name must have one loop or one handler at a time";
    throw invalidArgument(`Request "${name}" ${rule}.`);
  }
  const isNew = run.nextRecorded === undefined;
  const schemas = isNew ? encodeJsonSchemas(service.schemas(), run.codec) : null;
  const command = run.command({
    kind: "RequestsServed",
    names: service.wanted,
    ...(schemas === null ? {} : { schemas }),
  });
  if (command === null) return null;
  service.names = command.body.names; // request-box.2
  run.requests.open(service);
  return command.sequence;
}

function definitionsOf(given: readonly (AnyRequest | string)[], what: string): Definitions {
  if (given.length === 0) throw invalidArgument(`${what} must be given at least one request.`);
  const definitions = new Map(
    given.map((each) => [requestName(each), typeof each === "string" ? null : each]),
  );
  if (definitions.size === given.length) return definitions;
  throw invalidArgument(`${what} must be given each request once.`);
}

/** A turn cannot wait for an asynchronous schema: the asker has applied it and sent its output. */
function outputOf(schema: StandardSchema, input: unknown, what: string): unknown {
  const verdict = verdictOf(schema, input, what);
  if (verdict.kind === "refused") throw verdict.error;
  return verdict.kind === "accepted" ? verdict.output : input;
}

/** What loops and handlers have in common. */
abstract class Service implements RequestService {
  names: readonly string[];
  changedAt = 0;
  readonly wanted: readonly string[];
  protected readonly run: Run;
  readonly #definitions: Definitions;
  readonly #validate: Validate | undefined;

  constructor(run: Run, definitions: Definitions, validate?: Validate) {
    this.run = run;
    this.wanted = [...definitions.keys()];
    this.names = this.wanted;
    this.#definitions = definitions;
    this.#validate = validate;
  }

  abstract readonly accepts: boolean;
  protected abstract hand(call: OpenRequest): void;

  check(name: string, input: unknown): unknown {
    const schema = this.#definitions.get(name)?.input;
    const what = `input of request "${name}"`;
    const checked = schema === undefined ? input : outputOf(schema, input, what);
    const validate = this.#validate;
    if (validate === undefined) return checked;
    const { instanceId } = this.run;
    const frame = { kind: "validation of request", name, instanceId } as const;
    const result: unknown = asyncContext.run(frame, () => validate(checked));
    if (!(result instanceof Promise)) return checked;
    result.catch(() => undefined);
    throw invalidArgument(`validate of request "${name}" must be synchronous.`);
  }

  /** The schemas of the inputs, by name. */
  *schemas(): Iterable<readonly [string, StandardSchema | undefined]> {
    for (const [name, definition] of this.#definitions) yield [name, definition?.input];
  }

  /** request-services.1: the turn that received the request has checked it. */
  take(request: ReceivedRequest): void {
    const input = decode(this.run, request.input);
    if (input !== null) this.hand(this.#callOf(request, input.decoded));
  }

  /** Takes the oldest unread request. False: there is none that passes its checks. */
  protected takeOldest(): boolean {
    const { run } = this;
    for (let request = run.requests.takeUnread(this.names); request !== null;) {
      const input = decode(run, request.input);
      if (input === null) return false;
      const call = this.#callOf(request, input.decoded);
      if (this.#passes(call)) {
        this.hand(call);
        return true;
      }
      request = run.requests.takeUnread(this.names);
    }
    return false;
  }

  /** False: the request is refused. In a replay the history decides, not the schema of today. */
  #passes(call: OpenRequest): boolean {
    const { isReplaying } = this.run;
    if (isReplaying && call.isRecordedAsRefused) {
      call.end("refused", "");
      return false;
    }
    try {
      call.input = this.check(call.name, call.input);
    } catch (error) {
      if (isReplaying) return true;
      call.end("refused", error);
      return false;
    }
    return true;
  }

  #callOf(request: ReceivedRequest, input: unknown): OpenRequest {
    return new OpenRequest(this.run, request, input, this.#definitions.get(request.name) ?? null);
  }
}

class RequestLoop extends Service implements AsyncIterator<OpenRequest> {
  #task: OpenRequests | null = null;
  #waiting: PromiseWithResolvers<IteratorResult<OpenRequest>> | null = null;
  #current: OpenRequest | null = null;
  #isOver = false;

  constructor(run: Run, definitions: Definitions) {
    super(run, definitions);
  }

  get accepts(): boolean {
    return this.#waiting !== null;
  }

  next(): Promise<IteratorResult<OpenRequest>> {
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    this.#current = null;
    const waiting = Promise.withResolvers<IteratorResult<OpenRequest>>();
    const refused = this.run.currentScope().cancelReason();
    if (refused !== null || this.#task === null) {
      const opened = openCall(this.run, (scope, settle) => this.#open(scope, settle.reject));
      opened.catch((error: unknown) => {
        this.#isOver = true;
        const pending = this.#waiting ?? waiting;
        this.#waiting = null;
        pending.reject(error);
      });
      if (this.#task === null) return waiting.promise;
    }
    this.#waiting = waiting;
    this.takeOldest();
    return waiting.promise;
  }

  async return(): Promise<IteratorResult<OpenRequest>> {
    this.#isOver = true;
    const call = this.#current;
    if (call !== null && call.answerError !== undefined) call.end("failed", call.answerError);
    if (this.#task !== null) cancelTask(this.run, this.#task, "the loop ended");
    return { done: true, value: undefined };
  }

  protected hand(call: OpenRequest): void {
    this.#current = call;
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.resolve({ done: false, value: call });
  }

  #open(scope: Scope, reject: (reason: unknown) => void): OpenRequests | null {
    const sequence = recordService(this.run, this);
    if (sequence === null) return null;
    const name = this.names.join(", ");
    const resolve = (): void => undefined;
    this.#task = { kind: "requests", sequence, scope, name, service: this, resolve, reject };
    return this.#task;
  }
}

class RequestServer extends Service {
  /** The scope of the call of `ctx.serve`. Cancelling it cancels the handlers. */
  scope: Scope = this.run.root;
  readonly #handler: Handler;
  readonly #serial: boolean;
  #isBusy = false;

  constructor(
    run: Run,
    definitions: Definitions,
    handler: Handler,
    options: { readonly serial: boolean; readonly validate: Validate | undefined },
  ) {
    super(run, definitions, options.validate);
    this.#handler = handler;
    this.#serial = options.serial;
  }

  get accepts(): boolean {
    return !this.#serial || !this.#isBusy;
  }

  /** Takes the unread requests that it accepts. */
  takeUnread(): void {
    const isOpen = (): boolean =>
      this.names.some((name) => this.run.requests.serviceOf(name) === this);
    while (isOpen() && this.accepts && this.takeOldest());
  }

  protected hand(call: OpenRequest): void {
    this.#isBusy = true;
    const scope = new Scope({ run: this.run, parent: this.scope });
    const handled = asyncContext.run(scope, async () => this.#handler(call.input, call));
    handled.then(
      (value) => this.#over(scope, () => answer(call, value)),
      (error: unknown) => this.#over(scope, () => call.end("failed", error)), // request-services.2
    );
  }

  /** Runs in the scope of the handler, in the drain in which the handler ended. */
  #over(scope: Scope, end: () => void): void {
    if (this.run.isOver || !this.run.isInTurn()) return;
    asyncContext.run(scope, end);
    this.#isBusy = false;
    this.takeUnread();
  }
}

/** The handler's value is the answer, unless the handler has answered itself. */
function answer(call: OpenRequest, value: unknown): void {
  if (call.isAnswered) return;
  try {
    call.answer(value);
  } catch (error) {
    if (isPerdureError(error, "FOREIGN_AWAIT")) throw error;
    call.end("failed", error);
  }
}
