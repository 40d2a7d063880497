// Restate: its own server, from npm, alongside a service in this process. Its data is not in PostgreSQL; it is listed
// with the PostgreSQL subjects because it, too, is a server on the same machine.
//   Equally durable: its log is written with fsync (`rocksdb-disable-wal-fsync = false`, the default).
//   Recommended: the server's defaults; workflows with `workflowSubmit` and `workflowAttach`, a durable promise as
//   the event; the service answers over HTTP/2, as `restate.serve` would.
//   Tuned: 4 partitions instead of 24, for a machine of few cores; concurrency is 1,000 by default and does not limit.
//   Telemetry is off on both sides.

import { once } from "node:events";
import http2, { type ServerHttp2Session } from "node:http2";
import { createRequire } from "node:module";
import { join } from "node:path";
import * as restate from "@restatedev/restate-sdk";
import * as clients from "@restatedev/restate-sdk-clients";
import { until } from "../../measure.ts";
import type { Adapter, Input, Work } from "../peer.ts";
import { freePort, startProcess } from "../server-process.ts";

const TUNED_PARTITIONS = 4;

interface Ports {
  readonly ingress: number;
  readonly admin: number;
  readonly node: number;
  readonly service: number;
}

export const adapter: Adapter = {
  async serve({ directory, tuned }) {
    const ports: Ports = {
      ingress: await freePort(),
      admin: await freePort(),
      node: await freePort(),
      service: await freePort(),
    };
    const words = ["--base-dir", join(directory, "restate"), "--node-name", "bench"];
    if (tuned) words.push("--default-num-partitions", String(TUNED_PARTITIONS));
    const close = startProcess(binary(), words, {
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_BIND_ADDRESS: `127.0.0.1:${ports.node}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ports.ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${ports.admin}`,
      RESTATE_DISABLE_TELEMETRY: "true",
    });
    const answers = (port: number, path: string): Promise<boolean> =>
      fetch(`http://127.0.0.1:${port}${path}`).then(
        ({ ok }) => ok,
        () => false,
      );
    const isUp = async (): Promise<boolean> =>
      (await answers(ports.admin, "/health")) && (await answers(ports.ingress, "/restate/health"));
    await until("Restate's server answers", isUp, { everyMs: 50 });
    return { server: ports, close };
  },

  async open({ server }, work) {
    const ports = server as Ports; // from `serve`
    const services = programs(work);
    const sessions = new Set<ServerHttp2Session>();
    const logger = (): void => {};
    const endpoint = http2.createServer(
      restate.createEndpointHandler({ services: Object.values(services), logger }),
    );
    endpoint.on("session", (session) => {
      sessions.add(session);
      session.on("close", () => sessions.delete(session));
    });
    endpoint.listen(ports.service, "127.0.0.1");
    await once(endpoint, "listening");
    await register(ports);
    const ingress = clients.connect({ url: `http://127.0.0.1:${ports.ingress}` });
    const clientOf = (
      key: string,
    ): ReturnType<typeof ingress.workflowClient<typeof services.row>> => {
      const [program = "", id = ""] = key.split("/");
      return ingress.workflowClient<typeof services.row>({ name: program as "row" }, id);
    };
    return {
      async start(program, input) {
        const key = `${program}/${input.id}`;
        await clientOf(key).workflowSubmit(input);
        return key;
      },
      result: (key) => clientOf(key).workflowAttach(),
      async signal(_, { id, value }) {
        await ingress.workflowClient<typeof services.wait>({ name: "wait" }, id).go(value);
        return true;
      },
      ask: async (key, value) =>
        ingress.objectClient<typeof services.counter>({ name: "counter" }, key).add(value),
      async close() {
        const closed = once(endpoint, "close");
        endpoint.close();
        for (const session of sessions) session.destroy();
        await closed;
      },
    };
  },
};

function programs(work: Work) {
  const row = restate.workflow({
    name: "row",
    handlers: {
      run: async (ctx: restate.WorkflowContext, { id, n, value }: Input): Promise<number> => {
        for (let i = 0; i < n; i++) {
          const before = value;
          value = await ctx.run("step", () => work.step(before, { id, index: i }));
        }
        return value;
      },
    },
  });
  const fan = restate.workflow({
    name: "fan",
    handlers: {
      run: async (ctx: restate.WorkflowContext, { id, n }: Input): Promise<number> => {
        const steps = Array.from({ length: n }, (_, i) =>
          ctx.run("step", () => work.step(i, { id, index: i })),
        );
        return (await restate.RestatePromise.all(steps)).reduce((sum, value) => sum + value, 0);
      },
    },
  });
  const wait = restate.workflow({
    name: "wait",
    handlers: {
      run: async (ctx: restate.WorkflowContext, { id }: Input): Promise<number> => {
        work.waits(id);
        return ctx.promise<number>("go");
      },
      go: async (ctx: restate.WorkflowSharedContext, value: number): Promise<void> => {
        await ctx.promise<number>("go").resolve(value);
      },
    },
  });
  const counter = restate.object({
    name: "counter",
    handlers: {
      add: async (ctx: restate.ObjectContext, value: number): Promise<number> => {
        const sum = ((await ctx.get<number>("sum")) ?? 0) + value;
        ctx.set("sum", sum);
        return sum;
      },
    },
  });
  return { row, fan, wait, counter };
}

/** Registers the service with the server; repeating it changes nothing. */
async function register({ admin, service }: Ports): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${admin}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri: `http://127.0.0.1:${service}` }),
  });
  if (!answer.ok) throw new Error(`Restate refused the service: ${await answer.text()}`);
}

function binary(): string {
  const home = createRequire(
    createRequire(import.meta.url).resolve("@restatedev/restate-server/package.json"),
  );
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}`;
  return home.resolve(`${name}/bin/restate-server`);
}
