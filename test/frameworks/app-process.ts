// The process of one application: started, watched, stopped or killed.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { PREFIX } from "./settings.ts";
import { START, type Framework } from "./frameworks.ts";

const BIN = join(import.meta.dirname, "node_modules/.bin");
const READY_MS = 120_000;
const LOOK_MS = 50;

export class AppProcess implements AsyncDisposable {
  readonly origin: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #printed = "";

  private constructor(child: ChildProcess, origin: string) {
    this.#child = child;
    this.origin = origin;
    this.#ended = once(child, "close");
    const keep = (chunk: Buffer): void => void (this.#printed += chunk.toString());
    child.stdout?.on("data", keep);
    child.stderr?.on("data", keep);
  }

  /** Resolves when the application's Perdure is ready. The command is that of production by default. */
  static async start(
    framework: Framework,
    env: Record<string, string>,
    command = framework.start ?? START,
  ): Promise<AppProcess> {
    const port = await freePort();
    const [program, ...args] = command;
    const child = spawn(program, args, {
      cwd: folderOf(framework),
      env: environment({ ...env, PORT: String(port) }),
      stdio: ["ignore", "pipe", "pipe"],
      detached: true, // its own process group, because some frameworks start further processes
    });
    const app = new AppProcess(child, `http://127.0.0.1:${port}`);
    await app.waitFor(async () => {
      const ready = await fetch(`${app.origin}${PREFIX}/readyz`).catch(() => null);
      return ready?.status === 200;
    }, "ready");
    return app;
  }

  /** What the application printed. */
  get printed(): string {
    return this.#printed;
  }

  async waitFor(isReached: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const until = performance.now() + READY_MS;
    while (!(await isReached())) {
      if (this.#hasEnded || performance.now() > until) {
        throw new Error(`the application is not ${what}; it printed:\n${this.#printed}`);
      }
      await pause(LOOK_MS);
    }
  }

  /** SIGKILL: no code of the application runs any more. */
  async kill(): Promise<void> {
    this.#signal("SIGKILL");
    await this.#ended;
  }

  /** SIGTERM. Resolves when the process has ended. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasEnded) await this.kill();
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#child.pid !== undefined) process.kill(-this.#child.pid, signal);
  }
}

/** Programs of the frameworks come first, then this Node. */
export function environment(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const path = [BIN, join(process.execPath, ".."), process.env["PATH"]].join(":");
  return {
    ...process.env,
    NODE_ENV: "production",
    NEXT_TELEMETRY_DISABLED: "1",
    PATH: path,
    ...more,
  };
}

export function folderOf({ name, folder = name }: Framework): string {
  return join(import.meta.dirname, "apps", folder);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on a port
  server.close();
  await once(server, "close");
  return port;
}
