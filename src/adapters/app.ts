// App: the core of every adapter. It checks the options, holds the place of this code in its slot (slot.ts), and serves the
// HTTP API and the dashboard. README.md lists its members for the author of an adapter.
//   - app.1: Creating an app opens nothing: a framework may load the module while it builds.
//   - app.2: Requests to the API and the dashboard get the trace of the request, but not the option `context`, which may
//       refuse requests that the application's own sign-in did not let through. The server has its own access control.

import { checkFlag, checkFunction, checkInteger, checkMembers } from "../core/checks.ts";
import { invalidArgument, type Members } from "../core/checks.ts";
import type { ContextInput } from "../core/context/app-types.ts";
import { definitionsOf } from "../core/define/registrable.ts";
import { errorMessage, PerdureError } from "../core/errors/errors.ts";
import { showValue } from "../core/ids/ids.ts";
import { consoleLog } from "../core/telemetry/console-log.ts";
import type { LogSink } from "../core/telemetry/log.ts";
import { safeTelemetry } from "../core/telemetry/safe-telemetry.ts";
import type { Telemetry } from "../core/telemetry/telemetry.ts";
import { defined } from "../core/values/defined.ts";
import type { Client } from "../client/client.ts";
import { Perdure, type OpenOptions } from "../perdure.ts";
import { checkBasePath } from "../server/http/mount-path.ts";
import { problemOf } from "../server/http/problems.ts";
import { nodeListener, perdureServer } from "../server/index.ts";
import type { NodeListener, PerdureServer, ServerOptions } from "../server/index.ts";
import { SERVER_OPTIONS } from "../server/options.ts";
import { processState } from "./process-state.ts";
import { REQUEST_MIDDLEWARE, requestContext } from "./request-scope.ts";
import { slotOf, type Registration, type Slot, type StopFirst, type StoreSource } from "./slot.ts";

/** Options that all adapters have. `Incoming`: the request object of the framework. */
export interface AppOptions<Incoming> extends OpenOptions {
  /**
   * The store: an address such as `sqlite:./orders.db`, or a function that opens a store. The adapter closes the store that
   * it opened.
   */
  readonly store: StoreSource;
  /** The path of the HTTP API and the dashboard. Default "/perdure". */
  readonly prefix?: string;
  /** Options of the server, such as `authenticate`. False: the application mounts no API and no dashboard. */
  readonly server?: ServerOptions | false;
  /**
   * The context of a request. The starts and asks of the request's handler get it; members that they name themselves win.
   * An error that the function throws is an error of the request.
   */
  readonly context?: (
    request: Incoming,
  ) => ContextInput | undefined | Promise<ContextInput | undefined>;
  /** Names the runtime in this process: one runtime runs per name. Default: the address of the store. */
  readonly name?: string;
  /** How long a shutdown waits for running work. Default 10 s. */
  readonly graceMs?: number;
  /** Whether SIGTERM and SIGINT close the application. Default true. */
  readonly signals?: boolean;
}

/** What every adapter gives to the application. */
export interface PerdureApp {
  /**
   * Opens the store and starts the runtime, if that has not happened yet. In development, code that is loaded again
   * replaces the running code; the call waits for it.
   */
  open(): Promise<Perdure>;
  /** The client of the open store. Ask for it in each request: a reload replaces it. */
  client(): Promise<Client>;
  /** The generated admin token. Undefined if `tokens` or `authenticate` was given, or no server is mounted. */
  readonly token: string | undefined;
  /**
   * The context of the request whose handler calls this, for middleware around `raise`: an event has no context. `{}`
   * outside of a request.
   */
  requestContext(): ContextInput;
  /** Shuts the runtime down and closes the store. */
  close(): Promise<void>;
}

/** Runs a function in the trace and the context of a request. */
export type RunInRequest = <T>(fn: () => T) => T;

export const APP_OPTIONS: Members<AppOptions<unknown>> = {
  store: true,
  prefix: true,
  server: true,
  context: true,
  name: true,
  graceMs: true,
  signals: true,
  register: true,
  runtime: true,
  autoStart: true,
  callbacks: true,
  services: true,
  middleware: true,
};
type Bindings = Parameters<PerdureServer["fetch"]>[1];
const PREFIX = "/perdure";
const NAMELESS = "perdure";

export class App<Incoming> implements PerdureApp {
  /** Serves the API and the dashboard to Node's request and response. */
  readonly listener: NodeListener;
  readonly #options: AppOptions<Incoming>;
  readonly #slot: Slot;
  readonly #registration: Registration;
  readonly #telemetry: Telemetry | null;
  readonly #log: LogSink;
  #prefix: string;
  #basePath: string | undefined;

  /**
   * `what` names the adapter in messages. `basePath`: the public path of the server, where the server cannot detect it;
   * `true`: it is the prefix.
   */
  constructor(
    options: AppOptions<Incoming>,
    { what, basePath }: { readonly what: string; readonly basePath?: string | true },
  ) {
    checkMembers(options, APP_OPTIONS, what);
    checkOptions(options, what);
    this.#options = options;
    this.#prefix = checkBasePath(options.prefix) ?? PREFIX;
    const { telemetry, log } = options.runtime ?? {};
    this.#log = (typeof log === "function" ? log : log?.sink) ?? consoleLog();
    this.#telemetry =
      telemetry === undefined || telemetry === null ? null : safeTelemetry(telemetry);
    const { store, name = typeof store === "string" ? store : NAMELESS } = options;
    this.#slot = slotOf(name);
    this.#basePath = basePath === true ? this.#prefix : basePath;
    this.#registration = this.#slot.register(this.#registrationOf()); // app.1
    this.listener = nodeListener({ fetch: (request, env) => this.fetch(request, env) });
  }

