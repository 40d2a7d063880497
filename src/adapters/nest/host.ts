// PerdureNest: connects an App to the hooks of one Nest application.
//   - nest-host.1: The store opens while Nest creates providers, so that they can inject `Perdure` and `Client`. The runtime
//       starts in onApplicationBootstrap, when every provider exists.
//   - nest-host.2: Shutdown follows Nest's hooks: the streams of the dashboard end before Nest closes the HTTP server, and
//       the runtime shuts down after it. Nest runs them at a signal only after `app.enableShutdownHooks()`.
//   - nest-host.3: The API and the dashboard are mounted before the application's routes, and without its global prefix.
//   - nest-host.4: An interceptor gives handlers the trace and the context of the request. It runs after guards, so `context`
//       can use what they found, such as `request.user`.

import type { Client } from "../../client/client.ts";
import { checkMembers } from "../../core/checks.ts";
import type { ContextInput } from "../../core/context/app-types.ts";
import type { Perdure } from "../../perdure.ts";
import type { NodeListener } from "../../server/index.ts";
import { App, APP_OPTIONS, type AppOptions, type PerdureApp } from "../app.ts";
import { checkCreated, definitionsWith, type Discovery, type Provided } from "./discovery.ts";

/** The part of a request that Express and Fastify have in common. */
export interface NestRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Options of `PerdureModule.forRoot`. `Incoming`: the request object of the platform. */
export type NestOptions<Incoming extends NestRequest = NestRequest> = Omit<
  AppOptions<Incoming>,
  "signals"
>;

const { signals: _, ...NEST_OPTIONS } = APP_OPTIONS;

/** What this folder uses of Nest's `HttpAdapterHost`. The adapter is absent in an application without an HTTP server. */
export interface HttpHost {
  readonly httpAdapter?: { use(path: string, listener: NodeListener): unknown } | null;
}

/** The part of Nest's `ExecutionContext` that the interceptor uses. */
interface Execution {
  getType(): string;
  switchToHttp(): { getRequest(): unknown };
}

/** Perdure in a Nest application. Inject it, or call `app.get(PerdureNest)`, for `token`. */
export class PerdureNest implements PerdureApp {
  readonly #app: App<NestRequest>;
  readonly #discovery: Discovery;
  readonly #http: HttpHost;
  readonly #mounts: boolean;
  readonly #startsRuntime: boolean;

  constructor(options: NestOptions, discovery: Discovery, http: HttpHost) {
    checkMembers<NestOptions>(options, NEST_OPTIONS, "PerdureModule");
    this.#discovery = discovery;
    this.#http = http;
    const { register = [], server = {}, autoStart = true } = options;
    this.#mounts = server !== false;
    this.#startsRuntime = autoStart;
    const ready = async (): Promise<boolean> => (await this.open()).runtime.isReady;
    this.#app = new App<NestRequest>(
      {
        ...options,
        register: definitionsWith(register, this.#providers()),
        server: server === false ? false : { ...(autoStart ? { ready } : {}), ...server },
        autoStart: false, // nest-host.1
        signals: false, // nest-host.2
      },
      { what: "PerdureModule", basePath: true },
    );
  }

  /** The generated admin token. Undefined if `tokens` or `authenticate` was given, or no server is mounted. */
  get token(): string | undefined {
    return this.#app.token;
  }

  open(): Promise<Perdure> {
    return this.#app.open();
  }

  client(): Promise<Client> {
    return this.#app.client();
  }

  requestContext(): ContextInput {
    return this.#app.requestContext();
  }

  close(): Promise<void> {
    return this.#app.close();
  }

  /** Called by Nest when it sets middleware up. */
  mount(): void {
    const { httpAdapter } = this.#http;
    if (this.#mounts) httpAdapter?.use(this.#app.prefix, this.#app.listener); // nest-host.3
  }

  /** nest-host.4 */
  async intercept<Result>(execution: Execution, next: { handle(): Result }): Promise<Result> {
    if (execution.getType() !== "http") return next.handle();
    const request = execution.switchToHttp().getRequest() as NestRequest; // both platforms have headers
    const run = await this.#app.enter(request, request.headers["traceparent"]);
    return run(() => next.handle());
  }

  async onApplicationBootstrap(): Promise<void> {
    checkCreated(this.#providers());
    const { runtime } = await this.open();
    if (this.#startsRuntime) await runtime.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#app.endStreams();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  #providers(): readonly Provided[] {
    return [...this.#discovery.getProviders(), ...this.#discovery.getControllers()];
  }
}
