// The server: one Hono application with the API routes, the dashboard's files and health checks. Its `fetch`
// is a handler `(Request) => Response`; `app.route("/perdure", server)` mounts it in Hono, `nodeListener`
// elsewhere.
//   - Every route needs credentials (S3), except `/healthz` and `/readyz` (http/health.ts), the
//        dashboard's files, which contain no data, and `/callbacks`, where a token is the permission.

import { Hono, type Context } from "hono";
import { callbacks } from "../callback/callbacks.ts";
import type { Client } from "../client/client.ts";
import { Access } from "./security/access.ts";
import { openApiDocument } from "./api/document.ts";
import { healthAnswer, Readiness } from "./http/health.ts";
import { mountOf, pathBelow } from "./http/mount-path.ts";
import { API_PATH } from "./api/openapi.ts";
import { resolveOptions, type ServerOptions } from "./options.ts";
import { originRules } from "./security/origin-check.ts";
import { uiFolder } from "./package-facts.ts";
import { Pipeline } from "./http/pipeline.ts";
import { Refusal } from "./http/problems.ts";
import type { Route } from "./http/route.ts";
import { ROUTES } from "./routes/index.ts";
import { prometheusRoute } from "./routes/store.ts";
import { Sampler } from "./views/sampler.ts";
import type { Services } from "./services.ts";
import { Slots } from "./security/concurrency-slots.ts";
import { StaticFiles } from "./http/static-files.ts";
import { TroubleGroups } from "./views/trouble-groups.ts";
import { createToken, TokenBook, type TokenEntry } from "./security/tokens.ts";

/** Where the server receives callbacks. */
const CALLBACKS_PATH = "/callbacks";

/** The HTTP API and the dashboard as a Hono application; see `perdureServer`. */
export class PerdureServer extends Hono implements AsyncDisposable {
  /** The generated admin token. Undefined if `tokens` or `authenticate` was given. */
  readonly token: string | undefined;
  readonly #services: Services;
  readonly #readiness: Readiness;

  constructor(client: Client, options: ServerOptions = {}) {
    const settings = resolveOptions(options);
    super({ getPath: pathBelow(settings.basePath) });
    const { provider } = client;
    const generated =
      options.tokens === undefined && options.authenticate === undefined
        ? createToken({ name: "local", role: "admin" })
        : null;
    this.token = generated?.token;
    const entries: readonly TokenEntry[] = generated === null ? [] : [generated.entry];
    const now = (): number => provider.environment.monotonic();
    const documents: { made?: object } = {};
    this.#services = {
      client,
      provider,
      codec: client.codec,
      settings,
      access: new Access({
        book: new TokenBook(options.tokens ?? entries, now),
        authenticate: options.authenticate ?? null,
        now,
      }),
      slots: new Slots(settings.limits),
      sampler: new Sampler(client, provider, { ...settings.limits, log: settings.log }),
      troubles: new TroubleGroups(client),
      document: () => (documents.made ??= openApiDocument()),
    };
    const { log, ready } = settings;
    this.#readiness = new Readiness({ provider, log, takesWork: ready });
    const rules = originRules(options.hosts ?? [], options.origins ?? []);
    const files = new StaticFiles(options.ui === false ? null : (options.ui ?? uiFolder()));
    if (options.callbacks !== false && !settings.readOnly) {
      this.#receive(client, options.callbacks);
    }
    this.#register(new Pipeline(this.#services, rules), files);
    this.#services.sampler.start();
  }

  /** The number of open streams. */
  get streams(): number {
    return this.#services.slots.streams;
  }

  /**
   * Returns a login code for the generated token. A browser can exchange it for a session once, within a
   * minute. Use it in addresses that other users can see. Undefined if the server has no generated token.
   */
  loginCode(): string | undefined {
    return this.token === undefined ? undefined : this.#services.access.codes.issue(this.token);
  }

  /** Ends open streams and stops sampling. The store stays open: its owner closes it. */
  close(): Promise<void> {
    this.#readiness.close();
    this.#services.sampler.stop();
    this.#services.slots.close();
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Receives callbacks outside of the pipeline: a token needs no credentials, and it names no host or origin. */
  #receive(client: Client, options: ServerOptions["callbacks"]): void {
    if (options === undefined && !client.hasCallbacks) return;
    const { log, trustProxy } = this.#services.settings;
    this.route(CALLBACKS_PATH, callbacks(client, { ...options, log, trustProxy }));
  }

  #register(pipeline: Pipeline, files: StaticFiles): void {
    const { basePath } = this.#services.settings;
    const answer =
      (route: Route | null) =>
      (context: Context): Promise<Response> =>
        pipeline.answer(context, route, mountOf(context, basePath).base);
    for (const route of ROUTES) this.on(route.method, API_PATH + route.path, answer(route));
    this.get("/metrics", answer(prometheusRoute));
    this.all(`${API_PATH}/*`, answer(null));
    this.get("/healthz", (context) => pipeline.open(context, async () => healthAnswer(true)));
    this.get("/readyz", (context) =>
      pipeline.open(context, async () => healthAnswer(await this.#readiness.check())),
    );
    this.get("*", (context) =>
      pipeline.open(context, async () => {
        const { path, base } = mountOf(context, basePath);
        const file = await files.answer(context.req.raw, path, base);
        if (file === null) throw new Refusal("ROUTE_NOT_FOUND");
        return file;
      }),
    );
    this.all("*", (context) =>
      pipeline.open(context, () => Promise.reject(new Refusal("ROUTE_NOT_FOUND"))),
    );
    this.onError((error) => pipeline.problem(error, { operation: "none" }));
  }
}

/** Creates the HTTP API and the dashboard for a client's store. */
export function perdureServer(client: Client, options: ServerOptions = {}): PerdureServer {
  return new PerdureServer(client, options);
}
