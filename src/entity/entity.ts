// An entity: durable state with a key, changed by handlers that run one at a time.
//   - An entity is an orchestration to the rest of the system: it is registered, paused, listed and shown like one.
//        Each key is one instance, `name/key`. The first call starts it.
//   - entity.1: State and answer are written in one commit. A handler that throws, or whose answer cannot be
//        stored, leaves the state as it was.
//   - entity.2: A read sees the state of the last commit and needs no turn. A read of a key that does not exist
//        reads the state of the definition and creates nothing.
//   - entity.3: A call chain that comes back to an entity that waits for it would never end. It is refused at the
//        call (chain.ts).

import type { Client } from "../client/client.ts";
import type { ActivityClient } from "../core/context/activity-context.ts";
import { runOf } from "../core/context/orchestration-context.ts";
import type { OrchestrationContext, Task } from "../core/context/types.ts";
import type { EntityDef } from "../core/define/entity.ts";
import {
  orchestration,
  type Orchestration,
  type OrchestrationOptions,
} from "../core/define/definitions.ts";
import { request, type AnyRequest } from "../core/define/request.ts";
import { checkFunction, checkMembers, invalidArgument, type Members } from "../core/checks.ts";
import { parseInstanceId, parseName, showValue } from "../core/ids/ids.ts";
import {
  decodeState,
  PUBLISHED_KEY,
  readPublished,
} from "../core/replay/requests/published-state.ts";
import { checkSchema, type StandardSchema } from "../core/values/standard-schema.ts";
import { defined } from "../core/values/defined.ts";
import { askInChain } from "./chain.ts";
import { entityLoop, INPUT } from "./loop.ts";
import type { ClientCalls, ContextCalls, EntityInput, Self } from "./types.ts";

/** The handlers of an entity: functions of the entity and the input of the call. */
export type EntityHandlers<State> = Readonly<
  Record<string, (self: Self<State>, input: never) => unknown>
>;
/** The reads of an entity: functions of its state and the input of the call. */
export type EntityReads<State> = Readonly<Record<string, (state: State, input: never) => unknown>>;

/** The definition of an entity. */
export interface EntityOptions<
  State,
  Handlers extends EntityHandlers<State>,
  Reads extends EntityReads<State>,
> {
  /** The state of an entity that has not been called yet. It must return the same value every time. */
  readonly state: () => State;
  /** What callers can do. A handler may wait; the next call of its key begins after it. */
  readonly handlers: Handlers;
  /** What callers can see: functions of the state of the last commit. They must not change it. */
  readonly reads?: Reads & EntityReads<State>;
  /** Schemas of the handlers' inputs. */
  readonly inputs?: Readonly<Partial<Record<keyof Handlers, StandardSchema>>>;
  /** A semantic version of the code. Default "1.0.0". */
  readonly version?: string;
}
const OPTIONS: Members<EntityOptions<unknown, EntityHandlers<unknown>, EntityReads<unknown>>> = {
  state: true,
  handlers: true,
  reads: true,
  inputs: true,
  version: true,
};

/** An instance id has at most 256 bytes: the entity's name, a slash and a key. */
const NAME_BYTES_MAX = 100;
const KEY_BYTES_MAX = 155;
/** The newest executions that stay readable. Older ones are pruned. */
const EXECUTIONS_KEPT = 2;

/** What `entity(…)` returns: an orchestration to register, and the calls of each key. */
export class Entity<
  State,
  Handlers extends EntityHandlers<State>,
  Reads extends EntityReads<State> = Record<never, never>,
