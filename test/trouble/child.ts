// Programs in processes of their own: for what would end the test's own process, or needs a second one.
//   C1. A program says what happened in lines of JSON on stdout; the test waits for a line, with a deadline.
//   C2. Every process ends with its test.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export interface Said {
  readonly what: string;
  readonly [key: string]: unknown;
}
export interface Program {
  readonly pid: number;
  readonly said: readonly Said[];
  readonly stderr: () => string;
  /** Waits until it has said this, from now on or before. */
  says(what: string, deadlineMs?: number): Promise<Said>;
  /** Waits for stderr to hold this. */
  warns(text: string, deadlineMs?: number): Promise<void>;
  kill(name: NodeJS.Signals): void;
  /** Its exit code; or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

export function runProgram(name: string, ...args: readonly string[]): Program {
  return run(name, args, {});
}

/** As somebody whom the host refuses things: root may write everywhere, so root becomes nobody. */
export function runUnprivileged(name: string, ...args: readonly string[]): Program {
  return run(name, args, process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {});
}

const NOBODY = 65_534;

function run(
  name: string,
  args: readonly string[],
  user: { readonly uid?: number; readonly gid?: number },
): Program {
  const file = fileURLToPath(new URL(`./programs/${name}.ts`, import.meta.url));
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", file, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    // Tests that start dozens of processes one after the other compile the sources once.
    env: { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), "perdure-compile-cache") },
    ...user,
  });
  const said: Said[] = [];
  let stderr = "";
  const news = new EventTarget();
  const tell = (): void => void news.dispatchEvent(new Event("news"));
  createInterface(child.stdout).on("line", (line) => {
    said.push(line.startsWith("{") ? (JSON.parse(line) as Said) : { what: line });
    tell();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    tell();
  });
  const ended = once(child, "close").then(
    ([code, ending]: (number | NodeJS.Signals | null)[]) => code ?? ending ?? 0,
  );
  void ended.then(tell);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });

  const until = async <T>(
    wanted: string,
    look: () => T | undefined,
    deadlineMs: number,
  ): Promise<T> => {
    const deadline = AbortSignal.timeout(deadlineMs);
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      if (deadline.aborted || child.exitCode !== null || child.signalCode !== null) {
        const lines = said.map((line) => JSON.stringify(line)).join("\n");
        const end = child.exitCode ?? child.signalCode ?? "running";
        throw new Error(`${name} (${end}) never came to "${wanted}".\n${lines}\n${stderr}`);
      }
      await once(news, "news", { signal: deadline }).catch(() => undefined);
    }
  };
  return {
    pid: child.pid ?? 0,
    said,
    stderr: () => stderr,
    says: (what, deadlineMs = 30_000) =>
      until(what, () => said.find((line) => line.what === what), deadlineMs),
    warns: async (text, deadlineMs = 30_000) => {
      await until(text, () => (stderr.includes(text) ? true : undefined), deadlineMs);
    },
    kill: (signal) => void child.kill(signal),
    ended,
  };
}
