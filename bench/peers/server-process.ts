// A peer's server as a child process. It is tied to a pipe: when this process ends, however it ends, the server ends too.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";

/** Waits for the end of its input, then interrupts the server and waits for its exit. */
const GUARD = '"$0" "$@" & pid=$!; cat >/dev/null; kill -INT $pid; wait $pid';

/** Starts the program and returns the function that stops it. It does not wait until the server answers. */
export function startProcess(
  program: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): () => Promise<void> {
  const child = spawn("sh", ["-c", GUARD, program, ...words], {
    stdio: ["pipe", "ignore", "ignore"],
    env: { ...process.env, ...env },
  });
  return async () => {
    const gone = once(child, "exit");
    child.stdin.end();
    await gone;
  };
}

export async function freePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo; // it listens on a port
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
