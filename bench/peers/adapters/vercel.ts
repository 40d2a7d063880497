// Vercel Workflow with its PostgreSQL world.
//   Its compiler (SWC and esbuild) makes two bundles of `vercel-programs.ts`, one for workflows and one for steps;
//   the world keeps events in PostgreSQL, queues through Graphile Worker, and calls the bundles over HTTP in this
//   process: a step is a job and a request, and so is each continuation of the workflow, which replays its events.
//   Recommended: the world's defaults, 10 jobs at a time and a pool of 10; `run.returnValue`, which polls once per
//   second.
//   Tuned: 50 jobs at a time and a pool of 52, as Graphile's documentation recommends (concurrency + 2); the run's
//   state polled every 5 ms, the oldest first.
//   Vercel chooses an instance's name. Resuming a hook that does not exist yet fails with an error.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createProbe, type AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { oldestFirst } from "../oldest-first.ts";
import type { Adapter, Input, Place, Program } from "../peer.ts";

const TUNED = { concurrency: "50", pool: "52" };
const POLL_MS = 5;
/** Longer than the 30 s for which the world keeps an idle connection. */
const KEEP_ALIVE_MS = 60_000;
const HOME = join(import.meta.dirname, "..", "node_modules");
const ROUTES = ".well-known/workflow/v1";

interface Served {
  readonly port: number;
  readonly folder: string;
}
type Handler = (request: Request) => Promise<Response>;

export const adapter: Adapter = {
  /** Not a server: the bundles, the tables and the port, shared by all engines of a repetition. */
  async serve({ directory, database }) {
    if (database === null) throw new Error("Vercel Workflow runs on PostgreSQL here.");
    const folder = join(directory, "vercel");
    if (!existsSync(folder)) await build(folder);
    const setup = join(HOME, "@workflow/world-postgres/bin/setup.js");
    const env = { ...process.env, WORKFLOW_POSTGRES_URL: database.url };
    await promisify(execFile)(process.execPath, [setup], { env, cwd: folder });
    const server: Served = { port: await freePort(), folder };
    return { server, close: () => Promise.resolve() };
  },

  async open(place, work) {
    const { port, folder } = place.server as Served; // from `serve`
    Object.assign(globalThis, { benchWork: work });
    setEnvironment(place, port);
    process.chdir(folder); // the world's package is resolved from here
    const server = await listen(folder, port);
    const { start, getRun, resumeHook, HookNotFoundError } = await load();
    const { getWorld } = await import("workflow/runtime");
    const world = getWorld();
    await world.start?.();
    const ids = workflowIds(folder);
    const look = async (key: string): Promise<number | undefined> => {
      const run = getRun<number>(key);
      const status = await run.status;
      if (status === "failed" || status === "cancelled")
        throw new Error(`A run ended as ${status}`);
      return status === "completed" ? run.returnValue : undefined;
    };
    const soon = oldestFirst(look, POLL_MS);
    return {
      async start(program, input) {
        const { runId } = await start({ workflowId: ids[program] }, [input]);
        if (program === "wait") work.waits(input.id); // `signal` reports whether it really waits
        return runId;
      },
      result: (key) => (place.tuned ? soon(key) : getRun<number>(key).returnValue),
      async signal(_: string, { id, value }: Input) {
        try {
          await resumeHook(id, value);
          return true;
        } catch (error) {
          if (HookNotFoundError.is(error)) return false;
          throw error;
        }
      },
      async close() {
        await world.close?.();
        await secondWorld()?.close?.();
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
    };
  },
};

/** The bundles open another world for the routes. Vercel does not close it, and it keeps a connection open. */
function secondWorld(): { close?(): Promise<void> } | undefined {
  const held = globalThis as { [key: symbol]: { close?(): Promise<void> } | undefined };
  return held[Symbol.for("@workflow/world//stubbedCache")];
}

async function load() {
  const { start, getRun, resumeHook } = await import("workflow/api");
  const { HookNotFoundError } = await import("@workflow/errors");
  return { start, getRun, resumeHook, HookNotFoundError };
}

/** The packages read these variables when they are loaded. */
function setEnvironment({ database, tuned }: Place, port: number): void {
  process.env["WORKFLOW_TARGET_WORLD"] = "@workflow/world-postgres";
  process.env["WORKFLOW_POSTGRES_URL"] = database?.url;
  process.env["PORT"] = String(port);
  process.env["WORKFLOW_JSON_MODE"] = "1"; // no log of jobs between the figures
  if (!tuned) return;
  process.env["WORKFLOW_POSTGRES_WORKER_CONCURRENCY"] = TUNED.concurrency;
  process.env["WORKFLOW_POSTGRES_MAX_POOL_SIZE"] = TUNED.pool;
}

async function build(folder: string): Promise<void> {
  const { StandaloneBuilder } = await import("@workflow/builders");
  mkdirSync(folder);
  copyFileSync(join(import.meta.dirname, "vercel-programs.ts"), join(folder, "programs.ts"));
  symlinkSync(HOME, join(folder, "node_modules"));
  const builder = new StandaloneBuilder({
    buildTarget: "standalone",
    dirs: ["."],
    workingDir: folder,
    stepsBundlePath: `${ROUTES}/step.js`,
    workflowsBundlePath: `${ROUTES}/flow.js`,
    webhookBundlePath: `${ROUTES}/webhook.js`,
    suppressCreateWorkflowsBundleLogs: true,
  });
  await builder.build();
}

/** The two routes that the world calls. */
async function listen(folder: string, port: number): Promise<Server> {
  const handlers = new Map<string, Handler>();
  for (const name of ["flow", "step"]) {
    const { POST } = (await import(join(folder, ROUTES, `${name}.js`))) as { POST: Handler };
    handlers.set(`/${ROUTES}/${name}`, POST);
  }
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const handler = handlers.get(request.url ?? "");
      const answer = await handler?.(
        new Request(`http://127.0.0.1:${port}${request.url}`, {
          method: "POST",
          headers: request.headers as Record<string, string>,
          body: Buffer.concat(chunks),
        }),
      );
      response.writeHead(answer?.status ?? 404, Object.fromEntries(answer?.headers ?? []));
      response.end(Buffer.from((await answer?.arrayBuffer()) ?? new ArrayBuffer(0)));
    })();
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.listen(port);
  await once(server, "listening");
  return server;
}

function workflowIds(folder: string): Readonly<Record<Program, string>> {
  const file = join(folder, ROUTES, "manifest.json");
  const { workflows } = JSON.parse(readFileSync(file, "utf8")) as {
    workflows: Record<string, Record<Program, { workflowId: string }>>;
  };
  const [found] = Object.values(workflows);
  if (found === undefined) throw new Error("Vercel's compiler found no workflow.");
  const { row, fan, wait } = found;
  return { row: row.workflowId, fan: fan.workflowId, wait: wait.workflowId };
}

async function freePort(): Promise<number> {
  const probe = createProbe();
  probe.listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