>
  implements
    Orchestration<EntityInput, never>,
    EntityDef<ClientCalls<Handlers, Reads>, ContextCalls<Handlers, Reads>>
{
  readonly kind = "orchestration";
  readonly role = "entity";
  readonly name: string;
  readonly version: string;
  readonly options: OrchestrationOptions;
  readonly handler: Orchestration<EntityInput, never>["handler"];
  readonly #requests: ReadonlyMap<string, AnyRequest>;
  readonly #reads: Readonly<Record<string, (state: State, input: never) => unknown>>;
  readonly #state: () => State;
  declare readonly "~types"?: {
    readonly input: (input: EntityInput) => void;
    readonly output: () => never;
    readonly nodes?: () => Record<never, never>;
  };

  constructor(name: string, options: EntityOptions<State, Handlers, Reads>) {
    const { inputs } = options;
    this.#requests = new Map(
      Object.keys(options.handlers).map((each) => {
        const input = inputs?.[each];
        return [each, request(each, defined({ input }))];
      }),
    );
    const loop = entityLoop({
      name,
      requests: this.#requests,
      handlers: options.handlers,
      state: options.state,
    });
    const definition = orchestration(name, loop, {
      input: INPUT,
      keepExecutions: EXECUTIONS_KEPT,
      ...defined({ version: options.version }),
    });
    this.name = name;
    this.version = definition.version;
    this.options = definition.options;
    this.handler = definition.handler;
    this.#reads = options.reads ?? {};
    this.#state = options.state;
    Object.freeze(this);
  }

  /** The id of the instance of this key. */
  idOf(key: string): string {
    const given: unknown = key;
    if (typeof given !== "string" || given === "" || Buffer.byteLength(given) > KEY_BYTES_MAX) {
      const rule = `must be a string of 1 to ${KEY_BYTES_MAX} bytes in UTF-8`;
      throw invalidArgument(`entity "${this.name}": key ${rule}; got ${showValue(given)}.`);
    }
    return parseInstanceId(`${this.name}/${key}`);
  }

  readonly fromClient = (client: ActivityClient, key: string): ClientCalls<Handlers, Reads> => {
    const id = this.idOf(key);
    const definition: Orchestration<EntityInput, never> = this;
    const calls = this.#calls(
      (each) => (input, options) =>
        client.ask(definition, id, each, input as never, { ...options, start: { input: NEW } }),
      (read) => async (input) => read(await this.#committed(client, id), input as never),
    );
    return calls as ClientCalls<Handlers, Reads>; // one function per handler and read, by name
  };

  readonly fromContext = (
    ctx: OrchestrationContext,
    key: string,
  ): ContextCalls<Handlers, Reads> => {
    const id = this.idOf(key);
    const start = { orchestration: this, input: NEW };
    const calls = this.#calls(
      (each) => (input, options) => askInChain(ctx, id, each, input, { ...options, start }),
      (read) => (input) => this.#recorded(ctx, id).map((state) => read(state, input as never)),
    );
    return calls as ContextCalls<Handlers, Reads>; // as above
  };

  #calls(
    handlerCall: (each: AnyRequest) => (input?: unknown, options?: object) => Promise<unknown>,
    readCall: (
      read: (state: State, input: never) => unknown,
    ) => (input?: unknown) => Promise<unknown>,
  ): object {
    return Object.freeze(
      Object.fromEntries([
        ...[...this.#requests].map(([name, each]) => [name, handlerCall(each)] as const),
        ...Object.entries(this.#reads).map(([name, read]) => [name, readCall(read)] as const),
      ]),
    );
  }

  /** The state of the last commit (entity.2). */
  async #committed(client: Client, id: string): Promise<State> {
    const record = await client.provider.readKeyValue(id, PUBLISHED_KEY);
    // The loop of this entity wrote it.
    return record === null ? this.#state() : (client.codec.decode(record.value) as State);
  }

  #recorded(ctx: OrchestrationContext, id: string): Task<State> {
    const run = runOf(ctx);
    return readPublished(run, id).map((text) =>
      typeof text === "string" ? (decodeState(run, text) as State) : this.#state(),
    );
  }
}

const NEW: EntityInput = { state: null };

/**
 * Defines an entity: durable state per key, handlers that change it one at a time, and reads. Register it, and call
 * it with `client.entity(definition, key)` and `ctx.entity(definition, key)`.
 */
export function entity<
  State,
  Handlers extends EntityHandlers<State>,
  Reads extends EntityReads<State> = Record<never, never>,
>(name: string, options: EntityOptions<State, Handlers, Reads>): Entity<State, Handlers, Reads> {
  parseName(name, "entity name");
  const what = `entity "${name}"`;
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) {
    throw invalidArgument(`${what}: a name must have at most ${NAME_BYTES_MAX} bytes in UTF-8.`);
  }
  checkMembers(options, OPTIONS, what);
  checkFunction(options.state, `state of ${what}`);
  const { handlers, reads = {}, inputs = {} } = options;
  checkFunctions(handlers, `handlers of ${what}`);
  checkFunctions(reads, `reads of ${what}`);
  if (Object.keys(handlers).length === 0) throw invalidArgument(`${what} must have a handler.`);
  for (const each of Object.keys(reads)) {
    if (Object.hasOwn(handlers, each)) {
      throw invalidArgument(`${what}: "${each}" must be a handler or a read, not both.`);
    }
  }
  for (const [each, schema] of Object.entries(inputs)) {
    if (!Object.hasOwn(handlers, each)) {
      throw invalidArgument(`${what}: inputs has "${each}", which is not a handler.`);
    }
    checkSchema(schema, `input of "${each}" of ${what}`);
  }
  return new Entity(name, options);
}

function checkFunctions(functions: object, what: string): void {
  const given: unknown = functions;
  if (typeof given !== "object" || given === null) {
    throw invalidArgument(`${what} must be an object of functions; got ${showValue(given)}.`);
  }
  for (const [name, fn] of Object.entries(functions)) {
    parseName(name, `name in ${what}`);
    // A promise-like object would be awaited when it is returned from an async function.
    if (name === "then") throw invalidArgument(`${what} must not have the name "then".`);
    checkFunction(fn, `"${name}" of ${what}`);
  }
}
