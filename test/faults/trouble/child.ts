// Programs in separate processes: for code that would end the test process, or that needs a second process.
//   - A program reports events as lines of JSON on stdout; the test waits for a line, with a deadline.
//   - Every process is killed when its test ends.

import { spawn } from "node:child_process";
import { once } from "node:events";
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
  /** Waits for a line with this `what`; earlier lines count too. */
  says(what: string, deadlineMs?: number): Promise<Said>;
  /** Waits until stderr contains this text. */
  warns(text: string, deadlineMs?: number): Promise<void>;
  kill(name: NodeJS.Signals): void;
  /** The exit code, or the signal that ended the process. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

export function runProgram(name: string, ...args: readonly string[]): Program {
  return run(name, args, {});
}

/** Runs without root privileges: root may write everywhere, so root switches to the user "nobody". */
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
    ...user,
  });
  const said: Said[] = [];
  let stderr = "";
  const changes = new EventTarget();
  const notify = (): void => void changes.dispatchEvent(new Event("change"));
  createInterface(child.stdout).on("line", (line) => {
    said.push(line.startsWith("{") ? (JSON.parse(line) as Said) : { what: line });
    notify();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    notify();
  });
  const ended = once(child, "close").then(
    ([code, ending]: (number | NodeJS.Signals | null)[]) => code ?? ending ?? 0,
  );
  void ended.then(notify);
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
        throw new Error(`${name} (${end}) did not report "${wanted}".\n${lines}\n${stderr}`);
      }
      await once(changes, "change", { signal: deadline }).catch(() => undefined);
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
