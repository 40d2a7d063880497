// PgBouncer, if it is installed.

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function hasPgBouncer(): boolean {
  try {
    execFileSync("pgbouncer", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Starts the installed PgBouncer in front of a server. */
export async function startPgBouncer(
  mode: "session" | "transaction",
  target: string,
): Promise<{ readonly url: string } & AsyncDisposable> {
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
