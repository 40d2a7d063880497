// How a store works behind PgBouncer, and how long a start takes to its result: `npm run poolers`.
//   - Starts a PostgreSQL server (test/support/postgres.ts) and the installed `pgbouncer` in every pool mode.
//   - The worker and the client have separate providers, so that each learns of the other's commits as another process
//     would. A start is sent when the previous one has its result.
//   - Fails if a result is wrong, or if a pooler in transaction mode was not detected.

import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { activity, orchestration, Perdure } from "../src/index.ts";
import { PostgresProvider, type PostgresOptions } from "../src/postgres/index.ts";
import { median } from "../bench/statistics.ts";
import { fastDirectory } from "../test/support/fast-directory.ts";
import { SETTINGS, startServer } from "../test/support/postgres.ts";

const STARTS = Number(process.argv[2] ?? 30);
const add = activity("add", async (n: number) => n + 1);
const twice = orchestration("twice", async (ctx, n: number) => ctx.run(add, await ctx.run(add, n)));

const server = await startServer(fastDirectory(), { ...SETTINGS, shared_buffers: "32MB" });
try {
  const direct = server.url;
  await measure("no pooler", direct, {});
  for (const mode of ["session", "transaction"] as const) {
    await using pooler = await startPooler(mode, direct);
    await measure(`PgBouncer, ${mode} mode, default options`, pooler.url, {});
    if (mode === "session") continue;
    await measure("PgBouncer, transaction mode, listen", pooler.url, { listen: direct });
    await measure("PgBouncer, transaction mode, notifications off", pooler.url, {
      notifications: false,
    });
  }
} finally {
  await server.close();
}

async function measure(what: string, url: string, options: PostgresOptions): Promise<void> {
  const warnings: string[] = [];
  const collect = (warning: Error): void => {
    if (warning.name === "PerdureWarning") warnings.push(warning.message);
  };
  process.on("warning", collect);
  const how = { schema: `s${Date.now()}`, poolSize: 4, ...options };
  const forWorker = await PostgresProvider.open(url, how);
  const forClient = await PostgresProvider.open(url, how);
  const worker = await Perdure.open(forWorker, { register: [twice, add] });
  const { client } = await Perdure.open(forClient, { autoStart: false });
  const times: number[] = [];
  for (let n = 0; n < STARTS; n++) {
    const startedAt = performance.now();
    const result = await (await client.start(twice, n)).result();
    times.push(performance.now() - startedAt);
    if (result !== n + 2) throw new Error(`${what}: got ${result} for ${n}`);
  }
  await worker.close();
  await Promise.all([forWorker.close(), forClient.close()]);
  process.off("warning", collect);
  const shouldWarn = what.includes("transaction mode, default");
  if (shouldWarn !== warnings.length > 0) {
    throw new Error(`${what}: ${warnings.length} warnings. ${warnings.join("\n")}`);
  }
  const noted = warnings.length > 0 ? " (detected, one warning per store)" : "";
  console.log(`${what}: p50 ${median(times).toFixed(1)} ms, ${STARTS} starts${noted}`);
}

async function startPooler(mode: string, target: string) {
  const { hostname, port: targetPort, username, pathname } = new URL(target);
  const directory = mkdtempSync(join(tmpdir(), "perdure-pgbouncer-"));
  chmodSync(directory, 0o755);
  const port = await freePort();
  const users = join(directory, "users.txt");
  writeFileSync(users, `"${username}" ""\n`);
  const config = join(directory, "pgbouncer.ini");
  writeFileSync(
    config,
    `[databases]
${pathname.slice(1)} = host=${hostname} port=${targetPort} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = 20
`,
  );
  // PgBouncer refuses to run as root.
  const child = spawn(
    "pgbouncer",
    ["-q", ...(process.getuid?.() === 0 ? ["-u", "nobody"] : []), config],
    {
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  await listening(child, port);
  const url = new URL(target);
  url.port = String(port);
  return {
    url: url.toString(),
    async [Symbol.asyncDispose]() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
      rmSync(directory, { recursive: true });
    },
  };
}

/** Resolves when the pooler accepts connections. */
async function listening(child: ChildProcess, port: number): Promise<void> {
  let failure: unknown = null;
  child.once("error", (error) => (failure = error)); // not installed
  const { connect } = await import("node:net");
  for (let round = 0; round < 200; round++) {
    if (failure !== null || child.exitCode !== null) break;
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("pgbouncer did not start. Is it installed?", { cause: failure });
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