  get token(): string | undefined {
    return this.#hasOwnToken ? this.#slot.token.token : undefined;
  }

  async open(): Promise<Perdure> {
    return (await this.#slot.open()).perdure;
  }

  async client(): Promise<Client> {
    return (await this.open()).client;
  }

  /** The path below which requests are for the API and the dashboard; "" for all paths. */
  get prefix(): string {
    return this.#prefix;
  }

  /** Sets the prefix and the public path, where the framework reports its own prefix late. Before `open`. */
  mountAt(path: string): void {
    this.#prefix = path;
    this.#basePath = path;
  }

  requestContext(): ContextInput {
    return requestContext();
  }

  /** Opens in the background. An error is logged, and the next call tries again. */
  start(): void {
    this.open().catch((error: unknown) => this.#report("cannot open the store", error));
  }

  /** Closes in the background. An error is logged. */
  stop(): void {
    this.close().catch((error: unknown) => this.#report("cannot shut down", error));
  }

  close(): Promise<void> {
    return this.#slot.close(this.#registration);
  }

  beforeClose(stop: StopFirst): void {
    this.#slot.beforeClose(stop);
  }

  endStreams(): Promise<void> {
    return this.#slot.endStreams();
  }

  /** The path below the prefix, such as "/api/v1/instances". Undefined: the request is for the application. */
  owns(path: string): string | undefined {
    if (this.#options.server === false) return undefined;
    if (path === this.#prefix) return "/";
    return path.startsWith(`${this.#prefix}/`) ? path.slice(this.#prefix.length) : undefined;
  }

  /** app.2. `env`: Node's request as `{ incoming }`, if there is one. */
  async fetch(request: Request, env?: Bindings): Promise<Response> {
    let server: PerdureServer | null;
    try {
      ({ server } = await this.#slot.open());
    } catch (error) {
      this.#report("cannot open the store", error);
      return unavailable();
    }
    if (server === null) return new Response("Not found", { status: 404 });
    const { fetch } = server;
    const answer = (): Response | Promise<Response> => fetch(request, env);
    return this.#inTrace(request.headers.get("traceparent"), answer);
  }

  /** `traceParent`: the header of the request. Rejects if the option `context` throws. */
  async enter(request: Incoming, traceParent: unknown): Promise<RunInRequest> {
    const context = await this.#options.context?.(request);
    return (fn) =>
      this.#inTrace(traceParent, () =>
        context === undefined ? fn() : processState().requests.run(context, fn),
      );
  }

  #inTrace<T>(traceParent: unknown, fn: () => T): T {
    const telemetry = this.#telemetry;
    if (telemetry?.request === undefined || typeof traceParent !== "string") return fn();
    return telemetry.request(traceParent, fn);
  }

  get #hasOwnToken(): boolean {
    const { server = {} } = this.#options;
    return server !== false && server.tokens === undefined && server.authenticate === undefined;
  }

  #registrationOf(): Registration {
    const { store, server = {}, register = [], runtime, autoStart } = this.#options;
    const { callbacks, services, middleware: own, graceMs, signals = true } = this.#options;
    const middleware =
      this.#options.context === undefined ? own : [REQUEST_MIDDLEWARE, ...(own ?? [])];
    const shared = defined({ runtime, autoStart, callbacks, services, middleware });
    const tokens = (): { tokens?: ServerOptions["tokens"] & object } =>
      this.#hasOwnToken ? { tokens: [this.#slot.token.entry] } : {};
    return {
      store,
      graceMs,
      signals,
      get definitions() {
        const known = definitionsOf(register).map((one) =>
          [one.kind, one.name, one.kind === "orchestration" ? one.version : ""].join(" "),
        );
        return known.toSorted().join("\n");
      },
      start: (provider) => Perdure.open(provider, { ...shared, register }),
      serve: (perdure) => {
        if (server === false) return null;
        const ready = autoStart === false ? {} : { ready: () => perdure.runtime.isReady };
        const base = defined({ basePath: this.#basePath });
        return perdureServer(perdure.client, { ...base, ...ready, ...tokens(), ...server });
      },
      reportError: (what, error) => this.#report(what, error),
    };
  }

  #report(what: string, error: unknown): void {
    this.#log("error", `${what}: ${errorMessage(error)}`, { error });
  }
}

/** The members of `PerdureApp`, for an adapter that is itself a function. */
export function membersOf(app: PerdureApp): PerdureApp {
  return {
    open: () => app.open(),
    client: () => app.client(),
    requestContext: () => app.requestContext(),
    close: () => app.close(),
    token: app.token,
  };
}

function checkOptions<Incoming>(options: AppOptions<Incoming>, what: string): void {
  const { store, server, context, name, graceMs, signals } = options;
  if (typeof store !== "function" && (typeof store !== "string" || store === "")) {
    const rule =
      'must be an address such as "sqlite:./orders.db", or a function that opens a store';
    throw invalidArgument(`${what}: store ${rule}; got ${showValue(store)}.`);
  }
  if (name !== undefined && (typeof name !== "string" || name === "")) {
    throw invalidArgument(`${what}: name must be a text; got ${showValue(name)}.`);
  }
  if (context !== undefined) checkFunction(context, `context of ${what}`);
  if (server !== undefined && server !== false) checkMembers(server, SERVER_OPTIONS, "a server");
  checkInteger(graceMs, 0, "graceMs");
  checkFlag(signals, "signals");
}

function unavailable(): Response {
  const problem = problemOf(new PerdureError("STORE_UNAVAILABLE", "The store cannot be opened."));
  const headers = { "content-type": "application/problem+json", "cache-control": "no-store" };
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
}
