// Health: the answers of `/healthz` and `/readyz`, for load balancers and orchestrators.
//   - `/healthz` answers as long as the event loop turns. It does not depend on the store: restarting a process
//        does not repair its store.
//   - `/readyz` answers 200 if the store answers and this process takes work, and 503 otherwise.
//   - health.1: The routes need no credentials. They reveal nothing else, the reason is only in the log, and
//        however often they are called, the store is read at most once per CHECK_MS.

import { Hono } from "hono";
import type { Provider } from "../../core/provider/provider.ts";
import type { LogSink } from "../../core/telemetry/log.ts";
import { secured } from "../security/headers.ts";

const CHECK_MS = 1_000;
/** Kubernetes waits one second by default; the docs set three. */
const ANSWER_MS = 2_000;
/** An id that is looked up. It does not matter whether the instance exists. */
const LOOKED_UP = "readyz";

export interface ReadinessOptions {
  readonly provider: Provider;
  /** Whether this process takes work. */
  readonly takesWork: () => boolean | Promise<boolean>;
  readonly log: LogSink;
}

export class Readiness {
  readonly #options: ReadinessOptions;
  #readAt = -Infinity;
  /** Why the store did not answer; null if it did. */
  #read: Promise<unknown> = Promise.resolve(null);
  #wasReady = true;
  #closed = false;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  async check(): Promise<boolean> {
    const why = await this.#whyNot();
    const isReady = why === null;
    const { log } = this.#options;
    if (this.#wasReady && !isReady) log("warn", "not ready: /readyz answers 503", { why });
    if (!this.#wasReady && isReady) log("info", "ready: /readyz answers 200", {});
    this.#wasReady = isReady;
    return isReady;
  }

  /** From now on the process is not ready. */
  close(): void {
    this.#closed = true;
  }

  /** Null: the process is ready. */
  async #whyNot(): Promise<unknown> {
    const { provider, takesWork } = this.#options;
    try {
      if (this.#closed || !(await takesWork())) return "this process takes no work";
    } catch (error) {
      return error;
    }
    const now = provider.environment.monotonic();
    // health.1
    if (now - this.#readAt >= CHECK_MS) {
      this.#readAt = now;
      this.#read = readStore(provider);
    }
    return this.#read;
  }
}

async function readStore(provider: Provider): Promise<unknown> {
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(
    () => late.resolve(`the store did not answer within ${ANSWER_MS} ms`),
    ANSWER_MS,
  );
  timer.unref();
  const answered = provider.readInstance(LOOKED_UP).then(() => null);
  try {
    return await Promise.race([answered, late.promise]);
  } catch (error) {
    return error;
  } finally {
    clearTimeout(timer);
  }
}

export function healthAnswer(isWell: boolean): Response {
  return Response.json({ status: isWell ? "ok" : "unavailable" }, { status: isWell ? 200 : 503 });
}

/** An application with the two routes alone, for a process without the HTTP API. */
export function healthRoutes(isReady: () => Promise<boolean>): Hono {
  const app = new Hono();
  app.get("/healthz", () => secured(healthAnswer(true)));
  app.get("/readyz", async () => secured(healthAnswer(await isReady())));
  return app;
}
