// The server: the routes, the dashboard's files and a sign of life, as one Hono application. Its `fetch` is a
// handler `(Request) => Response`; `app.route("/perdure", server)` mounts it in Hono, `nodeListener` elsewhere.
//   SV1. Everything that is not listed here as open asks for credentials (S3): open are `/healthz`, which tells
//        nothing, and the dashboard's page, which holds no data.

import { Hono, type Context } from "hono";
import type { Client } from "../client/client.ts";
import { Access } from "./access.ts";
import { openApiDocument } from "./document.ts";
import { mountOf, pathBelow } from "./mount-path.ts";
import { API_PATH } from "./openapi.ts";
import { resolveOptions, type ServerOptions } from "./options.ts";
import { originRules } from "./origin-check.ts";
import { uiFolder } from "./package-facts.ts";
import { Pipeline } from "./pipeline.ts";
import { Refusal } from "./problems.ts";
import type { Route } from "./route.ts";
import { ROUTES } from "./routes/index.ts";
import { prometheusRoute } from "./routes/store.ts";
import { Sampler } from "./sampler.ts";
import type { Services } from "./services.ts";
import { Slots } from "./slots.ts";
import { StaticFiles } from "./static-files.ts";
import { TroubleGroups } from "./trouble-groups.ts";
import { createToken, TokenBook, type TokenEntry } from "./tokens.ts";

/** The HTTP API and the dashboard as a Hono application; see `perdureServer`. */
export class PerdureServer extends Hono implements AsyncDisposable {
  /** The admin token that was made up because no access was set; undefined when it was. */
  readonly token: string | undefined;
  readonly #services: Services;

  constructor(client: Client, options: ServerOptions = {}) {
    const settings = resolveOptions(options);
    super({ getPath: pathBelow(settings.basePath) });
    const { provider } = client;
    const made =
      options.tokens === undefined && options.authenticate === undefined
        ? createToken({ name: "local", role: "admin" })
        : null;
    this.token = made?.token;
    const entries: readonly TokenEntry[] = made === null ? [] : [made.entry];
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
    const rules = originRules(options.hosts ?? [], options.origins ?? []);
    const files = new StaticFiles(options.ui === false ? null : (options.ui ?? uiFolder()));
    this.#register(new Pipeline(this.#services, rules), files);
    this.#services.sampler.start();
  }

  /** Streams that are open, for status and tests. */
  get streams(): number {
    return this.#services.slots.streams;
  }

  /**
   * A code that a browser can exchange for a session of the generated token, once, within a minute: for addresses that
   * others may see. Undefined when there is no such token.
   */
  loginCode(): string | undefined {
    return this.token === undefined ? undefined : this.#services.access.codes.issue(this.token);
  }

  /** Ends what is open. The store stays open: it is its owner's. */
  close(): Promise<void> {
    this.#services.sampler.stop();
    this.#services.slots.close();
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
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
    this.get("/healthz", (context) =>
      pipeline.open(context, async () => Response.json({ status: "ok" })),
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

/** The HTTP API and the dashboard of a client's store. */
export function perdureServer(client: Client, options: ServerOptions = {}): PerdureServer {
  return new PerdureServer(client, options);
}
